//! Readiness of descriptors. The engine does the waiting and calls this again afterwards.

use brumate_abi::errno::{Errno, syscall};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::limits::OPEN_FILES_MAX;
use brumate_vfs::{Readiness, Vfs};

/// Returns the host's descriptors whose readiness the guest waits for. Besides time and interrupts, only these can end
/// the wait. Entries that cannot be read are skipped.
pub(crate) fn host_fds(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fds: u32, nfds: u32) -> Vec<libc::pollfd> {
    let mut found = Vec::new();
    for entry in (0..nfds).map(|index| fds + index * POLLFD_SIZE) {
        let (Ok(fd), Ok(wanted)) = (mem.read_i32(entry), mem.read_i16(entry + 4)) else { continue };
        found.extend(host_fds_of(vfs, fd, wanted));
    }
    found
}

/// Returns the host's descriptors of one of the guest's.
pub(crate) fn host_fds_of(vfs: &mut Vfs, fd: i32, wanted: i16) -> Vec<libc::pollfd> {
    let (readable, writable) = if fd < 0 { (None, None) } else { vfs.host_fds(fd) };
    let reads = readable.filter(|_| wanted & (Readiness::IN | Readiness::RDNORM) != 0);
    let writes = writable.filter(|_| wanted & (Readiness::OUT | Readiness::WRNORM) != 0);
    let reads = reads.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    reads.into_iter().chain(writes.map(|fd| libc::pollfd { fd, events: libc::POLLOUT, revents: 0 })).collect()
}

/// Size of `struct pollfd`.
const POLLFD_SIZE: u32 = 8;

/// Returns what `__syscall_poll` returns without waiting: writes every `revents`, and returns how many descriptors have
/// one, or a negated error number.
pub(crate) fn poll_ready(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fds: u32, nfds: u32) -> i32 {
    syscall((|| {
        // select() is built on poll() and may name every descriptor.
        if nfds as usize > OPEN_FILES_MAX {
            return Err(Errno::EINVAL);
        }
        mem.slice(fds, nfds * POLLFD_SIZE)?;
        let mut count = 0;
        for index in 0..nfds {
            let entry = fds + index * POLLFD_SIZE;
            let fd = mem.read_i32(entry)?;
            let wanted = mem.read_i16(entry + 4)? | Readiness::ERR | Readiness::HUP | Readiness::NVAL;
            let ready = match fd {
                ..0 => 0,
                fd => vfs.poll(fd).map_or(Readiness::NVAL, |ready| ready.0) & wanted,
            };
            mem.write_i16(entry + 6, ready)?;
            count += i32::from(ready != 0);
        }
        Ok(count)
    })())
}
