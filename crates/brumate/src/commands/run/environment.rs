//! The environment of a server: variables of the command line and of files. It gets no others.

use anyhow::{Context as _, anyhow, bail};
use brumate_mcp_clients::{MAX_ENV_FILE_BYTES, parse_env_file};

use crate::bounded_file::read_text;
use crate::cli::PythonServerOptions;

/// Returns the variables of `--env-file` and `--env-var`. Later ones take precedence, and those of `--env-var` over those of files.
///
/// # Errors
///
/// A file cannot be read, or a variable has no value. Values are not shown.
pub(crate) fn variables(options: &PythonServerOptions) -> anyhow::Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    let missing =
        |name: &str| bail!("`--env-var {name}`: the variable has no value here; write `{name}=VALUE`, or set it");
    for file in &options.env_file {
        let text = read_text(file, MAX_ENV_FILE_BYTES as u64).map_err(|error| anyhow!("`--env-file`: {error}"))?;
        variables.extend(parse_env_file(&text).with_context(|| format!("`--env-file {}`", file.display()))?);
    }
    variables.extend(named_variables("--env-var", &options.env, missing)?);
    Ok(unique(variables))
}

/// Returns the variables of an option whose values are `NAME=VALUE`, or `NAME` for the value that it has here. `missing` gets a name
/// without a value. Later ones take precedence.
///
/// # Errors
///
/// A value of the option is neither; it is not shown. Or the error of `missing`.
pub(crate) fn named_variables(
    option: &str,
    texts: &[String],
    missing: impl Fn(&str) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for text in texts {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text.as_str(), std::env::var(text).ok()),
        };
        if name.is_empty() || name.contains('\0') || value.as_ref().is_some_and(|value| value.contains('\0')) {
            bail!("`{option}`: expected NAME=VALUE or NAME");
        }
        match value {
            Some(value) => variables.push((name.to_owned(), value)),
            None => missing(name)?,
        }
    }
    Ok(unique(variables))
}

fn unique(variables: Vec<(String, String)>) -> Vec<(String, String)> {
    // The last value of a name counts, at the place of the first.
    let mut unique: Vec<(String, String)> = Vec::new();
    for (name, value) in variables {
        match unique.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => unique.push((name, value)),
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Mode};

    fn of(arguments: &[&str]) -> anyhow::Result<Vec<(String, String)>> {
        let line = ["brumate", "run"].iter().chain(arguments).chain(&["server.py"]);
        match Cli::try_parse_from(line).unwrap().mode {
            Mode::Run(arguments) => variables(&arguments.options),
            _ => unreachable!(),
        }
    }

    #[test]
    fn variables_of_the_command_line_take_precedence() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(".env");
        std::fs::write(&file, "A=file\nexport B=\"x y\"\n").unwrap();
        let file = file.to_str().unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            of(&["-v", "A=1=2", "-f", file, "-v", "C="]).unwrap(),
            [pair("A", "1=2"), pair("B", "x y"), pair("C", "")]
        );
        assert_eq!(
            of(&["-v", "CARGO_MANIFEST_DIR"]).unwrap(),
            [pair("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))]
        );
        for (arguments, part) in [
            (["-v", "NO_SUCH_VARIABLE_HERE"], "has no value here"),
            (["-v", "=secret"], "expected NAME=VALUE"),
            (["-f", "/nonexistent/.env"], "--env-file"),
        ] {
            let error = format!("{:#}", of(&arguments).unwrap_err());
            assert!(error.contains(part) && !error.contains("secret"), "{error}");
        }
    }
}
