//! Standard input, output and error, and the driver's event channel.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::api::{Event, FrontendKind, StreamName};
use crate::caps::output::{EventSink, GuestOutput, PendingRequest};
use crate::channel::Channel;
use crate::wire::{MachineAnswer, MachineMessage, MachineRequest};
use brumate_abi::errno::Errno;
use brumate_vfs::device::{Null, Sink};
use brumate_vfs::{Device, DeviceKind, OpenFlags, Readiness, Vfs};

/// Descriptor number of the driver's event channel: high, so that the first file a program opens is 3, as on Linux.
pub(crate) const EVENT_FD: i32 = 1000;

/// Installs descriptors 0, 1, 2 and the event channel. Standard input is empty until [`set_stdin`].
pub(super) fn install(vfs: &mut Vfs, output: &Arc<Mutex<GuestOutput>>) -> Result<(), Errno> {
    vfs.install_device(0, STDIN, OpenFlags(OpenFlags::RDONLY), Box::new(Null))?;
    for (fd, name, sink) in sinks(output) {
        vfs.install_device(fd, name, OpenFlags(OpenFlags::WRONLY), sink)?;
    }
    vfs.install_device(EVENT_FD, EVENTS, OpenFlags(OpenFlags::RDWR), Box::new(Events::new(output, None)))
}

/// Joins the streams of a restored file system with their objects.
pub(super) fn attach(vfs: &mut Vfs, output: &Arc<Mutex<GuestOutput>>) {
    vfs.attach_device(STDIN, Box::new(Null));
    for (_, name, sink) in sinks(output) {
        vfs.attach_device(name, sink);
    }
    vfs.attach_device(EVENTS, Box::new(Events::new(output, None)));
}

/// Enables the guest's driver to request lines of input from the server over `channel`.
pub(crate) fn connect_events(vfs: &mut Vfs, output: &Arc<Mutex<GuestOutput>>, channel: &Arc<Channel>) {
    vfs.attach_device(EVENTS, Box::new(Events::new(output, Some(channel.clone()))));
}

/// Name of standard input.
const STDIN: &[u8] = b"stdin";

/// Name of the driver's event channel.
const EVENTS: &[u8] = b"events";

/// Number, name and object of what the guest prints to.
fn sinks(output: &Arc<Mutex<GuestOutput>>) -> [(i32, &'static [u8], Box<dyn Device>); 2] {
    let stream = |stream: StreamName| {
        let output = output.clone();
        Box::new(Sink(move |bytes: &[u8]| {
            output.lock().write(stream, bytes);
            Ok(bytes.len())
        }))
    };
    [(1, b"stdout", stream(StreamName::Stdout)), (2, b"stderr", stream(StreamName::Stderr))]
}

/// The driver's event channel: it writes events, and reads the answers to its requests.
struct Events {
    output: Arc<Mutex<GuestOutput>>,
    /// `None` before `Start`: requests get no answer.
    channel: Option<Arc<Channel>>,
}

impl Events {
    fn new(output: &Arc<Mutex<GuestOutput>>, channel: Option<Arc<Channel>>) -> Events {
        Events { output: output.clone(), channel }
    }

    fn output(&self) -> MutexGuard<'_, GuestOutput> {
        self.output.lock()
    }
}

impl Device for Events {
    /// Waits in the host for an answer; an interrupt ends the wait with `EINTR`, and Python checks its signals. `EBADF`
    /// if there is no request. A request for packages has been answered before ([`Installs`](super::Installs)).
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        if let Some(count) = self.output().read_answer(buf) {
            return Ok(count);
        }
        let (Some(channel), Some(PendingRequest::Input(guest_request))) =
            (&self.channel, self.output().guest_request())
        else {
            return Err(Errno::EBADF);
        };
        let text = answer(channel, guest_request)?;
        let mut line = serde_json::to_vec(&text).map_err(|_| Errno::EIO)?;
        line.push(b'\n');
        let mut output = self.output();
        output.answer(line);
        Ok(output.read_answer(buf).unwrap_or(0))
    }

    fn write(&mut self, data: &[u8]) -> Result<usize, Errno> {
        self.output().write_frames(data);
        Ok(data.len())
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Stream
    }
}

/// Waits until the server answers `guest_request`. Answers to older requests are skipped.
fn answer(channel: &Channel, guest_request: u64) -> Result<Option<String>, Errno> {
    loop {
        wait_readable(channel.socket().as_raw_fd())?;
        match channel.receive() {
            Ok((MachineRequest::Answer { guest_request: answered, answer }, _)) if answered == guest_request => {
                let MachineAnswer::Input(text) = answer else { return Err(Errno::EIO) };
                return Ok(text);
            }
            Ok((MachineRequest::Layers { guest_request: Some(_), .. } | MachineRequest::Answer { .. }, _)) => {}
            _ => return Err(Errno::EIO),
        }
    }
}

/// Waits until `fd` has something to read; `EINTR` when the guest is interrupted.
pub(super) fn wait_readable(fd: RawFd) -> Result<(), Errno> {
    let guard = crate::signals::block_interrupt();
    loop {
        if crate::signals::take_interrupted() {
            return Err(Errno::EINTR);
        }
        let mut poll = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
        if guard.poll(&mut poll, None) {
            return Ok(());
        }
    }
}

/// Makes a descriptor from the server the guest's standard input.
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
    /// Waits in the host for input; an interrupt ends the wait with `EINTR`, and Python checks its signals.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        if buf.is_empty() {
            return Ok(0);
        }
        wait_readable(self.fd.as_raw_fd())?;
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

    fn readable_fd(&self) -> Option<RawFd> {
        Some(self.fd.as_raw_fd())
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Stream
    }
}

/// Sends events to the server as they come; a result, which comes last, is sent with the end of its execution. If the
/// server has disconnected, the next request finds out.
pub(crate) fn event_sink(channel: Arc<Channel>) -> EventSink {
    Box::new(move |event| {
        let soon = match &event {
            Event::ExecuteResult { .. } => true,
            Event::Frontend(message) => message.kind == FrontendKind::ExecuteResult,
            _ => false,
        };
        let message = MachineMessage::Event(event);
        let _ = if soon { channel.send_soon(&message) } else { channel.send(&message) };
    })
}
