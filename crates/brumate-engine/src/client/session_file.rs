//! The file of a session on disk: header, payload, trailer.
//!
//! | part | written by | content |
//! |---|---|---|
//! | header | the server | version of Brumate, base image, session, wheels |
//! | payload | the session's machine | what differs from the base image; only a machine in the jail reads it |
//! | trailer | the server | length and checksum of the payload, number of changes so far |
//!
//! The file appears by `rename` after `fsync`: at every instant its name stands for the old session or the new one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::memory_file::memory_file;
use super::pool::Pool;
use super::temporary;
use crate::api::{EngineError, bounded};
use crate::api::{Layer, LayerId, MAX_LAYERS};
use crate::image::file::FORMAT;
use crate::image::sealed::{Sealing, TRAILER_BYTES, Trailer};

/// Largest hibernated session, in bytes.
pub(super) const MAX_SESSION: u64 = 4 << 30;

/// Largest header, in bytes.
const MAX_HEADER: usize = 512 << 10;

/// Layers in a header.
const MAX_KNOWN: usize = 2 * MAX_LAYERS;

const MAGIC: [u8; 8] = *b"brumate\x1c";

/// Identifies a session. A checkpoint has the id of its session; a fork has another one.
pub(super) type SessionId = [u8; 16];

/// Data about a session that the server writes itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    magic: [u8; 8],
    format: u32,
    /// Version of Brumate that wrote it.
    version: String,
    /// Modules of the base image.
    pub(super) modules: Vec<String>,
    /// SHA-256 of the base image.
    pub(super) base: [u8; 32],
    /// The session of the state.
    pub(super) session: SessionId,
    /// Wheels that are mounted. In a crash snapshot there may also be wheels from before a change, or after it.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_KNOWN>")]
    pub(super) layers: Vec<LayerId>,
    /// Wheels that are mounted in the base image.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
    pub(super) base_layers: Vec<LayerId>,
}

/// Returns the id of a new session.
///
/// # Errors
/// When the kernel has no randomness.
pub(super) fn new_session() -> Result<SessionId, EngineError> {
    let mut id = SessionId::default();
    crate::caps::random(&mut id).map_err(std::io::Error::from)?;
    Ok(id)
}

/// Makes `path` the file of a session whose machine wrote `payload`. Returns its size once it is durable.
///
/// # Errors
/// If the payload is too large, or the disk refuses; `path` is unchanged then.
pub(super) fn store(path: &Path, header: &Header, mut payload: File, generation: u64) -> io::Result<u64> {
    let length = payload.seek(SeekFrom::End(0))?;
    if length > MAX_SESSION {
        return Err(io::Error::other("the session is too large to be kept"));
    }
    payload.rewind()?;
    // The machine may still have its descriptor, so the payload is read only once, here.
    complete(path, header, &mut payload.take(length), generation)
}

/// Makes `path` a hibernated session: header, payload, trailer. Returns its size once it is durable.
///
/// # Errors
/// If the disk refuses; `path` is unchanged then.
pub(super) fn complete(path: &Path, header: &Header, payload: &mut dyn Read, generation: u64) -> io::Result<u64> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary::file(directory)?;
    let encoded = header.encode()?;
    file.write_all(&encoded)?;
    let mut sealing = Sealing::new(BufWriter::new(file.as_file()));
    io::copy(payload, &mut sealing)?;
    let trailer = sealing.seal(generation)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()?;
    Ok((encoded.len() + TRAILER_BYTES) as u64 + trailer.payload)
}

impl Header {
    /// Returns the header of a session on machines of `pool`.
    pub(super) fn new(pool: &Pool, session: SessionId, layers: Vec<LayerId>) -> Header {
        Header {
            magic: MAGIC,
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            modules: pool.image().modules().to_vec(),
            base: pool.base().id,
            session,
            layers,
            base_layers: pool.image().layers().iter().map(Layer::id).collect(),
        }
    }

