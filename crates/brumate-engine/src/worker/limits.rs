//! A machine's own limits, kept by the kernel.

use std::time::Duration;

use crate::api::Limits;

/// Process data (heap of the host side included) above the guest's linear memory, in bytes.
const HOST_ALLOWANCE: u64 = 768 << 20;

/// Limits that hold for the machine's whole life.
pub(super) fn protect(limits: &Limits) {
    // Linear memory and everything else private and writable counts; reserved address space does not.
    let data = limits.memory_bytes.saturating_add(limits.file_bytes).saturating_add(HOST_ALLOWANCE);
    set(libc::RLIMIT_DATA, data);
}

/// `SIGPROF` after `cpu` of CPU time from now; `SIGXCPU`, which kills, when the process has used `total` in all.
pub(super) fn start_cpu_timer(cpu: Duration, total: Duration) {
    let seconds = total.as_secs().saturating_add(u64::from(total.subsec_nanos() > 0));
    set(libc::RLIMIT_CPU, seconds.max(1));
    set_timer(cpu);
}

/// Stops the timer.
pub(super) fn stop_cpu_timer() {
    set_timer(Duration::ZERO);
}

fn set(resource: libc::__rlimit_resource_t, soft: u64) {
    // SAFETY: reads and writes one local struct.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(resource, &raw mut limit) == 0 {
            limit.rlim_cur = soft.min(limit.rlim_max);
            libc::setrlimit(resource, &raw const limit);
        }
    }
}

fn set_timer(duration: Duration) {
    let value = libc::timeval {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: duration.subsec_micros().into(),
    };
    let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
    // SAFETY: reads one local struct.
    unsafe {
        libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut());
    }
}
