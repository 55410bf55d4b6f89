//! What a machine adds after it was forked.
//!
//! A machine inherits every wall of its zygote. Further forks stay allowed, because a checkpoint is a fork of the
//! machine; [`super::Wall::ProcessLimit`] bounds them.

use rustix::process::{Pid, Signal};

use super::{JailError, MachineLimits, seccomp};

/// Tightens the jail around a machine: it dies with its zygote, has its own limits, may signal no other process and
/// install no further filter. To be called once, in the forked process, before any guest code runs; `zygote` is what
/// `getpid` said in the zygote before the fork.
///
/// A checkpoint forked from a machine inherits this, with two differences. A fork clears the tie to the parent (rightly:
/// a checkpoint outlives its machine; see [`die_with_parent`]). And the machine's process id stays the only one that may
/// be signalled, so that a checkpoint's own `abort` ends in `SIGSEGV` instead of `SIGABRT`.
///
/// # Errors
///
/// The zygote is gone, or a limit or the filter was refused. The machine must end then.
pub fn tighten_machine(zygote: Pid, limits: &MachineLimits) -> Result<(), JailError> {
    if !die_with_parent(zygote)? {
        return Err(JailError::ServerGone);
    }
    limits.apply()?;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    seccomp::install_machine(own.unsigned_abs())
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
