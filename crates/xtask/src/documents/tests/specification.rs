use super::{Fixture, messages};
use crate::documents::specification::check;

fn promises(rows: &str) -> (usize, Vec<usize>, Vec<String>) {
    let fixture = Fixture::new("SPECIFICATION.md", &format!("# S\n\n| promise | held by |\n|---|---|\n{rows}"));
    let promises = check(&fixture.document, &fixture.citations());
    (promises.count, promises.without_test, messages(&promises.faults))
}

#[test]
fn each_row_is_held() {
    let rows = "| a | `wheel::tests` |\n| b | `cargo xtask bench --only cold` |\n| c | `--ready`, no test |\n";
    assert_eq!(promises(rows), (3, vec![7], vec![]));
}

#[test]
fn a_row_that_cites_nothing_is_a_fault() {
    for cell in ["", "by hand", "`--ready`", "`Cargo.toml`"] {
        let (_, _, faults) = promises(&format!("| a | `wheel::tests` |\n| `wheel::tests` | {cell} |\n"));
        assert_eq!(faults.len(), 1, "{cell}: {faults:#?}");
        assert!(faults[0].starts_with("SPECIFICATION.md:6: "), "{faults:#?}");
    }
}

#[test]
fn a_specification_without_promises_is_a_fault() {
    let fixture = Fixture::new("SPECIFICATION.md", "# S\n");
    assert_eq!(check(&fixture.document, &fixture.citations()).faults.len(), 1);
}
