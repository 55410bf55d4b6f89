//! A file with the environment variables of a server that another program starts. Command lines are seen by every user of the machine.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use brumate_mcp_clients::{MAX_ENV_FILE_BYTES, parse_env_file};
use tempfile::NamedTempFile;

use super::print_error;
use crate::bounded_file::read_text;
use crate::exit_status;

/// The first argument of this program when it sets variables and becomes another program: `FILE PROGRAM ARGUMENTS`.
pub(crate) const WITH_VARIABLES: &str = "__with-variables";

/// The file, which this user alone can read. It is removed when this is dropped.
pub(crate) struct VariablesFile(Option<NamedTempFile>);

impl VariablesFile {
    /// Writes variables to a new file; makes none if there are none.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or a name cannot stand in it.
    pub(crate) fn new(variables: &[(String, String)]) -> anyhow::Result<Self> {
        if variables.is_empty() {
            return Ok(Self(None));
        }
        let mut text = String::new();
        for (name, value) in variables {
            text.push_str(&format!("{name}=\"{}\"\n", escaped(value)));
        }
        match parse_env_file(&text) {
            Ok(parsed) if parsed == variables => {}
            Ok(_) => bail!("`--env-var`: a name has other characters than letters, digits, `_`, `.` and `-`"),
            Err(error) => return Err(error).context("`--env-var`"),
        }
        let write = || {
            // It has the permissions 0600.
            let mut file = tempfile::Builder::new().prefix("brumate-variables-").tempfile()?;
            file.write_all(text.as_bytes())?;
            std::io::Result::Ok(file)
        };
        Ok(Self(Some(write().context("the server's variables cannot be written to a file")?)))
    }

    /// Returns its path. `None` if there are no variables.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(NamedTempFile::path)
    }
}

/// Returns a value as it stands between double quotes.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for char in value.chars() {
        match char {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\\' | '"' | '$' => text.extend(['\\', char]),
            _ => text.push(char),
        }
    }
    text
}

/// Becomes another program with the variables of a file, if the command line says so. Returns only if that fails.
pub(crate) fn internal_main(arguments: &[OsString]) -> Option<ExitCode> {
    let [first, file, program, rest @ ..] = arguments else { return None };
    if first != WITH_VARIABLES {
        return None;
    }
    print_error(&format!("brumate: {:#}", become_program(Path::new(file), program, rest)));
    Some(ExitCode::from(exit_status::FAILURE))
}

fn become_program(file: &Path, program: &OsStr, arguments: &[OsString]) -> anyhow::Error {
    let variables = read_text(file, MAX_ENV_FILE_BYTES as u64).map_err(anyhow::Error::msg);
    match variables.and_then(|text| Ok(parse_env_file(&text)?)) {
        Ok(variables) => {
            let error = Command::new(program).args(arguments).envs(variables).exec();
            anyhow::Error::from(error).context(format!("cannot start {}", program.display()))
        }
        Err(error) => error.context("cannot read the server's variables"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn variables_are_read_back_and_seen_by_nobody_else() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = [
            pair("A", ""),
            pair("B_1", " two  words # no comment "),
            pair("C", "quotes \" ' ` $HOME ${A} \\n \\\\"),
            pair("D.d-d", "lines\nand\r\nmore\rand\ttabs"),
            pair("E", "\u{e9}\u{1f469}\u{1b}[0m"),
        ];
        let file = VariablesFile::new(&variables).unwrap();
        let path = file.path().unwrap().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(parse_env_file(&std::fs::read_to_string(&path).unwrap()).unwrap(), variables);
        drop(file);
        assert!(!path.exists());
        assert!(VariablesFile::new(&[]).unwrap().path().is_none());
        for name in ["a b", "1", "", "a\nB", "export"] {
            let error = VariablesFile::new(&[pair(name, "secret"), pair("export", "secret")]).err();
            if let Some(error) = error {
                assert!(!format!("{error:#}").contains("secret"), "{error:#}");
            } else {
                assert_eq!(name, "export");
            }
        }
    }
}
