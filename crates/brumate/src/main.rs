//! Brumate: Python for AI agents, in a sandbox, over MCP.
//!
//! | module | what it does |
//! |---|---|
//! | `cli`, `cli_scope` | parse the command line |
//! | `settings` and `*_settings` | check flags and variables, and make settings from them |
//! | `sandbox` | makes a runner and an engine from settings |
//! | `commands` | one file for each command |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

mod bounded_file;
mod cli;
#[cfg(test)]
mod cli_reference;
mod cli_scope;
mod commands;
mod env_vars;
mod environment;
mod exit_status;
mod guest_text;
mod http_settings;
mod logging;
mod package_settings;
mod predecessor;
mod progress;
mod replace_file;
mod sandbox;
mod secret_file;
mod session_settings;
mod setting_names;
mod settings;
mod signals;
mod telemetry;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use tokio::runtime::Builder;

use brumate::bundle;

use crate::cli::{BundleAction, BundleArgs, Cli, Mode};
use crate::commands::print_error;
use crate::environment::Environment;
use crate::settings::Settings;

/// Longest time that the process waits at its end for threads that still write.
const SHUTDOWN: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // This call must come first. A process that runs guest code enters its jail here, and may have only one thread.
    if let Some(code) = brumate_engine::internal_main(&arguments) {
        return code;
    }
    if let Some(code) = brumate_gateway::internal_main(&arguments) {
        return code;
    }
    if let Some(code) = brumate_jupyter_engine::internal_main(&arguments) {
        return code;
    }
    if let Some(code) = commands::variables_file::internal_main(&arguments) {
        return code;
    }
    let mut command = cli_scope::scoped(Cli::command());
    let mut usage_error = |message: String| -> ! { command.error(ErrorKind::ValueValidation, message).exit() };
    let line = cli::arguments(std::env::args_os());
    let mut matches = cli_scope::scoped(Cli::command()).get_matches_from(&line);
    if let Some(line) = cli::notebook_line(&line, &matches) {
        matches = cli_scope::scoped(Cli::command()).get_matches_from(line);
    }
    if let Err(message) = cli_scope::check(&Cli::command(), &matches) {
        usage_error(message);
    }
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    for text in predecessor::apply(&mut cli, &matches, |name| std::env::var(name).ok()) {
        print_error(&format!("brumate: {text}"));
    }
    commands::kernel::apply_defaults(&mut cli, &matches);
    brumate_setting::set_writer(match &cli.mode {
        Mode::Pipe(_) => setting_names::in_python,
        _ => setting_names::on_command_line,
    });
    let settings = match Settings::resolve(&cli, &Environment::of_this_process()) {
        Ok(settings) => settings,
        Err(message) => usage_error(message),
    };
    if let Err(message) = logging::start(cli.options.verbose, cli.mode.is_server()) {
        usage_error(message);
    }
    ExitCode::from(run(&cli.mode, &matches, &settings))
}

/// Runs a command to its end. Returns the exit status.
fn run(mode: &Mode, matches: &ArgMatches, settings: &Settings) -> u8 {
    let mut threads = match mode {
        // Requests of one client need little time in this process. Another thread would need more time to wake up.
        Mode::Stdio | Mode::Pipe(_) | Mode::Kernel(_) | Mode::Run(_) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = match threads.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            print_error(&format!("brumate: cannot start threads: {error}"));
            return exit_status::SANDBOX;
        }
    };
    let result = runtime.block_on(async {
        match mode {
            Mode::Stdio => commands::stdio::run(settings).await,
            Mode::Pipe(arguments) => commands::pipe::run(settings, arguments).await,
            Mode::Exec(arguments) => commands::exec::run(settings, arguments).await,
            Mode::Test(arguments) => commands::suite::run(settings, arguments).await,
            Mode::Run(arguments) => commands::run::run(settings, arguments).await,
            Mode::Dev(arguments) => commands::dev::run(arguments, matches).await,
            Mode::Install(arguments) => commands::install::run(settings, arguments, matches).await,
            Mode::Kernel(arguments) => commands::kernel::run(settings, arguments, matches).await,
            Mode::Example => commands::example::run(settings).await,
            Mode::Warmup(arguments) => commands::warmup::run(settings, arguments).await,
            Mode::Lock(arguments) => commands::lock::run(settings, arguments).await,
            Mode::Bundle(BundleArgs { action: BundleAction::Build(arguments) }) => {
                commands::bundle::run(settings, arguments).await
            }
            Mode::Sessions(arguments) => commands::sessions::run(settings, arguments).await,
            Mode::Doctor(arguments) => commands::doctor::run(settings, arguments).await,
            Mode::StreamableHttp | Mode::StreamableHttpStateless | Mode::Sse => commands::http::run(settings).await,
            Mode::Token(arguments) => commands::token::run(arguments),
            Mode::Health(arguments) => commands::health::run(arguments).await,
            Mode::Client(arguments) => commands::client::run(arguments).await,
            Mode::Completions(arguments) => commands::completions::completions(arguments),
            Mode::Man(arguments) => commands::completions::manual(arguments),
        }
    });
    runtime.shutdown_timeout(SHUTDOWN);
    match result {
        Ok(status) => status,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            exit_status::SANDBOX
        }
    }
}
