//! Requests between servers on one machine: a socket for each server in the data directory, and lines of JSON.
//!
//! A request is one line. The server replies `accepted` at once, `working` from time to time, and `done` or `refused`
//! at the end. A client that closes the connection before withdraws its request. A session is frozen until the client
//! closes the connection.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::super::directory::process_of;
use super::super::id::SessionId;
use super::local::is_server_name;
use super::{Frozen, LeaseClaim, LeaseRequestError, LeaseRequestHandler, OwnerWait, Urgency};

/// Most bytes of a line.
const MAX_LINE_BYTES: u64 = 4096;
/// Most characters of a reason, so that it fits into a line in any encoding.
const MAX_REASON: usize = 512;
/// Requests that are handled at the same time; further ones wait.
const MAX_REQUESTS: usize = 256;
/// Longest time for a request to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two signs of life of a server that works on a request.
const SIGN_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time that a server may work on a request if it gives no signs of life: it is of an earlier version.
const UNSIGNED_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Longest time that a session is frozen. A backup opens a file and reads a record meanwhile.
const FREEZE_LIMIT: Duration = Duration::from_secs(10);
/// Time before connections are accepted again, after an error.
const PAUSE: Duration = Duration::from_millis(100);

/// Request of one server to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub(super) enum LeaseRequest {
    /// Hibernates a session and returns its lease.
    Release {
        session: String,
        urgency: Urgency,
        /// Name of the server that asks.
        #[serde(default)]
        server: Option<String>,
        /// For how long its call has waited, in milliseconds.
        #[serde(default)]
        waited_ms: u64,
    },
    /// Writes a session, and leaves it as it is until the connection is closed.
    Freeze { session: String },
    /// Interrupts the running cell of a session.
    Interrupt { session: String },
}

/// Line with a request.
#[derive(Debug, Serialize, Deserialize)]
struct RequestLine<R> {
    #[serde(flatten)]
    request: R,
    /// Whether the client reads signs of life.
    #[serde(default)]
    signs: bool,
}

/// Reply to a [`LeaseRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
enum LeaseReply {
    /// The request has arrived.
    Accepted {
        process: u32,
        /// Whether signs of life follow.
        #[serde(default)]
        signs: bool,
    },
    /// The server still works on the request: a sign of life.
    Working,
    /// The request is done; `did` is false if there was nothing to do.
    Done { did: bool },
    /// The request is refused.
    Refused { process: Option<u32>, reason: String },
}

/// Bound socket. Other servers can connect before it serves.
pub(crate) struct LeaseListener {
    listener: UnixListener,
    ended: CancellationToken,
}

impl LeaseListener {
    /// Makes the socket `name`, which serves until `ended`.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub(super) fn bind(directory: &Path, name: &str, ended: CancellationToken) -> io::Result<Self> {
        let opened = File::open(directory)?;
        let new = format!("new-{name}");
        let listener = StdListener::bind(below(&opened, &new))?;
        listener.set_nonblocking(true)?;
        // The socket gets its name when it accepts connections.
        std::fs::rename(directory.join(new), directory.join(name))?;
        Ok(Self { listener: UnixListener::from_std(listener)?, ended })
    }

    /// Serves requests with `holder`.
    pub(crate) fn serve(self, handler: Arc<dyn LeaseRequestHandler>) {
        tokio::spawn(async move {
            let ended = self.ended.clone();
            tokio::select! {
                () = ended.cancelled() => {}
                () = self.accept_all(handler) => {}
            }
        });
    }

    async fn accept_all(&self, handler: Arc<dyn LeaseRequestHandler>) {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        loop {
            // The semaphore is never closed.
            let permit = Arc::clone(&requests).acquire_owned().await.ok();
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let handler = Arc::clone(&handler);
            tokio::spawn(async move {
                if let Err(error) = answer(stream, &*handler).await {
                    tracing::debug!(%error, "a request of another server was not answered");
                }
                drop(permit);
            });
        }
    }
}

