//! `brumate run`: runs an MCP server that is written in Python in the sandbox.

pub(crate) mod environment;
mod http;
mod launcher;
mod local_files;
mod log;
mod name;
mod program;
mod server_images;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use brumate_engine::client::LocalEngine;
use brumate_engine_api::Engine as _;
use brumate_python_server::stdio::{StdioOptions, serve_stdio};
use brumate_python_server::{Announcement, MachineEnd, StartError, StartedMachine};
use brumate_session::{CancellationToken, ImageBuilder};

use self::http::serve_http;
use self::launcher::ProgramLauncher;
pub(crate) use self::name::server_name;
use self::program::ServerProgram;
pub(crate) use self::program::{file_and_object, names_file};
use self::server_images::ServerImages;
use self::watch::watch;
use super::print_error;
use super::project::Project;
use crate::cli::{IsolateArg, PythonServerOptions, RunArgs};
use crate::exit_status;
use crate::guest_text::{GuestText, print_line};
use crate::sandbox::{Sandbox, python_server_sandbox, use_warm_dependencies};
use crate::settings::Settings;
use crate::signals::Signals;

/// Time limit and CPU time limit of a server's run: ten years, in effect none. Its requests have limits.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Most machines of a server: those of sessions, and some that start or end.
const MAX_MACHINES: usize = 128;
/// How long after its start a server has the processors for itself. Then the image for later servers is built.
const IMAGE_DELAY: Duration = Duration::from_secs(3);

/// Runs the server until its client closes its input or a signal ends it.
pub(crate) async fn run(settings: &Settings, arguments: &RunArgs) -> anyhow::Result<u8> {
    let prepared = ServerProgram::new(&settings.mounts, &arguments.options, &arguments.server, &arguments.arguments)
        .and_then(|program| Ok((program, sandbox_of(settings, &arguments.options)?)));
    let (program, sandbox) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::USAGE);
        }
    };
    let limits = settings.runner.limits;
    let shutdown = CancellationToken::new();
    let work = async {
        use_warm_dependencies(&sandbox, settings).await;
        // The sandbox knows its images once it has started. The run reports a failure to start.
        let _ = sandbox.engine.sandbox().await;
        let images = ServerImages::new(&sandbox, &settings.cache_dir);
        let own_image = images.find(program.file()).await;
        let launcher =
            Arc::new(ProgramLauncher::new(sandbox.runner.clone(), program, own_image, arguments.options.isolate));
        if settings.runner.builder != ImageBuilder::Disabled {
            tokio::spawn(build_image(sandbox.engine.clone(), images, Arc::clone(&launcher)));
        }
        let reload = arguments.watch.then(|| watch(launcher.program.file().to_owned()));
        let options = StdioOptions { request_timeout: limits.wall, grace: limits.grace, reload };
        serve(launcher, settings, arguments.options.isolate, options, shutdown.clone()).await
    };
    let (end, signalled) = Signals::listen()?.guard(&shutdown, work).await;
    let end = end?;
    if !end.text.is_empty() {
        // Text of the server is log, like its output.
        let mut text = GuestText::default();
        print_line((text.next(&end.text) + &text.finish()).trim_end_matches('\n'));
    }
    Ok(signalled.filter(|_| end.status == exit_status::SUCCESS).unwrap_or(end.status))
}

/// Starts the server, and serves what it says.
async fn serve(
    launcher: Arc<ProgramLauncher>,
    settings: &Settings,
    isolate: IsolateArg,
    options: StdioOptions,
    shutdown: CancellationToken,
) -> anyhow::Result<MachineEnd> {
    let started = tokio::select! {
        biased;
        () = shutdown.cancelled() => return Ok(MachineEnd { status: exit_status::SUCCESS, text: String::new() }),
        started = StartedMachine::start(&*launcher) => started,
    };
    let first = match started {
        Ok(first) => first,
        Err(StartError::Ended(end)) if end.status != 0 => return Ok(end),
        Err(error) => return Ok(failed(&error)),
    };
    match first.announcement.clone() {
        Announcement::Stdio { .. } => {
            if isolate == IsolateArg::Session {
                tracing::warn!("`--isolate session` is for HTTP: standard input and output have one client");
            }
            let client = brumate_mcp::stdio_pipes();
            Ok(serve_stdio(&*launcher, first, client, options, shutdown).await?)
        }
        Announcement::Http { host, port, .. } => {
            if options.reload.is_some() {
                tracing::warn!(
                    "`--watch` is for servers over standard input and output: start this one again after a change"
                );
            }
            serve_http(launcher, first, (host, port), settings, isolate, shutdown).await
        }
    }
}

/// Says why the server ends.
fn failed(error: &dyn std::error::Error) -> MachineEnd {
    print_error(&format!("brumate: {error}"));
    MachineEnd { status: exit_status::FAILURE, text: String::new() }
}

/// Builds the image that this server and others start in later, unless it is there. The first machine goes first.
async fn build_image(engine: LocalEngine, images: ServerImages, launcher: Arc<ProgramLauncher>) {
    let mut installed = launcher.installation.subscribe();
    let Ok(installation) = installed.wait_for(Option::is_some).await.map(|installed| installed.clone()) else { return };
    tokio::time::sleep(IMAGE_DELAY).await;
    let (program, image) = (&launcher.program, launcher.program.image());
    let own_image = images.build(program.file(), installation.unwrap_or_default(), program.data_modules()).await;
    if let Some(own_image) = own_image {
        launcher.set_own_image(own_image);
    } else if !engine.has_image(&image)
        && let Err(error) = engine.build_image_ahead(&image).await
    {
        tracing::debug!(%image, %error, "no image was built for servers");
    }
}

/// Reads the project of `--with-editable`.
fn editable_project(directory: &Path) -> anyhow::Result<Project> {
    Project::read_stated(directory).context("`--with-editable`")
}

/// Makes the sandbox of a server. Its requests have the limits of time; the machine has none.
fn sandbox_of(settings: &Settings, options: &PythonServerOptions) -> anyhow::Result<Sandbox> {
    let mut settings = settings.clone();
    settings.runner.dependencies.extend(options.with.iter().cloned());
    for directory in &options.with_editable {
        settings.runner.dependencies.extend(editable_project(directory)?.requirements());
    }
    // Sessions with machines of their own have a limit below it.
    settings.runner.max_concurrent = MAX_MACHINES;
    let limits = &mut settings.runner.limits;
    (limits.wall, limits.cpu) = (FOREVER, FOREVER);
    // The log has a limit of its own.
    limits.output_bytes = u64::MAX;
    python_server_sandbox(&settings, options.isolate == IsolateArg::Session)
}
