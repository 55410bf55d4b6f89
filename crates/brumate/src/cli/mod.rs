//! The command line: what can be said. What it means is decided in `settings`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use brumate_session::sessions::SessionId;
use brumate_session::units::{parse_duration, parse_size};
use clap::{Args, Parser, Subcommand, ValueEnum};

mod arguments;
mod client;
mod http;
mod packages;

pub(crate) use arguments::{
    BundleAction, BundleArgs, BundleBuildArgs, CompletionsArgs, DoctorArgs, ExecArgs, HealthArgs, LockArgs, ManArgs,
    SessionsAction, SessionsArgs, TokenArgs, WarmupArgs,
};
pub(crate) use client::{ClientAction, ClientArgs, ClientAuthorization, Connection};
pub(crate) use http::HttpArgs;
pub(crate) use packages::{InferChoice, PackageOptions};

use crate::env_vars;

const ABOUT: &str = "Runs Python code in a sandbox: an MCP server with real CPython, numpy, pandas and matplotlib";
pub(crate) const EXIT_STATUS: &str = "\
Exit status:
  0    done
  1    failed; of exec: an exception, or packages that cannot be had
  2    wrong command line
  124  exec: the time limit or the CPU limit ended the script
  125  the sandbox failed
  130  interrupted
  137  exec: the script was killed (memory, crash)
  143  terminated
Any other status of exec is the script's own.";

/// Where the options are.
const MORE_HELP: &str =
    "`brumate COMMAND -h` shows the options of a command that are used most, `brumate COMMAND --help` all of them.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "brumate", version, about = ABOUT, after_help = MORE_HELP, after_long_help = format!("{MORE_HELP}\n\n{EXIT_STATUS}"), max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(flatten)]
    pub(crate) packages: PackageOptions,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    #[command(subcommand)]
    pub(crate) mode: Mode,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Mode {
    /// Serve tools (`--tools`) over standard input and output
    Stdio,
    /// Serve a language package (Python's `brumate`) over a socket that is its standard input
    #[command(hide = true)]
    Pipe,
    /// Run a script as a shell would: `brumate exec script.py [arguments]`, or `-` for standard input
    #[command(after_help = EXIT_STATUS)]
    Exec(ExecArgs),
    /// Run a small numpy script and show its result
    Example,
    /// Prepare everything that a first run would otherwise wait for, and prove that it works
    Warmup(WarmupArgs),
    /// Write down the exact packages that requirements become (PEP 751), for `--locked`
    Lock(LockArgs),
    /// Collect wheels in a directory that `--find-links` and `--index` read
    Bundle(BundleArgs),
    /// Show or remove the sessions in a data directory
    Sessions(SessionsArgs),
    /// Say what is cached, which walls and limits hold, and what is missing
    Doctor(DoctorArgs),
    /// Serve tools over streamable HTTP, to many clients
    #[command(alias = "streamable_http")]
    StreamableHttp,
    /// As streamable-http, without sessions of the protocol: each request stands for itself
    #[command(alias = "streamable_http_stateless")]
    StreamableHttpStateless,
    /// As streamable-http, and with the deprecated HTTP+SSE transport of 2024-11-05
    Sse,
    /// Ask a server of this machine whether it lives; exit status 0 when it does
    Health(HealthArgs),
    /// Use an MCP server: show what it offers, call its tools, read its resources and prompts
    Client(Box<ClientArgs>),
    /// Print what completes this command in a shell, such as `brumate completions bash`
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man(ManArgs),
    /// Make a token for a client of an HTTP mode: the token on standard output, its entry for `--auth-tokens` on standard error
    Token(TokenArgs),
}

impl Mode {
    /// Whether the mode serves until its clients are gone or it is asked to end.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Stdio | Self::Pipe | Self::StreamableHttp | Self::StreamableHttpStateless | Self::Sse)
    }
}

