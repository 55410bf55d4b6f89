//! `brumate exec` with a notebook: runs its cells in one session, as nbclient does.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use brumate::mounts;
use brumate_engine_api::{Mount, StopReason};
use brumate_jupyter::{CellFailure, NotebookEnd, NotebookRun, OutputPolicy};
use brumate_notebook::{MAX_NOTEBOOK_BYTES, Notebook, Parameters};
use brumate_session::sessions::{FileName, LOCAL_PRINCIPAL, SessionError, Sessions};
use brumate_session::{CancellationToken, FileSink as _, Grants};
use serde_json::json;
use tokio::sync::mpsc;

use super::exec::{EVENT_QUEUE, variables, write_output};
use super::kernel::directory::KernelDirectory;
use super::output_directory::OutputDirectory;
use super::print_error;
use super::serving::{self, ServiceEngine};
use super::source_file::path_in_mounts;
use crate::bounded_file::read_text;
use crate::cli::{ExecArgs, NotebookArgs};
use crate::exit_status;
use crate::guest_text::{print_guest, quoted};
use crate::replace_file::replace_file;
use crate::sandbox::single_run_sandbox;
use crate::settings::Settings;
use crate::signals::Signals;

/// Longest file of parameters, in bytes.
const MAX_PARAMETERS_BYTES: u64 = 16 << 20;
/// Name of standard output as a file for the notebook.
const STDOUT: &str = "-";

pub(super) async fn run(settings: &Settings, arguments: &ExecArgs, file: &Path) -> anyhow::Result<u8> {
    let prepared = match prepare(settings, arguments, file) {
        Ok(prepared) => prepared,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::USAGE);
        }
    };
    let Prepared { mut notebook, output, setup, output_dir } = prepared;
    let directory = KernelDirectory::make(&settings.cache_dir).context("cannot make a directory in the cache")?;
    let sandbox = single_run_sandbox(settings)?;
    let mut wanted = settings.sessions.clone().context("there are no settings of sessions; this is a defect")?;
    wanted.data_dir = directory.data();
    wanted.grants = Grants::new(settings.mounts.clone());
    wanted.hibernate_after = None;
    // The notebook itself has the outputs.
    wanted.history = false;
    let engine = ServiceEngine::Sandbox(sandbox.engine.clone());
    let sessions = match serving::open_sessions(settings, &sandbox, &engine, wanted).await {
        Ok(sessions) => sessions,
        Err(reason) => {
            print_error(&format!("brumate: {reason}"));
            return Ok(exit_status::SANDBOX);
        }
    };
    let cancel = CancellationToken::new();
    let policy = if arguments.notebook.active_output { OutputPolicy::Active } else { OutputPolicy::Passive };
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    // With a file for the outputs they are not printed.
    let live = output.is_none().then_some(sender);
    let writing = tokio::task::spawn_blocking({
        let cancel = cancel.clone();
        move || write_output(events, &cancel)
    });
    let allow_errors = arguments.notebook.allow_errors;
    let work = async {
        let run = NotebookRun::new(sessions.clone(), LOCAL_PRINCIPAL, policy, live);
        let ended = match run.prepare(&setup).await {
            Ok(()) => run.run(&mut notebook, allow_errors, &cancel).await,
            Err(error) => Err(error),
        };
        let copied = match (output_dir, run.session_id()) {
            (Some(directory), Some(id)) => copy_files(&sessions, &id, directory).await,
            _ => Ok(()),
        };
        run.end().await;
        drop(run);
        (ended, copied, writing.await)
    };
    let ((ended, copied, written), signalled) = Signals::listen()?.guard(&cancel, work).await;
    sessions.close().await;
    if written?.is_err() {
        return Ok(exit_status::BROKEN_PIPE);
    }
    let mut status = report(&ended, &notebook, output.is_some(), signalled);
    // Without a session no cell has run.
    if let (Some(output), Ok(_)) = (&output, &ended)
        && let Err(error) = write_notebook(output, &notebook)
    {
        print_error(&format!("brumate: {} cannot be written: {error}", output.display()));
        status = exit_status::FAILURE;
    }
    if let Err(error) = copied {
        print_error(&format!("brumate: not all files could be copied: {}", quoted(&error)));
        status = if status == exit_status::SUCCESS { exit_status::FAILURE } else { status };
    }
    Ok(status)
}

/// A notebook that is ready to run.
struct Prepared {
    notebook: Notebook,
    /// File for the notebook with its outputs.
    output: Option<PathBuf>,
    /// Code that runs before the cells.
    setup: String,
    output_dir: Option<OutputDirectory>,
}

/// Reads the notebook, and checks all that can be wrong with the command line.
fn prepare(settings: &Settings, arguments: &ExecArgs, file: &Path) -> anyhow::Result<Prepared> {
    mounts::check_apart(&settings.mounts).map_err(|reason| anyhow::anyhow!("`--mount`: {reason}"))?;
    let text = read_text(file, MAX_NOTEBOOK_BYTES).map_err(anyhow::Error::msg)?;
    let mut notebook = Notebook::parse(&text).with_context(|| format!("{} cannot be run", file.display()))?;
    notebook.check_language().with_context(|| format!("{} cannot be run", file.display()))?;
    parameters(&arguments.notebook)?.inject(&mut notebook);
    if let Some(output) = &arguments.notebook.output {
        check_output(output).with_context(|| format!("`--output {}`", output.display()))?;
    }
    let output_dir = arguments.output_dir.as_deref().map(|directory| {
        OutputDirectory::new(directory)
            .with_context(|| format!("`--output-dir {0}`: cannot use {0}", directory.display()))
    });
    Ok(Prepared {
        notebook,
        output: arguments.notebook.output.clone(),
        setup: setup(&variables(&arguments.env)?, file, &settings.mounts),
        output_dir: output_dir.transpose()?,
    })
}

