//! Framed messages between the server and its zygotes and machines.
//!
//! A frame is a header of eight bytes (payload length and number of descriptors, both `u32` little-endian) and a payload
//! in postcard's format. Descriptors travel with the header (`SCM_RIGHTS`). Each side treats the other's bytes as hostile:
//! no length is trusted before it is bounded, and buffers grow only with what has arrived.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::api::bounded;
use crate::api::{
    Analysis, Event, Execute, FileChunk, FileInfo, LayerId, Limits, MAX_LAYERS, MAX_LISTED_FILES, Outcome,
};

/// Largest payload, in bytes: a whole 16 MiB tool call as JSON inside, or a side module to compile.
pub const MAX_FRAME: usize = 96 << 20;

/// Most descriptors with one frame.
pub const MAX_FDS: usize = 16;

/// Most walls of a jail, granted directories, or packages to preload in one message.
pub const MAX_LIST: usize = 4096;

/// Most entries of a directory in one message.
pub const MAX_ENTRIES: usize = 65_536;

/// Layers in one message: each may bring two descriptors.
pub const LAYERS_AT_ONCE: usize = MAX_FDS / 2;

/// Size of the header, in bytes.
pub const HEADER: usize = 8;

/// Content key of a compiled module: SHA-256 of its wasm bytes.
pub type ModuleKey = [u8; 32];

/// Server → zygote.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToZygote {
    /// First message to a zygote. Four descriptors follow: the compiled main module, the trampoline helper, the image, and the
    /// socket of [`FromInit`].
    Load {
        /// Every wall must stand.
        require_jail: bool,
        /// Few machines will be forked: start soon rather than fork fast.
        brief: bool,
        /// So many layers are mounted in the image; they follow in [`ToZygote::Layers`].
        layers: u32,
    },
    /// First message to the builder of an image. Three descriptors follow: the compiled main module, the trampoline helper, a
    /// file to write the image to.
    Build {
        /// Every wall must stand.
        require_jail: bool,
        /// Packages to import.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        preload: Vec<String>,
        /// So many layers are to be mounted first; they follow in [`ToZygote::Layers`].
        layers: u32,
    },
    /// Layers, as in [`ToMachine::Layers`].
    Layers(#[serde(deserialize_with = "bounded::list::<_, _, LAYERS_AT_ONCE>")] Vec<LayerInfo>),
    /// Fork a machine; its socket is the one descriptor that follows.
    Fork,
    /// Answer to [`FromZygote::Module`].
    Module(ModuleReply),
}

/// Zygote → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromZygote {
    /// The image is loaded and the jail is closed; lists missing walls.
    Ready {
        /// Walls that could not be raised, with the reason.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        missing_walls: Vec<String>,
    },
    /// The image is written.
    Built,
    /// Loading or building failed.
    Failed(String),
    /// A machine could not be forked, and why.
    ForkFailed(String),
    /// The zygote needs a compiled module.
    Module(ModuleRequest),
}

/// First process of a zygote's jail → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromInit {
    /// A process of the jail has ended.
    Exited {
        /// Which one, as it saw itself.
        pid: i32,
        /// Signal that killed it.
        signal: Option<i32>,
        /// Most memory that it had resident, in bytes, with what it shared with others.
        peak_memory_bytes: u64,
    },
}

/// Asks for a compiled side module.
#[derive(Debug, Serialize, Deserialize)]
pub enum ModuleRequest {
    /// By content.
    Key(ModuleKey),
    /// A file of a layer that is mounted, after [`ModuleReply::Unknown`].
    Layer {
        /// Content.
        key: ModuleKey,
        /// Where it is.
        origin: Origin,
    },
    /// The bytes themselves, after [`ModuleReply::Unknown`]; answered by [`ModuleReply::Charged`]. The guest brought them and pays for
    /// compiling.
    Bytes {
        /// The module.
        bytes: Vec<u8>,
        /// Memory that compiling may take, in bytes.
        memory: u64,
        /// CPU time that it may take.
        cpu: Duration,
    },
}

/// A file of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Which layer.
    pub layer: LayerId,
    /// Path in its archive.
    pub path: String,
}

