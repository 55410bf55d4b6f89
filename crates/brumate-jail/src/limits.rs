//! Limits that the kernel enforces.

use std::time::Duration;

use rustix::process::{Resource, Rlimit};

use super::{JailConfig, JailError, Report, Wall, sys};

/// Signals that may be queued for this jail's user.
const PENDING_SIGNALS: u64 = 256;

/// Sets the limits of the whole jail, soft and hard alike, so that nothing inside can raise one again.
pub(super) fn apply(config: &JailConfig, report: &mut Report) -> Result<(), JailError> {
    let limits = &config.limits;
    let fixed = [
        (Resource::Core, Some(0)),
        (Resource::Memlock, Some(0)),
        (Resource::Msgqueue, Some(0)),
        (Resource::Nice, Some(0)),
        (Resource::Rtprio, Some(0)),
        (Resource::Rttime, Some(0)),
        (Resource::Locks, Some(0)),
        (Resource::Sigpending, Some(PENDING_SIGNALS)),
        (Resource::Nofile, Some(limits.open_files)),
        (Resource::Fsize, Some(limits.file_bytes)),
        (Resource::Data, limits.data_bytes),
        (Resource::Cpu, limits.cpu_seconds),
    ];
    for (resource, value) in fixed {
        if let Some(value) = value {
            lower(resource, value)?;
        }
    }
    if limits.nice > 0 {
        let own = rustix::process::getpriority_process(None).map_err(JailError::os("reading the priority"))?;
        rustix::process::setpriority_process(None, (own + limits.nice).min(19))
            .map_err(JailError::os("lowering the priority"))?;
    }
    report.active(
        Wall::Rlimits,
        format!(
            "{} files, {} bytes per file, no core, no locked memory, nice {}",
            limits.open_files, limits.file_bytes, limits.nice
        ),
    );
    // Counted per user and user namespace. Without either of its own this would count the processes of the
    // user's other programs, and bind root not at all.
    if report.is_active(Wall::Identity) {
        lower(Resource::Nproc, limits.processes)?;
        report.active(Wall::ProcessLimit, format!("{} processes", limits.processes));
    } else {
        report.missing(Wall::ProcessLimit, "the jail has no user id and no user namespace of its own to count in");
    }
    Ok(())
}

/// No core file, for a process that needs no other limit.
pub(super) fn no_core_dumps() -> Result<(), JailError> {
    lower(Resource::Core, 0)
}

/// Sets soft and hard limit to `value`, or to the hard limit that already is lower.
pub(super) fn lower(resource: Resource, value: u64) -> Result<(), JailError> {
    lower_to(resource, value, 0)
}

/// As [`lower`], with the hard limit `above` the soft one.
fn lower_to(resource: Resource, value: u64, above: u64) -> Result<(), JailError> {
    let hard = rustix::process::getrlimit(resource).maximum;
    let cap = |value: u64| hard.map_or(value, |hard| hard.min(value));
    let both = Rlimit { current: Some(cap(value)), maximum: Some(cap(value.saturating_add(above))) };
    rustix::process::setrlimit(resource, both)
        .map_err(|errno| JailError::Limit { resource: format!("{resource:?}"), source: errno.into() })
}

/// Seconds of CPU time between the signal that ends a machine and the one that cannot be held off.
pub const CPU_GRACE_SECONDS: u64 = 2;

/// Limits of one machine, set by the machine itself right after it was forked and before it runs any guest code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MachineLimits {
    /// CPU time over the machine's whole life, in whole seconds (rounded up, at least 1): then the kernel sends
    /// `SIGXCPU`, which ends it, and [`CPU_GRACE_SECONDS`] later `SIGKILL`, which cannot be held off.
    pub cpu_total: Option<Duration>,
    /// `RLIMIT_DATA`: private writable memory, in bytes.
    pub data_bytes: Option<u64>,
}

impl MachineLimits {
    pub(super) fn apply(&self) -> Result<(), JailError> {
        if let Some(total) = self.cpu_total {
            // Up: a limit of 0 would kill at once.
            let seconds = total.as_secs() + u64::from(total.subsec_nanos() > 0);
            lower_to(Resource::Cpu, seconds.max(1), CPU_GRACE_SECONDS)?;
        }
        if let Some(bytes) = self.data_bytes {
            lower(Resource::Data, bytes)?;
        }
        Ok(())
    }
}

/// Sends this process `SIGPROF` once it has used `budget` of CPU time (user and system), and again after every
/// further `repeat`, until [`stop_cpu_timer`]. For the limit of one execution: the first signal is the interrupt, a
/// later one the end. Not inherited over `fork`.
///
/// The default action of `SIGPROF` ends the process, except the first process of a process namespace.
pub fn start_cpu_timer(budget: Duration, repeat: Duration) -> Result<(), JailError> {
    let value =
        libc::itimerval { it_interval: timeval(repeat), it_value: timeval(budget.max(Duration::from_micros(1))) };
    sys::set_interval_timer(libc::ITIMER_PROF as libc::c_int, value)
        .map_err(|source| JailError::Os { step: "starting the CPU timer", source })
}

/// Stops what [`start_cpu_timer`] started.
pub fn stop_cpu_timer() -> Result<(), JailError> {
    let never = libc::itimerval { it_interval: timeval(Duration::ZERO), it_value: timeval(Duration::ZERO) };
    sys::set_interval_timer(libc::ITIMER_PROF as libc::c_int, never)
        .map_err(|source| JailError::Os { step: "stopping the CPU timer", source })
}

/// Sends this process `SIGALRM` after every `interval` of wall-clock time, until [`stop_alarm`]. Not inherited over `fork`.
pub fn start_alarm(interval: Duration) -> Result<(), JailError> {
    start_alarm_in(interval, interval)
}

/// As [`start_alarm`], with another time to the first signal. Async-signal-safe.
pub fn start_alarm_in(first: Duration, interval: Duration) -> Result<(), JailError> {
    let value = libc::itimerval { it_interval: timeval(interval), it_value: timeval(first) };
    sys::set_interval_timer(libc::ITIMER_REAL as libc::c_int, value)
        .map_err(|source| JailError::Os { step: "starting the alarm", source })
}

/// Stops what [`start_alarm`] started.
pub fn stop_alarm() -> Result<(), JailError> {
    let never = libc::itimerval { it_interval: timeval(Duration::ZERO), it_value: timeval(Duration::ZERO) };
    sys::set_interval_timer(libc::ITIMER_REAL as libc::c_int, never)
        .map_err(|source| JailError::Os { step: "stopping the alarm", source })
}

fn timeval(duration: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: libc::suseconds_t::from(duration.subsec_micros() as i32),
    }
}

/// Sends this process `SIGVTALRM` after every `slice` of CPU time in user mode, until [`stop_slices`]. Not inherited over `fork`.
pub fn start_slices(slice: Duration) -> Result<(), JailError> {
    let value = libc::itimerval { it_interval: timeval(slice), it_value: timeval(slice) };
    sys::set_interval_timer(libc::ITIMER_VIRTUAL as libc::c_int, value)
        .map_err(|source| JailError::Os { step: "starting the timer of slices", source })
}

/// Stops the timer that [`start_slices`] started.
pub fn stop_slices() -> Result<(), JailError> {
    start_slices(Duration::ZERO)
}
