//! Sessions asleep on disk.
//!
//! A file is a header of ours (which Brumate, which base image, which session), what the session's machine wrote of itself,
//! which only a machine in the jail reads again, and a trailer that proves it whole. It appears by `rename` after `fsync`:
//! at every instant the name stands for the old session or the new one.
//!
//! A session wakes if its format is known and its base image is found. The version that wrote the file does not matter.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Sandbox;
use super::compiler::memory_file;
use super::error::Error;
use super::images::Images;
use super::machine::Machine;
use super::pool::Pool;
use super::session::Session;
use super::{PoolKey, prepare, temporary, will};
use crate::api::bounded;
use crate::api::{Image, Layer, LayerId, MAX_LAYERS, MachineSpec};
use crate::image::file::FORMAT;
use crate::image::sealed::{Sealing, TRAILER_BYTES, Trailer};

/// Largest sleeping session, in bytes.
pub(super) const MAX_SESSION: u64 = 4 << 30;

/// Largest header, in bytes.
const MAX_HEADER: usize = 512 << 10;

/// Layers in a header.
const MAX_KNOWN: usize = 2 * MAX_LAYERS;

const MAGIC: [u8; 8] = *b"brumate\x1c";

/// What tells sessions apart. A checkpoint is the session it is one of; a fork is another.
pub(super) type SessionId = [u8; 16];

/// What the server vouches for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    magic: [u8; 8],
    format: u32,
    /// Version of the Brumate that wrote it.
    version: String,
    /// Modules of the base image.
    modules: Vec<String>,
    /// SHA-256 of the base image.
    base: [u8; 32],
    /// Whose state it is.
    pub(super) session: SessionId,
    /// Wheels that are mounted; in a last will perhaps also those that were, or were about to be.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_KNOWN>")]
    pub(super) layers: Vec<LayerId>,
    /// Wheels that are mounted in the base image.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
    base_layers: Vec<LayerId>,
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
        let generation = self.freeze(&payload).await?;
        let (header, path) = (self.header(), path.to_owned());
        let stored = tokio::task::spawn_blocking(move || {
            let size = store(&path, &header, payload, generation)?;
            will::discard(&path);
            Ok::<_, io::Error>(size)
        });
        Ok(stored.await.map_err(io::Error::other)??)
    }

    /// What the server vouches for about this machine's session.
    pub(super) fn header(&self) -> Header {
        self.header_with(self.layers().iter().map(Layer::id).collect())
    }

    /// As [`Machine::header`], if these were its layers.
    pub(super) fn header_with(&self, layers: Vec<LayerId>) -> Header {
        Header::new(&self.pool, self.session, layers)
    }
}

fn store(path: &Path, header: &Header, mut payload: File, generation: u64) -> io::Result<u64> {
    let length = payload.seek(SeekFrom::End(0))?;
    if length > MAX_SESSION {
        return Err(io::Error::other("the session is too large to be kept"));
    }
    payload.rewind()?;
    // The machine may still hold its descriptor: what counts is what is read here, once.
    complete(path, header, &mut payload.take(length), generation)
}

/// Makes `path` a sleeping session: header, payload, trailer. Returns its size once it is durable.
///
/// # Errors
/// When the disk refuses; what `path` was before is untouched.
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
    /// The header of a session on machines of `pool`.
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

    /// Length, and content.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = postcard::to_extend(self, vec![0; 4]).map_err(io::Error::other)?;
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Ok(bytes)
    }

    /// Reads one; what follows it is not touched.
    ///
    /// # Errors
    /// [`Error::Image`] when it is none, [`Error::Outdated`] when it is of another format.
    pub(super) fn read(from: &mut impl Read) -> Result<Header, Error> {
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

    /// Says that this Brumate cannot wake the session.
    fn outdated(&self, why: &str) -> Error {
        // The text comes out of a file.
        let version: String = self.version.escape_debug().take(MAX_VERSION).collect();
        let own = env!("CARGO_PKG_VERSION");
        Error::Outdated(format!("Brumate {version} put it to sleep, {why}; this is Brumate {own}"))
    }
}

/// Characters of a version that are shown.
const MAX_VERSION: usize = 32;

#[cfg(test)]
impl Header {
    /// The header of some session.
    pub(super) fn example(session: SessionId) -> Header {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (modules, layers) = (Vec::new(), Vec::new());
        let base_layers = Vec::new();
        Header { magic: MAGIC, format: FORMAT, version, modules, base: [7; 32], session, layers, base_layers }
    }
}

