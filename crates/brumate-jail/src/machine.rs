//! What a machine adds after it was forked.
//!
//! A machine inherits every wall of its zygote. Further forks stay allowed, because a checkpoint is a fork of the
//! machine; [`super::Wall::ProcessLimit`] bounds them.

use rustix::process::{Pid, Signal};

use super::{JailError, MachineLimits};

/// Ties a machine to its parent, the first process of its jail, and sets its limits. To be called once, in the forked process,
/// before any guest code runs.
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
/// The parent is gone, or a limit was refused. The machine must end then.
pub fn tighten_machine(parent: Pid, limits: &MachineLimits) -> Result<(), JailError> {
    if !die_with_parent(parent)? {
        return Err(JailError::ServerGone);
    }
    limits.apply()
}

/// Has the kernel kill this process when its parent ends. Returns whether `parent` still is the parent: if not, the
/// caller should end itself. A fork clears it.
///
/// For zygotes, machines and checkpoints: all are children of their jail's first process. In a process namespace its end is
/// everyone's in any case.
///
/// # Errors
///
/// The kernel refused.
pub fn die_with_parent(parent: Pid) -> Result<bool, JailError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(JailError::os("tying a process to its parent"))?;
    Ok(rustix::process::getppid() == Some(parent))
}
