//! Scripts with arguments, standard input and an exit status, as a shell runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use brumate_engine_api::{
    COMMAND_NAME, Ended, Execute, ExecuteMode, ExitReason, Image, InterruptHandle, MachineSpec, MessagePipes, Mount,
    ServerTarget, StopReason, StreamName,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::choice::imports_of;
use crate::dependencies::Inference;
use crate::execution::execute_request;
use crate::explain::{self, CodeContext};
use crate::globals::Globals;
use crate::input::InputForwarder;
use crate::job::{Job, JobOutcome};
use crate::new_files::{CopyReport, FileSink, NewFiles};
use crate::packages::Installation;
use crate::report::RunEnd;
use crate::request::{RunError, RunEvent};
use crate::runner::Runner;

/// 128 + SIGABRT.
const ABORTED: u8 = 134;
/// 128 + SIGSEGV.
const SEGMENTATION_FAULT: u8 = 139;
/// Most files that a report names.
const MAX_NAMED_FILES: usize = 10;

/// Script with its arguments, files and standard input.
#[derive(Default)]
#[non_exhaustive]
pub struct ScriptRequest {
    /// Source text; or the name of a module, if `is_module`.
    pub code: String,
    /// Whether the program is a module, which runs as `python -m` would run it.
    pub is_module: bool,
    /// Whether each character of `code` stands for a byte of a file. Python then finds out how the file is encoded.
    pub source_bytes: bool,
    /// Modules that the script cannot import, with the reasons; an error about one of them gets its reason as a note.
    pub absent_modules: BTreeMap<String, String>,
    /// File name in tracebacks.
    pub file_name: String,
    /// `sys.argv`.
    pub argv: Vec<String>,
    /// Working directory; empty: the user's home in the sandbox.
    pub directory: String,
    /// Requirements of this program, besides those of every run.
    pub requirements: Vec<String>,
    /// Whether the code belongs to a project that states its requirements; see [`Execute::states_requirements`].
    pub states_requirements: bool,
    /// Standard input; `None` means empty.
    pub stdin: Option<OwnedFd>,
    /// Host directories that the script may use.
    pub mounts: Vec<Mount>,
    /// Pipes of the messages of a server; the code runs as one then. `None`: the code is a script.
    pub messages: Option<MessagePipes>,
    /// Image to run in, if it is built; else the one that suits the imports.
    pub image: Option<Image>,
    /// Names the server in the code. Used with `messages` only.
    pub server: ServerTarget,
    /// Modules of the user's that the code finds in the sandbox. They are not taken for packages, and their imports count as the code's.
    pub local: LocalModules,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Gets the machine's handle and packages when the code is about to run.
    pub start: Option<oneshot::Sender<ScriptStart>>,
    /// Receives copies of the files that the script wrote; `None` discards them with the sandbox.
    pub sink: Option<Box<dyn FileSink>>,
}

/// The machine's handle and the packages of a script that is about to run.
#[non_exhaustive]
pub struct ScriptStart {
    /// Handle of the machine.
    pub handle: Arc<dyn InterruptHandle>,
    /// Packages that were installed for the script.
    pub installation: Arc<Installation>,
}

impl std::fmt::Debug for ScriptStart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScriptStart").field("installation", &self.installation).finish_non_exhaustive()
    }
}

/// Modules that lie beside a script.
#[derive(Debug, Clone, Default)]
pub struct LocalModules {
    /// Their top-level names.
    pub names: BTreeSet<String>,
    /// Their source texts.
    pub sources: Vec<String>,
}

impl std::fmt::Debug for ScriptRequest {
    // The environment may have secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScriptRequest").field("file_name", &self.file_name).finish_non_exhaustive()
    }
}

impl ScriptRequest {
    /// Makes a request for `code` whose `argv` is the file name alone.
    pub fn new(code: impl Into<String>, file_name: impl Into<String>) -> Self {
        let file_name = file_name.into();
        Self { code: code.into(), argv: vec![file_name.clone()], file_name, ..Self::default() }
    }

    /// Makes a request for the module of this name, without arguments. Its package is installed if it is missing.
    pub fn module(name: impl Into<String>) -> Self {
        let name = name.into();
        // As in CPython, until the module is found.
        let argv = vec!["-m".to_owned()];
        // The name itself is no code that can be parsed for imports.
        let imports = name.split('.').next().filter(|top| is_identifier(top)).map(|top| format!("import {top}"));
        let local = LocalModules { sources: imports.into_iter().collect(), ..LocalModules::default() };
        Self { code: name, is_module: true, argv, local, ..Self::default() }
    }
}

