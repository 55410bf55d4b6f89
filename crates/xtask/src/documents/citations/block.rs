//! The citations of one block: lists of cases behind a file, files beside another, `in` a package.

use super::command::Commands;
use super::{Reference, Rules, Target, path, python_case, rust_test};
use crate::documents::fault::Fault;
use crate::documents::markdown::{Block, Document, Piece};
use crate::documents::repository::{Repository, parent};

/// Reads the code spans of a block in order.
pub(super) struct Reader<'a> {
    repository: &'a Repository,
    commands: &'a Commands,
    document: &'a Document,
    block: &'a Block,
    rules: Rules,
    /// Directory of the last file in this block: `checkpoints.rs`, `will.rs`.
    beside: Option<String>,
    /// The file whose cases are being listed: `session_cases.py`: `restart`, `killed`.
    list: Option<String>,
    references: Vec<Reference>,
    faults: Vec<Fault>,
}

/// What stands between a code span and the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Colon,
    Separator,
    In,
    Other,
}

impl Before {
    fn of(text: &str) -> Self {
        match text.trim() {
            ":" => Self::Colon,
            "," | "and" | ", and" => Self::Separator,
            "in" => Self::In,
            _ => Self::Other,
        }
    }
}

impl<'a> Reader<'a> {
    /// Returns a reader at the beginning of the block.
    pub(super) fn new(
        repository: &'a Repository,
        commands: &'a Commands,
        document: &'a Document,
        block: &'a Block,
        rules: Rules,
    ) -> Self {
        let (references, faults) = (Vec::new(), Vec::new());
        Self { repository, commands, document, block, rules, beside: None, list: None, references, faults }
    }

    /// Returns the block's references, and a fault for each citation of nothing.
    pub(super) fn read(mut self) -> (Vec<Reference>, Vec<Fault>) {
        for (index, cell) in self.block.cells.iter().enumerate() {
            let mut before = Before::Other;
            let mut last_file = None;
            self.list = None;
            for piece in cell {
                match piece {
                    Piece::Text(text) => before = Before::of(text),
                    Piece::Code { line, text } => {
                        self.continue_list(before, last_file.take());
                        last_file = self.span(index, *line, text, before);
                        before = Before::Other;
                    }
                }
            }
        }
        (self.references, self.faults)
    }

    /// Begins a list of cases after a file and a colon, and ends it after anything but a separator.
    fn continue_list(&mut self, before: Before, last_file: Option<String>) {
        match before {
            Before::Colon => self.list = last_file,
            Before::Separator => {}
            Before::In | Before::Other => self.list = None,
        }
    }

    /// Reads one code span; returns the file that it names, if it names one.
    fn span(&mut self, cell: usize, line: usize, text: &str, before: Before) -> Option<String> {
        if let Some(file) = self.list.clone() {
            if is_name(text) {
                self.case(cell, line, &file, text);
                return None;
            }
            self.list = None;
            if self.rules == Rules::Specification && !text.contains(['/', ':', '.', ' ']) {
                self.fault(line, text, &format!("this is no name of a case in {file}"));
                return None;
            }
        }
        if before == Before::In && self.repository.crates().any(|name| name == text) {
            self.name_package(text);
            return None;
        }
        if let Some(checked) = self.commands.check(text) {
            match checked {
                Ok(()) => self.refer(cell, line, text, Target::Command),
                Err(reason) => self.fault(line, text, &reason),
            }
            return None;
        }
        if self.is_test(text) {
            self.tests(cell, line, text);
            return None;
        }
        if path::is_citation(self.repository, self.rules, text) {
            return self.paths(cell, line, text);
        }
        None
    }

    fn case(&mut self, cell: usize, line: usize, file: &str, name: &str) {
        let is_python = file.ends_with(".py");
        let exists = if is_python {
            python_case::check(self.repository, file, name)
        } else {
            rust_test::check_function(self.repository, file, name)
        };
        let (file, case) = (file.to_owned(), name.to_owned());
        match exists {
            Ok(()) if is_python => self.refer(cell, line, name, Target::PythonCase { file, name: case }),
            Ok(()) => self.refer(cell, line, name, Target::RustCase { file, name: case }),
            Err(reason) => self.fault(line, name, &reason),
        }
    }

    /// Names the package of the test that was cited last.
    fn name_package(&mut self, name: &str) {
        if let Some(Reference { target: Target::RustTest { package, .. }, .. }) = self.references.last_mut() {
            *package = Some(name.to_owned());
        }
    }

    /// Whether the span is a path of Rust that must be a test.
    fn is_test(&self, text: &str) -> bool {
        let test = text.contains("::tests") || text.contains("tests::");
        let path = text.chars().all(|c| c.is_ascii_alphanumeric() || "_:{}, …".contains(c));
        text.contains("::") && ((test && path) || self.rules == Rules::Specification)
    }

    fn tests(&mut self, cell: usize, line: usize, text: &str) {
        for path in path::alternatives(text) {
            match rust_test::check(self.repository, &path) {
                Ok(()) => self.refer(cell, line, text, Target::RustTest { path, package: None }),
                Err(reason) => self.fault(line, text, &reason),
            }
        }
    }

    fn paths(&mut self, cell: usize, line: usize, text: &str) -> Option<String> {
        let mut last = None;
        for alternative in path::alternatives(text) {
            let places = path::Places { document: parent(&self.document.path), beside: self.beside.as_deref() };
            match path::resolve(self.repository, self.rules, &places, &alternative) {
                Ok(found) => {
                    self.refer(cell, line, text, Target::Path(found.clone()));
                    last = Some(found);
                }
                Err(reason) => self.fault(line, text, &reason),
            }
        }
        if let Some(file) = &last {
            self.beside = Some(if file.contains('.') { parent(file).to_owned() } else { file.clone() });
        }
        last
    }

    fn refer(&mut self, cell: usize, line: usize, text: &str, target: Target) {
        self.references.push(Reference {
            file: self.document.path.clone(),
            line,
            text: text.to_owned(),
            target,
            cell,
            long_tier: self.block.says("long tier"),
            rules: self.rules,
        });
    }

    fn fault(&mut self, line: usize, text: &str, reason: &str) {
        self.faults.push(Fault::new(&self.document.path, line, format!("`{text}`: {reason}")));
    }
}

/// Whether the text can be the name of a function.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
