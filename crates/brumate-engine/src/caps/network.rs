//! The guest's connections to other machines, through the gateway.
//!
//! The machine asks the server for a socket to the gateway when the guest first needs one. Over it the machine has names looked up and streams
//! connected. A connected stream is a socket to the gateway of its own; its bytes are copied to and from the other end that the guest's socket has in
//! the [file system](brumate_vfs::outside). They are copied whenever the guest uses a socket or waits for one.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use brumate_abi::errno::Errno;
use brumate_network::address::special_purpose;
use brumate_network::host::Host;
use brumate_network::message::{Answer, Failure, MAX_MESSAGE, MAX_REQUESTS, Request};
use brumate_network::packet::{self, PacketError};
use brumate_network::rules::FIX_HOST;
use brumate_vfs::outside::MIN_ROOM;
use brumate_vfs::{SocketAddress, SocketId, Vfs};
use rustix::net::{SendFlags, Shutdown};

use super::clock;

/// Names that addresses inside the sandbox stand for. When there are more, all are forgotten.
pub(crate) const MAX_NAMES: usize = 4096;
/// Bytes that are read from a connection at once.
const READ_BYTES: usize = 64 << 10;
/// Longest time at the end of an execution for which the machine waits until a host takes what the guest has sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// First address that stands for a name whose own address cannot be shown (RFC 2544).
const FIRST_STAND_IN: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// Asks the server for a socket to the gateway: the socket, or the reason why there is none.
pub(crate) type OpenGateway = Box<dyn FnMut() -> Result<OwnedFd, String> + Send>;

/// A connection.
struct Connection {
    id: u64,
    /// The other end of the guest's socket.
    far: SocketId,
    /// `None` until it is connected.
    stream: Option<OwnedFd>,
    /// The gateway has said that the host sends nothing more.
    ended: bool,
    /// The guest's socket knows that.
    shut_inside: bool,
    /// The gateway knows that the guest sends nothing more.
    shut_outside: bool,
}

/// Connections of a guest.
#[derive(Default)]
pub(crate) struct Network {
    open: Option<OpenGateway>,
    gateway: Option<OwnedFd>,
    last_id: u64,
    connections: Vec<Connection>,
    /// Look-ups, by number; `None` until they are answered.
    look_ups: BTreeMap<u64, Option<Result<Vec<IpAddr>, Failure>>>,
    /// Names by the addresses that stand for them.
    names: HashMap<IpAddr, String>,
    stand_ins: HashMap<String, Ipv4Addr>,
    /// The last refusal.
    refusal: Option<String>,
}

impl Network {
    /// Sets how the server is asked.
    pub(crate) fn set_open(&mut self, open: OpenGateway) {
        self.open = Some(open);
    }