/// Options of several modes, before or after the mode; `cli_scope` says which modes take them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Packages that every run gets, as a comma list of requirements
    #[arg(long, alias = "dependencies", global = true, help_heading = "Packages", env = env_vars::DEPS, value_name = "LIST")]
    pub(crate) deps: Option<String>,
    /// Wall-clock time of a run
    #[arg(long, global = true, help_heading = "Limits", env = env_vars::TIMEOUT, default_value = "60s", value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// CPU time of a run
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::CPU_TIMEOUT, default_value = "60s", value_name = "TIME", value_parser = duration)]
    pub(crate) cpu_timeout: Duration,
    /// Time between KeyboardInterrupt and SIGKILL when a limit is reached
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::GRACE, default_value = "2s", value_name = "TIME", value_parser = duration)]
    pub(crate) grace: Duration,
    /// Memory of a run
    #[arg(long, global = true, help_heading = "Limits", env = env_vars::MEMORY, default_value = "1GiB", value_name = "SIZE", value_parser = size)]
    pub(crate) memory: u64,
    /// Bytes of files that a run may keep in the sandbox; directories of `--mount` do not count
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::FILES, default_value = "256MiB", value_name = "SIZE", value_parser = size)]
    pub(crate) files: u64,
    /// Bytes that a run may write to directories of `--mount`; each file it makes counts 4 KiB
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::MOUNT_LIMIT, default_value = "1GiB", value_name = "SIZE", value_parser = size)]
    pub(crate) mount_limit: u64,
    /// Bytes of output that are kept of a run, and of its return value
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::OUTPUT_LIMIT, default_value = "1MiB", value_name = "SIZE", value_parser = size)]
    pub(crate) output_limit: u64,
    /// Runs at the same time; four times as many may wait [default: 4 per processor]
    #[arg(long, global = true, help_heading = "Server", env = env_vars::MAX_CONCURRENT, value_name = "NUMBER")]
    pub(crate) max_concurrent: Option<usize>,
    /// Interpreters kept ready per image, forked before they are asked for; 0: none
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::READY, default_value_t = brumate_engine::client::DEFAULT_READY, value_name = "NUMBER")]
    pub(crate) ready: usize,
    /// Interpreters that are kept ready end after this time without use, or `never`; the next run starts others
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::READY_TIMEOUT, default_value = "5m", value_name = "TIME", value_parser = lapse)]
    pub(crate) ready_timeout: Lapse,
    /// Build no images of packages that code imports repeatedly, and start no process after `exec` that prepares later scripts
    #[arg(long, global = true, help_heading = "General", hide_short_help = true, env = env_vars::NO_LEARNED_IMAGES)]
    pub(crate) no_learned_images: bool,
    /// Directory for compiled modules and images [default: brumate in the user's cache directory]
    #[arg(long, global = true, help_heading = "General", env = env_vars::CACHE_DIR, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Refuse to run when a wall of the sandbox is missing on this host
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::REQUIRE_JAIL)]
    pub(crate) require_jail: bool,
    /// How results are written
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::RETURN_MODE, default_value = "xml", value_enum)]
    pub(crate) return_mode: ReturnModeArg,
    /// Answers of `run_python_code` have no pictures: only the text, as its predecessor gave
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::NO_FIGURES)]
    pub(crate) no_figures: bool,
    /// Which tools are served
    #[arg(long, global = true, help_heading = "Server", env = env_vars::TOOLS, default_value = "run", value_enum)]
    pub(crate) tools: Tools,
    /// Directory for sessions, which servers of one user share [default: brumate in the user's data directory]
    #[arg(long, global = true, help_heading = "Sessions", env = env_vars::DATA_DIR, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Directory of the host whose files `upload_file` may copy into sessions by name, for reading only; may be given several
    /// times, with a name each
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, value_name = "[NAME=]DIR")]
    pub(crate) input_dir: Vec<OsString>,
    /// Sessions that are awake at the same time; others sleep in files [default: 50, fewer on small hosts]
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::MAX_LIVE_SESSIONS, value_name = "NUMBER")]
    pub(crate) max_live_sessions: Option<usize>,
    /// Sessions in all
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::MAX_SESSIONS, default_value_t = 1000, value_name = "NUMBER")]
    pub(crate) max_sessions: usize,
    /// Disk space of sessions; those that are awake count with what they would take
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::SESSIONS_DISK, default_value = "10GiB", value_name = "SIZE", value_parser = size)]
    pub(crate) sessions_disk: u64,
    /// Sessions sleep after this time without use, or `never`: only when others need their place
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::HIBERNATE_AFTER, default_value = "60s", value_name = "TIME", value_parser = lapse)]
    pub(crate) hibernate_after: Lapse,
    /// Sessions are removed after this time without use, or `never`
    #[arg(long, global = true, help_heading = "Sessions", env = env_vars::SESSION_TIMEOUT, default_value = "30m", value_name = "TIME", value_parser = lapse)]
    pub(crate) session_timeout: Lapse,
    /// How long a person has for each answer to `input()` or `getpass()`; this does not count as time of the run
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::INPUT_TIMEOUT, default_value = "10m", value_name = "TIME", value_parser = duration)]
    pub(crate) input_timeout: Duration,
    /// When sessions are written to disk
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::DURABILITY, default_value = "shutdown", value_enum)]
    pub(crate) durability: DurabilityArg,
    /// Log more, to standard error
    #[arg(long, short, global = true, help_heading = "General")]
    pub(crate) verbose: bool,
    /// Accepted for compatibility: code has no network unless it is given one
    #[arg(long, global = true, help_heading = "General", hide = true)]
    pub(crate) disable_networking: bool,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReturnModeArg {
    /// Sections between tags, for models
    Xml,
    /// One JSON object, for programs
    Json,
}