/// Result of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptReport {
    /// How the script ended.
    pub end: ScriptEnd,
    /// Files that the script made or wrote to outside of mounts and directories of temporary files. Empty if the machine ended with the script.
    pub new_files: NewFiles,
    /// Files that were copied to [`ScriptRequest::sink`].
    pub copied: CopyReport,
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptEnd {
    /// The script ran to its end, or ended by `SystemExit` or `os._exit`.
    Exited {
        /// Exit code, 0 to 255.
        code: u8,
        /// Text that Python prints for the exit; empty if there is none, or if it is part of stderr already.
        message: String,
    },
    /// An uncaught exception ended the script.
    Raised {
        /// CPython's traceback, if it is not part of stderr already, and a note if a limit or a missing package caused it.
        text: String,
    },
    /// A limit or a cancellation stopped the script.
    Stopped {
        /// What stopped it.
        reason: StopReason,
        /// Traceback, if the script could still raise one, and the reason.
        text: String,
    },
    /// The machine ended for another reason.
    Killed {
        /// The reason, for the user.
        text: String,
    },
    /// A needed package cannot be installed. No code ran.
    InstallError {
        /// Which package, and the reason.
        text: String,
    },
}

impl Runner {
    /// Runs a script and sends its output to `events`. A slow receiver slows the script down.
    ///
    /// Imports that no known package provides are left to Python, which may find them in a mount.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the script could not be run at all.
    pub async fn exec(
        &self,
        request: ScriptRequest,
        events: mpsc::Sender<RunEvent>,
        cancel: &CancellationToken,
    ) -> Result<ScriptReport, RunError> {
        let input = InputForwarder::new(None);
        let mode = match request.messages {
            Some(_) => ExecuteMode::Server,
            None if request.is_module => ExecuteMode::Module,
            None => ExecuteMode::Script,
        };
        let temporary = temporary_directories(&request.env);
        let execute = Execute {
            file_name: request.file_name,
            argv: request.argv,
            directory: request.directory,
            mode,
            server: request.server,
            env: request.env,
            ends_program: true,
            source_bytes: request.source_bytes,
            states_requirements: request.states_requirements,
            ..execute_request(request.code, Globals::default(), &input, true)
        };
        let imports = match mode {
            ExecuteMode::Module => request.local.sources.iter().flat_map(|source| imports_of(source)).collect(),
            _ => imports_of(&execute.code),
        };
        // Who names an image builds it.
        let learned = if request.image.is_some() { BTreeSet::new() } else { imports.clone() };
        let built = request.image.filter(|image| self.engine.has_image(image));
        let image = built.unwrap_or_else(|| self.image_for(&imports));
        let granted: Vec<String> = request.mounts.iter().map(|mount| mount.guest.clone()).collect();
        let absent = request.absent_modules;
        let module = (mode == ExecuteMode::Module).then(|| execute.code.clone());
        let context = if mode == ExecuteMode::Module || execute.file_name == COMMAND_NAME {
            CodeContext::CommandLine
        } else {
            CodeContext::of_script(&execute.code)
        };
        let (mounts, stdin, messages) = (request.mounts, request.stdin, request.messages);
        let spec = MachineSpec { image, limits: *self.limits(), mounts, stdin, messages, ..MachineSpec::default() };
        let job = Job {
            spec,
            execute,
            imports: learned,
            requirements: request.requirements,
            inference: Inference::Lenient,
            input,
            principal: String::new(),
            phases: None,
            sink: request.sink,
            local: request.local,
            start: request.start,
        };
        let outcome = self.run_job(job, events.clone(), cancel).await?;
        if let JobOutcome::Ran { end, .. } = &outcome {
            let dropped = match &**end {
                RunEnd::Completed { outcome, .. } => outcome.output_dropped,
                RunEnd::MachineExited { output_dropped, .. } => *output_dropped,
            };
            if dropped > 0 {
                let text = format!("{}\n", explain::output_dropped(dropped, self.limits()));
                // The receiver may be gone.
                let _ = events.send(RunEvent::Output { name: StreamName::Stderr, text }).await;
            }
        }
        let (end, copied) = match outcome {
            JobOutcome::InstallError { error } => {
                let end = ScriptEnd::InstallError { text: error };
                return Ok(ScriptReport { end, new_files: NewFiles::default(), copied: CopyReport::default() });
            }
            JobOutcome::Ran { end, copied, .. } => (*end, copied),
        };
        let new_files = match &end {
            RunEnd::Completed { outcome, .. } => NewFiles::beyond(outcome, &temporary, MAX_NAMED_FILES),
            RunEnd::MachineExited { .. } => NewFiles::default(),
        };
        Ok(ScriptReport { end: self.script_end(end, module.as_deref(), context, &absent, &granted), new_files, copied })
    }

