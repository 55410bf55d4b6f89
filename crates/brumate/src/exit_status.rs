//! Exit statuses, as `brumate --help` lists them.

use brumate_engine_api::StopReason;
use brumate_session::ScriptEnd;

/// Done.
pub(crate) const SUCCESS: u8 = 0;
/// Something failed, or a script raised.
pub(crate) const FAILURE: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// A time limit ended the script; what `timeout` of coreutils says.
pub(crate) const TIME_LIMIT: u8 = 124;
/// The sandbox itself failed; again as `timeout`.
pub(crate) const SANDBOX: u8 = 125;
/// 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
/// 128 + SIGKILL.
pub(crate) const KILLED: u8 = 137;
/// 128 + SIGPIPE: nobody reads the output any more.
pub(crate) const BROKEN_PIPE: u8 = 141;
/// 128 + SIGTERM.
pub(crate) const TERMINATED: u8 = 143;

/// The status for the end of a script.
pub(crate) fn of_script(end: &ScriptEnd) -> u8 {
    match end {
        ScriptEnd::Exited { code, .. } => *code,
        ScriptEnd::Stopped { reason: StopReason::WallLimit | StopReason::CpuLimit, .. } => TIME_LIMIT,
        ScriptEnd::Stopped { reason: StopReason::Cancelled, .. } => INTERRUPTED,
        ScriptEnd::Killed { .. } => KILLED,
        // An exception, missing packages, and ends that are not known here yet.
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
            (ScriptEnd::Raised { traceback: text() }, 1),
            (ScriptEnd::InstallError { text: text() }, 1),
            (ScriptEnd::Stopped { reason: StopReason::WallLimit, text: text() }, 124),
            (ScriptEnd::Stopped { reason: StopReason::CpuLimit, text: text() }, 124),
            (ScriptEnd::Stopped { reason: StopReason::Cancelled, text: text() }, 130),
            (ScriptEnd::Killed { text: text() }, 137),
        ] {
            assert_eq!(of_script(&end), status, "{end:?}");
        }
    }
}