    /// Whether there is anything to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.connections.is_empty() && self.look_ups.is_empty()
    }

    /// Returns the text of the last refusal, and forgets it.
    pub(crate) fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }

    /// Sends a request to the gateway. `what` is the host, for a refusal.
    fn send(&mut self, request: &Request, what: &str) -> Result<(), Errno> {
        for is_last in [false, true] {
            if self.gateway.is_none() {
                match self
                    .open
                    .as_mut()
                    .map_or_else(|| Err("this interpreter has no network".to_owned()), |open| open())
                {
                    Ok(socket) => self.gateway = Some(socket),
                    Err(reason) => {
                        let host = what.strip_suffix(":443").unwrap_or(what);
                        let reason = reason.replace(FIX_HOST, host);
                        self.refusal = Some(format!("{what} cannot be reached: {reason}"));
                        return Err(Errno::EACCES);
                    }
                }
            }
            let Some(gateway) = &self.gateway else { continue };
            match packet::send(gateway, request, None) {
                Ok(()) => return Ok(()),
                Err(PacketError::Closed) if !is_last => self.gateway = None,
                Err(PacketError::Closed) => return Err(Errno::ENETDOWN),
                Err(_) => return Err(Errno::ENOBUFS),
            }
        }
        Err(Errno::ENETDOWN)
    }

    fn cancel(&self, id: u64) {
        if let Some(gateway) = &self.gateway {
            let _ = packet::send(gateway, &Request::Cancel { id }, None);
        }
    }

    fn next_id(&mut self) -> Result<u64, Errno> {
        let open = self.connections.iter().filter(|connection| connection.stream.is_none()).count();
        if open + self.look_ups.len() >= MAX_REQUESTS {
            return Err(Errno::ENOBUFS);
        }
        self.last_id += 1;
        Ok(self.last_id)
    }

    /// Begins to look a name up; returns the number of the look-up.
    ///
    /// # Errors
    /// `EACCES` when there is no network.
    pub(crate) fn look_up(&mut self, name: &str) -> Result<u64, Errno> {
        let host = Host::parse(name).map_err(|_| Errno::EINVAL)?;
        let (id, what) = (self.next_id()?, host.to_string());
        self.send(&Request::Resolve { id, host }, &what)?;
        self.look_ups.insert(id, None);
        Ok(id)
    }

    /// Whether a look-up is answered.
    pub(crate) fn is_answered(&mut self, vfs: &mut Vfs, id: u64) -> bool {
        self.copy(vfs);
        !matches!(self.look_ups.get(&id), Some(None))
    }

    /// Ends a look-up. Returns the addresses that stand for the name inside, or the reason why there are none.
    pub(crate) fn finish(&mut self, id: u64, name: &str) -> Result<Vec<IpAddr>, Failure> {
        match self.look_ups.remove(&id) {
            Some(Some(Ok(addresses))) => {
                let mut inside: Vec<IpAddr> = Vec::new();
                for address in addresses {
                    let address = self.stand_for(name, address);
                    if !inside.contains(&address) {
                        inside.push(address);
                    }
                }
                Ok(inside)
            }
            Some(Some(Err(failure))) => {
                self.note(&failure);
                Err(failure)
            }
            Some(None) | None => {
                self.cancel(id);
                Err(Failure::TryAgain)
            }
        }
    }

    /// Returns the address of IPv4 that stands for a name inside: its own, unless that has a special purpose or stands for another name.
    fn stand_for(&mut self, name: &str, address: IpAddr) -> IpAddr {
        if self.names.len() >= MAX_NAMES {
            self.names.clear();
            self.stand_ins.clear();
        }
        let is_free = self.names.get(&address).is_none_or(|other| other == name);
        if address.is_ipv4() && special_purpose(address).is_none() && is_free {
            self.names.insert(address, name.to_owned());
            return address;
        }
        if let Some(stand_in) = self.stand_ins.get(name) {
            return (*stand_in).into();
        }
        let stand_in = Ipv4Addr::from_bits(FIRST_STAND_IN.to_bits() + self.stand_ins.len() as u32);
        self.stand_ins.insert(name.to_owned(), stand_in);
        self.names.insert(stand_in.into(), name.to_owned());
        stand_in.into()
    }

    /// Begins to connect a socket. `Ok(false)`: the address is not outside.
    ///
    /// # Errors
    /// `EINPROGRESS`; `EACCES` when there is no network; the errors of `connect(2)` about the socket.
    pub(crate) fn connect(&mut self, vfs: &mut Vfs, fd: i32, address: &SocketAddress) -> Result<bool, Errno> {
        let SocketAddress::Ip(ip, port) = *address else { return Ok(false) };
        let Some(far) = vfs.connect_outside(fd, address)? else { return Ok(false) };
        let host = self.names.get(&ip).map_or(Host::Address(ip), |name| Host::Name(name.clone()));
        let what = format!("{host}:{port}");
        let sent = self.next_id().and_then(|id| self.send(&Request::Connect { id, host, port }, &what).map(|()| id));
        match sent {
            Ok(id) => {
                let (ended, shut_inside, shut_outside) = (false, false, false);
                self.connections.push(Connection { id, far, stream: None, ended, shut_inside, shut_outside });
                Err(Errno::EINPROGRESS)
            }
            Err(errno) => {
                vfs.end_outside(far, errno);
                let _ = vfs.take_socket_error(fd);
                Err(errno)
            }
        }
    }

    /// Takes the gateway's answers, and copies the bytes that can be copied without waiting.
    pub(crate) fn copy(&mut self, vfs: &mut Vfs) {
        if self.is_idle() {
            return;
        }
        self.take_answers(vfs);
        let mut buffer = Vec::new();
        let mut index = 0;
        while let Some(connection) = self.connections.get_mut(index) {
            match connection.copy(vfs, &mut buffer) {
                Copied::Open => index += 1,
                // The answers may have come since.
                Copied::Lost if !connection.ended && self.gateway.is_some() => {
                    self.take_answers(vfs);
                    let Some(connection) = self.connections.get(index) else { return };
                    if !connection.ended {
                        self.end(vfs, index, Errno::ECONNRESET);
                    }
                }
                Copied::Lost => self.end(vfs, index, Errno::ECONNRESET),
                Copied::Done => {
                    if connection.stream.is_none() {
                        let id = connection.id;
                        self.cancel(id);
                    }
                    self.end(vfs, index, Errno::ECONNRESET);
                }
            }
        }
    }

    /// Ends a connection by its place in the list.
    fn end(&mut self, vfs: &mut Vfs, index: usize, errno: Errno) {
        vfs.end_outside(self.connections.remove(index).far, errno);
    }

    /// Keeps the text of a failure that is a refusal.
    fn note(&mut self, failure: &Failure) {
        if let Failure::Refused(refusal) = failure {
            self.refusal = Some(refusal.to_string());
        }
    }

    fn take_answers(&mut self, vfs: &mut Vfs) {
        while let Some(gateway) = &self.gateway {
            match packet::receive::<Answer>(gateway, MAX_MESSAGE) {
                Ok((answer, stream)) => self.take_answer(vfs, answer, stream),
                Err(PacketError::Os(_)) => return,
                Err(PacketError::Closed | PacketError::Malformed) => {
                    // Requests that have no answer get none. Connections end with their own sockets.
                    self.gateway = None;
                    for answer in self.look_ups.values_mut().filter(|answer| answer.is_none()) {
                        *answer = Some(Err(Failure::TryAgain));
                    }
                    let waits = |connection: &mut Connection| connection.stream.is_none();
                    for lost in self.connections.extract_if(.., waits) {
                        vfs.end_outside(lost.far, Errno::ECONNRESET);
                    }
                }
            }
        }
    }

    fn take_answer(&mut self, vfs: &mut Vfs, answer: Answer, stream: Option<OwnedFd>) {
        let place = |id: u64| self.connections.iter().position(|connection| connection.id == id);
        match answer {
            Answer::Resolved { id, addresses } => {
                if let Some(answer) = self.look_ups.get_mut(&id) {
                    *answer = Some(Ok(addresses));
                }
            }
            Answer::Connected { id, local } => {
                if let (Some(index), Some(stream)) = (place(id), stream) {
                    let connection = &mut self.connections[index];
                    vfs.outside_connected(connection.far, (local.ip(), local.port()));
                    connection.stream = Some(stream);
                }
            }
            Answer::Ended { id, reset } => {
                let Some(index) = place(id) else { return };
                if reset {
                    self.end(vfs, index, Errno::ECONNRESET);
                } else {
                    self.connections[index].ended = true;
                }
            }
            Answer::Failed { id, failure } => {
                if let Some(answer) = self.look_ups.get_mut(&id) {
                    *answer = Some(Err(failure));
                } else if let Some(index) = place(id) {
                    self.note(&failure);
                    self.end(vfs, index, errno_of(&failure));
                }
            }
        }
    }

    /// Returns the host's descriptors whose readiness may let bytes be copied, or bring an answer.
    pub(crate) fn host_fds(&self, vfs: &Vfs) -> Vec<libc::pollfd> {
        if self.is_idle() {
            return Vec::new();
        }
        let entry = |fd: &OwnedFd, events| libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
        let gateway = self.gateway.iter().map(|gateway| entry(gateway, libc::POLLIN));
        let streams = self.connections.iter().filter_map(|connection| {
            let (stream, end) = (connection.stream.as_ref()?, vfs.outside_end(connection.far)?);
            let reads = if !connection.shut_inside && end.room >= MIN_ROOM { libc::POLLIN } else { 0 };
            let writes = if end.pending > 0 { libc::POLLOUT } else { 0 };
            (reads | writes != 0).then(|| entry(stream, reads | writes))
        });
        gateway.chain(streams).collect()
    }

    /// Waits until hosts have what the guest has sent, no longer than [`FLUSH_TIMEOUT`], or until an interrupt.
    pub(crate) fn flush(&mut self, vfs: &mut Vfs) {
        let end = Instant::now() + FLUSH_TIMEOUT;
        loop {
            self.copy(vfs);
            let mut waiting = Vec::new();
            for connection in &self.connections {
                let pending = vfs.outside_end(connection.far).is_some_and(|end| end.pending > 0);
                if let (true, Some(stream)) = (pending, &connection.stream) {
                    waiting.push(libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLOUT, revents: 0 });
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if waiting.is_empty() || left.is_zero() || clock::wait(&mut waiting, Some(left)) {
                return;
            }
        }
    }

    /// Forgets everything: this process is a fork, and the connections are the other's.
    pub(crate) fn forget(&mut self, vfs: &mut Vfs) {
        self.gateway = None;
        self.connections.clear();
        self.look_ups.clear();
        vfs.forget_outside();
    }
}