/// Answer to a [`ModuleRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub enum ModuleReply {
    /// The compiled module is the one descriptor that follows.
    Compiled,
    /// Not in the cache: send the bytes.
    Unknown,
    /// It cannot be compiled.
    Failed(String),
    /// The compiled module is the one descriptor that follows, unless it failed.
    Charged {
        /// CPU time that compiling took.
        cpu: Duration,
        /// Why there is none.
        failed: Option<String>,
    },
}

/// Server → machine.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToMachine {
    /// First message; with `stdin`, one descriptor follows.
    Start {
        /// Limits of this machine.
        limits: Limits,
        /// A descriptor for standard input follows.
        stdin: bool,
        /// Granted host directories: guest path, read-only.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        mounts: Vec<(String, bool)>,
    },
    /// Fork; the new machine's socket is the one descriptor that follows. It says hello there and waits for
    /// [`ToMachine::Resume`]; this one answers [`FromMachine::Forked`].
    Fork {
        /// It is this machine's checkpoint, and shares its last will; otherwise it has none.
        checkpoint: bool,
        /// Nobody has used the session for a while: memory counts for more than time.
        idle: bool,
    },
    /// Where to write a last will: three descriptors follow, for this machine's, for its checkpoint's, and a byte of memory
    /// between the two.
    Will,
    /// Layers to be mounted or, before [`ToMachine::Thaw`], to be joined. The descriptors follow, in order: of each the archive
    /// and, if it has any, the bytecode.
    Layers {
        /// For the answer to this question; by itself otherwise.
        question: Option<u64>,
        /// Which ones.
        #[serde(deserialize_with = "bounded::list::<_, _, LAYERS_AT_ONCE>")]
        layers: Vec<LayerInfo>,
    },
    /// Take these layers away and mount those that were given; answered by [`FromMachine::Mounted`].
    Remount {
        /// What goes.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        remove: Vec<LayerId>,
    },
    /// To a machine that was forked from another: go on, with an identity of its own.
    Resume,
    /// Two descriptors follow, by which the checkpoints that are forked from now on can follow: a file in memory, for what one lacks, and
    /// the machine's own page map (proc_pid_pagemap(5)).
    Follow,
    /// The state counts now: let the checkpoint follow or fork it anew, and say which, as after a [`ToMachine::Execute`] with a
    /// checkpoint. A descriptor, if one follows, is the socket of the next checkpoint that is forked so.
    Keep,
    /// Write what differs from the base image to the descriptor that follows. A second one, if there is one, is the machine's
    /// own page map (proc_pid_pagemap(5)).
    Freeze,
    /// Become what the descriptor that follows describes.
    Thaw {
        /// Changes of the session so far.
        generation: u64,
    },
    /// Take over the files in the working directory of what the descriptor that follows describes; answered by
    /// [`FromMachine::Recovered`].
    Recover,
    /// Parse a source text.
    Analyze(String),
    /// Run one.
    Execute {
        /// Which of this machine's executions, counted from 1: a stop names it.
        number: u64,
        /// What.
        request: Box<Execute>,
        /// Directory whose files are listed afterwards, as by [`FileRequest::List`].
        list: Option<String>,
        /// Once the answer is sent, let the checkpoint follow or fork it anew, as for [`ToMachine::Fork`]; then say which
        /// ([`FromMachine::Followed`], [`FromMachine::Forked`]). A descriptor, if one follows, is the socket of the next checkpoint that is
        /// forked so: the machine keeps it until then.
        checkpoint: bool,
    },
    /// Answer to [`Event::InputRequest`].
    Input {
        /// To which one of this execution, counted from 1. A guest that was interrupted may have asked again.
        question: u64,
        /// A line without its end; `None` is the end of the input.
        text: Option<String>,
    },
    /// Answer to [`Event::Install`].
    Install {
        /// To which question of this execution; they are counted together with those for input.
        question: u64,
        /// What goes when the layers come that were given for it.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        remove: Vec<LayerId>,
        /// What the guest is told.
        reply: InstallReply,
    },
    /// An operation on the guest's files.
    Files(FileRequest),
    /// Answer to [`FromMachine::Module`].
    Module(ModuleReply),
    /// Answer to [`FromMachine::Mount`].
    Mount(MountReply),
}

