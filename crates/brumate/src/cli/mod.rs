//! The command line, as clap parses it. `settings` checks it and makes settings from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brumate_session::sessions::SessionId;
use brumate_session::units::{parse_duration, parse_size};
use clap::{ArgMatches, Args, Parser, Subcommand, ValueEnum};

mod arguments;
mod client;
pub(crate) mod forwarded;
mod http;
mod packages;
mod python_server;

pub(crate) use arguments::{
    BundleAction, BundleArgs, BundleBuildArgs, CompletionsArgs, DoctorArgs, ExecArgs, HealthArgs, KernelAction,
    KernelArgs, KernelInstallArgs, KernelRunArgs, LockArgs, ManArgs, NotebookArgs, PipeArgs, Program, SessionsAction,
    SessionsArgs, SessionsExportArgs, TestArgs, TokenArgs, WarmupArgs,
};
pub(crate) use client::{ClientAction, ClientArgs, ClientAuthorization, ServerOptions};
pub(crate) use http::HttpArgs;
pub(crate) use packages::{InferArg, PackageOptions};
pub(crate) use python_server::{DevArgs, InstallArgs, IsolateArg, PythonServerOptions, RunArgs, TransportArg};

use crate::env_vars;

const ABOUT: &str = "Runs Python code in a sandbox: an MCP server with real CPython, numpy, pandas and matplotlib";
pub(crate) const EXIT_STATUS: &str = "\
Exit status:
  0    success
  1    failure; for exec: an exception, or a package that cannot be installed
  2    invalid command line
  124  for exec: the script reached the time limit or the CPU limit
  125  the sandbox failed
  130  interrupted (SIGINT)
  134  for exec: the interpreter aborted
  137  for exec: the script was killed (memory limit)
  139  for exec: the interpreter crashed
  143  terminated (SIGTERM)
Any other status of exec is the status of the script.";

/// Exit statuses of `test`.
const TEST_EXIT_STATUS: &str = "\
Exit status:
  0 to 5  that of pytest: 0 all passed, 1 tests failed, 2 interrupted, 3 internal error, 4 wrong arguments, 5 no tests
  2       also: invalid command line, or there is no project
  124     the tests reached the time limit or the CPU limit (`--timeout`, `--cpu-timeout`)
  125     a package of the project cannot be installed, or the sandbox failed
  130     interrupted (SIGINT)
  137     the tests were killed (memory limit)";

/// The last line of the help.
const MORE_HELP: &str =
    "`brumate COMMAND -h` shows the common options of a command, `brumate COMMAND --help` all options.";

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

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Mode {
    /// Serve MCP over standard input and output, for one client
    Stdio,
    /// Serve a language package, such as Python's `brumate`, over the socket at standard input
    #[command(hide = true)]
    Pipe(PipeArgs),
    /// Run a script or a notebook in the sandbox: `brumate exec script.py [arguments]`, `-` for standard input, `-m` for a module
    #[command(after_help = EXIT_STATUS)]
    Exec(ExecArgs),
    /// Run the tests of a Python project with pytest in the sandbox: `brumate test [path] [-- arguments]`
    #[command(after_help = TEST_EXIT_STATUS)]
    Test(Box<TestArgs>),
    /// Run an MCP server that is written in Python in the sandbox: `brumate run server.py`
    Run(Box<RunArgs>),
    /// Run an MCP server under the Inspector, and start it again when its file changes: `brumate dev server.py`
    Dev(Box<DevArgs>),
    /// Add an MCP server to a client's configuration: `brumate install server.py`
    Install(Box<InstallArgs>),
    /// Use the sandbox as a Jupyter kernel: in JupyterLab, Notebook, VS Code, nbclient, papermill
    Kernel(KernelArgs),
    /// Run a small numpy script and print its result
    Example,
    /// Compile everything that a first run would wait for, and check that it works
    Warmup(WarmupArgs),
    /// Resolve requirements to exact packages, and write them to a lock file (PEP 751) for `--locked`
    Lock(LockArgs),
    /// Collect wheels in a directory for `--find-links` and `--index`
    Bundle(BundleArgs),
    /// List, remove, export, back up or restore the sessions in a data directory
    Sessions(SessionsArgs),
    /// Check the installation: cache, sessions, jail and limits
    Doctor(DoctorArgs),
    /// Serve MCP over streamable HTTP, for many clients
    #[command(alias = "streamable_http")]
    StreamableHttp,
    /// Serve MCP over streamable HTTP without MCP sessions: all requests are independent
    #[command(alias = "streamable_http_stateless")]
    StreamableHttpStateless,
    /// Serve MCP over the deprecated HTTP+SSE transport (protocol 2024-11-05), and over streamable HTTP
    Sse,
    /// Check that a server on this machine answers; the exit status is 0 if it does
    Health(HealthArgs),
    /// Use any MCP server: list its tools, call them, read resources and prompts
    Client(Box<ClientArgs>),
    /// Print the completion script for a shell, such as `brumate completions bash`
    Completions(CompletionsArgs),
    /// Write the manual pages to a directory
    #[command(hide = true)]
    Man(ManArgs),
    /// Make a bearer token for an HTTP client: prints the token to standard output, and its entry for `--auth-tokens` to standard error
    Token(TokenArgs),
}

