//! Environment variables of the MCP Python Code Interpreter. Servers with its tools read them; our own flags and variables override
//! them.

use brumate_mcp::PROTOCOL_TARGET;
use brumate_session::units::parse_duration;
use clap::ArgMatches;

use crate::cli::{Cli, IdleTimeout, ToolsArg};
use crate::{cli_scope, env_vars};

/// Applies the variables, which `variable` reads. Returns warnings about invalid values. They are not errors, because other programs may
/// use these names.
pub(crate) fn apply(cli: &mut Cli, matches: &ArgMatches, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut ignored = Vec::new();
    if !cli.mode.is_server() || cli.options.tools == ToolsArg::Run {
        return ignored;
    }
    let mut time = |name: &str, id: &str| {
        let text = variable(name).filter(|text| !text.is_empty())?;
        if !cli_scope::is_default(matches, id) {
            return None;
        }
        match parse_duration(&text) {
            Ok(time) => Some(time),
            Err(error) => {
                ignored.push(format!("the variable {name} is ignored: {error}"));
                None
            }
        }
    };
    if let Some(timeout) = time(env_vars::KERNEL_TIMEOUT, "timeout") {
        cli.options.timeout = timeout;
    }
    if let Some(timeout) = time(env_vars::PLAIN_SESSION_TIMEOUT, "session_timeout") {
        cli.options.session_timeout = IdleTimeout::After(timeout);
    }
    ignored
}

/// Returns the log filter for a level of Python's `logging`.
pub(crate) fn filter_of_level(level: &str) -> Option<String> {
    let (own, protocol) = match level.to_ascii_uppercase().as_str() {
        "DEBUG" => ("debug", "warn"),
        "INFO" => ("info", "warn"),
        "WARNING" | "WARN" => ("warn", "off"),
        "ERROR" | "CRITICAL" | "FATAL" => ("error", "off"),
        _ => return None,
    };
    Some(format!("{own},{PROTOCOL_TARGET}={protocol}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    fn applied(line: &[&str], variables: &[(&str, &str)]) -> (Duration, IdleTimeout, usize) {
        let matches = crate::cli_scope::scoped(Cli::command()).get_matches_from([&["brumate"], line].concat());
        let mut cli = Cli::from_arg_matches(&matches).unwrap();
        let read = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let ignored = apply(&mut cli, &matches, read);
        (cli.options.timeout, cli.options.session_timeout, ignored.len())
    }

    #[test]
    fn its_names_are_taken_where_nothing_else_is_said() {
        let seconds = Duration::from_secs;
        let default = (seconds(60), IdleTimeout::After(seconds(1800)), 0);
        let both = [("KERNEL_TIMEOUT", "10"), ("SESSION_TIMEOUT", "90")];
        let interpreter = ["--tools", "interpreter", "stdio"];
        assert_eq!(applied(&interpreter, &both), (seconds(10), IdleTimeout::After(seconds(90)), 0));
        assert_eq!(applied(&["stdio", "--tools", "all"], &both), (seconds(10), IdleTimeout::After(seconds(90)), 0));
        assert_eq!(applied(&interpreter, &[]), default);
        assert_eq!(applied(&["stdio"], &both), default, "other tools");
        assert_eq!(applied(&["exec", "x.py"], &both), default, "no server");
        let said = ["--timeout", "5s", "--tools", "all", "stdio", "--session-timeout", "1h"];
        assert_eq!(applied(&said, &both), (seconds(5), IdleTimeout::After(seconds(3600)), 0));
        assert_eq!(applied(&interpreter, &[("SESSION_TIMEOUT", "soon")]), (default.0, default.1, 1));
    }

    #[test]
    fn its_log_levels_are_known() {
        assert_eq!(filter_of_level("info"), Some(format!("info,{PROTOCOL_TARGET}=warn")));
        assert_eq!(filter_of_level("loud"), None);
    }
}
