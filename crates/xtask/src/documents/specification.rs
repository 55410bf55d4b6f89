//! `SPECIFICATION.md`: each promise names what holds it.

use super::citations::{Citations, Rules};
use super::fault::Fault;
use super::markdown::{Document, says};

/// The file with the promises.
pub(crate) const PATH: &str = "SPECIFICATION.md";

/// What was found in the tables of the specification.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    /// Number of rows.
    pub(crate) count: usize,
    /// Lines of the rows that say "no test".
    pub(crate) without_test: Vec<usize>,
    pub(crate) faults: Vec<Fault>,
}

/// Checks that the last cell of each row cites a test or a command, or says "no test".
///
/// Citations of nothing are not reported here: they are faults of their own.
pub(crate) fn check(document: &Document, citations: &Citations<'_>) -> Promises {
    let mut promises = Promises::default();
    for row in document.blocks.iter().filter(|block| block.is_row) {
        promises.count += 1;
        let (references, missing) = citations.of_block(document, row, Rules::Specification);
        let last = row.cells.len().saturating_sub(1);
        let is_held = references.iter().any(|reference| reference.cell == last && reference.target.holds());
        if is_held {
            continue;
        }
        if row.cells.last().is_some_and(|cell| says(cell, "no test")) {
            promises.without_test.push(row.line);
        } else if missing.is_empty() {
            let message = "the last cell cites no test and no command: cite one, or write \"no test\"";
            promises.faults.push(Fault::new(&document.path, row.line, message));
        }
    }
    if promises.count == 0 {
        promises.faults.push(Fault::new(&document.path, 1, "there is no table of promises"));
    }
    promises
}
