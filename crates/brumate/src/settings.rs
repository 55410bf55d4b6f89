//! Makes settings from the command line and the environment, and checks them. Commands use the settings only.

use std::path::PathBuf;
use std::time::Duration;

use brumate::ranges::{MAX_TIME, check_concurrent, check_files, check_memory, check_output, check_range, check_time};
use brumate::{directories, mounts, network};
use brumate_engine_api::{Limits, Mount};
use brumate_server::{ReturnMode, ToolSet};
use brumate_session::packages::PackageSettings;
use brumate_session::sessions::SessionSettings;
use brumate_session::units::{format_duration, format_size};
use brumate_session::{Grants, ImageBuilder, RunnerSettings, WhenFull};

use crate::cli::{Cli, DurabilityArg, EngineArg, Mode, Options, ReturnModeArg, ToolsArg};
use crate::environment::Environment;
use crate::http_settings::{self, HttpServerSettings};
use crate::{package_settings, session_settings};

/// Shortest time for an answer to `input()`.
const MIN_INPUT: Duration = Duration::from_secs(1);
/// Most bytes written to mounted directories.
const MAX_MOUNT_LIMIT: u64 = 1 << 40;
/// Most interpreters kept ready per image.
const MAX_READY: usize = 64;

/// The settings of a process.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) runner: RunnerSettings,
    pub(crate) packages: PackageSettings,
    pub(crate) cache_dir: PathBuf,
    /// File with the packages of a program that is handed out without them.
    pub(crate) bundle_file: Option<PathBuf>,
    pub(crate) require_jail: bool,
    pub(crate) ready: usize,
    /// Idle time after which ready interpreters end. `None`: never.
    pub(crate) ready_timeout: Option<Duration>,
    pub(crate) return_mode: ReturnMode,
    /// Whether results of `run_python_code` contain figures.
    pub(crate) figures: bool,
    pub(crate) tools: ToolSet,
    pub(crate) engine: EngineSettings,
    /// Time limit of each answer to `input()` and `getpass()`.
    pub(crate) input_timeout: Duration,
    /// Mounts of the program of `exec`, `test` and `run`.
    pub(crate) mounts: Vec<Mount>,
    /// `None` without a data directory; an error only if sessions are needed.
    pub(crate) sessions: Option<SessionSettings>,
    /// `Some` for HTTP commands.
    pub(crate) http: Option<HttpServerSettings>,
}

