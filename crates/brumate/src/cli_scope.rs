//! The options of each command. clap declares shared options once, for all commands; each command shows and accepts those that it
//! uses.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// The commands, each with the groups of shared options that it takes: names of [`GROUPS`].
const MODES: [(&str, &[&str]); 22] = [
    ("stdio", &["general", "mounts", "run", "server", "packages", "engine"]),
    ("pipe", &["general", "mounts", "run", "server", "packages"]),
    ("streamable-http", &["general", "mounts", "run", "server", "packages", "http", "jupyter", "engine"]),
    ("streamable-http-stateless", &["general", "mounts", "run", "server", "packages", "http", "jupyter", "engine"]),
    ("sse", &["general", "mounts", "run", "server", "packages", "http", "jupyter", "engine"]),
    ("exec", &["general", "mounts", "run", "packages"]),
    ("test", &["general", "mounts", "run", "packages"]),
    ("run", &["general", "mounts", "run", "packages", "http"]),
    ("dev", &["general", "mounts", "run", "packages"]),
    ("install", &["general", "mounts", "run", "packages"]),
    ("kernel", &["general", "mounts", "run", "sessions", "packages"]),
    ("example", &["general", "run", "packages"]),
    ("warmup", &["general", "run", "packages"]),
    ("lock", &["general", "packages"]),
    ("bundle", &["general", "packages"]),
    ("sessions", &["general", "data"]),
    ("doctor", &["general", "run", "data", "packages", "engine"]),
    ("token", &["general"]),
    ("health", &[]),
    ("client", &[]),
    ("completions", &[]),
    ("man", &[]),
];

/// Groups of shared options: name, and ids of the options.
const GROUPS: [(&str, &[&str]); 10] = [
    ("general", &["cache_dir", "no_learned_images", "verbose", "disable_networking"]),
    ("mounts", &["mount", "allow_net"]),
    ("run", &["timeout", "cpu_timeout", "grace", "memory", "files", "mount_limit", "output_limit", "require_jail"]),
    ("data", &["data_dir"]),
    (
        "sessions",
        &["data_dir", "ready", "max_sessions", "sessions_disk", "hibernate_after", "session_timeout", "durability"],
    ),
    (
        "server",
        &[
            "max_concurrent",
            "ready",
            "ready_timeout",
            "return_mode",
            "no_figures",
            "tools",
            "data_dir",
            "input_dir",
            "max_live_sessions",
            "max_sessions",
            "sessions_disk",
            "hibernate_after",
            "session_timeout",
            "input_timeout",
            "durability",
        ],
    ),
    (
        "packages",
        &[
            "deps",
            "index",
            "extra_index",
            "find_links",
            "pyodide",
            "keyring_provider",
            "constraint",
            "exclude_newer",
            "only_binary",
            "offline",
            "only_bundled",
            "allow_urls",
            "infer",
            "allow_package",
            "deny_package",
            "require_hashes",
            "package_policy",
            "locked",
        ],
    ),
    (
        "http",
        &[
            "host",
            "port",
            "path",
            "allow_host",
            "allow_origin",
            "public_url",
            "trusted_proxy",
            "auth_tokens",
            "auth_issuer",
            "audience",
            "required_scope",
            "introspect",
            "introspect_client",
            "introspect_secret_file",
            "allow_unauthenticated",
            "tls_cert",
            "tls_key",
            "event_store",
            "drain_timeout",
        ],
    ),
    ("jupyter", &["jupyter", "jupyter_active_output"]),
    ("engine", &["engine", "python"]),
];

/// Returns whether a shared option was not given, neither before nor after the command, nor by a variable.
pub(crate) fn is_default(matches: &ArgMatches, id: &str) -> bool {
    let inner = matches.subcommand().map_or(matches, |(_, inner)| inner);
    [matches, inner].iter().all(|matches| matches.value_source(id) == Some(ValueSource::DefaultValue))
}

/// Returns whether a command takes the option with this id.
pub(crate) fn takes(mode: &str, id: &str) -> bool {
    let groups = MODES.iter().find(|(name, _)| *name == mode).map_or(&[][..], |(_, groups)| groups);
    GROUPS.iter().any(|(name, ids)| groups.contains(name) && ids.contains(&id))
}

