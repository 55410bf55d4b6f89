//! `brumate exec`: runs a script in the sandbox, like `python script.py`.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use brumate_engine_api::{Image, Mount, StreamName};
use brumate_session::explain::join_paths;
use brumate_session::{CancellationToken, CopyReport, NewFiles, RunEvent, ScriptEnd, ScriptReport, ScriptRequest};
use tokio::sync::mpsc;

use super::output_directory::OutputDirectory;
use super::print_error;
use super::run_events::for_each_output;
use super::source_file::{
    MAX_SCRIPT_BYTES, SourceFile, modules_beside, modules_outside, path_in_mounts, read_file, source,
};
use crate::bounded_file::read_bounded;
use crate::cli::ExecArgs;
use crate::exit_status;
use crate::guest_text::{GuestText, note_written, print_guest, quoted};
use crate::sandbox::{single_run_sandbox, use_warm_dependencies};
use crate::settings::Settings;
use crate::signals::Signals;

/// File name of a script from standard input.
const STDIN_NAME: &str = "<stdin>";
/// Names of standard input as a file.
const STDIN_DEVICES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
/// Directories of the sandbox that belong to the interpreter, so nothing can be mounted there.
const RESERVED: [&str; 3] = ["dev", "lib", "proc"];
/// Most events that wait for the output. Then the script waits.
const EVENT_QUEUE: usize = 16;

pub(crate) async fn run(settings: &Settings, arguments: &ExecArgs) -> anyhow::Result<u8> {
    let request = match request(arguments) {
        Ok(request) => request,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::USAGE);
        }
    };
    let sandbox = single_run_sandbox(settings)?;
    let cancel = CancellationToken::new();
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    // Writing may block, so it runs on a thread of its own.
    let writing = tokio::task::spawn_blocking({
        let cancel = cancel.clone();
        move || write_output(events, &cancel)
    });
    let work = async {
        use_warm_dependencies(&sandbox, settings).await;
        // The sandbox knows its images once it has started. The run reports a failure to start.
        let _ = sandbox.engine.sandbox().await;
        let end = sandbox.runner.exec(request, sender, &cancel).await;
        (end, writing.await)
    };
    let ((end, written), signalled) = Signals::listen()?.guard(&cancel, work).await;
    if written?.is_err() {
        return Ok(exit_status::BROKEN_PIPE);
    }
    let ScriptReport { end, new_files, copied, .. } = end?;
    match &end {
        ScriptEnd::Exited { message: text, .. } | ScriptEnd::Raised { text } if text.is_empty() => {}
        ScriptEnd::Exited { message, .. } => print_guest(message.trim_end_matches('\n')),
        ScriptEnd::Raised { text }
        | ScriptEnd::Stopped { text, .. }
        | ScriptEnd::Killed { text }
        | ScriptEnd::InstallError { text } => print_guest(text),
        other => bail!("unknown end of the script: {other:?}"),
    }
    let image = sandbox.runner.image_to_build();
    if image.is_some() || sandbox.engine.uses_baseline_code() {
        prepare_in_background(image.as_ref(), settings);
    }
    let complete = report_files(arguments.output_dir.as_deref(), &new_files, &copied);
    Signals::listen()?.guard(&cancel, sandbox.runner.settle(&cancel)).await;
    let status = exit_status::of_script(&end);
    if status == 0 && !complete {
        return Ok(exit_status::FAILURE);
    }
    Ok(if status == exit_status::INTERRUPTED { signalled.unwrap_or(status) } else { status })
}

/// Starts a process that prepares later scripts: it optimizes code that this script has compiled quickly, and builds an image for
/// scripts with the same imports. It outlives this process, and has the lowest priority.
fn prepare_in_background(image: Option<&Image>, settings: &Settings) {
    use std::os::unix::process::CommandExt as _;
    let (Ok(program), Ok(cache)) = (std::env::current_exe(), std::path::absolute(&settings.cache_dir)) else { return };
    let mut command = Command::new(program);
    command.args(["warmup", "--offline", "--optimize", "--cache-dir"]).arg(cache);
    if let Some(image) = image {
        command.args(["--modules", &image.modules().join(",")]);
    }
    command.current_dir("/").process_group(0);
    if settings.require_jail {
        command.arg("--require-jail");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::debug!(%error, "the process that prepares later scripts did not start");
    }
}

