//! Requests between servers on one machine: a socket for each server in the data directory, and lines of JSON.
//!
//! A request is one line. The server replies `accepted` at once, and `done` or `refused` at the end. A client that
//! closes the connection before withdraws its request.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::directory::process_of;
use super::super::id::SessionId;
use super::{LeaseRequestError, LeaseRequestHandler, Urgency};

/// Most bytes of a line.
const MAX_LINE_BYTES: u64 = 4096;
/// Most characters of a reason, so that it fits into a line in any encoding.
const MAX_REASON: usize = 512;
/// Requests that are handled at the same time; further ones wait.
const MAX_REQUESTS: usize = 256;
/// Longest time for a request to arrive, and for a server to accept one.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Time before connections are accepted again, after an error.
const PAUSE: Duration = Duration::from_millis(100);

/// Request of one server to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub(super) enum LeaseRequest {
    /// Hibernates a session and returns its lease.
    Release { session: String, urgency: Urgency },
    /// Interrupts the running cell of a session.
    Interrupt { session: String },
    /// Writes the live sessions.
    Flush,
}

/// Reply to a [`LeaseRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub(super) enum LeaseReply {
    /// The request has arrived.
    Accepted { process: u32 },
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
    let request = timeout(REQUEST_TIMEOUT, read_line(&mut reader)).await??;
    let process = std::process::id();
    let request: LeaseRequest = match serde_json::from_str(&request) {
        Ok(request) => request,
        Err(_) => {
            let reason = "it does not know this request; is it of another version?".to_owned();
            return write_line(&mut writer, &LeaseReply::Refused { process: Some(process), reason }).await;
        }
    };
    write_line(&mut writer, &LeaseReply::Accepted { process }).await?;
    let work = async {
        match request {
            LeaseRequest::Release { session, urgency } => match SessionId::parse(&session) {
                Some(id) => handler.release(&id, urgency).await.map(|()| true),
                None => Ok(false),
            },
            LeaseRequest::Interrupt { session } => {
                Ok(SessionId::parse(&session).is_some_and(|id| handler.interrupt(&id)))
            }
            LeaseRequest::Flush => {
                handler.flush().await;
                Ok(true)
            }
        }
    };
    let mut rest = [0; 1];
    let reply = tokio::select! {
        done = work => match done {
            Ok(did) => LeaseReply::Done { did },
            Err(reason) => {
                LeaseReply::Refused { process: Some(process), reason: reason.chars().take(MAX_REASON).collect() }
            }
        },
        // The client closed the connection.
        _ = reader.read(&mut rest) => return Ok(()),
    };
    write_line(&mut writer, &reply).await
}

/// Sends a request to a server and waits for its last reply.
///
/// # Errors
///
/// [`LeaseRequestError::Silent`] when the server has ended, or does not accept the request in time.
pub(super) async fn ask(directory: &Path, name: &str, request: &LeaseRequest) -> Result<LeaseReply, LeaseRequestError> {
    let known = process_of(name);
    let silent = |_| LeaseRequestError::Silent { process: known };
    let opened = File::open(directory).map_err(silent)?;
    let connected = timeout(REQUEST_TIMEOUT, UnixStream::connect(below(&opened, name))).await;
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if is_gone(&error) => {
            // The server was killed. Its lease has ended, or ends in a moment.
            let _ = std::fs::remove_file(directory.join(name));
            return Err(LeaseRequestError::Silent { process: known });
        }
        Ok(Err(_)) | Err(_) => return Err(LeaseRequestError::Silent { process: known }),
    };
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let accepted = async {
        write_line(&mut writer, request).await?;
        read_reply(&mut reader).await
    };
    let accepted = timeout(REQUEST_TIMEOUT, accepted).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    match accepted.map_err(silent)? {
        LeaseReply::Accepted { .. } => read_reply(&mut reader).await.map_err(silent),
        other => Ok(other),
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

/// Asks every server of a data directory to write its live sessions, and waits for all of them, at most `timeout`.
/// Must be called outside of an asynchronous runtime.
///
/// # Errors
///
/// An I/O error when a server does not answer in time.
pub(crate) fn flush_all(directory: &Path, timeout_after: Duration) -> io::Result<()> {
    use std::io::{BufRead, BufReader, Read, Write};
    let deadline = Instant::now() + timeout_after;
    let opened = match File::open(directory) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut request = serde_json::to_vec(&LeaseRequest::Flush)?;
    request.push(b'\n');
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let mut stream = match std::os::unix::net::UnixStream::connect(below(&opened, &name.to_string_lossy())) {
            Ok(stream) => stream,
            Err(error) if is_gone(&error) => continue,
            Err(error) => return Err(error),
        };
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        stream.write_all(&request)?;
        let lines = BufReader::new(stream.take(2 * MAX_LINE_BYTES)).lines();
        // A server that ends meanwhile has written its sessions.
        for line in lines {
            match serde_json::from_str(&line?)? {
                LeaseReply::Accepted { .. } => {}
                LeaseReply::Done { .. } => break,
                LeaseReply::Refused { reason, .. } => return Err(io::Error::other(reason)),
            }
        }
    }
    Ok(())
}
