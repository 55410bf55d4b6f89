//! Sessions hibernated on disk.
//!
//! A session resumes if its format is known and its base image is found. The version that wrote the file does not matter.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use super::images::{Images, Verified, private};
use super::machine::Machine;
use super::memory_file::memory_file;
use super::session::Session;
use super::session_file::{Header, copy_checked, load, open, store, trailer};
use super::{Sandbox, crash_snapshot, prepare};
use crate::api::{EngineError, Image, Layer, LayerId, MachineSpec};
use crate::image::sealed::TRAILER_BYTES;

/// The image from which a session resumes.
enum Base {
    /// One of the cache: this version's, or the one with this id.
    Shared(Option<[u8; 32]>),
    /// The one that came with the session.
    Private(Verified),
}

/// A machine that was resumed from a file.
#[derive(Debug)]
pub struct ResumedMachine {
    /// The machine, in the state in which it was hibernated.
    pub machine: Machine,
    /// Guest paths of host directories that are no longer granted; they return `ESTALE`.
    pub revoked: Vec<String>,
}

impl Machine {
    /// Hibernates this machine, which must not be running code, in the file `path`: what differs from its base image,
    /// compressed. Returns the file's size in bytes once it is durable. The machine itself continues; the caller drops
    /// it.
    ///
    /// # Errors
    /// [`EngineError::Image`] if it has something that no image can hold, [`EngineError::Io`] if the disk refuses; `path` is
    /// unchanged then and this machine continues. Others if the machine has ended.
    pub async fn write_to(&mut self, path: &Path) -> Result<u64, EngineError> {
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

    /// Returns the bytes of the file that [`Machine::write_to`] would write. Writes nothing to the disk.
    ///
    /// # Errors
    /// Fails as [`Machine::write_to`] does.
    pub(super) async fn measure(&mut self) -> Result<u64, EngineError> {
        let payload = File::from(memory_file("session")?);
        self.snapshot(&payload).await?;
        let rest = self.header().encode()?.len() + TRAILER_BYTES;
        Ok(payload.metadata()?.len() + rest as u64)
    }
}

impl Sandbox {
    /// Resumes the session hibernated in `path`, on this or another host. The file stays. If a server disconnected
    /// after the file was written, and its session left a newer crash snapshot, the snapshot replaces the file first.
    ///
    /// `spec.image` is ignored: a session resumes from the image it began with. Of `spec.layers` only the session's own
    /// layers are used ([`super::layers_of`]).
    ///
    /// # Errors
    /// [`EngineError::MissingLayers`] if one of these is missing; [`EngineError::Outdated`] if the image that it began with is not
    /// available; [`EngineError::Image`] if the file is damaged, or of a session that still runs; [`EngineError::Io`] if it cannot
    /// be read; the errors of [`Sandbox::machine`].
    pub async fn resume(&self, path: &Path, spec: MachineSpec) -> Result<ResumedMachine, EngineError> {
        crash_snapshot::adopt(path).await?;
        let path = path.to_owned();
        let (header, file) = open(path).await?;
        let (layers, mut missing) = find(&header.layers, &spec.layers);
        let (base_layers, missing_in_base) = find(&header.base_layers, &spec.layers);
        missing.extend(missing_in_base);
        if !missing.is_empty() {
            return Err(EngineError::MissingLayers { layers: missing });
        }
        let image = Image::of(header.modules.clone()).with_layers(base_layers);
        let spec = MachineSpec { layers: Vec::new(), ..spec };
        // The machine is forked at the same time.
        let loading = tokio::task::spawn_blocking(move || load(file));
        let base = self.base_of(&image, &header, spec.private_image.as_deref()).await?;
        let mut machine = match base {
            Base::Shared(id) => self.machine_of_pool(&(image, id), spec).await?,
            Base::Private(verified) => self.machine_of_private(&image, verified, spec).await?,
        };
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
    /// Returns the image from which a session resumes: this version's, one in the cache that another version has made,
    /// or the one that came with the session.
    async fn base_of(&self, image: &Image, header: &Header, private: Option<&Path>) -> Result<Base, EngineError> {
        let own = prepare::find(&self.shared, image).await?;
        if own.as_ref().is_some_and(|own| own.header.id == header.base) {
            return Ok(Base::Shared(None));
        }
        if prepare::find_by_id(&self.shared, header.base).await?.is_some() {
            return Ok(Base::Shared(Some(header.base)));
        }
        if let Some(path) = private
            && let Some(verified) = prepare::private_image(path.to_owned(), header.base).await?
        {
            return Ok(Base::Private(verified));
        }
        // An image that is not built yet may be the right one.
        if own.is_none() { Ok(Base::Shared(None)) } else { Err(header.outdated(super::pools::GONE)) }
    }

    /// Checks whether the image of the session hibernated in `path` is available; `private` is the image that came with
    /// it ([`MachineSpec::private_image`]). Starts nothing; an image that is not built yet counts as available.
    ///
    /// # Errors
    /// As [`Sandbox::resume`].
    pub async fn can_resume(&self, path: &Path, private: Option<&Path>) -> Result<(), EngineError> {
        crash_snapshot::adopt(path).await?;
        let (header, _) = open(path.to_owned()).await?;
        if !header.base_layers.is_empty() {
            // The wheels of its base are not available here.
            return Ok(());
        }
        self.base_of(&Image::of(header.modules.clone()), &header, private).await.map(drop)
    }

    /// Creates a new session with the files in the working directory of the session hibernated in `path`, and nothing
    /// else of it. For a session that cannot be resumed; the file stays.
    ///
    /// # Errors
    /// [`EngineError::Outdated`] if its files cannot be read either, [`EngineError::Image`] if the file is damaged, [`EngineError::Io`]
    /// if it cannot be read; the errors of [`Sandbox::machine`].
    pub async fn recover(&self, path: &Path, spec: MachineSpec) -> Result<Session, EngineError> {
        crash_snapshot::adopt(path).await?;
        let (_, file) = open(path.to_owned()).await?;
        let loading = tokio::task::spawn_blocking(move || load(file));
        let mut machine = self.machine(spec).await?;
        let (payload, _) = loading.await.map_err(io::Error::other)??;
        machine.recover(&payload).await?;
        Ok(Session::new(machine))
    }

    /// Resumes a session; see [`Sandbox::resume`]. Also returns the guest paths of host directories that are no longer
    /// granted.
    ///
    /// # Errors
    /// The errors of [`Sandbox::resume`].
    pub async fn resume_session(&self, path: &Path, spec: MachineSpec) -> Result<(Session, Vec<String>), EngineError> {
        let ResumedMachine { machine, revoked } = self.resume(path, spec).await?;
        Ok((Session::new(machine), revoked))
    }
}

/// Returns those of `given` that are `wanted`, and those that are missing.
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
pub(super) async fn layers_of(path: &Path) -> Result<Vec<LayerId>, EngineError> {
    crash_snapshot::adopt(path).await?;
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || Header::read(&mut File::open(path)?));
    let Header { mut layers, base_layers, .. } = read.await.map_err(io::Error::other)??;
    // A layer that the session has replaced is still part of its base.
    layers.extend(base_layers);
    let mut known = HashSet::new();
    layers.retain(|layer| known.insert(layer.clone()));
    Ok(layers)
}

/// Checks the file of a hibernated session: that it is complete, and that its image is in `cache_dir`, is the one that
/// came with it (`private_image`), or may still be built. Reads all of it, and writes nothing.
///
/// # Errors
/// [`EngineError::Image`] when it is damaged, [`EngineError::Outdated`] when this version cannot resume it,
/// [`EngineError::Io`] when it cannot be read.
pub fn check_session_file(path: &Path, private_image: Option<&Path>, cache_dir: &Path) -> Result<(), EngineError> {
    let mut file = File::open(path)?;
    let header = Header::read(&mut file)?;
    let start = file.stream_position()?;
    let trailer = trailer(&mut file, start)?;
    copy_checked(&mut file, &trailer, io::sink())?;
    // Wheels that are part of an image are not available here, so the image's name is not known.
    if !header.base_layers.is_empty() || !Images::are_in(cache_dir) {
        return Ok(());
    }
    let images = Images::open(cache_dir)?;
    let own = images.get(&Image::of(header.modules.clone()));
    match own {
        Some(own)
            if own.header.id != header.base
                && images.find(&header.base).is_none()
                && private_image.is_none_or(|path| private(path, &header.base).is_err()) =>
        {
            Err(header.outdated(super::pools::GONE))
        }
        _ => Ok(()),
    }
}
