use super::{Fixture, messages};
use crate::documents::citations::{Target, bench_sections};

fn faults(path: &str, text: &str) -> Vec<String> {
    messages(&Fixture::new(path, text).cited().1)
}

fn targets(text: &str) -> Vec<Target> {
    let (references, faults) = Fixture::new("SPECIFICATION.md", text).cited();
    assert!(faults.is_empty(), "{:#?}", messages(&faults));
    references.into_iter().map(|reference| reference.target).collect()
}

fn path(path: &str) -> Target {
    Target::Path(path.into())
}

#[test]
fn files_are_found_from_the_root_below_crates_and_beside_another() {
    let found =
        targets("`demo/tests/all/science.rs`, `live.rs`; `crates/demo/src/wheel/{mod,tests}.rs`, `tests/python/`");
    let expected = [
        path("crates/demo/tests/all/science.rs"),
        path("crates/demo/tests/all/live.rs"),
        path("crates/demo/src/wheel/mod.rs"),
        path("crates/demo/src/wheel/tests.rs"),
        path("tests/python"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn tests_and_cases_are_found() {
    let found =
        targets("`wheel::tests`, `wheel::tests::{damage}` in `demo`; `session_cases.py`: `restart`; `cargo xtask ci`");
    let test =
        |path: &str, package: Option<&str>| Target::RustTest { path: path.into(), package: package.map(Into::into) };
    let case = Target::PythonCase { file: "tests/python/session_cases.py".into(), name: "restart".into() };
    let expected = [
        test("wheel::tests", None),
        test("wheel::tests::damage", Some("demo")),
        path("tests/python/session_cases.py"),
        case,
        Target::Command,
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_does_not_exist_is_a_fault_with_its_line() {
    for missing in [
        "crates/demo/tests/all/absent.rs",
        "demo/tests/science.rs",
        "absent.py",
        "wheel::tests::absent",
        "wheel::absent",
        "some/where",
        "cargo xtask absent",
        "cargo xtask ci --absent",
        "cargo xtask bench --only cold absent",
        "cargo run -p absent",
        "cargo run --example absent",
    ] {
        let faults = faults("SPECIFICATION.md", &format!("One.\n\nTwo\n`{missing}`.\n"));
        assert_eq!(faults.len(), 1, "{missing}: {faults:#?}");
        assert!(faults[0].starts_with(&format!("SPECIFICATION.md:4: `{missing}`: ")), "{faults:#?}");
    }
}

#[test]
fn a_moved_file_is_named() {
    let faults = faults("SPECIFICATION.md", "`demo/tests/science.rs`");
    assert!(faults[0].contains("crates/demo/tests/all/science.rs"), "{faults:#?}");
}

#[test]
fn a_case_must_be_written_and_run() {
    let text = "`session_cases.py`: `restart`, `absent`, `forgotten`, `rest…`; `science.rs`";
    let faults = faults("SPECIFICATION.md", text);
    assert_eq!(faults.len(), 4, "{faults:#?}");
    assert!(faults[0].contains("`absent`: tests/python/session_cases.py defines no such case"), "{faults:#?}");
    assert!(faults[1].contains("`forgotten`: no test in Rust runs this case"), "{faults:#?}");
    assert!(faults[2].contains("`rest…`: this is no name of a case"), "{faults:#?}");
    assert!(faults[3].contains("`science.rs`: there is no such file"), "{faults:#?}");
}

#[test]
fn a_test_is_looked_for_in_its_file() {
    assert_eq!(faults("SPECIFICATION.md", "`demo/tests/all/science.rs`: `numbers`"), [""; 0]);
    assert_eq!(faults("SPECIFICATION.md", "`demo/tests/all/science.rs`: `letters`").len(), 1);
}

#[test]
fn guides_may_name_files_of_other_projects() {
    let text = "`numpy/.libs/x.so`, `test_slerp.py`, `Image::with_layers`, `/mcp`, `text/plain`, `crates/<name>/src`";
    assert_eq!(faults("docs/science.md", text), [""; 0]);
    let text = "`crates/absent`, `absent.rs`, `wheel::tests::absent`\n\n    cargo xtask bench --only absent\n";
    assert_eq!(faults("docs/science.md", text).len(), 4);
    assert_eq!(faults("README.md", "`absent.py` and `absent/`").len(), 2);
}

#[test]
fn sections_are_the_keys_of_the_dictionary() {
    let sections =
        bench_sections("A = {\n    \"no\": 1,\n}\nSECTIONS = {\n    \"cold\": cold,\n}\nB = {\n    \"no\": 1,\n}\n");
    assert_eq!(sections.into_iter().collect::<Vec<_>>(), ["cold"]);
}
