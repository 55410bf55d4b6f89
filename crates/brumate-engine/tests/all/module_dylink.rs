//! The `dylink.0` section: what is read from it, and what is refused.

use brumate_module::ModuleError;
use brumate_module::dylink::{
    Dylink, ExportInfo, ImportInfo, MAX_ALIGNMENT, MAX_NEEDED, MAX_PATH_BYTES, MAX_SECTION_BYTES, MAX_TABLE_SLOTS,
    MemoryInfo, parse,
};
use wasm_encoder::Encode;

/// A module whose first section is a custom one with this name and content.
fn module(name: &str, content: &[u8]) -> Vec<u8> {
    let mut section = Vec::new();
    name.encode(&mut section);
    section.extend_from_slice(content);
    let mut module = b"\0asm\x01\0\0\0\0".to_vec();
    section.as_slice().encode(&mut module);
    module
}

/// A sub-section.
fn part(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut part = vec![kind];
    body.encode(&mut part);
    part
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers.iter().for_each(|number| number.encode(&mut bytes));
    bytes
}

fn strings(strings: &[&str]) -> Vec<u8> {
    let mut bytes = numbers(&[strings.len() as u32]);
    strings.iter().for_each(|string| string.encode(&mut bytes));
    bytes
}

/// The text with which a section content is refused.
fn refused(content: &[u8]) -> String {
    match parse(&module("dylink.0", content)) {
        Err(ModuleError::Dylink(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_subsection_is_read() {
    let mut exports = numbers(&[2]);
    "tls".encode(&mut exports);
    0x100_u32.encode(&mut exports);
    "plain".encode(&mut exports);
    0_u32.encode(&mut exports);
    let mut imports = numbers(&[2]);
    for (module, name, flags) in [("env", "weak", 0x11_u32), ("GOT.mem", "local", 0x12)] {
        module.encode(&mut imports);
        name.encode(&mut imports);
        flags.encode(&mut imports);
    }
    let content = [
        part(1, &numbers(&[4_000_000_000, 4, 17, 0])),
        part(2, &strings(&["liba.so", "libb.so"])),
        part(3, &exports),
        part(4, &imports),
        part(5, &strings(&["$ORIGIN/../lib"])),
    ]
    .concat();
    let dylink = parse(&module("dylink.0", &content)).expect("a correct section");
    let import = |module: &str, name: &str, flags| ImportInfo { module: module.into(), name: name.into(), flags };
    let expected = Dylink {
        memory: MemoryInfo { memory_bytes: 4_000_000_000, memory_align: 16, table_slots: 17, table_align: 1 },
        needed: vec!["liba.so".into(), "libb.so".into()],
        exports: vec![ExportInfo { name: "tls".into(), flags: 0x100 }, ExportInfo { name: "plain".into(), flags: 0 }],
        imports: vec![import("env", "weak", 0x11), import("GOT.mem", "local", 0x12)],
        runtime_path: vec!["$ORIGIN/../lib".into()],
    };
    assert_eq!(dylink, expected);
    assert_eq!(dylink.exports.iter().map(ExportInfo::is_tls).collect::<Vec<_>>(), [true, false]);
    assert_eq!(dylink.weak_imports().into_iter().collect::<Vec<_>>(), ["weak"]);
}

#[test]
fn an_empty_section_asks_for_nothing() {
    let dylink = parse(&module("dylink.0", &[])).expect("a correct section");
    assert_eq!(dylink, Dylink::default());
}

#[test]
fn files_that_are_no_shared_objects() {
    let text = |bytes: &[u8]| parse(bytes).expect_err("no shared object").to_string();
    assert_eq!(text(b""), "not a WebAssembly file");
    assert_eq!(text(b"\x7fELF\x02\x01\x01\0\0\0\0"), "not a WebAssembly file");
    assert_eq!(text(b"\0asm\x0d\0\x01\0"), "not a core WebAssembly module of version 1");
    let no_dylink = "no dylink.0 section: not a shared object";
    assert_eq!(text(b"\0asm\x01\0\0\0"), no_dylink);
    assert_eq!(text(b"\0asm\x01\0\0\0\x01\x01\x00"), no_dylink);
    assert_eq!(text(&module("name", &[])), no_dylink);
    assert!(text(&module("dylink", &[])).contains("obsolete"));
    // The section must come first: a second custom section does not count.
    let second = [module("producers", &[0]), module("dylink.0", &[])[8..].to_vec()].concat();
    assert_eq!(text(&second), no_dylink);
}

#[test]
fn broken_sections() {
    assert!(refused(&[1]).contains("unexpected end"));
    assert!(refused(&[1, 9, 0]).contains("unexpected end"));
    assert!(refused(&part(1, &numbers(&[0, 0, 0]))).contains("unexpected end"));
    assert!(refused(&part(1, &[0, 0, 0, 0, 0])).contains("1 bytes too many in sub-section 1"));
    assert!(refused(&part(9, &[])).contains("unknown sub-section 9"));
    let memory = part(1, &[0, 0, 0, 0]);
    assert!(refused(&[memory.clone(), memory].concat()).contains("occurs twice"));
    assert!(refused(&part(2, &[1, 1, 0xff])).contains("malformed UTF-8"));
    // A length that would take four gigabytes.
    assert!(refused(&part(3, &[0xff, 0xff, 0xff, 0xff, 0x0f])).contains("unexpected end"));
    assert!(parse(&module("dylink.0", &[])[..10]).is_err());
}

#[test]
fn limits() {
    assert!(refused(&part(1, &numbers(&[0, MAX_ALIGNMENT + 1, 0, 0]))).contains("alignment"));
    assert!(refused(&part(1, &numbers(&[0, 0, 0, u32::MAX]))).contains("alignment"));
    assert!(refused(&part(1, &numbers(&[0, 0, MAX_TABLE_SLOTS + 1, 0]))).contains("table slots"));
    assert!(refused(&part(2, &strings(&vec!["a.so"; MAX_NEEDED + 1]))).contains("needed library"));
    assert!(refused(&part(2, &strings(&[""]))).contains("invalid needed library"));
    assert!(refused(&part(2, &strings(&["a\0b"]))).contains("invalid needed library"));
    assert!(refused(&part(5, &strings(&[&"x".repeat(MAX_PATH_BYTES + 1)]))).contains("invalid run path directory"));
    let filler = vec![0; MAX_SECTION_BYTES + 1];
    assert!(refused(&filler).contains("more than"));
    let most = part(2, &strings(&vec!["a.so"; MAX_NEEDED]));
    assert_eq!(parse(&module("dylink.0", &most)).expect("within the limits").needed.len(), MAX_NEEDED);
}
