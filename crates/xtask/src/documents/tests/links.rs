use super::{Fixture, messages};
use crate::documents::links;
use crate::documents::markdown::slug;

fn faults(text: &str) -> Vec<String> {
    let fixture = Fixture::new("docs/guide.md", text);
    messages(&links::check(&fixture.repository, std::slice::from_ref(&fixture.document)))
}

#[test]
fn links_that_lead_somewhere_are_accepted() {
    let text = "# The way of a `cell`\n\n[a](../Cargo.toml) [b](#the-way-of-a-cell) [c](https://example.com/x#y)\n\
                [d](../crates/demo/src/lib.rs#L1) [e](../tests/) <a id=\"here\"></a> [f](#here)\n\n[g]\n\n[g]: guide.md\n";
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn each_wrong_link_is_a_fault_with_its_line() {
    let text = "# One\n\n[a](missing.md)\n[b](#two) ![c](../Cargo.toml#part)\n\n- [d](../../out.md)\n- [e](/docs/guide.md)\n\
                - [f](http://nowhere) [g](ftp://example.com)\n";
    let faults = faults(text);
    for (line, target) in [
        (3, "missing.md"),
        (4, "#two"),
        (4, "../Cargo.toml#part"),
        (6, "../../out.md"),
        (7, "/docs/guide.md"),
        (8, "http://nowhere"),
        (8, "ftp://example.com"),
    ] {
        let start = format!("docs/guide.md:{line}: link `{target}`: ");
        assert!(faults.iter().any(|fault| fault.starts_with(&start)), "{start} is not in {faults:#?}");
    }
    assert_eq!(faults.len(), 7, "{faults:#?}");
}

#[test]
fn links_in_code_are_not_links() {
    assert_eq!(faults("`[a](missing.md)`\n\n    [b](missing.md)\n"), [""; 0]);
}

#[test]
fn anchors_are_github_s() {
    assert_eq!(slug("Where the time goes"), "where-the-time-goes");
    assert_eq!(slug("What `cargo xtask ci` runs, and when"), "what-cargo-xtask-ci-runs-and-when");
    assert_eq!(slug("Größe_1 – a.b"), "größe_1--ab");
    let faults = faults("# A\n\n# A\n\n[x](#a) [y](#a-1) [z](#a-2)\n");
    assert_eq!(faults.len(), 1, "{faults:#?}");
}