/// Machine → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromMachine {
    /// Forked and ready; the kernel adds the sender's credentials.
    Hello {
        /// Its process, as it sees itself.
        pid: i32,
    },
    /// Answer to [`ToMachine::Fork`]; the reason, if it failed. Also comes after a [`ToMachine::Execute`] with a checkpoint.
    Forked(Option<String>),
    /// After a [`ToMachine::Execute`]: the checkpoint is still good.
    Followed,
    /// Answer to [`ToMachine::Freeze`]: changes of the session so far, or why it cannot be kept.
    Frozen(Result<u64, String>),
    /// Answer to [`ToMachine::Thaw`].
    Thawed {
        /// Why it failed; the machine is of no use then.
        failed: Option<String>,
        /// Guest paths of host directories that are not granted any more.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        revoked: Vec<String>,
        /// Layers that it has mounted.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        layers: Vec<LayerId>,
    },
    /// Answer to [`ToMachine::Recover`]: why it failed, if it did.
    Recovered(Option<String>),
    /// Answer to [`ToMachine::Remount`], or what came of a [`ToMachine::Install`] with layers.
    Mounted(Result<(), LayerProblem>),
    /// Answer to [`ToMachine::Analyze`].
    Analyzed(Analysis),
    /// Something happened while code runs.
    Event(Event),
    /// Answer to [`ToMachine::Execute`].
    Done {
        /// What came of it.
        outcome: Box<Outcome>,
        /// The files, if they were asked for, or why they cannot be listed.
        listed: Option<Result<FileReply, String>>,
    },
    /// Answer to [`ToMachine::Files`], or why it was refused.
    Files(Result<FileReply, String>),
    /// The guest's process has ended of itself (`os._exit`, `abort`) or failed beyond repair.
    Ended {
        /// How.
        ending: Ending,
        /// Output bytes dropped until then.
        output_dropped: u64,
    },
    /// The machine needs a compiled module.
    Module(ModuleRequest),
    /// An operation on a granted host directory.
    Mount(MountRequest),
}

/// Why a guest's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// `os._exit` or C's `exit`.
    Exit(i32),
    /// `abort`, a fatal Python error.
    Abort,
    /// A wasm trap: memory fault, stack exhausted, bad indirect call.
    Trap(String),
}

/// A layer that is given to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    /// Which one.
    pub id: LayerId,
    /// A descriptor for its bytecode follows that of its archive.
    pub bytecode: bool,
}

/// Why a layer cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerProblem {
    /// The wheel's file name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What a guest that wanted packages is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstallReply {
    /// Nobody installs anything here.
    Nobody,
    /// They cannot be had, and why.
    Refused(String),
    /// They are there: names and versions.
    Done {
        /// What is new.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        installed: Vec<(String, String)>,
        /// What was there.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        satisfied: Vec<(String, String)>,
    },
}

/// An operation of the server on the guest's files. Paths are absolute and the guest's own.
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields are those of the machine's methods of the same name")]
pub enum FileRequest {
    /// Regular files below a directory.
    List { directory: String },
    /// A piece of a file.
    Read { path: String, offset: u64, length: u32 },
    /// Writes a piece, making the file and the directories above it.
    Write { path: String, offset: u64, bytes: Vec<u8>, truncate: bool },
    /// Removes a file or link.
    Remove { path: String },
    /// Removes what is in a directory.
    RemoveTree { directory: String },
}

impl FileRequest {
    /// Whether it leaves the files as they are.
    pub fn only_looks(&self) -> bool {
        matches!(self, FileRequest::List { .. } | FileRequest::Read { .. })
    }
}

/// Answer to a [`FileRequest`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileReply {
    /// For `List`, in the order of the paths' bytes.
    List(#[serde(deserialize_with = "bounded::list::<_, _, MAX_LISTED_FILES>")] Vec<FileInfo>),
    /// For `Read`.
    Read(FileChunk),
    /// For the others.
    Done,
}

/// An operation on a granted host directory, named by its index; `path` is relative, without `..`.
#[derive(Debug, Serialize, Deserialize)]
pub struct MountRequest {
    /// Which of the mounts.
    pub mount: u32,
    /// What.
    pub operation: MountOperation,
}