/// Reports files of the script that are lost or could not be copied. Returns whether all copies succeeded.
fn report_files(directory: Option<&Path>, new_files: &NewFiles, copied: &CopyReport) -> bool {
    let Some(directory) = directory else {
        if !new_files.is_empty() {
            print_error(&format!(
                "brumate: the script's new files are lost: {} (to keep such files, use --output-dir DIR or --mount HOST:GUEST)",
                quoted(&join_paths(&new_files.paths, new_files.left_out))
            ));
        }
        return true;
    };
    if let Some(error) = &copied.error {
        print_error(&format!(
            "brumate: not all files could be copied to {}: {}",
            directory.display(),
            quoted(&error.to_string())
        ));
    }
    copied.error.is_none()
}

/// Makes the request of a script from the command line.
fn request(arguments: &ExecArgs) -> anyhow::Result<ScriptRequest> {
    let from_stdin = arguments.file() == Path::new("-");
    // The descriptor may be a socket, which cannot be opened by this name.
    let is_stdin_device = STDIN_DEVICES.iter().any(|device| arguments.file() == Path::new(device));
    let mounts: Vec<Mount> = arguments.mount.iter().map(|text| parse_mount(text)).collect::<anyhow::Result<_>>()?;
    let SourceFile { code, is_bytes, name } = match from_stdin || is_stdin_device {
        true => {
            let bytes =
                read_bounded(std::io::stdin().lock(), MAX_SCRIPT_BYTES).context("cannot read standard input")?;
            let name = if from_stdin { STDIN_NAME.into() } else { arguments.file().to_string_lossy() };
            source(bytes, name.into_owned())
        }
        false => read_file(arguments.file())?,
    };
    let granted = if from_stdin || is_stdin_device { None } else { path_in_mounts(arguments.file(), &mounts) };
    let mut request = ScriptRequest::new(code, granted.as_ref().unwrap_or(&name));
    request.source_bytes = is_bytes;
    request.mounts = mounts;
    if from_stdin {
        // As in CPython, `sys.argv[0]` is `-`.
        request.argv = vec!["-".to_owned()];
    } else {
        request.stdin = Some(pump_stdin().context("cannot pass standard input on")?);
    }
    if granted.is_some() {
        request.local = modules_beside(arguments.file(), &request.code);
    } else if !from_stdin && !is_stdin_device {
        request.absent_modules = modules_outside(arguments.file(), &request.code);
    }
    request.argv.extend(arguments.arguments().iter().map(|argument| argument.to_string_lossy().into_owned()));
    if let Some(directory) = &arguments.output_dir {
        let sink = OutputDirectory::new(directory)
            .with_context(|| format!("`--output-dir {0}`: cannot use {0}", directory.display()))?;
        request.sink = Some(Box::new(sink));
    }
    Ok(request)
}

/// Copies standard input to a pipe, and returns its read end. The descriptor of standard input may be a terminal, a socket or a
/// writable file, so the sandbox does not receive it.
fn pump_stdin() -> std::io::Result<OwnedFd> {
    let (reader, mut writer) = std::io::pipe()?;
    // The thread is detached: it may wait for a person to type after the script has ended.
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut writer);
    })?;
    Ok(reader.into())
}

