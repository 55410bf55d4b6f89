//! The properties of the fuzz targets, on the stored corpus and on mutations of it.

mod mutation;

use std::path::Path;

use brumate_fuzz::{TARGETS, Target};
use brumate_test_support::{count, seed};

/// The files of a target's corpus in the order of their names.
fn corpus(target: Target) -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut inputs: Vec<_> = files
        .map(|file| {
            let path = file.expect("a directory entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read(path).expect("a readable file"))
        })
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", directory.display());
    inputs
}

/// Runs every file: some are accepted and some are refused, otherwise the corpus is of no use.
fn run_corpus(target: Target) {
    let (mut accepted, mut refused) = (0, 0);
    for (name, bytes) in corpus(target) {
        eprintln!("{}/{name}", target.name);
        if (target.run)(&bytes) { accepted += 1 } else { refused += 1 }
    }
    assert!(accepted > 0 && refused > 0, "{}: {accepted} accepted, {refused} refused", target.name);
}

/// Runs mutations of every file.
fn run_mutations(target: Target) {
    let (corpus, seed) = (corpus(target), seed());
    for round in 0..count(75, 3000) {
        for (name, bytes) in &corpus {
            // What was printed last names the input when the property does not hold.
            eprintln!("{}/{name}, mutation {round}", target.name);
            let (_, other) = &corpus[round as usize % corpus.len()];
            (target.run)(&mutation::mutated(&mut mutation::random(seed, name, round), bytes, other));
        }
    }
}

macro_rules! targets {
    ($($name:ident),+) => {
        $(mod $name {
            use super::*;

            fn target() -> Target {
                *TARGETS.iter().find(|target| target.name == stringify!($name)).expect("a target of this name")
            }

            #[test]
            fn holds_for_the_corpus() {
                run_corpus(target());
            }

            #[test]
            fn holds_for_mutations_of_the_corpus() {
                run_mutations(target());
            }
        })+

        #[test]
        fn every_target_has_tests_and_a_binary() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
            let files = std::fs::read_dir(directory).expect("the binaries").map(|file| file.expect("a file").path());
            let mut binaries: Vec<_> = files.map(|path| path.file_stem().expect("a name").to_owned()).collect();
            binaries.sort();
            assert_eq!(binaries, names);
        }
    };
}

targets! { exceptions, packages, wheel, wheel_files, wire }
