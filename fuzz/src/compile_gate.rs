//! Any bytes as a side module at the gate before the compiler.

use brumate_module::gate::{self, Counts, GUEST, WHEEL};
use brumate_module::{ModuleError, Options, translate};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// Bounds that small inputs reach.
const SMALL: Counts = Counts {
    bytes: 10_000,
    types: 4,
    arity: 2,
    imports: 4,
    functions: 4,
    globals: 2,
    exports: 3,
    tags: 1,
    data_segments: 1,
    element_segments: 1,
    elements: 4,
    function_bytes: 200,
    locals: 20,
    depth: 4,
    blocks: 6,
    targets: 4,
    merges: 60,
};

/// Counts what the module has.
///
/// Nothing of it panics. What passes narrower bounds passes wider ones, with the same counts. A module that passes has no memory and no table
/// of its own, and every function is as small as the bounds say. What is valid is refused for a bound or as forbidden, and never as
/// malformed. Returns whether the module passes the guest's bounds.
pub fn run(bytes: &[u8]) -> bool {
    let results = [&SMALL, &GUEST, &WHEEL].map(|bounds| gate::check(bytes, bounds));
    for pair in results.windows(2) {
        if let Ok(counts) = &pair[0] {
            assert_eq!(Some(counts), pair[1].as_ref().ok(), "wider bounds let the same pass");
        }
    }
    if let Ok(counts) = &results[0] {
        holds(bytes, &SMALL, counts);
    }
    let valid = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok();
    if valid && let Err(error @ (ModuleError::Malformed { .. } | ModuleError::NotWasm)) = &results[2] {
        panic!("a valid module is called malformed: {error}");
    }
    // What the compiler's process does next.
    if results[1].is_ok() {
        let _ = translate(bytes, &Options::default());
    }
    results[1].is_ok()
}

/// Panics unless a module is within the bounds that it has passed.
fn holds(bytes: &[u8], bounds: &Counts, counts: &Counts) {
    assert!(bytes.len() <= bounds.bytes);
    assert!(counts.locals <= bounds.locals && counts.blocks <= bounds.blocks && counts.merges <= bounds.merges);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.expect("it was read before") {
            Payload::MemorySection(section) => assert_eq!(section.count(), 0),
            Payload::TableSection(section) => assert_eq!(section.count(), 0),
            Payload::CodeSectionEntry(body) => assert!(body.range().len() <= bounds.function_bytes),
            _ => {}
        }
    }
}
