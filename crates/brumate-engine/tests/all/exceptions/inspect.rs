//! Looking into modules: validity, counts of instructions, sections.

use wasmparser::{Operator, Parser, Payload, Validator, WasmFeatures};

/// Checks that a module is valid WebAssembly of the kind wasmtime compiles, without legacy exception handling.
pub(crate) fn validate(wasm: &[u8]) -> Result<(), String> {
    validate_with(wasm, WasmFeatures::all() - WasmFeatures::LEGACY_EXCEPTIONS)
}

/// Checks that a module is valid with legacy exception handling.
pub(crate) fn validate_legacy(wasm: &[u8]) -> Result<(), String> {
    validate_with(wasm, WasmFeatures::all())
}

fn validate_with(wasm: &[u8], features: WasmFeatures) -> Result<(), String> {
    Validator::new_with_features(features).validate_all(wasm).map(|_| ()).map_err(|error| error.to_string())
}

/// Occurrences of exception handling instructions.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) tries: usize,
    pub(crate) catches: usize,
    pub(crate) catch_alls: usize,
    pub(crate) delegates: usize,
    pub(crate) rethrows: usize,
    pub(crate) throws: usize,
    pub(crate) try_tables: usize,
    /// Clauses of all `try_table`.
    pub(crate) clauses: usize,
    pub(crate) throw_refs: usize,
    /// Functions that end in `throw_ref`, which is how wrapped functions end.
    pub(crate) wrapped: usize,
}

/// Counts a module's exception handling instructions.
pub(crate) fn count(wasm: &[u8]) -> Counts {
    let mut counts = Counts::default();
    for body in bodies(wasm) {
        let reader = wasmparser::FunctionBody::new(wasmparser::BinaryReader::new(body, 0));
        let mut last_two = [false; 2];
        for operator in reader.get_operators_reader().expect("locals") {
            let operator = operator.expect("an instruction");
            match &operator {
                Operator::Try { .. } => counts.tries += 1,
                Operator::Catch { .. } => counts.catches += 1,
                Operator::CatchAll => counts.catch_alls += 1,
                Operator::Delegate { .. } => counts.delegates += 1,
                Operator::Rethrow { .. } => counts.rethrows += 1,
                Operator::Throw { .. } => counts.throws += 1,
                Operator::ThrowRef => counts.throw_refs += 1,
                Operator::TryTable { try_table } => {
                    counts.try_tables += 1;
                    counts.clauses += try_table.catches.len();
                }
                _ => {}
            }
            last_two = [last_two[1], matches!(operator, Operator::ThrowRef)];
        }
        counts.wrapped += usize::from(last_two[0]);
    }
    counts
}

/// The function bodies (locals and instructions) of a module.
pub(crate) fn bodies(wasm: &[u8]) -> Vec<&[u8]> {
    let payloads = Parser::new(0).parse_all(wasm).map(|payload| payload.expect("a well-formed module"));
    payloads
        .filter_map(|payload| match payload {
            Payload::CodeSectionEntry(body) => Some(body.as_bytes()),
            _ => None,
        })
        .collect()
}

/// Identifier, name (of custom sections) and content of all sections.
pub(crate) fn sections(wasm: &[u8]) -> Vec<(u8, String, &[u8])> {
    let payloads = Parser::new(0).parse_all(wasm).map(|payload| payload.expect("a well-formed module"));
    payloads
        .filter_map(|payload| {
            let (id, range) = payload.as_section()?;
            let name = match &payload {
                Payload::CustomSection(section) => section.name().to_owned(),
                _ => String::new(),
            };
            Some((id, name, &wasm[range]))
        })
        .collect()
}
