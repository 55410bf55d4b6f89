//! What a machine adds after it was forked.
//!
//! A machine inherits every wall of its zygote. Further forks stay allowed, because a checkpoint is a fork of the
//! machine; [`super::Wall::ProcessLimit`] bounds them.

use rustix::process::{Pid, Signal};

use super::{JailError, MachineLimits};

/// Ties a machine to its zygote and sets its limits. To be called once, in the forked process, before any guest code
/// runs; `zygote` is what `getpid` said in the zygote before the fork.
///
/// There is no filter of its own: the zygote's refuses signals to anyone already, and a second one would cost a
/// machine some 70 µs. The price is that `abort`, which signals itself, ends in `SIGSEGV` (its last resort) instead of
/// `SIGABRT`.
///
/// A checkpoint forked from a machine inherits the limits. The fork clears the tie, rightly: a checkpoint outlives its
/// machine; see [`die_with_parent`].
///
/// # Errors
///
/// The zygote is gone, or a limit was refused. The machine must end then.
pub fn tighten_machine(zygote: Pid, limits: &MachineLimits) -> Result<(), JailError> {
    if !die_with_parent(zygote)? {
        return Err(JailError::ServerGone);
    }
    limits.apply()
}

/// Has the kernel kill this process when its parent ends. Returns whether `parent` still is the parent: if not, the
/// caller should end itself. A fork clears it.
///
/// For a checkpoint that takes over from its machine, with the zygote as its new parent. In a process namespace the end
/// of the zygote is everyone's in any case.
///
/// # Errors
///
/// The kernel refused.
pub fn die_with_parent(parent: Pid) -> Result<bool, JailError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(JailError::os("tying a machine to its zygote"))?;
    Ok(rustix::process::getppid() == Some(parent))
}