impl Mode {
    /// Returns whether the command is a server, which runs until its clients leave or a signal ends it.
    pub(crate) fn is_server(&self) -> bool {
        matches!(
            self,
            Self::Stdio
                | Self::Pipe(_)
                | Self::Kernel(KernelArgs { action: KernelAction::Run(_) })
                | Self::Run(_)
                | Self::StreamableHttp
                | Self::StreamableHttpStateless
                | Self::Sse
        )
    }
}

/// Options of several commands, before or after the command. `cli_scope` has the commands of each option.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Packages for every run: requirements, separated by commas
    #[arg(long, alias = "dependencies", global = true, help_heading = "Packages", env = env_vars::DEPS, value_name = "LIST")]
    pub(crate) deps: Option<String>,
    /// Mount a directory of the host in the sandbox; with `:ro` read-only; may be repeated. Over HTTP with tokens, `{principal}` in the
    /// path of the host stands for the client's name
    #[arg(long, global = true, value_name = "HOST:GUEST[:ro]")]
    pub(crate) mount: Vec<OsString>,
    /// Host that code may connect to, with a port other than 443 if need be: `api.example.com`, `*.example.com:8443`, `10.1.2.3:5432`,
    /// `10.0.0.0/8:5432`; may be repeated. `host.brumate.internal` is the machine that Brumate runs on [default: no network]
    #[arg(long, global = true, env = env_vars::ALLOW_NET, value_name = "HOST[:PORT]", value_delimiter = ',')]
    pub(crate) allow_net: Vec<String>,
    /// Time limit of a run (wall clock)
    #[arg(long, global = true, help_heading = "Limits", env = env_vars::TIMEOUT, default_value = "60s", value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// CPU time limit of a run
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::CPU_TIMEOUT, default_value = "60s", value_name = "TIME", value_parser = duration)]
    pub(crate) cpu_timeout: Duration,
    /// Time between KeyboardInterrupt and SIGKILL when a run reaches a limit
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::GRACE, default_value = "2s", value_name = "TIME", value_parser = duration)]
    pub(crate) grace: Duration,
    /// Memory limit of a run
    #[arg(long, global = true, help_heading = "Limits", env = env_vars::MEMORY, default_value = "1GiB", value_name = "SIZE", value_parser = size)]
    pub(crate) memory: u64,
    /// Size limit of a run's files in the sandbox, without directories of `--mount`
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::FILES, default_value = "256MiB", value_name = "SIZE", value_parser = size)]
    pub(crate) files: u64,
    /// Limit of what a run writes to directories of `--mount`; each new file counts 4 KiB more
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::MOUNT_LIMIT, default_value = "1GiB", value_name = "SIZE", value_parser = size)]
    pub(crate) mount_limit: u64,
    /// Size limit of a run's output, and of its return value; further output is dropped
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::OUTPUT_LIMIT, default_value = "1MiB", value_name = "SIZE", value_parser = size)]
    pub(crate) output_limit: u64,
    /// Maximum number of concurrent runs; four times as many may wait [default: 4 per processor]
    #[arg(long, global = true, help_heading = "Server", env = env_vars::MAX_CONCURRENT, value_name = "NUMBER")]
    pub(crate) max_concurrent: Option<usize>,
    /// Number of interpreters per image that are started ahead of runs; 0 for none
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::READY, default_value_t = brumate_engine::client::DEFAULT_READY, value_name = "NUMBER")]
    pub(crate) ready: usize,
    /// Idle time after which interpreters of `--ready` end, or `never`; the next run starts new ones
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::READY_TIMEOUT, default_value = "5m", value_name = "TIME", value_parser = idle_timeout)]
    pub(crate) ready_timeout: IdleTimeout,
    /// Do not build images of packages that code imports often, and start no background process after `exec`
    #[arg(long, global = true, help_heading = "General", hide_short_help = true, env = env_vars::NO_LEARNED_IMAGES)]
    pub(crate) no_learned_images: bool,
    /// Directory for compiled modules, images and wheels [default: `brumate` in the user's cache directory]
    #[arg(long, global = true, help_heading = "General", env = env_vars::CACHE_DIR, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Fail if this host does not support a part of the jail (see `brumate doctor`)
    #[arg(long, global = true, help_heading = "Limits", hide_short_help = true, env = env_vars::REQUIRE_JAIL)]
    pub(crate) require_jail: bool,
    /// Text form of the results of `run_python_code`
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::RETURN_MODE, default_value = "xml", value_enum)]
    pub(crate) return_mode: ReturnModeArg,
    /// Leave figures out of the results of `run_python_code`
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::NO_FIGURES)]
    pub(crate) no_figures: bool,
    /// Set of tools to serve
    #[arg(long, global = true, help_heading = "Server", env = env_vars::TOOLS, default_value = "run", value_enum)]
    pub(crate) tools: ToolsArg,
    /// Engine of sessions: `sandbox`, Python in WebAssembly; or `jupyter[:KERNEL]`, kernels of this host in a jail, for `--tools
    /// interpreter` [default: sandbox]
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::ENGINE, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineArg>,
    /// Python of `--engine jupyter`: the directory of a virtual environment with `ipykernel`, or an interpreter
    #[arg(long, global = true, help_heading = "Server", hide_short_help = true, env = env_vars::PYTHON, value_name = "VENV")]
    pub(crate) python: Option<PathBuf>,
    /// Directory for sessions; servers of one user can share it [default: `brumate` in the user's data directory]
    #[arg(long, global = true, help_heading = "Sessions", env = env_vars::DATA_DIR, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Directory of the host with files that `upload_file` can copy into sessions, read-only; may be repeated, each with a name
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, value_name = "[NAME=]DIR")]
    pub(crate) input_dir: Vec<OsString>,
    /// Maximum number of sessions in memory; further ones are hibernated to files [default: 50, fewer on small hosts]
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::MAX_LIVE_SESSIONS, value_name = "NUMBER")]
    pub(crate) max_live_sessions: Option<usize>,
    /// Maximum number of sessions
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::MAX_SESSIONS, default_value_t = 1000, value_name = "NUMBER")]
    pub(crate) max_sessions: usize,
    /// Limit of the disk space of sessions; a session in memory counts with its estimated size
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::SESSIONS_DISK, default_value = "10GiB", value_name = "SIZE", value_parser = size)]
    pub(crate) sessions_disk: u64,
    /// Idle time after which a session is hibernated, or `never` to hibernate only when others need the memory
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::HIBERNATE_AFTER, default_value = "60s", value_name = "TIME", value_parser = idle_timeout)]
    pub(crate) hibernate_after: IdleTimeout,
    /// Idle time after which a session is removed, or `never`
    #[arg(long, global = true, help_heading = "Sessions", env = env_vars::SESSION_TIMEOUT, default_value = "30m", value_name = "TIME", value_parser = idle_timeout)]
    pub(crate) session_timeout: IdleTimeout,
    /// Time limit of each answer to `input()` and `getpass()`; it does not count for `--timeout`
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::INPUT_TIMEOUT, default_value = "10m", value_name = "TIME", value_parser = duration)]
    pub(crate) input_timeout: Duration,
    /// When sessions are written to disk
    #[arg(long, global = true, help_heading = "Sessions", hide_short_help = true, env = env_vars::DURABILITY, default_value = "shutdown", value_enum)]
    pub(crate) durability: DurabilityArg,
    /// Write more log messages to standard error
    #[arg(long, short, global = true, help_heading = "General")]
    pub(crate) verbose: bool,
    /// No effect; accepted for compatibility with mcp-run-python
    #[arg(long, global = true, help_heading = "General", hide = true)]
    pub(crate) disable_networking: bool,
}