fn damaged(what: &str) -> Error {
    Error::Image(format!("the sleeping session is damaged: {what}"))
}

/// Reads the trailer of a payload that begins at `start` of `file`, and leaves `file` there. Its bytes are not checked yet.
///
/// # Errors
/// When the payload is not of the length it should be, or longer than any may be.
pub(super) fn trailer(file: &mut File, start: u64) -> Result<Trailer, Error> {
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

/// Copies a payload, which begins where `file` stands, and checks it.
///
/// # Errors
/// When it is damaged, or `to` refuses.
pub(super) fn copy_checked(file: &mut File, trailer: &Trailer, to: impl Write) -> Result<(), Error> {
    let mut sealing = Sealing::new(to);
    io::copy(&mut file.take(trailer.payload), &mut sealing)?;
    let (copied, mut to) = sealing.finish(trailer.generation);
    to.flush()?;
    if copied == *trailer { Ok(()) } else { Err(damaged("its checksum is wrong")) }
}

impl Sandbox {
    /// Wakes the session asleep in `path`, on this or another machine. The file stays. When a server vanished after that file
    /// was written, and its session left a last will that is newer, the will takes the file's place first.
    ///
    /// `spec.image` is ignored: a session wakes from the image it began with. Of `spec.layers` it takes those that it had
    /// ([`super::layers_of`]).
    ///
    /// # Errors
    /// [`Error::MissingLayers`] when one of these is not there; [`Error::Outdated`] when the image that it began with cannot be had;
    /// [`Error::Image`] when the file is damaged, or of a session that still runs; [`Error::Io`] when it cannot be read; those of
    /// [`Sandbox::machine`].
    pub async fn wake(&self, path: &Path, spec: MachineSpec) -> Result<Woken, Error> {
        will::adopt(path).await?;
        let path = path.to_owned();
        let (header, file) = open(path).await?;
        let (layers, mut missing) = find(&header.layers, &spec.layers);
        let (base_layers, missing_in_base) = find(&header.base_layers, &spec.layers);
        missing.extend(missing_in_base);
        if !missing.is_empty() {
            return Err(Error::MissingLayers { layers: missing });
        }
        let image = Image::of(header.modules.clone()).with_layers(base_layers);
        let spec = MachineSpec { layers: Vec::new(), ..spec };
        // The machine is forked meanwhile.
        let loading = tokio::task::spawn_blocking(move || load(file));
        let base = self.base_of(image, &header).await?;
        let mut machine = self.machine_of_pool(&base, spec).await?;
        let (payload, generation) = loading.await.map_err(io::Error::other)??;
        if machine.pool.base().id != header.base {
            return Err(header.outdated(super::pools::GONE));
        }
        machine.session = header.session;
        machine.give(&layers).await?;
        let revoked = machine.thaw(&payload, generation).await?;
        Ok(Woken { machine, revoked })
    }
}

impl Sandbox {
    /// The image from which a session wakes: this Brumate's, or one in the cache that another Brumate has made.
    async fn base_of(&self, image: Image, header: &Header) -> Result<PoolKey, Error> {
        let own = prepare::find(&self.shared, &image).await?;
        if own.as_ref().is_some_and(|own| own.header.id == header.base) {
            return Ok((image, None));
        }
        match prepare::find_by_id(&self.shared, header.base).await? {
            Some(_) => Ok((image, Some(header.base))),
            // One that is not built yet may be the one.
            None if own.is_none() => Ok((image, None)),
            None => Err(header.outdated(super::pools::GONE)),
        }
    }

    /// Checks whether what the session asleep in `path` began with can be had. Starts nothing; an image that is not built yet is
    /// taken for the right one.
    ///
    /// # Errors
    /// As [`Sandbox::wake`].
    pub async fn can_wake(&self, path: &Path) -> Result<(), Error> {
        will::adopt(path).await?;
        let (header, _) = open(path.to_owned()).await?;
        if !header.base_layers.is_empty() {
            // Its wheels are not at hand.
            return Ok(());
        }
        self.base_of(Image::of(header.modules.clone()), &header).await.map(drop)
    }

    /// A new session with the files that the one asleep in `path` has in its working directory, and nothing else of it. For a session
    /// that cannot be woken; the file stays.
    ///
    /// # Errors
    /// [`Error::Outdated`] when its files cannot be read either, [`Error::Image`] when the file is damaged, [`Error::Io`] when it cannot
    /// be read; those of [`Sandbox::machine`].
    pub async fn recover(&self, path: &Path, spec: MachineSpec) -> Result<Session, Error> {
        will::adopt(path).await?;
        let (_, file) = open(path.to_owned()).await?;
        let loading = tokio::task::spawn_blocking(move || load(file));
        let mut machine = self.machine(spec).await?;
        let (payload, _) = loading.await.map_err(io::Error::other)??;
        machine.recover(&payload).await?;
        Ok(Session::new(machine))
    }
}

/// Opens a sleeping session and reads its header; what follows comes next.
async fn open(path: std::path::PathBuf) -> Result<(Header, File), Error> {
    let opened = tokio::task::spawn_blocking(move || {
        let mut file = File::open(path)?;
        Ok::<_, Error>((Header::read(&mut file)?, file))
    });
    opened.await.map_err(io::Error::other)?
}

/// Those of `given` that are `wanted`, and those that are missing.
fn find(wanted: &[LayerId], given: &[Layer]) -> (Vec<Layer>, Vec<LayerId>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for id in wanted {
        match given.iter().find(|layer| layer.sha256 == id.sha256 && layer.name == id.name) {
            Some(layer) => found.push(layer.clone()),
            None => missing.push(id.clone()),
        }
    }
    (found, missing)
}

/// Reads and checks what follows the header; returns what the machine wrote, in memory, and how many changes it had seen.
fn load(mut file: File) -> Result<(File, u64), Error> {
    let start = file.stream_position()?;
    let trailer = trailer(&mut file, start)?;
    let mut payload = File::from(memory_file("session")?);
    copy_checked(&mut file, &trailer, &payload)?;
    payload.rewind()?;
    Ok((payload, trailer.generation))
}

/// See [`super::layers_of`].
pub(super) async fn layers_of(path: &Path) -> Result<Vec<LayerId>, Error> {
    will::adopt(path).await?;
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || Header::read(&mut File::open(path)?));
    let Header { mut layers, base_layers, .. } = read.await.map_err(io::Error::other)??;
    // One that the session has replaced is still part of its base.
    layers.extend(base_layers);
    let mut known = HashSet::new();
    layers.retain(|layer| known.insert(layer.clone()));
    Ok(layers)
}

