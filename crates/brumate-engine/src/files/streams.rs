//! Standard input, output and error, and the driver's event channel.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use crate::api::StreamName;
use crate::caps::output::{Output, Sink as EventSink};
use crate::channel::Channel;
use crate::libc::errno::Errno;
use crate::machine::EVENT_FD;
use crate::vfs::device::{Null, Sink};
use crate::vfs::{Device, DeviceKind, OpenFlags, Readiness, Vfs};
use crate::wire::FromMachine;

/// Installs descriptors 0, 1, 2 and the event channel. Standard input is empty until [`set_stdin`].
pub(super) fn install(vfs: &mut Vfs, output: &Arc<Mutex<Output>>) -> Result<(), Errno> {
    vfs.install_device(0, STDIN, OpenFlags(OpenFlags::RDONLY), Box::new(Null))?;
    for (fd, name, sink) in sinks(output) {
        vfs.install_device(fd, name, OpenFlags(OpenFlags::WRONLY), sink)?;
    }
    Ok(())
}

/// Joins the streams of a restored file system with their objects.
pub(super) fn attach(vfs: &mut Vfs, output: &Arc<Mutex<Output>>) {
    vfs.attach_device(STDIN, Box::new(Null));
    for (_, name, sink) in sinks(output) {
        vfs.attach_device(name, sink);
    }
}

/// Name of standard input.
const STDIN: &[u8] = b"stdin";

/// Number, name and object of everything the guest writes to the host.
fn sinks(output: &Arc<Mutex<Output>>) -> [(i32, &'static [u8], Box<dyn Device>); 3] {
    let stream = |stream: StreamName| {
        let output = output.clone();
        Box::new(Sink(move |bytes: &[u8]| {
            output.lock().unwrap_or_else(PoisonError::into_inner).write(stream, bytes);
            Ok(bytes.len())
        }))
    };
    let events = output.clone();
    let events = Sink(move |bytes: &[u8]| {
        events.lock().unwrap_or_else(PoisonError::into_inner).write_frames(bytes);
        Ok(bytes.len())
    });
    [
        (1, b"stdout", stream(StreamName::Stdout)),
        (2, b"stderr", stream(StreamName::Stderr)),
        (EVENT_FD, b"events", Box::new(events)),
    ]
}

/// Makes a descriptor given by the server the guest's standard input.
pub(crate) fn set_stdin(vfs: &mut Vfs, fd: OwnedFd) {
    vfs.attach_device(STDIN, Box::new(Stdin { fd }));
}

/// The read end of a pipe the server writes to.
struct Stdin {
    fd: OwnedFd,
}

impl Stdin {
    fn readable(&self) -> bool {
        let mut poll = [libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        crate::signals::block_interrupt().poll(&mut poll, Some(std::time::Duration::ZERO))
    }
}

impl Device for Stdin {
    /// Waits in the host for input; an interrupt ends the wait with `EINTR`, and Python looks at its signals.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        if buf.is_empty() {
            return Ok(0);
        }
        let guard = crate::signals::block_interrupt();
        loop {
            if crate::caps::clock::INTERRUPTED.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Errno::EINTR);
            }
            let mut poll = [libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            if guard.poll(&mut poll, None) {
                break;
            }
        }
        match rustix::io::read(&self.fd, buf) {
            Ok(count) => Ok(count),
            Err(rustix::io::Errno::INTR) => Err(Errno::EINTR),
            Err(_) => Err(Errno::EIO),
        }
    }

    fn write(&mut self, _data: &[u8]) -> Result<usize, Errno> {
        Err(Errno::EBADF)
    }

    fn poll(&mut self) -> Readiness {
        if self.readable() { Readiness::READABLE } else { Readiness(0) }
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Stream
    }
}

/// Sends events to the server as they come. A server that is gone is noticed by the next request.
pub(crate) fn event_sink(channel: Arc<Channel>) -> EventSink {
    Box::new(move |event| {
        let _ = channel.send(&FromMachine::Event(event));
    })
}