impl Settings {
    /// Makes settings from the command line and the environment.
    ///
    /// # Errors
    ///
    /// A text with the wrong option, and what is possible.
    pub(crate) fn resolve(cli: &Cli, environment: &Environment) -> Result<Self, String> {
        let (options, mode) = (&cli.options, &cli.mode);
        let http = http_settings::resolve(mode, &cli.http, environment)?;
        let limits = Limits {
            wall: check_time("--timeout", options.timeout)?,
            cpu: check_time("--cpu-timeout", options.cpu_timeout)?,
            grace: check_range("--grace", options.grace, Duration::ZERO..=MAX_TIME, format_duration)?,
            memory_bytes: check_memory("--memory", options.memory)?,
            file_bytes: check_files("--files", options.files)?,
            mount_bytes: check_range("--mount-limit", options.mount_limit, 0..=MAX_MOUNT_LIMIT, format_size)?,
            output_bytes: check_output("--output-limit", options.output_limit)?,
            ..Limits::default()
        };
        let mut runner = RunnerSettings::default();
        runner.limits = limits;
        let mounts: Vec<Mount> = options.mount.iter().map(|text| mounts::parse(text)).collect::<Result<_, _>>()?;
        let has_principals = http.as_ref().is_some_and(HttpServerSettings::has_principals);
        let is_one_program =
            matches!(mode, Mode::Exec(_) | Mode::Test(_) | Mode::Run(_) | Mode::Dev(_) | Mode::Install(_));
        if is_one_program {
            mounts::check_principals(&mounts, false)
        } else {
            runner.grants = Grants::new(mounts.clone());
            mounts::check_principals(&mounts, has_principals).and_then(|()| mounts::check_apart(&mounts))
        }
        .map_err(|reason| format!("`--mount`: {reason}"))?;
        let network = network::of(&options.allow_net, None).map_err(|reason| format!("`--allow-net`: {reason}"))?;
        runner.grants = std::mem::take(&mut runner.grants).with_network(network);
        runner.dependencies = split_requirements(options.deps.as_deref().unwrap_or_default());
        if let Some(number) = options.max_concurrent {
            runner.max_concurrent = check_concurrent("--max-concurrent", number)?;
        }
        if let Mode::Pipe(_) = mode {
            // A package is a library: its calls are threads and tasks of the caller.
            runner.when_full = WhenFull::Wait;
        }
        let cache_dir = options
            .cache_dir
            .clone()
            .or_else(|| directories::cache(environment.xdg_cache_home.clone(), environment.home.clone()))
            .ok_or("there is no home directory for the cache: name one with `--cache-dir`")?;
        if !options.no_learned_images {
            runner.imports_file = Some(cache_dir.join("imports.json"));
            runner.builder = match mode {
                Mode::Exec(_) => ImageBuilder::OtherProcess,
                _ if mode.is_server() => ImageBuilder::ThisProcess,
                // It records the images that it has built for `exec`.
                Mode::Warmup(_) => ImageBuilder::OtherProcess,
                _ => ImageBuilder::Disabled,
            };
        }
        let ready = check_range("--ready", options.ready, 0..=MAX_READY, |number| number.to_string())?;
        let ready_timeout = session_settings::check_idle_timeout("--ready-timeout", options.ready_timeout)?;
        let return_mode = match options.return_mode {
            ReturnModeArg::Xml => ReturnMode::Xml,
            ReturnModeArg::Json => ReturnMode::Json,
        };
        let tools = match options.tools {
            // Packages and kernels use sessions, but no MCP tools.
            _ if matches!(mode, Mode::Pipe(_) | Mode::Kernel(_)) => ToolSet::All,
            ToolsArg::Run => ToolSet::Run,
            ToolsArg::Interpreter => ToolSet::Interpreter,
            ToolsArg::All => ToolSet::All,
        };
        let engine = engine_settings(options, mode, tools)?;
        if engine != EngineSettings::Sandbox && cli.packages.locked.is_some() {
            let reason = "a lock has packages of the sandbox, and none of native kernels";
            let fix = "Leave it out; `--constraint`, `--allow-package` and `--exclude-newer` hold for both";
            return Err(format!("`--locked` is not possible with `--engine jupyter`: {reason}. {fix}"));
        }
        if engine != EngineSettings::Sandbox && http.as_ref().is_some_and(|http| http.kernels.is_some()) {
            return Err(
                "`--jupyter` is not possible with `--engine jupyter`: it serves kernels of the sandbox".to_owned()
            );
        }
        let input_timeout =
            check_range("--input-timeout", options.input_timeout, MIN_INPUT..=MAX_TIME, format_duration)?;
        let temporary = matches!(mode, Mode::Exec(_)).then_some(cache_dir.as_path());
        let sessions = session_settings::resolve(options, &runner, environment, temporary)?;
        let has_kernels = http.as_ref().is_some_and(|http| http.kernels.is_some());
        let needs_sessions = tools != ToolSet::Run || has_kernels || matches!(mode, Mode::Sessions(_));
        if needs_sessions && sessions.is_none() {
            return Err("there is no home directory for sessions: name one with `--data-dir`".to_owned());
        }
        let packages = package_settings::resolve(&cli.packages, &cache_dir, environment)?;
        Ok(Self {
            runner,
            packages,
            cache_dir,
            bundle_file: environment.bundle_file.clone(),
            require_jail: options.require_jail,
            ready,
            ready_timeout,
            return_mode,
            figures: !options.no_figures,
            tools,
            engine,
            input_timeout,
            mounts,
            sessions,
            http,
        })
    }
}

/// Engine of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineSettings {
    /// Python in WebAssembly.
    Sandbox,
    /// Kernels of Jupyter.
    Jupyter {
        /// Name of the kernel; `None`: Python's.
        kernel: Option<String>,
        /// Interpreter, or directory of a virtual environment.
        python: Option<PathBuf>,
    },
}

/// Makes the settings of the engine.
///
/// # Errors
///
/// A text with the options that exclude each other.
fn engine_settings(options: &Options, mode: &Mode, tools: ToolSet) -> Result<EngineSettings, String> {
    let Some(EngineArg::Jupyter(kernel)) = &options.engine else {
        return match options.python {
            Some(_) => Err("`--python` needs `--engine jupyter`".to_owned()),
            None => Ok(EngineSettings::Sandbox),
        };
    };
    let serves = matches!(mode, Mode::Stdio | Mode::StreamableHttp | Mode::StreamableHttpStateless | Mode::Sse);
    let is_possible = serves && tools == ToolSet::Interpreter || matches!(mode, Mode::Doctor(_));
    if !is_possible {
        let reason = "serves the tools of sessions only: use it with `stdio`, `streamable-http` or `sse`, and `--tools interpreter`";
        return Err(format!("`--engine jupyter` {reason}"));
    }
    if kernel.is_none() && options.python.is_none() {
        return Err(
            "`--engine jupyter` needs the Python of its kernels: name a virtual environment with `--python`".to_owned()
        );
    }
    for (is_given, name) in [
        (!options.mount.is_empty(), "--mount"),
        (options.deps.is_some(), "--deps"),
        (options.durability == DurabilityArg::Cell, "--durability cell"),
    ] {
        if is_given {
            return Err(format!("`{name}` is not possible with `--engine jupyter`"));
        }
    }
    Ok(EngineSettings::Jupyter { kernel: kernel.clone(), python: options.python.clone() })
}

