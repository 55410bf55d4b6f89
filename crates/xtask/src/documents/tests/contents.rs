use super::messages;
use crate::documents::contents;
use crate::documents::markdown::{self, Document};

fn documents(contents: &str) -> Vec<Document> {
    let guides = ["README.md", "docs/a.md", "docs/reference/b.md"].map(|path| markdown::parse(path, ""));
    guides.into_iter().chain([markdown::parse(contents::PATH, contents)]).collect()
}

#[test]
fn each_document_of_the_guides_is_in_the_contents_once() {
    assert_eq!(messages(&contents::check(&documents("- [A](a.md)\n- [B](reference/b.md)\n"))), [""; 0]);
    let faults = messages(&contents::check(&documents("- [A](a.md)\n- [A](a.md)\n")));
    assert_eq!(
        faults,
        [
            "docs/SUMMARY.md:2: docs/a.md is in line 1 already",
            "docs/SUMMARY.md:1: docs/reference/b.md is missing: give it a line"
        ]
    );
}