/// Reads the parameters, in papermill's order of precedence: files, YAML, typed values, raw values; the last one counts.
fn parameters(arguments: &NotebookArgs) -> anyhow::Result<Parameters> {
    let mut parameters = Parameters::default();
    for file in &arguments.parameters_file {
        let text =
            read_text(file, MAX_PARAMETERS_BYTES).map_err(|reason| anyhow::anyhow!("`--parameters-file`: {reason}"))?;
        parameters.add_yaml(&text).with_context(|| format!("`--parameters-file {}`", file.display()))?;
    }
    for text in &arguments.parameters_yaml {
        parameters.add_yaml(text).context("`--parameters-yaml`")?;
    }
    for [name, value] in arguments.parameters.as_chunks::<2>().0 {
        parameters.add_typed(name, value).context("`--parameters`")?;
    }
    for [name, value] in arguments.parameters_raw.as_chunks::<2>().0 {
        parameters.add_raw(name, value).context("`--parameters-raw`")?;
    }
    Ok(parameters)
}

/// Checks before the cells run that a notebook can be written.
fn check_output(output: &Path) -> anyhow::Result<()> {
    if output == Path::new(STDOUT) {
        return Ok(());
    }
    if output.is_dir() {
        anyhow::bail!("it is a directory: name a file");
    }
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        anyhow::bail!("there is no directory {}: make it first", parent.display());
    }
    Ok(())
}

/// Returns the code that sets environment variables. A notebook in a granted directory runs in that directory.
fn setup(variables: &[(String, String)], file: &Path, mounts: &[Mount]) -> String {
    // A string in JSON is a string in Python.
    let variables: serde_json::Map<String, serde_json::Value> =
        variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut code = String::new();
    if !variables.is_empty() {
        code = format!("__import__('os').environ.update({})\n", serde_json::Value::Object(variables));
    }
    let directory = path_in_mounts(file, mounts);
    if let Some((directory, _)) = directory.as_deref().and_then(|path| path.rsplit_once('/')) {
        code.push_str(&format!(
            "__import__('os').chdir({})\n",
            json!(if directory.is_empty() { "/" } else { directory })
        ));
    }
    code
}

/// Says how a run ended. Returns the exit status. `quiet`: the outputs were not printed.
fn report(ended: &Result<NotebookEnd, SessionError>, notebook: &Notebook, quiet: bool, signalled: Option<u8>) -> u8 {
    match ended {
        Ok(NotebookEnd::Completed) => exit_status::SUCCESS,
        Ok(NotebookEnd::Failed(CellFailure { index, name, message, traceback, stopped })) => {
            if quiet {
                print_guest(&traceback.join("\n"));
            }
            if *stopped == Some(StopReason::Cancelled) {
                return signalled.unwrap_or(exit_status::INTERRUPTED);
            }
            let error = format!("{name}: {message}");
            let first = error.lines().next().unwrap_or_default();
            print_error(&format!("brumate: cell {} of {} failed: {first}", index + 1, notebook.len()));
            match stopped {
                Some(StopReason::TimeLimit | StopReason::CpuLimit) => exit_status::TIME_LIMIT,
                _ => exit_status::FAILURE,
            }
        }
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            exit_status::FAILURE
        }
    }
}

/// Writes the notebook. A regular file is replaced as a whole.
pub(super) fn write_notebook(output: &Path, notebook: &Notebook) -> std::io::Result<()> {
    let text = notebook.to_json();
    if output == Path::new(STDOUT) {
        let mut stdout = std::io::stdout().lock();
        if stdout.is_terminal() {
            drop(stdout);
            return super::print(text.trim_end());
        }
        stdout.write_all(text.as_bytes())?;
        return stdout.flush();
    }
    match std::fs::canonicalize(output) {
        // A link stays a link.
        Ok(target) if target.is_file() => replace_file(&target, &text),
        Ok(target) => std::fs::write(target, text),
        Err(_) => replace_file(output, &text),
    }
}

/// Copies the files of the session to a directory.
async fn copy_files(sessions: &Sessions, id: &str, mut directory: OutputDirectory) -> Result<(), String> {
    let never = CancellationToken::new();
    let text = |error: SessionError| error.to_string();
    for file in sessions.files(LOCAL_PRINCIPAL, id).await.map_err(text)? {
        let name = FileName::parse(&file.name).map_err(text)?;
        let failed = |error: std::io::Error| format!("{}: {error}", file.name);
        directory.begin(&file.name).map_err(failed)?;
        let mut offset = 0;
        loop {
            let chunk = sessions.read_file(LOCAL_PRINCIPAL, id, &name, offset, &never).await.map_err(text)?;
            directory.write(&chunk.bytes).map_err(failed)?;
            offset += chunk.bytes.len() as u64;
            if chunk.bytes.is_empty() || offset >= chunk.size {
                break;
            }
        }
        directory.finish().map_err(failed)?;
    }
    Ok(())
}
