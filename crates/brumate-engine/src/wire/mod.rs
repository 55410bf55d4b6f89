//! Framed messages between the server and its zygotes and machines.
//!
//! A frame is a header of eight bytes (payload length and number of descriptors, both `u32` little-endian) and a payload
//! in postcard's format. Descriptors travel with the header (`SCM_RIGHTS`). Each side treats the other's bytes as hostile:
//! no length is trusted before it is bounded, and buffers grow only with what has arrived.

mod files;
mod layers;
mod machine;
mod modules;
mod mounts;
mod zygote;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use files::{FileReply, FileRequest};
pub use layers::{InstallReply, LayerInfo, LayerProblem};
pub use machine::{Ending, MachineAnswer, MachineMessage, MachineRequest};
pub use modules::{ModuleKey, ModuleReply, ModuleRequest, Origin};
pub use mounts::{HostStat, MountOperation, MountReply, MountRequest};
pub use zygote::{FromInit, FromZygote, ToZygote};

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

/// Why a message cannot be sent or received.
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
    /// A message that does not belong there.
    #[error("an unexpected message came")]
    UnexpectedMessage,
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

/// Reads payload length and descriptor count from a header.
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

/// Encodes a message: header and payload.
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