/// Checks the file of a sleeping session: whole, and with an image in `cache_dir` that it wakes from, or that may still be built. Reads
/// all of it, and makes nothing.
///
/// # Errors
/// [`Error::Image`] when it is damaged, [`Error::Outdated`] when this version cannot wake it, [`Error::Io`] when it cannot be read.
pub fn check_asleep(path: &Path, cache_dir: &Path) -> Result<(), Error> {
    let mut file = File::open(path)?;
    let header = Header::read(&mut file)?;
    let start = file.stream_position()?;
    let trailer = trailer(&mut file, start)?;
    copy_checked(&mut file, &trailer, io::sink())?;
    // Wheels that are part of an image are not at hand, and with them its name.
    if !header.base_layers.is_empty() || !Images::are_in(cache_dir) {
        return Ok(());
    }
    let images = Images::open(cache_dir)?;
    let own = images.get(&Image::of(header.modules.clone()));
    match own {
        Some(own) if own.header.id != header.base && images.find(&header.base).is_none() => {
            Err(header.outdated(super::pools::GONE))
        }
        _ => Ok(()),
    }
}

/// The id of the base image of the session asleep in `path`.
///
/// # Errors
/// As [`check_asleep`].
pub(super) fn base_of(path: &Path) -> Result<[u8; 32], Error> {
    Ok(Header::read(&mut File::open(path)?)?.base)
}

/// Whose state sleeps in `path`, and how many changes it had seen; `None` when it is not whole.
pub(super) fn look(path: &Path) -> Option<(SessionId, u64)> {
    let mut file = File::open(path).ok()?;
    let header = Header::read(&mut file).ok()?;
    let start = file.stream_position().ok()?;
    let trailer = trailer(&mut file, start).ok()?;
    copy_checked(&mut file, &trailer, io::sink()).ok()?;
    Some((header.session, trailer.generation))
}
