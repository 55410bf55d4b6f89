//! A machine's own limits, kept by the kernel.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::api::Limits;
use crate::jail;

/// Process data (heap of the host side included) above the guest's linear memory, in bytes.
const HOST_ALLOWANCE: u64 = 768 << 20;

/// Limits that hold for the machine's whole life.
pub(super) fn protect(limits: &Limits) {
    // Linear memory and everything else private and writable counts; reserved address space does not.
    let data = limits.memory_bytes.saturating_add(limits.file_bytes).saturating_add(HOST_ALLOWANCE);
    set(Resource::Data, data);
}

/// `SIGPROF` after `cpu` of CPU time from now and again every `grace`; `SIGXCPU`, which kills, when the process has used
/// `total` in all.
pub(super) fn start_cpu_timer(cpu: Duration, grace: Duration, total: Duration) {
    let seconds = total.as_secs().saturating_add(u64::from(total.subsec_nanos() > 0));
    set(Resource::Cpu, seconds.max(1));
    // Refused only for arguments out of range, and the kernel's own limit stands in any case.
    let _ = jail::start_cpu_timer(cpu, grace);
}

/// Stops the timer.
pub(super) fn stop_cpu_timer() {
    let _ = jail::stop_cpu_timer();
}

/// Lifts what [`protect`] and [`start_cpu_timer`] have set, for what the machine does of itself.
pub(super) fn lift() {
    stop_cpu_timer();
    set(Resource::Cpu, u64::MAX);
    set(Resource::Data, u64::MAX);
}

/// Sets the soft limit, at most to the hard one.
fn set(resource: Resource, soft: u64) {
    let limit = getrlimit(resource);
    let current = limit.maximum.map_or(soft, |hard| soft.min(hard));
    // Lowering below, or raising to, the hard limit is always allowed.
    let _ = setrlimit(resource, Rlimit { current: Some(current), maximum: limit.maximum });
}