/// Values of `--return-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReturnModeArg {
    /// Sections between tags, for models
    Xml,
    /// One JSON object, for programs
    Json,
}

/// Values of `--engine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineArg {
    /// Python in WebAssembly.
    Sandbox,
    /// Kernels of Jupyter; the name of one, if it is not Python's.
    Jupyter(Option<String>),
}

impl std::str::FromStr for EngineArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "sandbox" => Ok(Self::Sandbox),
            None if text == "jupyter" => Ok(Self::Jupyter(None)),
            Some(("jupyter", kernel)) if !kernel.is_empty() => Ok(Self::Jupyter(Some(kernel.to_owned()))),
            _ => Err("engines are `sandbox`, `jupyter` and `jupyter:KERNEL`".to_owned()),
        }
    }
}

/// Values of `--tools`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsArg {
    /// run_python_code
    Run,
    /// execute_code and the other tools of sessions
    Interpreter,
    /// All tools
    All,
}

/// An idle time, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdleTimeout {
    /// The idle time.
    After(Duration),
    /// Never.
    Never,
}

/// Values of `--durability`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityArg {
    /// When sessions are hibernated, and when the server shuts down; answered calls survive a crash of the server
    Shutdown,
    /// Before each answer, which waits for the disk; answered calls survive a crash of the server and of the host
    Cell,
}

