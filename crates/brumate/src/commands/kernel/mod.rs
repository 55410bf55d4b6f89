//! `brumate kernel`: the sandbox as a Jupyter kernel, and its entries in Jupyter's list of kernels.

pub(super) mod directory;
mod spec;

use anyhow::Context as _;
use brumate_jupyter::{ConnectionFile, KernelSession, KernelSockets, OutputPolicy};
use brumate_session::CancellationToken;
use brumate_session::sessions::LOCAL_PRINCIPAL;
use clap::ArgMatches;
use tokio::sync::mpsc;

use self::directory::KernelDirectory;
use super::serving::{self, ServiceEngine};
use super::{print, print_error};
use crate::cli::{Cli, IdleTimeout, KernelAction, KernelArgs, KernelRunArgs, Mode};
use crate::sandbox::kernel_sandbox;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::{cli_scope, exit_status};
use brumate::ranges::MAX_TIME;

/// Default of `--output-limit` for a cell: notebooks show more than answers of tools.
const OUTPUT_LIMIT: u64 = 64 << 20;

/// Sets the defaults of `kernel`, and of `exec` with a notebook, for options that were not given: a person ends a cell that takes too long,
/// and a session lasts as long as its kernel.
pub(crate) fn apply_defaults(cli: &mut Cli, matches: &ArgMatches) {
    match &cli.mode {
        Mode::Kernel(_) => {}
        Mode::Exec(arguments) if arguments.notebook.file.is_some() => {}
        _ => return,
    }
    let is_default = |id: &str| cli_scope::is_default(matches, id);
    if is_default("timeout") {
        cli.options.timeout = MAX_TIME;
    }
    if is_default("cpu_timeout") {
        cli.options.cpu_timeout = MAX_TIME;
    }
    if is_default("output_limit") {
        cli.options.output_limit = OUTPUT_LIMIT;
    }
    if is_default("session_timeout") {
        cli.options.session_timeout = IdleTimeout::Never;
    }
}

pub(crate) async fn run(settings: &Settings, arguments: &KernelArgs, matches: &ArgMatches) -> anyhow::Result<u8> {
    let done = match &arguments.action {
        KernelAction::Run(arguments) => return serve(settings, arguments).await,
        KernelAction::Install(arguments) => spec::install(arguments, matches),
        KernelAction::Remove { name } => spec::remove(name),
        KernelAction::List => spec::list(),
    };
    match done {
        Ok(text) => {
            print(&text)?;
            Ok(exit_status::SUCCESS)
        }
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            Ok(exit_status::FAILURE)
        }
    }
}

/// Serves a kernel. SIGINT interrupts the running cell, as Jupyter's consoles expect; SIGTERM ends the kernel.
async fn serve(settings: &Settings, arguments: &KernelRunArgs) -> anyhow::Result<u8> {
    let file = match ConnectionFile::read(&arguments.connection_file) {
        Ok(file) => file,
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            return Ok(exit_status::USAGE);
        }
    };
    let mut signals = Signals::listen()?;
    let sockets = match KernelSockets::bind(&file).await {
        Ok(sockets) => sockets,
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            return Ok(exit_status::FAILURE);
        }
    };
    let mut settings = settings.clone();
    // A session that ends with the kernel is in no list of sessions.
    let directory = match arguments.session {
        Some(_) => None,
        None => Some(KernelDirectory::make(&settings.cache_dir).context("cannot make a directory in the cache")?),
    };
    let wanted = settings.sessions.take();
    let mut wanted = wanted.context("there is no home directory for sessions: name a directory with --data-dir")?;
    if let Some(directory) = &directory {
        wanted.data_dir = directory.data();
        wanted.history = false;
    }
    let sandbox = kernel_sandbox(&settings)?;
    let shutdown_started = CancellationToken::new();
    let engine = ServiceEngine::Sandbox(sandbox.engine.clone());
    let ending = shutdown_started.clone();
    engine.start_in_background(&settings, move || ending.is_cancelled());
    if !settings.runner.dependencies.is_empty() {
        serving::warm_in_background(sandbox.clone(), settings.clone());
    }
    let sessions = match serving::open_sessions(&settings, &sandbox, &engine, wanted).await {
        Ok(sessions) => sessions,
        Err(reason) => {
            print_error(&format!("brumate: {reason}"));
            return Ok(exit_status::FAILURE);
        }
    };
    let session = arguments.session.clone().map_or(KernelSession::New, KernelSession::Existing);
    let policy = if arguments.active_output { OutputPolicy::Active } else { OutputPolicy::Passive };
    let shutdown = CancellationToken::new();
    // An interrupt that comes while another waits adds nothing.
    let (interrupt, interrupts) = mpsc::channel(1);
    let serving = async {
        let session = (session, policy);
        brumate_jupyter::serve(sockets, sessions.clone(), LOCAL_PRINCIPAL, session, interrupts, &shutdown).await;
        serving::end(&shutdown_started, Some(&sessions), None).await
    };
    tokio::pin!(serving);
    let written = loop {
        tokio::select! {
            written = &mut serving => break written,
            status = signals.next() => match status {
                exit_status::INTERRUPTED => drop(interrupt.try_send(())),
                _ => shutdown.cancel(),
            },
        }
    };
    Ok(serving::exit_status_of(None, written))
}
