//! The command line of a `brumate` that another command starts or writes down.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _, value_parser};

use super::{Cli, IsolateArg, PythonServerOptions};
use crate::cli_scope;

/// Option before the name of a variable.
pub(crate) const VARIABLE: &str = "--env-var";

/// Returns the shared options that were given on the command line and that the command `mode` takes as well. Paths are absolute: the
/// process that gets them may have another working directory.
pub(crate) fn shared_options(matches: &ArgMatches, mode: &str) -> Vec<OsString> {
    let Some((_, given)) = matches.subcommand() else { return Vec::new() };
    let mut line = Vec::new();
    for argument in Cli::command().get_arguments().filter(|argument| argument.is_global_set()) {
        let id = argument.get_id().as_str();
        let is_given = given.value_source(id) == Some(ValueSource::CommandLine);
        let Some(flag) = argument.get_long().filter(|_| is_given && cli_scope::takes(mode, id)) else { continue };
        let flag = OsString::from(format!("--{flag}"));
        let takes_values = argument.get_action().takes_values();
        let is_path = argument.get_value_parser().type_id() == value_parser!(PathBuf).type_id();
        match given.get_raw(id).filter(|_| takes_values) {
            None => line.push(flag),
            Some(values) => {
                for value in values {
                    line.push(flag.clone());
                    // A value of `--find-links` may be the address of a page; one of `--mount` begins with a directory.
                    let is_directory =
                        id == "mount" || (id == "find_links" && !value.to_string_lossy().contains("://"));
                    line.push(if is_path || is_directory {
                        absolute(Path::new(value)).into()
                    } else {
                        value.to_owned()
                    });
                }
            }
        }
    }
    line
}

/// Returns the options of a server, with absolute paths. Variables stand there by name: their values are in the environment.
pub(crate) fn server_options(options: &PythonServerOptions, variables: &[(String, String)]) -> Vec<OsString> {
    let mut line: Vec<OsString> = Vec::new();
    let mut push = |flag: &str, value: OsString| line.extend([flag.into(), value]);
    if let Some(transport) = options.transport {
        push("--transport", transport.name().into());
    }
    for requirement in &options.with {
        push("--with", requirement.into());
    }
    for directory in &options.with_editable {
        push("--with-editable", absolute(directory).into());
    }
    for (name, _) in variables {
        push(VARIABLE, name.into());
    }
    if options.isolate == IsolateArg::Session {
        push("--isolate", "session".into());
    }
    line
}

/// Returns an absolute path; the path itself if there is no working directory.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns a word of a command line for a file of JSON, which has no other texts than UTF-8.
///
/// # Errors
///
/// It is no UTF-8.
pub(crate) fn text(word: &OsString) -> anyhow::Result<String> {
    word.to_str().map(str::to_owned).ok_or_else(|| anyhow!("`{}` is not UTF-8 text", word.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::super::Mode;
    use super::*;

    #[test]
    fn given_options_are_forwarded() {
        let line = [
            "brumate",
            "--memory",
            "2GiB",
            "dev",
            "--offline",
            "--find-links",
            "wheels",
            "--find-links",
            "/more",
            "--verbose",
            "--with",
            "rich<15",
            "--mount",
            "data:/data:ro",
            "-v",
            "A=secret",
            "-t",
            "sse",
            "--isolate",
            "session",
            "server.py:app",
        ];
        let matches = cli_scope::scoped(Cli::command()).try_get_matches_from(line).unwrap();
        let here = |path: &str| absolute(Path::new(path)).display().to_string();
        let text = |line: Vec<OsString>| line.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>();
        let shared = text(shared_options(&matches, "run"));
        for words in [
            &["--memory", "2GiB"][..],
            &["--offline"],
            &["--find-links", &here("wheels")],
            &["--find-links", "/more"],
            &["--verbose"],
            &["--mount", &here("data:/data:ro")],
        ] {
            assert!(shared.windows(words.len()).any(|window| window == words), "{words:?} in {shared:?}");
        }
        assert_eq!(shared.len(), 10, "{shared:?}");
        let Mode::Dev(arguments) = Cli::from_arg_matches(&matches).unwrap().mode else { panic!("no `dev`") };
        let variables = [("A".to_owned(), "secret".to_owned())];
        let options = text(server_options(&arguments.options, &variables));
        let expected = ["--transport", "sse", "--with", "rich<15", "--env-var", "A", "--isolate", "session"];
        assert_eq!(options, expected);
        // What is forwarded is a command line of `run`.
        let line =
            ["brumate", "run"].map(str::to_owned).into_iter().chain(shared).chain(options).chain(["s.py".to_owned()]);
        let matches = cli_scope::scoped(Cli::command()).try_get_matches_from(line).unwrap();
        assert_eq!(cli_scope::check(&Cli::command(), &matches), Ok(()));
    }
}