    /// Returns the end of a program; `module` is its name if it ran as a module.
    fn script_end(
        &self,
        end: RunEnd,
        module: Option<&str>,
        context: CodeContext,
        absent: &BTreeMap<String, String>,
        granted: &[String],
    ) -> ScriptEnd {
        let limits = self.limits();
        let (outcome, missing) = match end {
            RunEnd::Completed { outcome, missing } => (outcome, missing),
            RunEnd::MachineExited { reason, peak_memory_bytes, .. } => {
                let text = explain::machine_exited(&reason, peak_memory_bytes, limits);
                return match reason {
                    // A shell prints which signal ended a process.
                    ExitReason::Exit(code) => {
                        let message = explain::signal_of_status(code).map_or_else(String::new, |_| text);
                        ScriptEnd::Exited { code: low_byte(code), message }
                    }
                    ExitReason::TimeLimit => ScriptEnd::Stopped { reason: StopReason::TimeLimit, text },
                    ExitReason::CpuLimit => ScriptEnd::Stopped { reason: StopReason::CpuLimit, text },
                    ExitReason::Cancelled => ScriptEnd::Stopped { reason: StopReason::Cancelled, text },
                    // 128 and the signal that would have ended a process, as a shell does.
                    ExitReason::Abort => ScriptEnd::Exited { code: ABORTED, message: text },
                    ExitReason::Trap(_) => ScriptEnd::Exited { code: SEGMENTATION_FAULT, message: text },
                    ExitReason::Signal(signal) => ScriptEnd::Exited { code: low_byte(128 + signal), message: text },
                    _ => ScriptEnd::Killed { text },
                };
            }
        };
        // A full stderr may lack the text, or its end.
        let is_printed = outcome.is_printed && outcome.output_dropped == 0;
        if let Some(reason) = outcome.stopped {
            let why = explain::stopped(reason, limits);
            let text = match outcome.ended {
                _ if is_printed => why,
                Ended::Raised { traceback: text, .. } | Ended::Exited { message: text, .. } if !text.is_empty() => {
                    format!("{}\n{why}", text.trim_end())
                }
                _ => why,
            };
            return ScriptEnd::Stopped { reason, text };
        }
        match outcome.ended {
            Ended::Returned(_) => ScriptEnd::Exited { code: 0, message: String::new() },
            Ended::Exited { code, message } => {
                // `runpy` words it in its own way when the module that is to run is not there. A package without `__main__` is.
                let is_missing =
                    message.contains("No module named ") && !message.contains("cannot be directly executed");
                let evalue =
                    module.filter(|_| code == 1 && is_missing).map(|module| format!("No module named '{module}'"));
                let hint = evalue
                    .and_then(|evalue| explain::script_hint("ModuleNotFoundError", &evalue, &missing, context, limits));
                let message = (!is_printed).then_some(message);
                let message = message.into_iter().chain(hint).collect::<Vec<_>>().join("\n");
                ScriptEnd::Exited { code: low_byte(code), message }
            }
            Ended::Raised { ename, evalue, traceback } => {
                let absent = explain::module_of(&ename, &evalue).and_then(|module| absent.get(&module));
                let hint = absent
                    .map(|reason| format!("({reason})"))
                    .or_else(|| explain::script_hint(&ename, &evalue, &missing, context, limits))
                    .or_else(|| explain::file_hint(&ename, &evalue, granted));
                let traceback = (!is_printed).then(|| traceback.trim_end_matches('\n').to_owned());
                ScriptEnd::Raised { text: traceback.into_iter().chain(hint).collect::<Vec<_>>().join("\n") }
            }
        }
    }
}

/// Returns the directories of temporary files of a program with these variables.
fn temporary_directories(env: &[(String, String)]) -> Vec<String> {
    let named = env.iter().filter(|(name, _)| ["TMPDIR", "TEMP", "TMP"].contains(&name.as_str()));
    let named = named.map(|(_, directory)| directory.trim_end_matches('/')).filter(|directory| directory.len() > 1);
    ["/tmp", "/var/tmp", "/usr/tmp"].into_iter().chain(named).map(|directory| format!("{directory}/")).collect()
}

fn is_identifier(text: &str) -> bool {
    text.chars().next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && text.chars().all(|character| character == '_' || character.is_alphanumeric())
}

/// Returns the exit code that a parent process sees.
fn low_byte(code: i32) -> u8 {
    (code & 0xff) as u8
}
