//! Any bytes as a WebAssembly module.

use brumate_module::{ModuleError, Options, dylink, exceptions, translate};
use wasmparser::{Validator, WasmFeatures};

/// Reads the dynamic linking section, translates exception handling and patches the module.
///
/// Nothing of it panics, and what was valid before translation is valid after it. Returns whether the module was valid.
pub fn run(bytes: &[u8]) -> bool {
    let _ = dylink::parse(bytes);
    let translations = [
        exceptions::translate(bytes),
        translate(bytes, &Options::default()),
        translate(bytes, &Options { main: true, threads: false }),
    ];
    if validate(bytes, WasmFeatures::all()).is_err() {
        return false;
    }
    for new in translations.iter().flatten() {
        let standard = WasmFeatures::all() - WasmFeatures::LEGACY_EXCEPTIONS;
        validate(new, standard).expect("a valid module stays valid");
    }
    if let Err(error @ ModuleError::Malformed { .. }) = &translations[0] {
        panic!("a valid module is called malformed: {error}");
    }
    true
}

fn validate(wasm: &[u8], features: WasmFeatures) -> Result<(), wasmparser::Error> {
    Validator::new_with_features(features).validate_all(wasm).map(|_| ())
}
