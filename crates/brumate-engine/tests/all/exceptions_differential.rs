//! The translation of legacy exception handling does what the original does: random modules run in V8, which executes the
//! legacy encoding itself, and translated in wasmtime, by us and by Binaryen. All three must agree on every input.
//!
//! Needs `node` (20 or later) and the npm package `binaryen` in the directory named by `BRUMATE_TEST_NODE_MODULES`;
//! `cargo xtask test` provides both.

use std::path::{Path, PathBuf};
use std::process::Command;

use brumate_module::exceptions::translate;
use brumate_test_support::{count, seed};

use crate::exceptions::engine::{self, Ending, Outcome};
use crate::exceptions::generator::{self, Census};

/// Modules that are generated.
fn modules() -> u64 {
    count(20, 80)
}

const INPUTS: i32 = 256;

#[test]
fn random_modules_behave_as_in_v8_and_as_translated_by_binaryen() {
    let binaryen = binaryen();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut census = Census::default();
    let first = seed();
    let modules: Vec<_> = (0..modules()).map(|number| generator::module(first + number, &mut census)).collect();
    assert_varied(&census);
    for (number, wasm) in modules.iter().enumerate() {
        std::fs::write(directory.path().join(format!("{number}.wasm")), wasm).expect("the directory is writable");
    }
    let node = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/js/exceptions.mjs"))
        .arg(directory.path())
        .args([modules.len().to_string(), INPUTS.to_string()])
        .arg(&binaryen)
        .output()
        .expect("`node` (20 or later) is needed for this test");
    assert!(node.status.success(), "node failed: {}", String::from_utf8_lossy(&node.stderr));

    let engine = engine::engine();
    let mut outcomes = Vec::new();
    for (number, legacy) in modules.iter().enumerate() {
        let ours = translate(legacy).unwrap_or_else(|error| panic!("module {number}: {error}"));
        let ours = run(&engine, &ours, number, "our translation");
        let read = |suffix| std::fs::read(directory.path().join(format!("{number}.{suffix}"))).expect("node wrote it");
        let binaryens = run(&engine, &read("binaryen.wasm"), number, "Binaryen's translation");
        let v8 = decode(&read("v8"));
        compare(number, "V8", &v8, &ours);
        compare(number, "Binaryen's translation", &binaryens, &ours);
        outcomes.extend(ours);
    }
    for ending in [Ending::Returned, Ending::Threw, Ending::Trapped] {
        let count = outcomes.iter().filter(|outcome| outcome.ending == ending).count();
        assert!(count * 400 > outcomes.len(), "only {count} of {} runs {ending:?}", outcomes.len());
        eprintln!("{ending:?}: {count}");
    }
    let mut hashes: Vec<_> = outcomes.iter().map(|outcome| outcome.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert!(hashes.len() * 4 > outcomes.len(), "only {} different runs of {}", hashes.len(), outcomes.len());
}

/// Binaryen's JavaScript module.
fn binaryen() -> PathBuf {
    let node_modules = std::env::var_os("BRUMATE_TEST_NODE_MODULES").expect(
        "BRUMATE_TEST_NODE_MODULES must name a node_modules directory that holds `binaryen`; `cargo xtask test` sets it",
    );
    let file = Path::new(&node_modules).join("binaryen/index.js");
    assert!(file.is_file(), "{} does not exist: `npm install binaryen` there", file.display());
    file
}

fn run(engine: &wasmtime::Engine, wasm: &[u8], number: usize, what: &str) -> Vec<Outcome> {
    engine::run(engine, wasm, INPUTS).unwrap_or_else(|error| panic!("module {number}, {what}: {error:?}"))
}

fn decode(bytes: &[u8]) -> Vec<Outcome> {
    let endings = [Ending::Returned, Ending::Threw, Ending::Trapped];
    bytes
        .chunks_exact(9)
        .map(|run| Outcome {
            ending: endings[usize::from(run[0])],
            hash: u64::from_le_bytes(run[1..].try_into().expect("eight bytes")),
        })
        .collect()
}

fn compare(number: usize, other: &str, theirs: &[Outcome], ours: &[Outcome]) {
    assert_eq!(theirs.len(), ours.len(), "module {number}");
    let different = theirs.iter().zip(ours).position(|(theirs, ours)| theirs != ours);
    if let Some(input) = different {
        panic!(
            "module {number}, input {input}: {other} {:?}, our translation {:?} (the module is generator::module({number}))",
            theirs[input], ours[input]
        );
    }
}

/// The comparison is worth something only if every shape occurs.
fn assert_varied(census: &Census) {
    let Census {
        tries,
        bare_tries,
        tries_with_params,
        tries_with_results,
        tries_with_several_clauses,
        tries_inside_clauses,
        catch_alls_after_catch,
        delegates,
        delegates_to_the_function,
        delegates_to_a_try,
        delegates_to_a_clause,
        rethrows,
        deep_rethrows,
        throws,
        branches,
    } = *census;
    let counts = [
        tries,
        bare_tries,
        tries_with_params,
        tries_with_results,
        tries_with_several_clauses,
        tries_inside_clauses,
        catch_alls_after_catch,
        delegates,
        delegates_to_the_function,
        delegates_to_a_try,
        delegates_to_a_clause,
        rethrows,
        deep_rethrows,
        throws,
        branches,
    ];
    assert!(counts.iter().all(|count| *count as u64 > modules() / 2), "{census:?}");
    eprintln!("{census:?}");
}
