//! Texts for the ends of machines.

use brumate_engine_api::{ExitReason, Limits};
use brumate_setting::Setting;

use super::{exited, memory, signal_name};
use crate::units::format_duration;

/// Says why a machine ended, and names the limit if it was one.
pub(super) fn exit_reason(reason: &ExitReason, limits: &Limits) -> String {
    let unmoved = || {
        let grace = format_duration(limits.grace);
        format!("did not react to KeyboardInterrupt within {grace} (set by {})", Setting::Grace)
    };
    match reason {
        ExitReason::ParseLimit(limit) => format!(
            "The code was killed before it ran: parsing it took longer than {}. It is too large or too deeply nested.",
            format_duration(*limit)
        ),
        ExitReason::TimeLimit => format!(
            "The code was killed: it ran longer than the time limit of {} (set by {}) and {}.",
            format_duration(limits.wall),
            Setting::Timeout,
            unmoved()
        ),
        ExitReason::CpuLimit => format!(
            "The code was killed: it used more CPU time than the limit of {} (set by {}) and {}.",
            format_duration(limits.cpu),
            Setting::CpuTimeout,
            unmoved()
        ),
        ExitReason::MemoryLimit => format!("The code was killed: {}.", memory(limits)),
        ExitReason::Cancelled => {
            format!("The code was killed: the call was cancelled or interrupted, and the code {}.", unmoved())
        }
        ExitReason::HostMemory => format!(
            "The machine was ended: the host ran out of memory, and its out-of-memory killer chose this process, which was within its own \
             limit. Give the server more memory, or lower the limits of each run ({}) and of their number \
             ({}).",
            Setting::Memory,
            Setting::MaxConcurrent
        ),
        ExitReason::Signal(ExitReason::SIGKILL) => {
            "The machine was ended from outside (SIGKILL), for example by the system's out-of-memory killer or an administrator; it had \
             reached none of its limits. Run the code again; if that happens again, the system's log says who ended it \
             (`journalctl -k`, or the events of the container)."
                .to_owned()
        }
        ExitReason::Signal(number) => {
            let name = signal_name(*number).map(|name| format!(" ({name})")).unwrap_or_default();
            format!("The Python interpreter crashed: signal {number}{name}. Nothing but this run is affected.")
        }
        ExitReason::Exit(code) => exited(*code),
        ExitReason::Abort => "The Python interpreter aborted. Nothing but this run is affected.".to_owned(),
        ExitReason::Protocol(text) => format!(
            "The machine said something that makes no sense ({}) and was ended. Nothing but this run is affected.",
            text.trim()
        ),
        ExitReason::Trap(text) => {
            format!("The Python interpreter crashed: {}. Nothing but this run is affected.", text.trim())
        }
    }
}
