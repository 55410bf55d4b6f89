//! Damaged modules: whatever bytes change, translation does not panic, and what was valid stays valid.

mod exceptions;

use brumate_engine::module::{ModuleError, Options, dylink, exceptions::translate, translate as prepare};
use exceptions::generator::{self, Census};
use exceptions::inspect::{validate, validate_legacy};
use exceptions::modules::shared_objects;
use exceptions::random::Random;

/// Opcodes around exception handling and control flow: a byte changed to one of them does more than a random one.
const OPCODES: [u8; 20] = [
    0x00, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x18, 0x19, 0x1f, 0x40,
    0x7f,
];

/// Changes a few bytes; most changes stay inside `focus`, where the code is.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, focus: std::ops::Range<usize>) {
    for _ in 0..1 + random.below(3) {
        let focused = focus.start + random.below(focus.len().max(1));
        let position = if random.chance(90) { focused } else { random.below(bytes.len()) };
        let position = position.min(bytes.len() - 1);
        match random.below(10) {
            0..5 => bytes[position] = OPCODES[random.below(OPCODES.len())],
            5 => bytes[position] = random.next() as u8,
            6 => bytes[position] ^= 1 << random.below(8),
            7 => bytes[position] = bytes[position].wrapping_add(1),
            8 => {
                let other = focus.start + random.below(focus.len().max(1));
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
        if let Ok(prepared) = prepare(bytes, &Options { main }) {
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
        let mut random = Random::new(seed << 32 | mutation);
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
    for seed in 0..40 {
        let module = generator::module(seed, &mut census);
        valid += run(&format!("generated module {seed}"), &module, 150, seed);
    }
    assert!(valid > 200, "only {valid} of 6000 damaged modules were still valid");
}

#[test]
fn damaged_shared_objects() {
    // The smallest of those with C++ exceptions.
    let mut objects = shared_objects(&["contourpy-", "kiwisolver-"]);
    objects.sort_by_key(|object| object.bytes.len());
    objects.truncate(2);
    let mut valid = 0;
    for (seed, object) in (100..).zip(&objects) {
        assert!(exceptions::inspect::count(&object.bytes).tries > 100, "{}", object.name);
        valid += run(&object.name, &object.bytes, 400, seed);
    }
    assert!(valid > 20, "only {valid} of the damaged modules were still valid");
}
