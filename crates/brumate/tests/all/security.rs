//! Hostile guests against the real binary.
//!
//! Most of them are in `tests/specs/security`, one directory each; the README beside them says what a case may contain.
//! What needs the host to act while the guest runs is in the submodules.

mod case;
mod grant;
mod run;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use case::Case;
use parking_lot::Mutex;

/// Runs at a time: more would only measure how they wait for each other.
const THREADS: usize = 3;

fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/specs/security")
}

/// Every directory of `tests/specs/security`.
fn cases() -> Vec<Case> {
    let mut directories: Vec<PathBuf> = std::fs::read_dir(specs())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.path())
        .collect();
    directories.sort();
    directories.iter().map(|directory| Case::read(directory).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Runs all cases whose name begins with one of `names`, several at a time; reports all that failed.
fn run_cases(wanted: impl Fn(&Case) -> bool) {
    // The modules of the interpreter are compiled once, before several processes want them at the same time.
    run::warm_up();
    let cases = cases();
    let runs: VecDeque<_> = cases
        .iter()
        .filter(|case| wanted(case))
        .flat_map(|case| case.runs.iter().map(move |run| (case, run)))
        .collect();
    assert!(!runs.is_empty(), "no case was selected");
    let (queue, failures) = (Mutex::new(runs), Mutex::new(Vec::new()));
    let lock = |failures: &Mutex<Vec<String>>, text| failures.lock().push(text);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().pop_front();
                    let Some((case, run)) = next else { break };
                    if let Err(text) = run::check(case, run) {
                        lock(&failures, text);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner();
    assert!(failures.is_empty(), "{} runs failed:\n\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn hostile_guests_end_as_they_should() {
    run_cases(|case| case.grant.is_none());
}

#[test]
fn grants_give_nothing_but_what_was_granted() {
    run_cases(|case| case.grant.is_some());
}