/// Parses `HOST:GUEST` or `HOST:GUEST:ro`. Host paths may contain colons, guest paths may not.
pub(super) fn parse_mount(text: &OsStr) -> anyhow::Result<Mount> {
    let shown = text.to_string_lossy();
    let bytes = text.as_bytes();
    let (bytes, read_only) = match bytes.strip_suffix(b":ro") {
        Some(rest) => (rest, true),
        None => (bytes.strip_suffix(b":rw").unwrap_or(bytes), false),
    };
    let colon = bytes.iter().rposition(|byte| *byte == b':').filter(|index| *index > 0);
    let Some(colon) = colon else {
        bail!("`--mount {shown}` is not HOST:GUEST or HOST:GUEST:ro");
    };
    let host = PathBuf::from(OsStr::from_bytes(&bytes[..colon]));
    let guest = String::from_utf8(bytes[colon + 1..].to_vec()).unwrap_or_default();
    if !guest.starts_with('/') || guest.split('/').any(|part| part == "..") || guest.contains('\0') {
        bail!("`--mount {shown}`: the path in the sandbox must be absolute, without `..`");
    }
    let first = guest.split('/').find(|part| !part.is_empty());
    match first {
        None => bail!("`--mount {shown}`: the sandbox's root cannot be replaced; choose another path, such as /data"),
        Some(first) if RESERVED.contains(&first) => {
            bail!("`--mount {shown}`: /{first} belongs to the interpreter; choose another path, such as /data")
        }
        Some(_) => {}
    }
    let kind = std::fs::metadata(&host).with_context(|| format!("`--mount {shown}`: cannot use {}", host.display()))?;
    if !kind.is_dir() {
        bail!("`--mount {shown}`: {} is not a directory", host.display());
    }
    let host = std::path::absolute(&host).with_context(|| format!("`--mount {shown}`"))?;
    Ok(Mount { host, guest, read_only })
}

/// Writes the script's output as it arrives: harmless to a terminal, as it is to a file or a pipe. Interrupts the script when the output
/// cannot be written.
fn write_output(events: mpsc::Receiver<RunEvent>, cancel: &CancellationToken) -> std::io::Result<()> {
    let (stdout, stderr) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
    // Both are one text where both are a terminal.
    let mut guest = GuestText::default();
    let mut result = Ok(());
    for_each_output(events, |name, text| {
        if result.is_err() {
            return;
        }
        let shown = match name {
            StreamName::Stdout => stdout,
            StreamName::Stderr => stderr,
        };
        let filtered = if shown { guest.next(text) } else { String::new() };
        let text = if shown { &filtered } else { text };
        result = match name {
            StreamName::Stdout => write_all(std::io::stdout().lock(), text),
            StreamName::Stderr => write_all(std::io::stderr().lock(), text),
        };
        if shown {
            note_written(text);
        }
        if result.is_err() {
            cancel.cancel();
        }
    });
    let rest = guest.finish();
    if result.is_ok() && !rest.is_empty() {
        result = if stdout {
            write_all(std::io::stdout().lock(), &rest)
        } else {
            write_all(std::io::stderr().lock(), &rest)
        };
        note_written(&rest);
    }
    result
}

fn write_all(mut output: impl Write, text: &str) -> std::io::Result<()> {
    output.write_all(text.as_bytes())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts() {
        let directory = tempfile::tempdir().unwrap();
        let odd = directory.path().join("a:b");
        std::fs::create_dir(&odd).unwrap();
        let host = odd.to_str().unwrap();
        for (text, read_only) in
            [(format!("{host}:/data"), false), (format!("{host}:/data:ro"), true), (format!("{host}:/data:rw"), false)]
        {
            let mount = parse_mount(OsStr::new(&text)).unwrap();
            assert_eq!(
                (mount.host.as_path(), mount.guest.as_str(), mount.read_only),
                (odd.as_path(), "/data", read_only)
            );
        }
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        for (text, part) in [
            ("nothing".to_owned(), "is not HOST:GUEST"),
            (":/data".to_owned(), "is not HOST:GUEST"),
            (format!("{host}:data"), "must be absolute"),
            (format!("{host}:/a/../etc"), "must be absolute"),
            (format!("{host}:/"), "sandbox's root"),
            (format!("{host}://lib"), "/lib belongs to the interpreter"),
            (format!("{host}:/lib/python3.14/extra"), "/lib belongs to the interpreter"),
            (format!("{host}:/dev:ro"), "/dev belongs to the interpreter"),
            (format!("{host}/missing:/data"), "cannot use"),
            (format!("{}:/data", file.display()), "is not a directory"),
        ] {
            let error = format!("{:#}", parse_mount(OsStr::new(&text)).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
