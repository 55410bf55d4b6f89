//! Exit statuses. `brumate --help` lists them.

use brumate_engine_api::StopReason;
use brumate_session::ScriptEnd;

/// Success.
pub(crate) const SUCCESS: u8 = 0;
/// Failure, or an exception of a script.
pub(crate) const FAILURE: u8 = 1;
/// Invalid command line.
pub(crate) const USAGE: u8 = 2;
/// The script reached a time limit; the status of coreutils' `timeout`.
pub(crate) const TIME_LIMIT: u8 = 124;
/// The sandbox failed; the status of coreutils' `timeout`.
pub(crate) const SANDBOX: u8 = 125;
/// 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
/// 128 + SIGKILL.
pub(crate) const KILLED: u8 = 137;
/// 128 + SIGPIPE: the reader of the output is gone.
pub(crate) const BROKEN_PIPE: u8 = 141;
/// 128 + SIGTERM.
pub(crate) const TERMINATED: u8 = 143;

/// Returns the exit status for the end of a script.
pub(crate) fn of_script(end: &ScriptEnd) -> u8 {
    match end {
        ScriptEnd::Exited { code, .. } => *code,
        ScriptEnd::Stopped { reason: StopReason::TimeLimit | StopReason::CpuLimit, .. } => TIME_LIMIT,
        ScriptEnd::Stopped { reason: StopReason::Cancelled, .. } => INTERRUPTED,
        ScriptEnd::Killed { .. } => KILLED,
        // An exception, missing packages, and variants of later versions.
        _ => FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_end_as_under_python_and_a_shell() {
        let text = String::new;
        for (end, status) in [
            (ScriptEnd::Exited { code: 0, message: text() }, 0),
            (ScriptEnd::Exited { code: 42, message: text() }, 42),
            (ScriptEnd::Raised { text: text() }, 1),
            (ScriptEnd::InstallError { text: text() }, 1),
            (ScriptEnd::Stopped { reason: StopReason::TimeLimit, text: text() }, 124),
            (ScriptEnd::Stopped { reason: StopReason::CpuLimit, text: text() }, 124),
            (ScriptEnd::Stopped { reason: StopReason::Cancelled, text: text() }, 130),
            (ScriptEnd::Killed { text: text() }, 137),
        ] {
            assert_eq!(of_script(&end), status, "{end:?}");
        }
    }
}