/// Splits a list of requirements at commas, except those inside `[extras]` and between version specifiers:
/// `pandas[plot,excel]>=2,<4,numpy` is two requirements.
pub(crate) fn split_requirements(list: &str) -> Vec<String> {
    let mut requirements: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    for piece in list.split(',') {
        let continues = depth > 0 || piece.trim_start().starts_with(['<', '>', '=', '!', '~']);
        match requirements.last_mut() {
            Some(last) if continues => {
                last.push(',');
                last.push_str(piece);
            }
            _ if piece.trim().is_empty() => continue,
            _ => requirements.push(piece.to_owned()),
        }
        let count = |character| piece.matches(character).count();
        depth = (depth + count('[') + count('(')).saturating_sub(count(']') + count(')'));
    }
    requirements.iter().map(|requirement| requirement.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use brumate_session::sessions::Durability;

    use super::*;
    use crate::cli::Cli;

    fn resolve(arguments: &[&str]) -> Result<Settings, String> {
        let cli = Cli::try_parse_from(["brumate"].iter().chain(arguments)).unwrap();
        let environment = Environment { home: Some("/home/ada".into()), ..Environment::default() };
        Settings::resolve(&cli, &environment)
    }

    #[test]
    fn the_defaults_are_the_documented_ones() {
        let settings = resolve(&["stdio"]).unwrap();
        assert_eq!(settings.runner.limits, Limits::default());
        assert_eq!(settings.return_mode, ReturnMode::Xml);
        assert!(!settings.require_jail);
        let home_cache = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        assert_eq!(settings.cache_dir, PathBuf::from("/home/ada").join(home_cache).join("brumate"));
    }

    #[test]
    fn every_limit_can_be_set() {
        let settings = resolve(&[
            "--timeout",
            "5",
            "--cpu-timeout=3s",
            "stdio",
            "--memory",
            "256MiB",
            "--files",
            "0",
            "--output-limit",
            "2KiB",
            "--grace",
            "500ms",
            "--max-concurrent",
            "2",
            "--return-mode",
            "json",
            "--cache-dir",
            "/c",
        ])
        .unwrap();
        let limits = settings.runner.limits;
        assert_eq!((limits.wall, limits.cpu), (Duration::from_secs(5), Duration::from_secs(3)));
        assert_eq!((limits.memory_bytes, limits.file_bytes, limits.output_bytes), (256 << 20, 0, 2048));
        assert_eq!((limits.grace, settings.runner.max_concurrent), (Duration::from_millis(500), 2));
        assert_eq!((settings.return_mode, settings.cache_dir), (ReturnMode::Json, PathBuf::from("/c")));
    }

    #[test]
    fn what_is_out_of_range_or_missing_is_refused() {
        for (arguments, part) in [
            (vec!["stdio", "--timeout", "0"], "`--timeout` must be from 0.05 s to 86400 s, not 0 s"),
            (vec!["stdio", "--memory", "8GiB"], "`--memory` must be from 64 MiB to 4 GiB, not 8 GiB"),
            (vec!["stdio", "--max-concurrent", "0"], "`--max-concurrent` must be from 1 to 4096, not 0"),
            (vec!["stdio", "--output-limit", "1"], "not 1 byte"),
            (vec!["stdio", "--port", "3001"], "need an HTTP command"),
            (vec!["stdio", "--max-live-sessions", "0"], "`--max-live-sessions` must be from 1 to 4096, not 0"),
            (vec!["stdio", "--session-timeout", "0"], "`--session-timeout` must be from 1 s to"),
            (vec!["stdio", "--sessions-disk", "1"], "not 1 byte"),
            (vec!["stdio", "--input-timeout", "0"], "`--input-timeout` must be from 1 s to 86400 s, not 0 s"),
            (
                vec![
                    "stdio",
                    "--tools",
                    "interpreter",
                    "--engine",
                    "jupyter",
                    "--python",
                    "/p",
                    "--locked",
                    "pylock.toml",
                ],
                "`--locked` is not possible with `--engine jupyter`: a lock has packages of the sandbox",
            ),
        ] {
            let error = resolve(&arguments).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_cache_follows_the_environment() {
        let cli = Cli::try_parse_from(["brumate", "stdio"]).unwrap();
        let xdg = Environment { xdg_cache_home: Some("/x".into()), ..Environment::default() };
        let settings = Settings::resolve(&cli, &xdg).unwrap();
        assert_eq!(settings.cache_dir, PathBuf::from("/x/brumate"));
        let error = Settings::resolve(&cli, &Environment::default()).unwrap_err();
        assert!(error.contains("--cache-dir"), "{error}");
    }

    #[test]
    fn sessions_have_their_own_settings() {
        let defaults = resolve(&["stdio"]).unwrap();
        let sessions = defaults.sessions.unwrap();
        assert_eq!(defaults.tools, ToolSet::Run);
        let home_data = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        assert_eq!(sessions.data_dir, PathBuf::from("/home/ada").join(home_data).join("brumate"));
        assert_eq!(
            (sessions.timeout, sessions.hibernate_after),
            (Some(Duration::from_secs(1800)), Some(Duration::from_secs(60)))
        );
        assert!((2..=50).contains(&sessions.max_live), "{}", sessions.max_live);
        let given = [
            "stdio",
            "--tools",
            "all",
            "--data-dir",
            "/d",
            "--max-live-sessions",
            "3",
            "--max-sessions",
            "9",
            "--sessions-disk",
            "1GiB",
            "--hibernate-after",
            "never",
            "--session-timeout",
            "never",
            "--durability",
            "cell",
            "--timeout",
            "5s",
            "--max-concurrent",
            "2",
        ];
        let settings = resolve(&given).unwrap();
        let sessions = settings.sessions.unwrap();
        assert_eq!((settings.tools, sessions.data_dir), (ToolSet::All, PathBuf::from("/d")));
        assert_eq!((sessions.max_live, sessions.max_sessions, sessions.max_disk_bytes), (3, 9, 1 << 30));
        assert_eq!((sessions.timeout, sessions.hibernate_after, sessions.durability), (None, None, Durability::Cell));
        assert_eq!((sessions.limits.wall, sessions.max_concurrent), (Duration::from_secs(5), 2));
    }

    #[test]
    fn input_directories_have_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().display();
        let inputs = |values: &[String]| {
            let line: Vec<&str> = values.iter().flat_map(|value| ["--input-dir", value.as_str()]).collect();
            resolve(&[&["stdio"], line.as_slice()].concat()).map(|settings| settings.sessions.unwrap().inputs)
        };
        let opened = inputs(&[format!("{path}"), format!("data={path}")]).unwrap();
        assert_eq!(opened.names().collect::<Vec<_>>(), ["", "data"]);
        assert!(inputs(&[format!("={path}")]).is_ok());
        for (value, part) in
            [("../a=/b", "a name consists of letters"), ("/nowhere/at/all", "cannot be opened"), ("..=/b", "a name")]
        {
            let error = inputs(&[value.to_owned()]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(inputs(&[format!("{path}"), format!("{path}")]).unwrap_err().contains("NAME=DIR"));
    }

    #[test]
    fn sessions_need_a_place_only_when_they_are_wanted() {
        let nowhere = |line: &[&str]| {
            let cli = Cli::try_parse_from(["brumate", "--cache-dir", "/c"].iter().chain(line)).unwrap();
            Settings::resolve(&cli, &Environment::default())
        };
        assert!(nowhere(&["stdio"]).is_ok());
        for line in [&["stdio", "--tools", "interpreter"][..], &["sessions", "list"]] {
            assert!(nowhere(line).unwrap_err().contains("--data-dir"));
        }
    }

    #[test]
    fn lists_of_requirements() {
        for (list, requirements) in [
            ("", vec![]),
            (" , ", vec![]),
            ("numpy", vec!["numpy"]),
            ("numpy, pandas,", vec!["numpy", "pandas"]),
            ("numpy>=2,<3,rich", vec!["numpy>=2,<3", "rich"]),
            ("pandas[plot,excel]>=2, <4,six", vec!["pandas[plot,excel]>=2, <4", "six"]),
            ("<3", vec!["<3"]),
            ("a],b", vec!["a]", "b"]),
        ] {
            assert_eq!(split_requirements(list), requirements, "{list:?}");
        }
    }
}
