//! A machine's own limits, enforced by the kernel.

use rustix::process::Resource;

use crate::api::Limits;
use crate::meter::set_soft_limit;

/// Process data (heap of the host side included) above the guest's linear memory, in bytes.
pub(crate) const HOST_ALLOWANCE: u64 = 768 << 20;

/// Sets the limits that hold for the machine's whole life.
pub(super) fn protect(limits: &Limits) {
    // Linear memory and everything else private and writable counts; reserved address space does not.
    let data = limits.memory_bytes.saturating_add(limits.file_bytes).saturating_add(HOST_ALLOWANCE);
    set_soft_limit(Resource::Data, data);
}

/// Lifts the limits that [`protect`] and the [meter](crate::meter::Meter) have set, for work that the guest did not
/// cause.
pub(super) fn lift() {
    let _ = brumate_jail::stop_cpu_timer();
    set_soft_limit(Resource::Cpu, u64::MAX);
    set_soft_limit(Resource::Data, u64::MAX);
}
