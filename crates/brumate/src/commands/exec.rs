//! `brumate exec`: runs a script in the sandbox, like `python script.py`.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use brumate_engine_api::{COMMAND_NAME, Image, StreamName};
use brumate_session::explain::join_paths;
use brumate_session::{CancellationToken, CopyReport, NewFiles, Request, RunEvent, ScriptEnd, ScriptReport};
use tokio::sync::mpsc;

use super::output_directory::OutputDirectory;
use super::run::environment::named_variables;
use super::run_events::for_each_output;
use super::source_file::{
    MAX_SCRIPT_BYTES, SourceFile, directory_in_mounts, modules_in, modules_outside, path_in_mounts, read_file, source,
};
use super::{notebook, print_error};
use crate::bounded_file::read_bounded;
use crate::cli::{ExecArgs, Program};
use crate::exit_status;
use crate::guest_text::{GuestText, note_written, print_guest, quoted};
use crate::sandbox::{Sandbox, single_run_sandbox, use_warm_dependencies};
use crate::settings::Settings;
use crate::signals::Signals;

/// File name of a script from standard input.
const STDIN_NAME: &str = "<stdin>";
/// Names of standard input as a file.
const STDIN_DEVICES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
/// Most events that wait for the output. Then the script waits.
pub(super) const EVENT_QUEUE: usize = 16;

pub(crate) async fn run(settings: &Settings, arguments: &ExecArgs) -> anyhow::Result<u8> {
    match arguments.notebook() {
        Some((file, None)) => return notebook::run(settings, arguments, file).await,
        Some((_, Some(word))) => {
            print_error(&format!(
                "brumate: a notebook takes no arguments such as `{}`: set its parameters with `-p NAME VALUE`",
                word.display()
            ));
            return Ok(exit_status::USAGE);
        }
        None => {}
    }
    if let Some(option) = arguments.notebook.given() {
        print_error(&format!("brumate: `{option}` is an option for notebooks: files with the ending `.ipynb`"));
        return Ok(exit_status::USAGE);
    }
    let request = match request(settings, arguments) {
        Ok(request) => request,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::USAGE);
        }
    };
    let sandbox = single_run_sandbox(settings)?;
    let (end, signalled) = match perform(&sandbox, settings, request).await? {
        Performed::Ended(report, signalled) => (report, signalled),
        Performed::OutputClosed => return Ok(exit_status::BROKEN_PIPE),
    };
    let ScriptReport { end, new_files, copied, .. } = end;
    let complete = report_files(arguments.output_dir.as_deref(), &new_files, &copied);
    let status = status_of(&end, signalled);
    Ok(if status == exit_status::SUCCESS && !complete { exit_status::FAILURE } else { status })
}

/// Returns the exit status of a program; that of the signal that interrupted it.
pub(super) fn status_of(end: &ScriptEnd, signalled: Option<u8>) -> u8 {
    match exit_status::of_script(end) {
        exit_status::INTERRUPTED => signalled.unwrap_or(exit_status::INTERRUPTED),
        status => status,
    }
}

/// Result of [`perform`].
pub(super) enum Performed {
    /// The program ended. The number is the exit status of the signal that came meanwhile, if one came.
    Ended(ScriptReport, Option<u8>),
    /// The reader of its output is gone.
    OutputClosed,
}

