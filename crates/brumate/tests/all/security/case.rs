//! `case.toml`: what is run and what must come of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

/// Longest a run may take when the case says nothing: far more than any limit that cases set.
const DEFAULT_MAX_SECONDS: u64 = 300;

/// A directory of `tests/specs/security`.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: String,
    /// The guest's program.
    pub(crate) program: PathBuf,
    /// Which grant the runs get.
    pub(crate) grant: Option<Access>,
    /// At least one.
    pub(crate) runs: Vec<Run>,
}

/// How the prepared directory is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Access {
    /// `HOST:/data:ro`.
    ReadOnly,
    /// `HOST:/data`.
    ReadWrite,
}

/// One start of the binary.
#[derive(Debug)]
pub(crate) struct Run {
    /// Arguments of the script.
    pub(crate) arguments: Vec<String>,
    /// What is expected, the case's own where the run says nothing.
    pub(crate) flags: Vec<String>,
    pub(crate) exit: Vec<i32>,
    pub(crate) stdout: Option<String>,
    pub(crate) stdout_contains: Vec<String>,
    pub(crate) stderr_contains: Vec<String>,
    pub(crate) max_output_bytes: usize,
    pub(crate) max_time: Duration,
}

/// The keys of a file and of its `[[run]]` tables.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Keys {
    flags: Option<Vec<String>>,
    exit: Option<OneOrMore>,
    stdout: Option<String>,
    stdout_contains: Option<Vec<String>>,
    stderr_contains: Option<Vec<String>>,
    max_output_bytes: Option<usize>,
    max_seconds: Option<u64>,
    // Of `[[run]]` only.
    arguments: Option<Vec<String>>,
    // Of the file only.
    grant: Option<Access>,
    run: Option<Vec<Keys>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(i32),
    More(Vec<i32>),
}

impl Case {
    /// Reads the case of a directory.
    ///
    /// # Errors
    /// When `case.toml` or `main.py` is missing, or a key is unknown or misplaced.
    pub(crate) fn read(directory: &Path) -> Result<Case, String> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = directory.join("case.toml");
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let program = directory.join("main.py");
        if !program.is_file() {
            return Err(format!("{}: there is no main.py", directory.display()));
        }
        let mut keys: Keys = toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let misplaced = |what: &str| Err(format!("{}: `{what}` is misplaced", file.display()));
        if keys.arguments.is_some() {
            return misplaced("arguments");
        }
        let runs = keys.run.take().unwrap_or_else(|| vec![Keys::default()]);
        if runs.is_empty() {
            return Err(format!("{}: no run", file.display()));
        }
        if runs.iter().any(|run| run.grant.is_some() || run.run.is_some()) {
            return misplaced("grant` or `run");
        }
        let runs = runs.into_iter().map(|run| Run::new(run, &keys)).collect();
        Ok(Case { name, program, grant: keys.grant, runs })
    }
}

impl Run {
    fn new(own: Keys, case: &Keys) -> Run {
        let exit = match own.exit.or_else(|| case.exit.clone()) {
            None => vec![0],
            Some(OneOrMore::One(status)) => vec![status],
            Some(OneOrMore::More(statuses)) => statuses,
        };
        let seconds = own.max_seconds.or(case.max_seconds).unwrap_or(DEFAULT_MAX_SECONDS);
        Run {
            arguments: own.arguments.unwrap_or_default(),
            flags: own.flags.or_else(|| case.flags.clone()).unwrap_or_default(),
            exit,
            stdout: own.stdout.or_else(|| case.stdout.clone()),
            stdout_contains: own.stdout_contains.or_else(|| case.stdout_contains.clone()).unwrap_or_default(),
            stderr_contains: own.stderr_contains.or_else(|| case.stderr_contains.clone()).unwrap_or_default(),
            max_output_bytes: own.max_output_bytes.or(case.max_output_bytes).unwrap_or(usize::MAX),
            max_time: Duration::from_secs(seconds),
        }
    }
}

#[test]
fn a_directory_without_a_case_and_unknown_keys_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = |text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(directory.path().join("case.toml"), text).unwrap();
        }
        Case::read(directory.path()).unwrap_err()
    };
    assert!(error(None).contains("case.toml"));
    assert!(error(Some("exit = 1")).contains("no main.py"));
    std::fs::write(directory.path().join("main.py"), "").unwrap();
    for (text, part) in [
        ("exti = 1", "unknown field `exti`"),
        ("[[run]]\nexti = 1", "unknown field `exti`"),
        ("arguments = []", "`arguments` is misplaced"),
        ("[[run]]\ngrant = \"read-only\"", "misplaced"),
        ("grant = \"writable\"", "unknown variant"),
        ("run = []", "no run"),
    ] {
        let found = error(Some(text));
        assert!(found.contains(part), "{text}: {found}");
    }
    std::fs::write(directory.path().join("case.toml"), "exit = [3, 4]\n[[run]]\n[[run]]\nexit = 5").unwrap();
    let case = Case::read(directory.path()).unwrap();
    assert_eq!(case.runs.iter().map(|run| run.exit.clone()).collect::<Vec<_>>(), [vec![3, 4], vec![5]]);
}