    /// Encodes the header: length, then content.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = postcard::to_extend(self, vec![0; 4]).map_err(io::Error::other)?;
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Ok(bytes)
    }

    /// Reads a header; the bytes after it are not read.
    ///
    /// # Errors
    /// [`EngineError::Image`] if it is no header, [`EngineError::Outdated`] if it is of another format.
    pub(super) fn read(from: &mut impl Read) -> Result<Header, EngineError> {
        let mut length = [0; 4];
        from.read_exact(&mut length).map_err(|_| damaged("it is too short"))?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER {
            return Err(damaged("its header is too long"));
        }
        let mut encoded = vec![0; length];
        from.read_exact(&mut encoded).map_err(|_| damaged("it is too short"))?;
        let header: Header = postcard::from_bytes(&encoded).map_err(|_| damaged("its header does not decode"))?;
        if header.magic != MAGIC {
            return Err(damaged("it is something else"));
        }
        if header.format != FORMAT {
            return Err(header.outdated("which has another format"));
        }
        Ok(header)
    }

    /// Returns the error for a session that this version cannot resume.
    pub(super) fn outdated(&self, why: &str) -> EngineError {
        // The text comes from a file.
        let version: String = self.version.escape_debug().take(MAX_VERSION).collect();
        let own = env!("CARGO_PKG_VERSION");
        EngineError::Outdated(format!("Brumate {version} put it to sleep, {why}; this is Brumate {own}"))
    }
}

/// Most characters of a version that are shown.
const MAX_VERSION: usize = 32;

#[cfg(test)]
impl Header {
    /// Returns an example header of `session`.
    pub(super) fn example(session: SessionId) -> Header {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (modules, layers) = (Vec::new(), Vec::new());
        let base_layers = Vec::new();
        Header { magic: MAGIC, format: FORMAT, version, modules, base: [7; 32], session, layers, base_layers }
    }
}

fn damaged(what: &str) -> EngineError {
    EngineError::Image(format!("the sleeping session is damaged: {what}"))
}

/// Reads the trailer of a payload that begins at `start` of `file`, and seeks to the payload's start. Does not check
/// the payload.
///
/// # Errors
/// If the payload has another length than the trailer states, or is too long.
pub(super) fn trailer(file: &mut File, start: u64) -> Result<Trailer, EngineError> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut bytes = [0; TRAILER_BYTES];
    let at =
        end.checked_sub(TRAILER_BYTES as u64).filter(|&at| at >= start).ok_or_else(|| damaged("it is too short"))?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    let trailer = Trailer::decode(&bytes).filter(|trailer| trailer.payload == at - start);
    let trailer = trailer.ok_or_else(|| damaged("it is not whole"))?;
    if trailer.payload > MAX_SESSION {
        return Err(damaged("its length is impossible"));
    }
    file.seek(SeekFrom::Start(start))?;
    Ok(trailer)
}

/// Copies a payload, which begins at the position of `file`, and checks it.
///
/// # Errors
/// When it is damaged, or `to` refuses.
pub(super) fn copy_checked(file: &mut File, trailer: &Trailer, to: impl Write) -> Result<(), EngineError> {
    let mut sealing = Sealing::new(to);
    io::copy(&mut file.take(trailer.payload), &mut sealing)?;
    let (copied, mut to) = sealing.finish(trailer.generation);
    to.flush()?;
    if copied == *trailer { Ok(()) } else { Err(damaged("its checksum is wrong")) }
}

/// Opens a hibernated session and reads its header; the payload is the next to read.
pub(super) async fn open(path: std::path::PathBuf) -> Result<(Header, File), EngineError> {
    let opened = tokio::task::spawn_blocking(move || {
        let mut file = File::open(path)?;
        Ok::<_, EngineError>((Header::read(&mut file)?, file))
    });
    opened.await.map_err(io::Error::other)?
}

/// Reads and checks the payload and the trailer after a header. Returns the payload in memory, and the number of
/// changes.
pub(super) fn load(mut file: File) -> Result<(File, u64), EngineError> {
    let start = file.stream_position()?;
    let trailer = trailer(&mut file, start)?;
    let mut payload = File::from(memory_file("session")?);
    copy_checked(&mut file, &trailer, &payload)?;
    payload.rewind()?;
    Ok((payload, trailer.generation))
}

/// Returns the id of the base image of the session hibernated in `path`.
///
/// # Errors
/// [`EngineError::Image`] when the file is damaged, [`EngineError::Outdated`] when it is of another format,
/// [`EngineError::Io`] when it cannot be read.
pub(super) fn base_of(path: &Path) -> Result<[u8; 32], EngineError> {
    Ok(Header::read(&mut File::open(path)?)?.base)
}

/// Returns the session hibernated in `path` and its number of changes; `None` if the file is not complete.
pub(super) fn look(path: &Path) -> Option<(SessionId, u64)> {
    let mut file = File::open(path).ok()?;
    let header = Header::read(&mut file).ok()?;
    let start = file.stream_position().ok()?;
    let trailer = trailer(&mut file, start).ok()?;
    copy_checked(&mut file, &trailer, io::sink()).ok()?;
    Some((header.session, trailer.generation))
}
