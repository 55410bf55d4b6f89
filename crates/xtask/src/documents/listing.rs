//! Cited tests are run: proof by the list of tests that `cargo nextest list` prints.

use super::citations::{Reference, Rules, Target, has_tests};
use super::fault::Fault;
use super::repository::{Repository, below_crates};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The output of `cargo nextest list --message-format json`, as far as it is used.
#[derive(Debug, Deserialize)]
pub(crate) struct Listing {
    #[serde(rename = "rust-suites")]
    suites: BTreeMap<String, Suite>,
}

/// One program of tests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Suite {
    package_name: String,
    binary_name: String,
    /// `lib`, `bin`, `test` and so on.
    kind: String,
    #[serde(default)]
    testcases: BTreeMap<String, TestCase>,
}

/// One test.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TestCase {
    ignored: bool,
    #[serde(default)]
    filter_match: FilterMatch,
}

/// Whether the profile's default filter lets a test in.
#[derive(Debug, Default, Deserialize)]
struct FilterMatch {
    #[serde(default)]
    status: String,
}

impl TestCase {
    fn is_run(&self) -> bool {
        !self.ignored && self.filter_match.status != "mismatch"
    }
}

/// Which tests prove a citation.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selection {
    package: Option<String>,
    /// Tests of the crate's own sources, or of a program in `tests/`; both if it is none.
    integration: Option<bool>,
    /// Name of the program in `tests/`.
    binary: Option<String>,
    /// The module that the tests are in, or the test.
    start: String,
    /// Names that follow one another somewhere in the test's path.
    within: Vec<String>,
}

impl Listing {
    /// Reads nextest's JSON.
    ///
    /// # Errors
    /// If it is malformed or lists nothing.
    pub(crate) fn read(json: &str) -> Result<Self> {
        let listing: Self = serde_json::from_str(json).context("the list of tests is not nextest's JSON")?;
        ensure!(listing.suites.values().any(|suite| !suite.testcases.is_empty()), "the list of tests is empty");
        Ok(listing)
    }

    /// Returns a fault for each citation of a test that is not run.
    ///
    /// Ignored tests count only where the row or paragraph says "long tier".
    pub(crate) fn check(&self, repository: &Repository, references: &[Reference]) -> Vec<Fault> {
        let mut faults = Vec::new();
        for reference in references {
            let Some(selection) = Selection::of(repository, reference) else {
                continue;
            };
            let tests: Vec<(&str, &TestCase)> = self.select(&selection).collect();
            let message = if tests.is_empty() {
                "no test of it is listed".to_owned()
            } else if tests.iter().any(|(_, test)| test.is_run()) || reference.long_tier {
                continue;
            } else {
                format!("only tests that are not run ({}); where they are, write \"long tier\"", tests[0].0)
            };
            faults.push(Fault::new(&reference.file, reference.line, format!("`{}`: {message}", reference.text)));
        }
        faults
    }

    fn select<'a>(&'a self, selection: &'a Selection) -> impl Iterator<Item = (&'a str, &'a TestCase)> {
        let suites = self.suites.values().filter(|suite| selection.includes_suite(suite));
        let tests = suites.flat_map(|suite| suite.testcases.iter());
        tests.map(|(name, test)| (name.as_str(), test)).filter(|(name, _)| selection.includes_test(name))
    }
}

impl Selection {
    /// Returns what proves the reference; none if it needs no test.
    fn of(repository: &Repository, reference: &Reference) -> Option<Self> {
        match &reference.target {
            Target::Path(path) => {
                let selection = Self::of_path(path)?;
                let text = || repository.text(path).unwrap_or_default();
                let is_needed = reference.rules == Rules::Specification
                    || path.ends_with("cases.py")
                    || path.contains("/tests/") && path.ends_with(".rs") && has_tests(&text());
                is_needed.then_some(selection)
            }
            Target::RustTest { path, package } => {
                Some(Self { package: package.clone(), start: path.clone(), ..Self::default() })
            }
            Target::RustCase { file, name } => Some(Self { within: vec![name.clone()], ..Self::of_path(file)? }),
            Target::PythonCase { file, name } => {
                let within = vec![python_module(file)?.to_owned(), name.clone()];
                Some(Self { within, ..Self::default() })
            }
            Target::Command => None,
        }
    }

    /// Returns the tests in a file or directory of a crate, or those that run a module of cases in Python.
    fn of_path(path: &str) -> Option<Self> {
        if let Some(module) = python_module(path) {
            return Some(Self { within: vec![module.to_owned()], ..Self::default() });
        }
        let (package, rest) = below_crates(path)?.split_once('/')?;
        let package = Some(package.to_owned());
        if let Some(file) = rest.strip_prefix("src/") {
            return Some(Self { package, integration: Some(false), start: module(file), ..Self::default() });
        }
        if rest == "tests" {
            return Some(Self { package, integration: Some(true), ..Self::default() });
        }
        let (binary, file) = match rest.strip_prefix("tests/")?.split_once('/') {
            Some((binary, file)) => (binary, file),
            None => (rest.strip_prefix("tests/")?, ""),
        };
        let binary = Some(binary.strip_suffix(".rs").unwrap_or(binary).to_owned());
        Some(Self { package, integration: Some(true), binary, start: module(file), ..Self::default() })
    }

    fn includes_suite(&self, suite: &Suite) -> bool {
        let equal = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        equal(&self.package, &suite.package_name)
            && equal(&self.binary, &suite.binary_name)
            && self.integration.is_none_or(|integration| integration == (suite.kind == "test"))
    }

    fn includes_test(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.start);
        let starts = self.start.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        // Modules of this name say when their tests are run, and belong to no test's name.
        let segments: Vec<&str> = name.split("::").filter(|segment| *segment != "long_tier").collect();
        starts && (self.within.is_empty() || segments.windows(self.within.len()).any(|part| part == self.within))
    }
}

/// Returns the module path of a source file below `src/` or `tests/<program>/`; empty for the root of a crate.
fn module(file: &str) -> String {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "main" | "lib" | "mod" => String::new(),
        stem => stem.replace('/', "::"),
    }
}

/// Returns the name of a module of cases: `session_cases` for `tests/python/session_cases.py`.
fn python_module(path: &str) -> Option<&str> {
    let module = path.strip_prefix("tests/python/")?.strip_suffix(".py")?;
    module.ends_with("cases").then_some(module)
}