/// Runs a program, passes its output on, and says why it ended. A signal interrupts it.
pub(super) async fn perform(sandbox: &Sandbox, settings: &Settings, request: Request) -> anyhow::Result<Performed> {
    let cancel = CancellationToken::new();
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    // Writing may block, so it runs on a thread of its own.
    let writing = tokio::task::spawn_blocking({
        let cancel = cancel.clone();
        move || write_output(events, &cancel)
    });
    let work = async {
        use_warm_dependencies(sandbox, settings).await;
        // The sandbox knows its images once it has started. The run reports a failure to start.
        let _ = sandbox.engine.sandbox().await;
        let end = sandbox.runner.exec(request, sender, &cancel).await;
        (end, writing.await)
    };
    let ((end, written), signalled) = Signals::listen()?.guard(&cancel, work).await;
    if written?.is_err() {
        return Ok(Performed::OutputClosed);
    }
    let report = end?;
    match &report.end {
        ScriptEnd::Exited { message: text, .. } | ScriptEnd::Raised { text } if text.is_empty() => {}
        ScriptEnd::Exited { message, .. } => print_guest(message.trim_end_matches('\n')),
        ScriptEnd::Raised { text }
        | ScriptEnd::Stopped { text, .. }
        | ScriptEnd::Killed { text }
        | ScriptEnd::InstallError { text } => print_guest(text),
        other => bail!("unknown end of the script: {other:?}"),
    }
    let image = sandbox.runner.image_to_build();
    if image.is_some() || sandbox.engine.started().is_some_and(|engine| engine.uses_baseline_code()) {
        prepare_in_background(image.as_ref(), settings);
    }
    Signals::listen()?.guard(&cancel, sandbox.runner.settle(&cancel)).await;
    Ok(Performed::Ended(report, signalled))
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
fn request(settings: &Settings, arguments: &ExecArgs) -> anyhow::Result<Request> {
    let (mounts, env) = (settings.mounts.clone(), variables(&arguments.env)?);
    let (program, words) = arguments.program();
    // Directories of the host where the program looks for modules.
    let mut places = Vec::new();
    let mut absent_modules = BTreeMap::new();
    let mut request = match program {
        Program::Module(name) => Request::module(name.to_string_lossy()),
        Program::Code(code) => {
            let mut request = Request::script(dedented(&code.to_string_lossy()), COMMAND_NAME);
            request.argv = vec!["-c".to_owned()];
            request
        }
        Program::Stdin => {
            let mut request = script(standard_input(STDIN_NAME)?, None);
            // As in CPython, `sys.argv[0]` is `-`.
            request.argv = vec!["-".to_owned()];
            request
        }
        // The descriptor may be a socket, which cannot be opened by this name.
        Program::File(file) if STDIN_DEVICES.iter().any(|device| file == Path::new(device)) => {
            script(standard_input(&file.to_string_lossy())?, None)
        }
        Program::File(file) => {
            let granted = path_in_mounts(file, &mounts);
            let source = read_file(file)?;
            if granted.is_some() {
                places.push(file.parent().unwrap_or(Path::new("")).to_owned());
            } else {
                absent_modules = modules_outside(file, &source.code);
            }
            script(source, granted)
        }
    };
    request.absent_modules = absent_modules;
    if program != Program::Stdin {
        request.stdin = Some(pump_stdin().context("cannot pass standard input on")?);
    }
    let python_path = env.iter().filter(|(name, _)| name == "PYTHONPATH").flat_map(|(_, value)| value.split(':'));
    places.extend(python_path.filter_map(|place| directory_in_mounts(place, &mounts)));
    if !places.is_empty() {
        let code = [&[request.code.clone()][..], &request.local.sources].concat().join("\n");
        let found = modules_in(&places, &code);
        request.local.names.extend(found.names);
        request.local.sources.extend(found.sources);
    }
    (request.mounts, request.env) = (mounts, env);
    request.argv.extend(words.into_iter().map(|word| word.to_string_lossy().into_owned()));
    if let Some(directory) = &arguments.output_dir {
        let sink = OutputDirectory::new(directory)
            .with_context(|| format!("`--output-dir {0}`: cannot use {0}", directory.display()))?;
        request.sink = Some(Box::new(sink));
    }
    Ok(request)
}

/// Reads a script from standard input. `name` is its file name.
fn standard_input(name: &str) -> anyhow::Result<SourceFile> {
    let bytes = read_bounded(std::io::stdin().lock(), MAX_SCRIPT_BYTES).context("cannot read standard input")?;
    Ok(source(bytes, name.to_owned()))
}

/// Returns the environment variables of the command line. As with Docker, a variable that is not set here is not set there.
pub(super) fn variables(env: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    named_variables("--env", env, |_| Ok(()))
}

/// Makes the request of a script, at this path in the sandbox if it is `granted`.
fn script(file: SourceFile, granted: Option<String>) -> Request {
    let SourceFile { code, is_bytes, name } = file;
    let mut request = Request::script(code, granted.unwrap_or(name));
    request.source_bytes = is_bytes;
    request
}

/// Removes the white space that all lines begin with, as Python does with the code of `-c`.
fn dedented(code: &str) -> String {
    let is_space = |character: char| matches!(character, ' ' | '\t');
    let indentations = code.split('\n').filter_map(|line| {
        let rest = line.trim_start_matches(is_space);
        (!rest.is_empty()).then(|| &line[..line.len() - rest.len()])
    });
    let common = indentations.reduce(|common, own| {
        let same = common.bytes().zip(own.bytes()).take_while(|(one, other)| one == other).count();
        &common[..same]
    });
    let Some(common) = common.filter(|common| !common.is_empty()) else { return code.to_owned() };
    // A line without the common white space has nothing else.
    code.split('\n').map(|line| line.strip_prefix(common).unwrap_or_default()).collect::<Vec<&str>>().join("\n")
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

/// Writes the script's output as it arrives: harmless to a terminal, as it is to a file or a pipe. Interrupts the script when the output
/// cannot be written.
pub(super) fn write_output(events: mpsc::Receiver<RunEvent>, cancel: &CancellationToken) -> std::io::Result<()> {
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
    fn code_of_the_command_line_may_be_indented() {
        for (code, expected) in [
            ("print(1)", "print(1)"),
            ("\n    if x:\n        y\n\n  \n    z\n  ", "\nif x:\n    y\n\n\nz\n"),
            ("  a\n\tb", "  a\n\tb"),
            ("  a\nb", "  a\nb"),
            ("  ", "  "),
        ] {
            assert_eq!(dedented(code), expected);
        }
    }

    #[test]
    fn programs_are_told_apart() {
        use clap::Parser as _;

        let parsed = |line: &[&str]| {
            let line = [&["brumate", "exec"], line].concat();
            let crate::cli::Mode::Exec(arguments) = crate::cli::Cli::try_parse_from(&line).unwrap().mode else {
                panic!("{line:?}")
            };
            let (program, words) = arguments.program();
            format!("{program:?} {words:?}")
        };
        for (line, expected) in [
            (
                &["-m", "pytest", "-v", "--timeout", "3", "--", "-m", "x"][..],
                r#"Module("pytest") ["-v", "--timeout", "3", "--", "-m", "x"]"#,
            ),
            (&["-mjson.tool", "--indent", "2"], r#"Module("json.tool") ["--indent", "2"]"#),
            (&["-cprint(1)", "-m", "x"], r#"Code("print(1)") ["-m", "x"]"#),
            (&["--env", "A=1", "-c", "-1", "-c", "x"], r#"Code("-1") ["-c", "x"]"#),
            (&["tool.py", "-m", "x", "--env", "B"], r#"File("tool.py") ["-m", "x", "--env", "B"]"#),
            (&["-", "-c"], r#"Stdin ["-c"]"#),
        ] {
            assert_eq!(parsed(line), expected);
        }
        for line in [&["exec"][..], &["exec", "-m"], &["exec", "--env", "A"]] {
            assert!(crate::cli::Cli::try_parse_from([&["brumate"], line].concat()).is_err());
        }
    }
}
