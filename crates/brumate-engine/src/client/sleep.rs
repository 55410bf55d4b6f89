//! Sessions asleep on disk.
//!
//! A file is a header of ours (which Brumate, which base image, how long, which checksum) and what the session's machine wrote
//! of itself, which only a machine in the jail reads again. It appears by `rename` after `fsync`: at every instant the name
//! stands for the old session or the new one.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Sandbox;
use super::compiler::memory_file;
use super::error::Error;
use super::machine::Machine;
use super::temporary;
use crate::api::{Image, MachineSpec};
use crate::image::file::FORMAT;

/// Largest sleeping session, in bytes.
const MAX_SESSION: u64 = 4 << 30;

/// Largest header, in bytes.
const MAX_HEADER: usize = 64 << 10;

const MAGIC: [u8; 8] = *b"brumate\x1b";

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    magic: [u8; 8],
    format: u32,
    /// Version of the Brumate that wrote it.
    version: String,
    /// Modules of the base image.
    modules: Vec<String>,
    /// SHA-256 of the base image.
    base: [u8; 32],
    /// Bytes after the header.
    payload: u64,
    /// CRC-32 of those.
    crc: u32,
}

/// A machine that was asleep.
#[derive(Debug)]
pub struct Woken {
    /// It goes on where it was.
    pub machine: Machine,
    /// Guest paths of host directories that were granted once and are not now; they answer `ESTALE`.
    pub revoked: Vec<String>,
}

impl Machine {
    /// Puts this machine, which must not be running code, to sleep in the file `path`: what differs from its base image,
    /// compressed. Returns the file's size in bytes once it is durable. The machine itself goes on; drop it.
    ///
    /// # Errors
    /// [`Error::Image`] when it holds something that cannot be kept, [`Error::Io`] when the disk refuses; what `path` was
    /// before is untouched and this machine goes on. Others when the machine has ended.
    pub async fn hibernate(&mut self, path: &Path) -> Result<u64, Error> {
        let payload = File::from(memory_file("session")?);
        self.freeze(&payload).await?;
        let (base, modules) = (self.pool.base().id, self.pool.image().modules().to_vec());
        let path = path.to_owned();
        let stored = tokio::task::spawn_blocking(move || store(&path, payload, base, modules)).await;
        Ok(stored.map_err(io::Error::other)??)
    }
}

fn store(path: &Path, mut payload: File, base: [u8; 32], modules: Vec<String>) -> io::Result<u64> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let length = payload.seek(io::SeekFrom::End(0))?;
    if length > MAX_SESSION {
        return Err(io::Error::other("the session is too large to be kept"));
    }
    payload.rewind()?;
    let mut file = temporary::file(directory)?;
    let mut header = Header {
        magic: MAGIC,
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        modules,
        base,
        payload: length,
        crc: 0,
    };
    // The machine may still hold its descriptor: what counts is what is read here, once.
    let mut bytes = Vec::new();
    payload.take(length).read_to_end(&mut bytes)?;
    header.payload = bytes.len() as u64;
    header.crc = crc32fast::hash(&bytes);
    let encoded = postcard::to_allocvec(&header).map_err(io::Error::other)?;
    file.write_all(&(encoded.len() as u32).to_le_bytes())?;
    file.write_all(&encoded)?;
    file.write_all(&bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()?;
    Ok((4 + encoded.len() + bytes.len()) as u64)
}

impl Sandbox {
    /// Wakes the session asleep in `path`, on this or another machine. The file stays.
    ///
    /// `spec.image` is ignored: a session wakes from the image it began with.
    ///
    /// # Errors
    /// [`Error::Image`] when the file is damaged, or of another version of Brumate; [`Error::Io`] when it cannot be read;
    /// those of [`Sandbox::machine`].
    pub async fn wake(&self, path: &Path, spec: MachineSpec) -> Result<Woken, Error> {
        let path = path.to_owned();
        let loaded = tokio::task::spawn_blocking(move || load(&path)).await;
        let (header, payload) = loaded.map_err(io::Error::other)??;
        let image = Image::of(header.modules);
        let mut machine = self.machine_of(&image, spec).await?;
        if machine.pool.base().id != header.base {
            return Err(Error::Image(format!(
                "the session cannot be woken: this Brumate's image `{image}` is not the one it began with"
            )));
        }
        let revoked = machine.thaw(&payload).await?;
        Ok(Woken { machine, revoked })
    }
}

/// Reads and checks a file; returns what the machine wrote, in memory.
fn load(path: &Path) -> Result<(Header, File), Error> {
    let mut file = File::open(path)?;
    let damaged = |what: &str| Error::Image(format!("the sleeping session is damaged: {what}"));
    let mut length = [0; 4];
    file.read_exact(&mut length).map_err(|_| damaged("it is too short"))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(damaged("its header is too long"));
    }
    let mut encoded = vec![0; length];
    file.read_exact(&mut encoded).map_err(|_| damaged("it is too short"))?;
    let header: Header = postcard::from_bytes(&encoded).map_err(|_| damaged("its header does not decode"))?;
    if header.magic != MAGIC {
        return Err(damaged("it is something else"));
    }
    if header.format != FORMAT || header.version != env!("CARGO_PKG_VERSION") {
        return Err(Error::Image(format!(
            "the session cannot be woken: Brumate {} put it to sleep, and this is {}",
            header.version,
            env!("CARGO_PKG_VERSION")
        )));
    }
    if header.payload > MAX_SESSION {
        return Err(damaged("its length is impossible"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 != header.payload || crc32fast::hash(&bytes) != header.crc {
        return Err(damaged("its checksum is wrong"));
    }
    let mut payload = File::from(memory_file("session")?);
    payload.write_all(&bytes)?;
    payload.rewind()?;
    Ok((header, payload))
}