/// Returns the command line for help: each command shows the options that it takes, and the top level shows the commands.
pub(crate) fn scoped(mut command: Command) -> Command {
    let shared: Vec<Arg> = command.get_arguments().filter(|argument| argument.is_global_set()).cloned().collect();
    for (mode, _) in MODES {
        // As with the `mcp` command, `-v` names a variable there.
        let has_variables = ["run", "dev", "install"].contains(&mode);
        let own = shared.iter().map(|argument| {
            let id = argument.get_id().as_str();
            let own = argument.clone().hide(argument.is_hide_set() || !takes(mode, id));
            if id == "verbose" && has_variables { own.short(None) } else { own }
        });
        command = command.mut_subcommand(mode, |subcommand| subcommand.args(own));
    }
    command.mut_args(|argument| if argument.is_global_set() { argument.hide(true) } else { argument })
}

/// Checks that the command takes each shared option of the command line. Environment variables are not checked: they may be for
/// another command.
///
/// # Errors
///
/// A text with the option and the commands that take it.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> Result<(), String> {
    let Some((mode, inner)) = matches.subcommand() else { return Ok(()) };
    for argument in command.get_arguments().filter(|argument| argument.is_global_set()) {
        let id = argument.get_id().as_str();
        let given = |matches: &ArgMatches| matches.value_source(id) == Some(ValueSource::CommandLine);
        if takes(mode, id) || !(given(matches) || given(inner)) {
            continue;
        }
        let modes: Vec<&str> = MODES.iter().map(|(name, _)| *name).filter(|name| takes(name, id)).collect();
        let flag = argument.get_long().unwrap_or(id);
        return Err(format!("`--{flag}` is not an option of `{mode}`; it belongs to {}", modes.join(", ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn each_shared_option_belongs_to_a_mode_and_each_mode_is_known() {
        let command = Cli::command();
        let shared: Vec<&str> = command
            .get_arguments()
            .filter(|argument| argument.is_global_set())
            .map(|argument| argument.get_id().as_str())
            .collect();
        for id in &shared {
            assert!(GROUPS.iter().any(|(_, ids)| ids.contains(id)), "{id} is in no group");
        }
        for (name, ids) in GROUPS {
            for id in ids {
                assert!(shared.contains(id), "{name}: there is no option {id}");
            }
        }
        let mut modes: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let mut known = MODES.map(|(name, _)| name).to_vec();
        modes.sort_unstable();
        known.sort_unstable();
        assert_eq!(modes, known);
    }

    #[test]
    fn options_of_other_modes_are_refused() {
        let check = |line: &[&str]| {
            let command = scoped(Cli::command());
            let matches = command.clone().try_get_matches_from([&["brumate"], line].concat()).unwrap();
            super::check(&command, &matches)
        };
        for line in [
            &["exec", "--memory", "1GiB", "x.py"][..],
            &["--memory", "1GiB", "stdio"],
            &["--timeout", "1s", "exec", "x.py"],
            &["sessions", "list", "--data-dir", "/x"],
            &["sse", "--port", "1"],
            &["stdio", "--disable-networking"],
        ] {
            assert_eq!(check(line), Ok(()), "{line:?}");
        }
        for (line, flag) in [
            (&["exec", "--port", "1", "x.py"][..], "--port"),
            (&["--port", "1", "exec", "x.py"], "--port"),
            (&["exec", "--tools", "all", "x.py"], "--tools"),
            (&["token", "--memory", "1GiB", "name"], "--memory"),
            (&["sessions", "list", "--deps", "numpy"], "--deps"),
            (&["sessions", "--tools", "run", "list"], "--tools"),
        ] {
            let error = check(line).unwrap_err();
            assert!(error.contains(flag) && error.contains("is not an option of"), "{error}");
        }
    }

    /// Lines of a terminal window of usual size.
    const MAX_HELP_LINES: usize = 50;

    #[test]
    fn short_help_fits_a_screen() {
        let help = scoped(Cli::command()).render_help().to_string();
        assert!(help.lines().count() <= MAX_HELP_LINES, "{help}");
        for (mode, _) in MODES {
            let mut command = scoped(Cli::command());
            let help = command.try_get_matches_from_mut(["brumate", mode, "-h"]).unwrap_err().to_string();
            assert!(help.lines().count() <= MAX_HELP_LINES, "{mode}: {} lines\n{help}", help.lines().count());
            assert_eq!(help.contains("--port"), takes(mode, "port"), "{mode}");
        }
    }
}