/// Returns the command line with session ids that begin with a dash moved behind `--`, so that clap does not take them for flags.
pub(crate) fn arguments(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (ids, mut others): (Vec<OsString>, Vec<OsString>) = {
        let given: Vec<OsString> = given.into_iter().collect();
        let has = |word: &str| given.iter().any(|argument| argument == word);
        if !has("sessions") || !has("remove") || has("--") {
            return given;
        }
        // An id that begins with two dashes must be behind `--`.
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

/// Returns the command line of `exec` with a notebook, so that words after the notebook are options and not the notebook's own. Returns
/// `None` for other command lines. `matches` is the result of parsing `line`.
pub(crate) fn notebook_line(line: &[OsString], matches: &ArgMatches) -> Option<Vec<OsString>> {
    let ("exec", exec) = matches.subcommand()? else { return None };
    let words: Vec<&OsString> = exec.get_many("script")?.collect();
    let (&file, words) = words.split_first()?;
    Path::new(file).extension().filter(|extension| extension.eq_ignore_ascii_case("ipynb"))?;
    let place = line.len().checked_sub(words.len() + 1).filter(|&place| &line[place] == file)?;
    let mut option = OsString::from("--notebook-file=");
    option.push(file);
    let before = line[..place].strip_suffix(&[OsString::from("--")]).unwrap_or(&line[..place]);
    Some(before.iter().cloned().chain([option]).chain(words.iter().copied().cloned()).collect())
}

/// Parses a duration.
fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn idle_timeout(text: &str) -> Result<IdleTimeout, String> {
    if text.trim().eq_ignore_ascii_case("never") {
        Ok(IdleTimeout::Never)
    } else {
        duration(text).map(IdleTimeout::After)
    }
}

/// Parses a size.
fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
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
        let (program, arguments) = exec.program();
        assert_eq!((program, arguments.len()), (Program::File(std::path::Path::new("tool.py")), 3));
        let standard_input = Cli::try_parse_from(["brumate", "exec", "-", "a"]).unwrap();
        assert!(matches!(standard_input.mode, Mode::Exec(exec) if exec.program().0 == Program::Stdin));
    }

    #[test]
    fn options_may_follow_a_notebook() {
        use clap::CommandFactory as _;

        let parsed = |line: &[&str]| {
            let line: Vec<OsString> = [&["brumate", "exec"], line].concat().into_iter().map(OsString::from).collect();
            let matches = Cli::command().try_get_matches_from(&line).unwrap();
            let line = notebook_line(&line, &matches).unwrap_or(line);
            Cli::try_parse_from(line).map(|cli| match cli.mode {
                Mode::Exec(exec) => (exec.notebook, cli.options.timeout.as_secs()),
                mode => panic!("{mode:?}"),
            })
        };
        for line in [
            &["a.ipynb", "-o", "b.ipynb", "-p", "x", "-1", "--timeout", "5s", "-r", "y", "2"][..],
            &["-o", "b.ipynb", "--timeout", "5s", "-p", "x", "-1", "-r", "y", "2", "a.ipynb"],
            &["--timeout", "5s", "-p", "x", "-1", "a.ipynb", "-r", "y", "2", "-o", "b.ipynb"],
        ] {
            let (notebook, timeout) = parsed(line).unwrap();
            assert_eq!((notebook.file, notebook.output), (Some("a.ipynb".into()), Some("b.ipynb".into())));
            assert_eq!(
                (notebook.parameters, notebook.parameters_raw),
                (vec!["x".into(), "-1".into()], vec!["y".into(), "2".into()])
            );
            assert_eq!(timeout, 5);
        }
        assert_eq!(parsed(&["--", "-a.IPYNB"]).unwrap().0.file, Some("-a.IPYNB".into()));
        assert_eq!(parsed(&["a.py", "-o", "b.ipynb"]).unwrap().0.given(), None, "options after a script are its own");
        for line in [&["a.ipynb", "--port", "x"][..], &["a.ipynb", "-p", "x"]] {
            assert!(parsed(line).is_err(), "{line:?}");
        }
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
        assert_eq!(
            (idle_timeout("Never"), idle_timeout("90s")),
            (Ok(IdleTimeout::Never), Ok(IdleTimeout::After(Duration::from_secs(90))))
        );
        assert!(idle_timeout("soon").is_err());
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