/// See [`MountRequest`].
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields are POSIX's")]
pub enum MountOperation {
    /// Opens a regular file; its descriptor follows the answer.
    Open { path: Vec<u8>, write: bool, create: bool, exclusive: bool, truncate: bool, mode: u32 },
    /// `lstat`.
    Stat { path: Vec<u8> },
    /// Lists a directory.
    List { path: Vec<u8> },
    /// `mkdir`.
    MakeDirectory { path: Vec<u8>, mode: u32 },
    /// `unlink`.
    Unlink { path: Vec<u8> },
    /// `rmdir`.
    RemoveDirectory { path: Vec<u8> },
    /// `rename` inside one mount.
    Rename { from: Vec<u8>, to: Vec<u8> },
    /// `readlink`.
    ReadLink { path: Vec<u8> },
    /// `chmod`.
    SetMode { path: Vec<u8>, mode: u32 },
    /// `utimensat`, nanoseconds since 1970; `None` leaves the time.
    SetTimes { path: Vec<u8>, accessed: Option<i64>, modified: Option<i64> },
}

/// What `lstat` says of a host file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct HostStat {
    /// Inode number on the host.
    pub inode: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Number of links.
    pub links: u32,
    /// Bytes.
    pub size: u64,
    /// Last access, nanoseconds since 1970.
    pub accessed: i64,
    /// Last modification.
    pub modified: i64,
    /// Last status change.
    pub changed: i64,
}

/// Answer to a [`MountRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub enum MountReply {
    /// Done; for `Open` a descriptor follows.
    Done,
    /// For `Stat`.
    Stat(HostStat),
    /// For `List`: name, type and permissions, inode.
    List(#[serde(deserialize_with = "bounded::list::<_, _, MAX_ENTRIES>")] Vec<(Vec<u8>, u32, u64)>),
    /// For `ReadLink`.
    Link(Vec<u8>),
    /// Linux's symbolic error name, for example `ENOENT`.
    Error(String),
}

/// A frame that is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The peer closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// A length beyond its bound.
    #[error("a frame of {0} bytes is larger than allowed")]
    TooLarge(usize),
    /// Bytes behind a message.
    #[error("a frame has {0} bytes too many")]
    Trailing(usize),
    /// The peer does not take what is sent to it.
    #[error("a frame was not read")]
    NotRead,
    /// Bytes that do not decode.
    #[error("a frame does not decode: {0}")]
    Malformed(#[from] postcard::Error),
    /// A descriptor is missing.
    #[error("a descriptor is missing")]
    MissingDescriptor,
    /// The socket failed.
    #[error("the connection failed: {0}")]
    Io(std::io::Error),
}

impl From<std::io::Error> for WireError {
    fn from(error: std::io::Error) -> WireError {
        match error.kind() {
            // The same, when the peer left bytes unread.
            std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe => WireError::Closed,
            _ => WireError::Io(error),
        }
    }
}

impl From<rustix::io::Errno> for WireError {
    fn from(errno: rustix::io::Errno) -> WireError {
        std::io::Error::from(errno).into()
    }
}

/// Payload length and descriptor count of a header.
///
/// # Errors
/// When one exceeds its bound.
pub fn decode_header(header: [u8; HEADER]) -> Result<(usize, usize), WireError> {
    let [a, b, c, d, e, f, g, h] = header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let fds = u32::from_le_bytes([e, f, g, h]) as usize;
    if length > MAX_FRAME {
        return Err(WireError::TooLarge(length));
    }
    if fds > MAX_FDS {
        return Err(WireError::TooLarge(fds));
    }
    Ok((length, fds))
}

/// Header and payload of a message.
///
/// # Errors
/// When it is larger than [`MAX_FRAME`].
pub fn encode<T: Serialize>(message: &T, fds: usize) -> Result<Vec<u8>, WireError> {
    let mut frame = postcard::to_extend(message, vec![0; HEADER])?;
    let length = frame.len() - HEADER;
    if length > MAX_FRAME {
        return Err(WireError::TooLarge(length));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    frame[4..HEADER].copy_from_slice(&(fds as u32).to_le_bytes());
    Ok(frame)
}

/// Decodes a payload; trailing bytes are an error.
///
/// # Errors
/// When the bytes are not exactly one message.
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, WireError> {
    let (message, rest) = postcard::take_from_bytes(payload)?;
    if rest.is_empty() { Ok(message) } else { Err(WireError::Trailing(rest.len())) }
}
