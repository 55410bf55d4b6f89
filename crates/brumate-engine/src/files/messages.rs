//! The descriptor for the messages of a program that serves clients.
//!
//! Behind it are two pipes of the server. The guest never waits in a read or write of them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use brumate_abi::errno::Errno;
use brumate_vfs::{Device, DeviceKind, OpenFlags, Readiness, Vfs};

/// Descriptor number of the messages. It is high, like the number of the events.
///
/// `guest/driver/_brumate/serving` has the same number.
const MESSAGE_FD: i32 = 1001;

/// Name of the device.
const MESSAGES: &[u8] = b"messages";

/// Gives the guest the pipes of its messages. Only machines that serve clients have this descriptor.
///
/// # Errors
///
/// The descriptor cannot be installed.
pub(crate) fn install_messages(vfs: &mut Vfs, input: OwnedFd, output: OwnedFd) -> Result<(), Errno> {
    vfs.install_device(MESSAGE_FD, MESSAGES, OpenFlags(OpenFlags::RDWR), Box::new(Messages { input, output }))
}

/// The read end of one pipe and the write end of another. The server has set `O_NONBLOCK` on both.
struct Messages {
    input: OwnedFd,
    output: OwnedFd,
}

impl Messages {
    fn is_ready(fd: RawFd, events: i16) -> bool {
        let mut poll = [libc::pollfd { fd, events, revents: 0 }];
        crate::signals::block_interrupt().poll(&mut poll, Some(Duration::ZERO))
    }
}

impl Device for Messages {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.input, buf).map_err(errno)
    }

    fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        rustix::io::write(&self.output, data).map_err(errno)
    }

    fn poll(&mut self) -> Readiness {
        let readable = if Self::is_ready(self.input.as_raw_fd(), libc::POLLIN) { Readiness::READABLE.0 } else { 0 };
        let writable = if Self::is_ready(self.output.as_raw_fd(), libc::POLLOUT) { Readiness::WRITABLE.0 } else { 0 };
        Readiness(readable | writable)
    }

    fn readable_fd(&self) -> Option<RawFd> {
        Some(self.input.as_raw_fd())
    }

    fn writable_fd(&self) -> Option<RawFd> {
        Some(self.output.as_raw_fd())
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Stream
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    match error {
        rustix::io::Errno::AGAIN => Errno::EAGAIN,
        rustix::io::Errno::INTR => Errno::EINTR,
        rustix::io::Errno::PIPE => Errno::EPIPE,
        _ => Errno::EIO,
    }
}
