//! Tests of the number of packages.

use crate::documents::counts::{faults_of, written};

#[test]
fn another_number_of_packages_is_a_fault_and_is_written_again() {
    let text = "124 packages, offline.\nWith 133 packages, or\n131\npackages. 119 other packages.\n";
    let faults = faults_of("README.md", text, 133);
    let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [1, 3, 4]);
    let written = written(text, 133);
    assert_eq!(written, "133 packages, offline.\nWith 133 packages, or\n133\npackages. 133 other packages.\n");
    assert!(faults_of("README.md", &written, 133).is_empty());
}

#[test]
fn numbers_of_other_things_are_left_alone() {
    let text = "the 15,000 packages, 12 packages, version 1.124 packages, v131 packages, 124 files, packages";
    assert!(faults_of("README.md", text, 133).is_empty());
    assert_eq!(written(text, 133), text);
}
