use super::{Fixture, messages};
use crate::documents::listing::Listing;

/// Returns nextest's JSON for tests of `demo`: program, kind, name, whether it is ignored.
fn json(tests: &[(&str, &str, &str, bool)]) -> String {
    let suites = tests.iter().enumerate().map(|(index, (binary, kind, name, ignored))| {
        let status = if *ignored { "mismatch" } else { "matches" };
        format!(
            r#""{index}": {{"package-name": "demo", "binary-name": "{binary}", "kind": "{kind}", "testcases":
               {{"{name}": {{"kind": "test", "ignored": {ignored}, "filter-match": {{"status": "{status}"}}}}}}}}"#
        )
    });
    format!(r#"{{"test-count": 1, "rust-suites": {{{}}}}}"#, suites.collect::<Vec<_>>().join(","))
}

fn all() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    vec![
        ("demo", "lib", "wheel::tests::damage", false),
        ("all", "test", "science::numbers", false),
        ("all", "test", "live::index", true),
        ("all", "test", "mcp::session_cases::restart::mcp2", false),
    ]
}

fn faults(text: &str, tests: &[(&str, &str, &str, bool)]) -> Vec<String> {
    let fixture = Fixture::new("SPECIFICATION.md", text);
    let (references, missing) = fixture.cited();
    assert!(missing.is_empty(), "{:#?}", messages(&missing));
    let listing = Listing::read(&json(tests)).expect("JSON");
    messages(&listing.check(&fixture.repository, &references))
}

const CITED: &str = "`demo/tests/all/science.rs`: `numbers`; `wheel::tests::damage`; `session_cases.py`: `restart`";

#[test]
fn tests_that_are_run_prove_citations() {
    assert_eq!(faults(CITED, &all()), [""; 0]);
}

#[test]
fn a_test_that_is_not_listed_is_a_fault() {
    for (missing, count) in
        [("wheel::tests::damage", 1), ("science::numbers", 2), ("mcp::session_cases::restart::mcp2", 2)]
    {
        let rest: Vec<_> = all().into_iter().filter(|(_, _, name, _)| *name != missing).collect();
        let faults = faults(CITED, &rest);
        assert_eq!(faults.len(), count, "{missing}: {faults:#?}");
        assert!(faults.iter().all(|fault| fault.ends_with("no test of it is listed")), "{faults:#?}");
    }
}

#[test]
fn names_are_compared_whole() {
    let mut tests = all();
    tests[0].2 = "wheel::tests::damaged";
    tests[1].2 = "science_of_life::numbers";
    assert_eq!(faults(CITED, &tests).len(), 3);
}

#[test]
fn a_test_of_another_program_proves_nothing() {
    let mut tests = all();
    tests[1].0 = "other";
    assert_eq!(faults("`demo/tests/all/science.rs`", &tests).len(), 1);
}

#[test]
fn ignored_tests_count_in_the_long_tier_alone() {
    let ignored = faults("`demo/tests/all/live.rs`", &all());
    assert_eq!(ignored.len(), 1, "{ignored:#?}");
    assert!(ignored[0].contains("live::index"), "{ignored:#?}");
    assert_eq!(faults("`demo/tests/all/live.rs`, long tier", &all()), [""; 0]);
    assert_eq!(faults("`demo/tests/all/live.rs`, by hand", &all()).len(), 1);
}

#[test]
fn the_modules_of_the_long_tier_are_part_of_no_name() {
    let mut tests = all();
    tests[3] = ("all", "test", "mcp::session_cases::long_tier::restart", true);
    assert_eq!(faults("`session_cases.py`: `restart`, long tier", &tests), [""; 0]);
    assert_eq!(faults("`session_cases.py`: `restart`", &tests).len(), 2);
}

#[test]
fn a_list_of_nothing_is_refused() {
    assert!(Listing::read(r#"{"rust-suites": {}}"#).is_err());
    assert!(Listing::read("nothing").is_err());
}
