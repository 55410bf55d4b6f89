//! The connection to a kernel: its connection file, and four sockets in a directory that only its jail and the server see.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream as BlockingStream;
use std::time::{Duration, Instant};

use brumate_jail::native::SOCKETS;
use brumate_jupyter_protocol::new_id;
use brumate_zmtp::{Dealer, Limits, Subscriber};
use bytes::Bytes;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;

/// Connection file of the kernel, in its jail.
pub(crate) const CONNECTION_FILE: &str = "/run/kernel/connection.json";
/// Name in front of the numbers of sockets.
const SOCKET_NAME: &str = "socket";
/// Longest message of a kernel, in bytes. A connection holds as much before it is taken: this is the memory that a kernel can make the
/// server keep between its cells.
const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// The same for replies.
const MAX_REPLY_BYTES: usize = 16 << 20;
/// The same for questions, and for answers on the control channel.
const MAX_QUESTION_BYTES: usize = 1 << 20;
/// Time between two looks for a socket.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Content of a connection file (source: "Connection files" of Jupyter's documentation).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ConnectionFile {
    transport: String,
    ip: String,
    shell_port: u16,
    iopub_port: u16,
    stdin_port: u16,
    control_port: u16,
    hb_port: u16,
    pub(crate) key: String,
    signature_scheme: String,
    kernel_name: String,
}

impl ConnectionFile {
    /// Makes the file of a kernel that listens in [`SOCKETS`], with a random key.
    pub(crate) fn new(kernel_name: &str) -> Self {
        Self {
            transport: "ipc".to_owned(),
            ip: format!("{SOCKETS}/{SOCKET_NAME}"),
            shell_port: 1,
            iopub_port: 2,
            stdin_port: 3,
            control_port: 4,
            hb_port: 5,
            key: new_id(),
            signature_scheme: "hmac-sha256".to_owned(),
            kernel_name: kernel_name.to_owned(),
        }
    }
}

/// Sockets of a kernel. The heartbeat is not used: the server sees the kernel's process.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) shell: Dealer,
    pub(crate) control: Dealer,
    pub(crate) stdin: Dealer,
    pub(crate) iopub: Subscriber,
}

impl Connection {
    /// Connects to the sockets in `directory`, and waits until `deadline` for each to be there.
    pub(crate) async fn open(directory: &OwnedFd, file: &ConnectionFile, deadline: Instant) -> Result<Self, String> {
        let limits =
            |bytes| Limits { frame_bytes: bytes, message_bytes: bytes, received_bytes: bytes, ..Limits::default() };
        // A kernel answers on the socket of the identity that asked: shell and stdin have the same one.
        let identity = Bytes::from(new_id());
        let text = |error: brumate_zmtp::ConnectError| error.to_string();
        let dealer = async |port, bytes| {
            let stream = connect(directory, port, deadline).await?;
            Dealer::from_stream(stream, identity.clone(), limits(bytes)).await.map_err(text)
        };
        let (shell, control, stdin, iopub) = tokio::try_join!(
            dealer(file.shell_port, MAX_REPLY_BYTES),
            dealer(file.control_port, MAX_QUESTION_BYTES),
            dealer(file.stdin_port, MAX_QUESTION_BYTES),
            async {
                let stream = connect(directory, file.iopub_port, deadline).await?;
                Subscriber::from_stream(stream, &[Bytes::new()], limits(MAX_MESSAGE_BYTES)).await.map_err(text)
            }
        )?;
        Ok(Self { shell, control, stdin, iopub })
    }
}

/// Connects to the socket of a port in the directory. Code in the jail can put anything there, above all links to sockets of the host.
/// So the name is resolved within the directory, and only a socket is connected to.
async fn connect(directory: &OwnedFd, port: u16, deadline: Instant) -> Result<UnixStream, String> {
    let name = format!("{SOCKET_NAME}-{port}");
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    loop {
        let last_error = match rustix::fs::openat2(directory.as_fd(), &name, flags, Mode::empty(), resolve) {
            Ok(file) => {
                let kind = rustix::fs::fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
                if kind != Ok(FileType::Socket) {
                    return Err(format!("{name} is no socket"));
                }
                let connected = BlockingStream::connect(format!("/proc/self/fd/{}", file.as_raw_fd()))
                    .and_then(|stream| stream.set_nonblocking(true).map(|()| stream))
                    .and_then(UnixStream::from_std);
                match connected {
                    Ok(stream) => return Ok(stream),
                    Err(error) => error.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline {
            return Err(format!("the kernel does not listen on its socket {name}: {last_error}"));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