/// State of a connection after bytes were copied.
enum Copied {
    Open,
    /// Both ends have ended, or the guest has closed its socket.
    Done,
    /// The gateway's end is gone.
    Lost,
}

impl Connection {
    fn copy(&mut self, vfs: &mut Vfs, buffer: &mut Vec<u8>) -> Copied {
        let Some(stream) = &self.stream else {
            return match vfs.outside_end(self.far) {
                Some(end) if !end.is_closed => Copied::Open,
                _ => Copied::Done,
            };
        };
        let mut lost = false;
        vfs.take_outside(self.far, |bytes| {
            match rustix::net::send(stream, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => count,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => 0,
                // The host takes no more; what it has sent may still be read.
                Err(_) => {
                    lost = true;
                    bytes.len()
                }
            }
        });
        let Some(end) = vfs.outside_end(self.far) else { return Copied::Done };
        if end.is_shut && end.pending == 0 && !self.shut_outside {
            self.shut_outside = true;
            let _ = rustix::net::shutdown(stream, Shutdown::Write);
        }
        if end.is_closed {
            return if end.pending == 0 { Copied::Done } else { Copied::Open };
        }
        while !self.shut_inside {
            let room = vfs.outside_end(self.far).map_or(0, |end| end.room).min(READ_BYTES);
            if room < MIN_ROOM {
                break;
            }
            buffer.resize(READ_BYTES, 0);
            match rustix::io::read(stream, &mut buffer[..room]) {
                Ok(0) if self.ended => {
                    self.shut_inside = true;
                    vfs.shut_outside(self.far);
                }
                Ok(0) => return Copied::Lost,
                Ok(count) => {
                    vfs.give_outside(self.far, &buffer[..count]);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => return Copied::Lost,
            }
        }
        if lost && !self.ended { Copied::Lost } else { Copied::Open }
    }
}

fn errno_of(failure: &Failure) -> Errno {
    match failure {
        Failure::Refused(_) => Errno::EACCES,
        Failure::ConnectionRefused => Errno::ECONNREFUSED,
        Failure::Timeout => Errno::ETIMEDOUT,
        Failure::NoName | Failure::TryAgain | Failure::Unreachable => Errno::EHOSTUNREACH,
    }
}
