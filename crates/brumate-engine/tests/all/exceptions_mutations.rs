//! Damaged modules: whatever bytes change, translation does not panic, and what was valid stays valid.

use crate::exceptions::generator::{self, Census};
use crate::exceptions::inspect::{validate, validate_legacy};
use crate::exceptions::modules::shared_objects;
use brumate_module::{ModuleError, Options, dylink, exceptions::translate, translate as prepare};
use brumate_test_support::{Random, count, seed};

/// Opcodes around exception handling and control flow: a byte changed to one of them does more than a random one.
const OPCODES: [u8; 20] = [
    0x00, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x18, 0x19, 0x1f, 0x40,
    0x7f,
];

/// Changes a few bytes; most changes stay inside `focus`, where the code is.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, focus: std::ops::Range<usize>) {
    for _ in 0..1 + random.index(3) {
        let focused = focus.start + random.index(focus.len().max(1));
        let position = if random.chance(90) { focused } else { random.index(bytes.len()) };
        let position = position.min(bytes.len() - 1);
        match random.index(10) {
            0..5 => bytes[position] = OPCODES[random.index(OPCODES.len())],
            5 => bytes[position] = random.next() as u8,
            6 => bytes[position] ^= 1 << random.index(8),
            7 => bytes[position] = bytes[position].wrapping_add(1),
            8 => {
                let other = focus.start + random.index(focus.len().max(1));
                bytes[position] = bytes[other.min(bytes.len() - 1)];
            }
            _ if random.chance(20) => bytes.truncate(position + 1),
            _ => {
                let next = (position + 1) % bytes.len();
                bytes.swap(position, next);
            }
        }
    }
}

/// Feeds one damaged module through everything and returns whether it was valid.
fn check(bytes: &[u8], what: &str) -> bool {
    let _ = dylink::parse(bytes);
    for main in [false, true] {
        if let Ok(prepared) = prepare(bytes, &Options { main, threads: false }) {
            assert!(!prepared.is_empty());
        }
    }
    let new = translate(bytes);
    if validate_legacy(bytes).is_err() {
        return false;
    }
    match new {
        Ok(new) => validate(&new).unwrap_or_else(|error| panic!("{what}: {error}")),
        Err(error @ ModuleError::Malformed { .. }) => panic!("{what}: valid, but refused: {error}"),
        Err(_) => {}
    }
    true
}

/// Where the code section lies.
fn code(bytes: &[u8]) -> std::ops::Range<usize> {
    wasmparser::Parser::new(0)
        .parse_all(bytes)
        .find_map(|payload| match payload {
            Ok(wasmparser::Payload::CodeSectionStart { range, .. }) => Some(range),
            _ => None,
        })
        .expect("a module with code")
}

fn run(name: &str, original: &[u8], mutations: u64, seed: u64) -> u64 {
    let focus = code(original);
    let mut valid = 0;
    for mutation in 0..mutations {
        let mut random = Random::part(seed, mutation);
        let mut bytes = original.to_vec();
        mutate(&mut random, &mut bytes, focus.clone());
        valid += u64::from(check(&bytes, &format!("{name}, mutation {mutation}")));
    }
    valid
}

#[test]
fn damaged_generated_modules() {
    let mut census = Census::default();
    let mut valid = 0;
    let (first, modules) = (seed(), count(10, 40));
    for seed in first..first + modules {
        let module = generator::module(seed, &mut census);
        valid += run(&format!("generated module {seed}"), &module, 150, seed);
    }
    assert!(valid > 5 * modules, "only {valid} of {} damaged modules were still valid", 150 * modules);
}

#[test]
fn damaged_shared_objects() {
    // The smallest of those with C++ exceptions.
    let mut objects = shared_objects(&["contourpy-", "kiwisolver-"]);
    objects.sort_by_key(|object| object.bytes.len());
    objects.truncate(2);
    let mut valid = 0;
    let mutations = count(100, 400);
    for (seed, object) in (seed()..).zip(&objects) {
        assert!(crate::exceptions::inspect::count(&object.bytes).tries > 100, "{}", object.name);
        valid += run(&object.name, &object.bytes, mutations, seed);
    }
    assert!(valid > mutations / 20, "only {valid} of the damaged modules were still valid");
}
