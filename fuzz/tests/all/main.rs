//! The properties of the fuzz targets, on the stored corpus and on mutations of it.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod mutation;

use std::path::Path;
use std::time::{Duration, Instant};

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

/// What each target runs for in the long tier.
const LONG_RUN: Duration = Duration::from_secs(60 * 60);
/// Growth of resident memory that is no leak, in bytes.
const SLACK: u64 = 256 << 20;

/// Names the input on stderr when its property does not hold. A line for each input would fill gigabytes in an hour.
struct FailingInput<'a> {
    target: &'static str,
    name: &'a str,
    round: u64,
}

impl Drop for FailingInput<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}/{}, mutation {}", self.target, self.name, self.round);
        }
    }
}

/// Memory of this process that is resident, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the kernel's numbers");
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number of pages");
    pages * 4096
}

/// Runs mutations of the corpus, and of those that were accepted, until the time is over; the process does not grow by it.
fn run_long(target: Target) {
    let seconds = std::env::var("BRUMATE_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let until = Instant::now() + seconds.map_or(LONG_RUN, Duration::from_secs);
    let (mut inputs, seed) = (corpus(target), seed());
    let own = inputs.len();
    let (mut round, mut first) = (0, None);
    while Instant::now() < until {
        for index in 0..inputs.len() {
            let (name, bytes) = inputs[index].clone();
            let (_, other) = &inputs[round as usize % inputs.len()];
            let mutated = mutation::mutated(&mut mutation::random(seed, &name, round), &bytes, other);
            let failing = FailingInput { target: target.name, name: &name, round };
            let accepted = (target.run)(&mutated);
            drop(failing);
            if accepted && inputs.len() < 4 * own {
                let name = format!("{name}+{round}");
                inputs.push((name, mutated));
            }
        }
        round += 1;
        if round == 100 {
            first = Some(resident());
        }
    }
    let (first, last) = (first.unwrap_or_default(), resident());
    eprintln!(
        "{}: {round} rounds of {} inputs, resident {} MiB, then {} MiB",
        target.name,
        inputs.len(),
        first >> 20,
        last >> 20
    );
    assert!(first == 0 || last <= first + SLACK, "{}: from {first} to {last} bytes", target.name);
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

            mod long_tier {
                #[test]
                #[ignore = "long tier"]
                fn holds_for_an_hour_without_growth() {
                    super::super::run_long(super::target());
                }
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

targets! { access_tokens, authorities, challenges, compile_gate, env_files, exceptions, http, packages, resumption, server_frames, server_lines, wheel, wheel_files, wire }
