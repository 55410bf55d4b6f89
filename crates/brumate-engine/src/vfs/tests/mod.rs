//! Tests of the file system, one file per subject.

mod support;
mod tree;