/// Sets of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tools {
    /// run_python_code
    Run,
    /// execute_code, list_session_files, clear_session and what belongs to sessions
    Interpreter,
    /// All of them
    All,
}

/// A time, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lapse {
    /// After this time.
    After(Duration),
    /// Never.
    Never,
}

/// When sessions are written to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityArg {
    /// When they go to sleep and when the server ends in order
    Shutdown,
    /// Before each answer: what was answered survives the end of the server and of the host, and each answer waits for the disk
    Cell,
}

/// The command line of this process, with ids of sessions that begin with a dash told apart from flags.
pub(crate) fn arguments(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (ids, mut others): (Vec<OsString>, Vec<OsString>) = {
        let given: Vec<OsString> = given.into_iter().collect();
        let has = |word: &str| given.iter().any(|argument| argument == word);
        if !has("sessions") || !has("remove") || has("--") {
            return given;
        }
        // Flags with two dashes are words; an id that begins with two has to stand behind `--`.
        let is_id = |argument: &OsString| {
            let text = argument.to_str().unwrap_or_default();
            text.starts_with('-') && !text.starts_with("--") && SessionId::parse(text).is_some()
        };
        given.into_iter().partition(is_id)
    };
    if !ids.is_empty() {
        others.push("--".into());
        others.extend(ids);
    }
    others
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn lapse(text: &str) -> Result<Lapse, String> {
    if text.trim().eq_ignore_ascii_case("never") { Ok(Lapse::Never) } else { duration(text).map(Lapse::After) }
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use brumate_session::explain;
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_texts_about_limits_name_flags_that_exist() {
        let command = Cli::command();
        for setting in explain::SETTINGS {
            let argument = command
                .get_arguments()
                .find(|argument| argument.get_long().map(|long| format!("--{long}")).as_deref() == Some(setting.flag));
            let variable = argument.and_then(|argument| argument.get_env());
            assert_eq!(variable, Some(std::ffi::OsStr::new(setting.variable)), "{setting}");
        }
    }

    #[test]
    fn options_stand_before_or_after_the_mode() {
        for line in [["brumate", "--deps", "numpy", "stdio"], ["brumate", "stdio", "--dependencies", "numpy"]] {
            let cli = Cli::try_parse_from(line).unwrap();
            assert_eq!(cli.options.deps.as_deref(), Some("numpy"));
            assert!(matches!(cli.mode, Mode::Stdio));
        }
    }

    #[test]
    fn arguments_after_the_script_are_its_own() {
        let cli =
            Cli::try_parse_from(["brumate", "exec", "--mount", "a:/b", "tool.py", "--timeout", "x", "-v"]).unwrap();
        assert_eq!(cli.options.timeout, Duration::from_secs(60));
        let Mode::Exec(exec) = cli.mode else { panic!("{:?}", cli.mode) };
        assert_eq!((exec.file(), exec.arguments().len()), (std::path::Path::new("tool.py"), 3));
        let standard_input = Cli::try_parse_from(["brumate", "exec", "-", "a"]).unwrap();
        assert!(matches!(standard_input.mode, Mode::Exec(exec) if exec.file() == std::path::Path::new("-")));
    }

    #[test]
    fn sessions_are_listed_and_removed() {
        let parsed = |line: &[&str]| {
            let line = [&["brumate", "sessions"], line].concat().into_iter().map(OsString::from);
            Cli::try_parse_from(arguments(line)).map(|cli| (cli.mode, cli.options.data_dir))
        };
        assert!(matches!(
            parsed(&["list", "--json"]),
            Ok((Mode::Sessions(SessionsArgs { action: SessionsAction::List { json: true } }), None))
        ));
        // Ids may begin with a dash, and flags stand before or behind them.
        let id = "-abcdefghijklmn_";
        for line in [&["remove", id][..], &["remove", id, "--data-dir", "d"], &["remove", "--data-dir", "d", id]] {
            let Ok((Mode::Sessions(SessionsArgs { action: SessionsAction::Remove { ids, .. } }), dir)) = parsed(line)
            else {
                panic!("{line:?}")
            };
            assert_eq!((ids, dir.is_some()), (vec![id.to_owned()], line.len() > 2));
        }
        assert!(parsed(&["remove", "--", "--bcdefghijklmn_"]).is_ok());
        assert!(parsed(&["backup", "d"]).is_ok() && parsed(&["restore", "d", "--data-dir", "e"]).is_ok());
        assert!(parsed(&["remove", "a", "b"]).is_ok() && parsed(&["remove", "--all"]).is_ok());
        for line in [&["remove"][..], &["remove", "--all", "a"], &[]] {
            assert!(parsed(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_server_is_asked_by_its_port() {
        for (line, expected) in [
            (&["brumate", "health"][..], (None, false)),
            (&["brumate", "health", "8000", "--warm"], (Some(8000), true)),
        ] {
            let Mode::Health(health) = Cli::try_parse_from(line).unwrap().mode else { panic!("{line:?}") };
            assert_eq!((health.port, health.warm), expected);
        }
        assert!(Cli::try_parse_from(["brumate", "health", "70000"]).is_err());
    }

    #[test]
    fn a_lapse_is_a_time_or_never() {
        assert_eq!((lapse("Never"), lapse("90s")), (Ok(Lapse::Never), Ok(Lapse::After(Duration::from_secs(90)))));
        assert!(lapse("soon").is_err());
    }

    #[test]
    fn old_names_of_modes_are_known() {
        for name in ["streamable-http", "streamable_http", "streamable_http_stateless", "sse"] {
            let mode = Cli::try_parse_from(["brumate", name]).unwrap().mode;
            assert!(matches!(mode, Mode::StreamableHttp | Mode::StreamableHttpStateless | Mode::Sse), "{name}");
        }
        assert!(Cli::try_parse_from(["brumate", "noop"]).is_err());
        assert!(Cli::try_parse_from(["brumate"]).is_err());
    }
}
