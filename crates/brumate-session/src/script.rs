//! Ends of scripts, as a shell sees them.

use std::collections::BTreeMap;

use brumate_engine_api::{Ended, ExitReason, Limits, StopReason};

use crate::explain::{self, CodeContext};
use crate::new_files::{CopyReport, NewFiles};
use crate::report::RunEnd;

/// 128 + SIGABRT.
const ABORTED: u8 = 134;
/// 128 + SIGSEGV.
const SEGMENTATION_FAULT: u8 = 139;

/// Result of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptReport {
    /// How the script ended.
    pub end: ScriptEnd,
    /// Files that the script made or wrote to outside of mounts and directories of temporary files. Empty if the
    /// machine ended with the script.
    pub new_files: NewFiles,
    /// Files that were copied to [`Request::sink`](crate::Request::sink).
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

/// Returns the end of a program; `module` is its name if it ran as a module.
pub(crate) fn script_end(
    end: RunEnd,
    module: Option<&str>,
    context: CodeContext,
    absent: &BTreeMap<String, String>,
    granted: &[String],
    limits: &Limits,
) -> ScriptEnd {
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
            let is_missing = message.contains("No module named ") && !message.contains("cannot be directly executed");
            let evalue = module.filter(|_| code == 1 && is_missing).map(|module| format!("No module named '{module}'"));
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

/// Returns the exit code that a parent process sees.
fn low_byte(code: i32) -> u8 {
    (code & 0xff) as u8
}
