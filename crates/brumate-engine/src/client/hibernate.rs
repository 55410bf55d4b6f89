//! Sessions hibernated on disk.
//!
//! A session resumes if its format is known and its base image is found. The version that wrote the file does not matter.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use super::error::Error;
use super::images::Images;
use super::machine::Machine;
use super::memory_file::memory_file;
use super::session::Session;
use super::session_file::{Header, copy_checked, load, open, store, trailer};
use super::{PoolKey, Sandbox, crash_snapshot, prepare};
use crate::api::{Image, Layer, LayerId, MachineSpec};

/// A machine that was hibernated.
#[derive(Debug)]
pub struct ResumedMachine {
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
        let generation = self.snapshot(&payload).await?;
        let (header, path) = (self.header(), path.to_owned());
        let stored = tokio::task::spawn_blocking(move || {
            let size = store(&path, &header, payload, generation)?;
            crash_snapshot::discard(&path);
            Ok::<_, io::Error>(size)
        });
        Ok(stored.await.map_err(io::Error::other)??)
    }
}

impl Sandbox {
    /// Resumes the session hibernated in `path`, on this or another machine. The file stays. When a server vanished after that file
    /// was written, and its session left a crash snapshot that is newer, it takes the file's place first.
    ///
    /// `spec.image` is ignored: a session resumes from the image it began with. Of `spec.layers` it takes those that it had
    /// ([`super::layers_of`]).
    ///
    /// # Errors
    /// [`Error::MissingLayers`] when one of these is not there; [`Error::Outdated`] when the image that it began with cannot be had;
    /// [`Error::Image`] when the file is damaged, or of a session that still runs; [`Error::Io`] when it cannot be read; those of
    /// [`Sandbox::machine`].
    pub async fn resume(&self, path: &Path, spec: MachineSpec) -> Result<ResumedMachine, Error> {
        crash_snapshot::adopt(path).await?;
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
        let revoked = machine.restore_snapshot(&payload, generation).await?;
        Ok(ResumedMachine { machine, revoked })
    }
}

impl Sandbox {
    /// The image from which a session resumes: this Brumate's, or one in the cache that another Brumate has made.
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

    /// Checks whether what the session hibernated in `path` began with can be had. Starts nothing; an image that is not built yet is
    /// taken for the right one.
    ///
    /// # Errors
    /// As [`Sandbox::resume`].
    pub async fn can_resume(&self, path: &Path) -> Result<(), Error> {
        crash_snapshot::adopt(path).await?;
        let (header, _) = open(path.to_owned()).await?;
        if !header.base_layers.is_empty() {
            // Its wheels are not at hand.
            return Ok(());
        }
        self.base_of(Image::of(header.modules.clone()), &header).await.map(drop)
    }

    /// Makes a new session with the files that the one hibernated in `path` has in its working directory, and nothing else of it. For a session
    /// that cannot be resumed; the file stays.
    ///
    /// # Errors
    /// [`Error::Outdated`] when its files cannot be read either, [`Error::Image`] when the file is damaged, [`Error::Io`] when it cannot
    /// be read; those of [`Sandbox::machine`].
    pub async fn recover(&self, path: &Path, spec: MachineSpec) -> Result<Session, Error> {
        crash_snapshot::adopt(path).await?;
        let (_, file) = open(path.to_owned()).await?;
        let loading = tokio::task::spawn_blocking(move || load(file));
        let mut machine = self.machine(spec).await?;
        let (payload, _) = loading.await.map_err(io::Error::other)??;
        machine.recover(&payload).await?;
        Ok(Session::new(machine))
    }

    /// Resumes a session; see [`Sandbox::resume`]. Also returns the guest paths of host directories that are not
    /// granted any more.
    ///
    /// # Errors
    /// Those of [`Sandbox::resume`].
    pub async fn resume_session(&self, path: &Path, spec: MachineSpec) -> Result<(Session, Vec<String>), Error> {
        let ResumedMachine { machine, revoked } = self.resume(path, spec).await?;
        Ok((Session::new(machine), revoked))
    }
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

/// See [`super::layers_of`].
pub(super) async fn layers_of(path: &Path) -> Result<Vec<LayerId>, Error> {
    crash_snapshot::adopt(path).await?;
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || Header::read(&mut File::open(path)?));
    let Header { mut layers, base_layers, .. } = read.await.map_err(io::Error::other)??;
    // One that the session has replaced is still part of its base.
    layers.extend(base_layers);
    let mut known = HashSet::new();
    layers.retain(|layer| known.insert(layer.clone()));
    Ok(layers)
}

/// Checks the file of a hibernated session: whole, and with an image in `cache_dir` that it resumes from, or that may still be built. Reads
/// all of it, and makes nothing.
///
/// # Errors
/// [`Error::Image`] when it is damaged, [`Error::Outdated`] when this version cannot resume it, [`Error::Io`] when it cannot be read.
pub fn check_session_file(path: &Path, cache_dir: &Path) -> Result<(), Error> {
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
