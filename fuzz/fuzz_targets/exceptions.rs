//! Any bytes as a module: reading its dynamic linking section, translating its exception handling and patching it never
//! panic, and what was valid before translation is valid after it.
//!
//! Random bytes are rarely modules, so start from some: the shared objects of small wheels, for example.
#![no_main]

use brumate_engine::module::{ModuleError, Options, dylink, exceptions, translate};
use libfuzzer_sys::fuzz_target;
use wasmparser::{Validator, WasmFeatures};

fn valid(wasm: &[u8], features: WasmFeatures) -> Result<(), wasmparser::Error> {
    Validator::new_with_features(features).validate_all(wasm).map(|_| ())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = dylink::parse(bytes);
    let translations = [
        exceptions::translate(bytes),
        translate(bytes, &Options { main: false }),
        translate(bytes, &Options { main: true }),
    ];
    if valid(bytes, WasmFeatures::all()).is_err() {
        return;
    }
    for new in translations.iter().flatten() {
        let standard = WasmFeatures::all() - WasmFeatures::LEGACY_EXCEPTIONS;
        valid(new, standard).expect("a valid module stays valid");
    }
    if let Err(error @ ModuleError::Malformed { .. }) = &translations[0] {
        panic!("a valid module is called malformed: {error}");
    }
});