/// Removes the sockets of servers that were killed.
pub(super) fn remove_dead(directory: &Path) {
    let (Ok(opened), Ok(entries)) = (File::open(directory), std::fs::read_dir(directory)) else { return };
    for entry in entries.flatten() {
        let address = SocketAddrUnix::new(below(&opened, &entry.file_name().to_string_lossy()));
        // Does not wait for busy servers.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        if let (Ok(address), Ok(socket)) = (address, socket)
            && connect(&socket, &address) == Err(Errno::CONNREFUSED)
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns a short path of a file in an open directory: socket addresses have at most 108 bytes.
fn below(directory: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}

async fn answer(stream: UnixStream, handler: &dyn LeaseRequestHandler) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let line = timeout(REQUEST_TIMEOUT, read_line(&mut reader)).await??;
    let process = std::process::id();
    let RequestLine { request, signs } = match serde_json::from_str::<RequestLine<LeaseRequest>>(&line) {
        Ok(line) => line,
        Err(_) => {
            let reason = "it does not know this request; is it of another version?".to_owned();
            return write_line(&mut writer, &LeaseReply::Refused { process: Some(process), reason }).await;
        }
    };
    write_line(&mut writer, &LeaseReply::Accepted { process, signs }).await?;
    let work = work_on(request, handler);
    tokio::pin!(work);
    let mut rest = [0; 1];
    let done = loop {
        tokio::select! {
            biased;
            // The client closed the connection: its request has no effect any more.
            _ = reader.read(&mut rest) => return Ok(()),
            done = &mut work => break done,
            () = tokio::time::sleep(SIGN_INTERVAL), if signs => {
                write_line(&mut writer, &LeaseReply::Working).await?;
            }
        }
    };
    let (reply, frozen) = match done {
        Ok((did, frozen)) => (LeaseReply::Done { did }, frozen),
        Err(reason) => {
            let reason = reason.chars().take(MAX_REASON).collect();
            (LeaseReply::Refused { process: Some(process), reason }, None)
        }
    };
    write_line(&mut writer, &reply).await?;
    if let Some(_frozen) = frozen {
        // It thaws when the client closes the connection.
        let _ = timeout(FREEZE_LIMIT, reader.read(&mut rest)).await;
    }
    Ok(())
}

/// Does what a request asks for. Returns whether there was something to do.
async fn work_on(request: LeaseRequest, handler: &dyn LeaseRequestHandler) -> Result<(bool, Option<Frozen>), String> {
    match request {
        LeaseRequest::Release { session, urgency, server, waited_ms } => {
            let Some(id) = SessionId::parse(&session) else { return Ok((false, None)) };
            let now = Instant::now();
            let since = now.checked_sub(Duration::from_millis(waited_ms)).unwrap_or(now);
            let claim = LeaseClaim { urgency, server: server.filter(|name| is_server_name(name)), since };
            handler.release(&id, claim).await.map(|()| (true, None))
        }
        LeaseRequest::Freeze { session } => {
            let Some(id) = SessionId::parse(&session) else { return Ok((false, None)) };
            handler.freeze(&id).await.map(|frozen| (frozen.is_some(), frozen))
        }
        LeaseRequest::Interrupt { session } => {
            Ok((SessionId::parse(&session).is_some_and(|id| handler.interrupt(&id)), None))
        }
    }
}

/// Connection to a server that has replied.
pub(crate) struct Connection {
    _reader: BufReader<OwnedReadHalf>,
    _writer: OwnedWriteHalf,
}

/// Sends a request to a server and waits for its last reply: whether there was something to do. `wait` bounds the silence of
/// the server.
///
/// # Errors
///
/// [`LeaseRequestError::Refused`]; [`LeaseRequestError::Silent`] when the server has ended, or gives no sign of life in time.
pub(super) async fn ask(
    directory: &Path,
    name: &str,
    request: &LeaseRequest,
    wait: &mut OwnerWait,
) -> Result<(bool, Connection), LeaseRequestError> {
    let process = process_of(name);
    let silent = |_| LeaseRequestError::Silent { process };
    let opened = File::open(directory).map_err(silent)?;
    let connected = timeout_at(wait.deadline(), UnixStream::connect(below(&opened, name))).await;
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if is_gone(&error) => {
            // The server was killed. Its lease has ended, or ends in a moment.
            let _ = std::fs::remove_file(directory.join(name));
            return Err(LeaseRequestError::Silent { process });
        }
        Ok(Err(_)) | Err(_) => return Err(LeaseRequestError::Silent { process }),
    };
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let written = timeout_at(wait.deadline(), write_line(&mut writer, &RequestLine { request, signs: true })).await;
    written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(silent)?;
    let mut deadline = wait.deadline();
    loop {
        let reply = timeout_at(deadline, read_reply(&mut reader)).await;
        let reply = reply.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(silent)?;
        wait.note_life();
        match reply {
            LeaseReply::Accepted { signs: false, .. } => deadline = Instant::now() + UNSIGNED_LIMIT,
            LeaseReply::Accepted { signs: true, .. } | LeaseReply::Working => deadline = wait.deadline(),
            LeaseReply::Done { did } => return Ok((did, Connection { _reader: reader, _writer: writer })),
            LeaseReply::Refused { process, reason } => return Err(LeaseRequestError::Refused { process, reason }),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}

async fn read_reply(reader: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<LeaseReply> {
    Ok(serde_json::from_str(&read_line(reader).await?)?)
}

async fn read_line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    reader.take(MAX_LINE_BYTES).read_line(&mut line).await?;
    if line.ends_with('\n') { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

async fn write_line(writer: &mut (impl AsyncWriteExt + Unpin), value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    writer.write_all(&line).await
}
