//! The CPU time of executions: what ends them, and what they pay for.
//!
//! Modules that a guest brings are compiled by another process. What that takes counts as the guest's own CPU time: it comes out of what is
//! left of its execution, and the timers that end the execution go off so much earlier.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// CPU time for compiling one module when no execution runs, for example when a session resumes that has loaded it.
const OUTSIDE: Duration = Duration::from_secs(60);

/// The CPU time of the execution that runs.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// CPU time of this process at which the execution has used up its own, in nanoseconds; 0 when none runs.
    end: AtomicU64,
    /// How long it may go on after that, in nanoseconds.
    grace: AtomicU64,
}

impl Meter {
    /// An execution begins. `SIGPROF` comes after `cpu` of CPU time from now and again every `grace`; `SIGXCPU`, which kills, when it has
    /// used both.
    pub(crate) fn begin(&self, cpu: Duration, grace: Duration) {
        self.grace.store(nanoseconds(grace), Ordering::Relaxed);
        self.start(cpu_time().saturating_add(cpu), cpu, grace);
    }

    /// Starts the timers anew. When nothing is left, the first signal's work is done at once: the timer is not so exact.
    fn start(&self, end: Duration, left: Duration, grace: Duration) {
        if left.is_zero() {
            crate::signals::cpu_time_is_used_up();
        }
        let left = if left.is_zero() { grace } else { left };
        self.end.store(nanoseconds(end).max(1), Ordering::Relaxed);
        let total = end.saturating_add(grace);
        let seconds = total.as_secs().saturating_add(u64::from(total.subsec_nanos() > 0));
        set_soft_limit(Resource::Cpu, seconds.max(1));
        // Refused only for arguments out of range, and the kernel's own limit stands in any case.
        let _ = brumate_jail::start_cpu_timer(left, grace);
    }

    /// The execution has ended.
    pub(crate) fn end(&self) {
        self.end.store(0, Ordering::Relaxed);
        let _ = brumate_jail::stop_cpu_timer();
    }

    /// CPU time that compiling a module may take now.
    pub(crate) fn left(&self) -> Duration {
        match self.end.load(Ordering::Relaxed) {
            0 => OUTSIDE,
            end => Duration::from_nanos(end).saturating_sub(cpu_time()),
        }
    }

    /// Whether the execution has used up its time. It is interrupted then, if it was not before.
    pub(crate) fn is_used_up(&self) -> bool {
        let used_up = self.left().is_zero();
        if used_up {
            crate::signals::cpu_time_is_used_up();
        }
        used_up
    }

    /// Takes away what compiling has taken. When nothing is left the execution is interrupted.
    pub(crate) fn charge(&self, cpu: Duration) {
        let (end, left) = (self.end.load(Ordering::Relaxed), self.left());
        // No execution runs, or the timer has gone off and counts the grace time.
        if end != 0 && !left.is_zero() {
            let grace = Duration::from_nanos(self.grace.load(Ordering::Relaxed));
            self.start(Duration::from_nanos(end).saturating_sub(cpu), left.saturating_sub(cpu), grace);
        }
    }
}

/// Sets the soft limit, at most to the hard one.
pub(crate) fn set_soft_limit(resource: Resource, soft: u64) {
    let limit = getrlimit(resource);
    let current = limit.maximum.map_or(soft, |hard| soft.min(hard));
    // Lowering below, or raising to, the hard limit is always allowed.
    let _ = setrlimit(resource, Rlimit { current: Some(current), maximum: limit.maximum });
}

/// CPU time of this process.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_becomes_less_by_what_is_charged() {
        let meter = Meter::default();
        assert_eq!(meter.left(), OUTSIDE);
        meter.charge(Duration::from_secs(10));
        assert_eq!(meter.left(), OUTSIDE, "no execution pays");
        let day = Duration::from_secs(86_400);
        let before = getrlimit(Resource::Cpu);
        meter.begin(day, Duration::from_secs(1));
        assert!(meter.left() <= day && meter.left() > day / 2);
        let kills = getrlimit(Resource::Cpu).current.expect("a limit");
        meter.charge(day / 2);
        assert!(meter.left() <= day / 2 && meter.left() > day / 4);
        assert_eq!(getrlimit(Resource::Cpu).current, Some(kills - 43_200));
        meter.end();
        assert_eq!(meter.left(), OUTSIDE);
        setrlimit(Resource::Cpu, before).expect("the limit as it was");
    }
}
