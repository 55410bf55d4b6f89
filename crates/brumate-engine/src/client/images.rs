//! Base images on disk: made on first use, verified when they are opened, replaced when they are damaged.
//!
//! A file's name is the key of everything that went into the image, and of nothing else: two versions of Brumate with
//! the same bundle and driver share it. The file appears by `rename` after `fsync`. Only damaged images are removed: a
//! hibernated session may need an image that an earlier version made, and finds it by its content ([`Images::find`]).
//!
//! Only [`Images::commit`] adds an image: what a builder of this user wrote. An image that comes from elsewhere, with a
//! session, stays outside of the cache and serves that session alone ([`private`]).

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::api::Image;
use crate::bundle;
use crate::cache_dir::{CacheError, hex, lock, private_directory, publish};
use crate::code::compile::TRANSLATION;
use crate::code::trampoline::trampoline_module;
use crate::files::GuestFiles;
use crate::image::file::{self, FORMAT, Header, Origin};

/// Ending of an image's name.
const SUFFIX: &str = ".image";

/// Most images in a cache that are searched for one that an earlier version made. An older one may not be found.
const MAX_LOOKED_AT: usize = 4096;

/// Version of the protocol between host and driver beside the interface of CPython: functions of the driver that the
/// host calls, functions of the host that guests may hold, events. Increment it when one side needs something new of
/// the other; earlier images are not loaded then.
const PROTOCOL: u32 = 1;

/// An image that was verified.
#[derive(Debug, Clone)]
pub(crate) struct Verified {
    pub(crate) file: Arc<File>,
    pub(crate) header: Header,
}

/// The images of one cache directory.
#[derive(Debug)]
pub(crate) struct Images {
    path: PathBuf,
    directory: OwnedFd,
    /// Verified files of this process, by key.
    verified: Mutex<HashMap<[u8; 32], Verified>>,
    /// Verified files that were found by their id.
    found: Mutex<HashMap<[u8; 32], Verified>>,
}

impl Images {
    /// Opens or makes the directory below `root`.
    ///
    /// # Errors
    /// When it cannot be made or is not private.
    pub(crate) fn open(root: &Path) -> Result<Images, CacheError> {
        let path = root.join("images");
        let directory = private_directory(root, &[&path])?;
        Ok(Images { path, directory, verified: Mutex::default(), found: Mutex::default() })
    }

    /// Whether there is a directory of images below `root`.
    pub(crate) fn are_in(root: &Path) -> bool {
        root.join("images").is_dir()
    }

    /// Returns the image if it is there and complete. Reads all of it the first time.
    pub(crate) fn get(&self, image: &Image) -> Option<Verified> {
        let key = key(image);
        let mut verified = self.verified.lock();
        if let Some(found) = verified.get(&key) {
            return Some(found.clone());
        }
        let name = name(&key);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.directory, &name, flags, Mode::empty()).ok()?);
        match file::verify(&file, &key) {
            Ok(header) => {
                let found = Verified { file: Arc::new(file), header };
                verified.insert(key, found.clone());
                Some(found)
            }
            Err(error) => {
                tracing::warn!(%image, %error, "a damaged image is built again");
                let _ = rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty());
                None
            }
        }
    }

    /// Returns the image with this id that this version can load, whichever version made it. Reads the headers of all
    /// images, and all of that one.
    pub(crate) fn find(&self, id: &[u8; 32]) -> Option<Verified> {
        let mut known = self.found.lock();
        if let Some(found) = known.get(id) {
            return Some(found.clone());
        }
        for (name, file, header) in self.all() {
            if header.id != *id || header.runtime != runtime() {
                continue;
            }
            match file::verify(&file, &header.key) {
                Ok(header) => {
                    let found = Verified { file: Arc::new(file), header };
                    known.insert(*id, found.clone());
                    return Some(found);
                }
                Err(error) => tracing::warn!(%name, %error, "an image of another version is damaged"),
            }
        }
        None
    }

    /// Returns the images in the cache with their headers, complete or not.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, File, Header)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entries = std::fs::read_dir(&self.path).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.ends_with(SUFFIX)).take(MAX_LOOKED_AT).filter_map(move |name| {
            let file = File::from(rustix::fs::openat(&self.directory, &name, flags, Mode::empty()).ok()?);
            let header = file::header(&file).ok()?;
            Some((name, file, header))
        })
    }

    /// Whether there is a file for the image, complete or not.
    pub(crate) fn exists(&self, image: &Image) -> bool {
        rustix::fs::statat(&self.directory, name(&key(image)), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Removes an image's file. Processes that have mapped it keep it.
    pub(crate) fn remove(&self, image: &Image) {
        let key = key(image);
        self.verified.lock().remove(&key);
        let _ = rustix::fs::unlinkat(&self.directory, name(&key), AtFlags::empty());
    }

    /// Copies the file that a builder wrote into the cache.
    ///
    /// # Errors
    /// When the builder's file is malformed, or the disk refuses.
    pub(crate) fn commit(&self, image: &Image, built: &File) -> Result<Verified, CacheError> {
        let io = |source: std::io::Error| CacheError::of(&self.path, source);
        let key = key(image);
        let temporary = tempfile::Builder::new().prefix(".building-").tempfile_in(&self.path).map_err(io)?;
        let origin = Origin { key, runtime: runtime() };
        file::complete(built, temporary.as_file(), origin, &guest_files()).map_err(io)?;
        publish(temporary, &self.path.join(name(&key)), &self.directory).map_err(io)?;
        self.get(image).ok_or_else(|| io(std::io::Error::other("an image vanished from the cache")))
    }

    /// Waits until no other process builds, and keeps others from building while the lock lives.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn lock(&self) -> Result<OwnedFd, CacheError> {
        lock(&self.directory, &self.path)
    }
}

/// Opens the image that came with one session, whose base has the SHA-256 `id`. Reads all of it.
///
/// # Errors
/// `InvalidData` when it is damaged or another image, `Unsupported` when this version cannot load it; others when it cannot
/// be read.
pub(crate) fn private(path: &Path, id: &[u8; 32]) -> std::io::Result<Verified> {
    let file = open_regular(path)?;
    let header = file::verify_content(&file, id)?;
    if header.runtime != runtime() {
        return Err(std::io::ErrorKind::Unsupported.into());
    }
    Ok(Verified { file: Arc::new(file), header })
}

/// Opens a regular file that somebody else may have made. A link is not followed.
///
/// # Errors
/// `InvalidData` when it is no regular file; others of the system.
pub(super) fn open_regular(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::ErrorKind::InvalidData.into()) }
}

fn name(key: &[u8; 32]) -> String {
    format!("{}{SUFFIX}", hex(key))
}

/// Returns the digest of what loading an image needs: its format, the interpreter and how it is translated, the mounted
/// archives. The image has the driver's files that it needs.
fn runtime() -> [u8; 32] {
    static RUNTIME: LazyLock<[u8; 32]> = LazyLock::new(|| {
        let mut sha = Sha256::new();
        for number in [FORMAT, TRANSLATION, PROTOCOL] {
            add(&mut sha, &number.to_le_bytes());
        }
        add(&mut sha, &trampoline_module());
        // The mounted archives are identified by their directories, which packing writes again.
        add(&mut sha, bundle::LAYOUT.as_bytes());
        for archive in [&bundle::INTERPRETER, &bundle::STDLIB, &bundle::PYCACHE] {
            add(&mut sha, archive.sha256.as_bytes());
        }
        for wheel in bundle::wheels() {
            add(&mut sha, wheel.sha256.as_bytes());
        }
        sha.finalize().into()
    });
    *RUNTIME
}

/// Returns the driver's files, to be stored with an image.
fn guest_files() -> GuestFiles {
    bundle::GUEST.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect()
}

/// Digest of everything an image is made from. What the CPU or wasmtime's settings change is not part of an image.
fn key(image: &Image) -> [u8; 32] {
    /// Digest of what goes into every image, some hundred kilobytes. It is computed once because each machine needs a
    /// key.
    static COMMON: LazyLock<Sha256> = LazyLock::new(|| {
        let mut sha = Sha256::new();
        add(&mut sha, &runtime());
        for (path, content) in bundle::GUEST {
            add(&mut sha, path.as_bytes());
            add(&mut sha, content);
        }
        sha
    });
    let mut sha = COMMON.clone();
    for module in image.modules() {
        add(&mut sha, module.as_bytes());
    }
    if !image.layers().is_empty() {
        // No module has an empty name.
        add(&mut sha, b"");
        for layer in image.layers() {
            add(&mut sha, layer.name.as_bytes());
            add(&mut sha, &layer.sha256);
        }
    }
    sha.finalize().into()
}

fn add(sha: &mut Sha256, bytes: &[u8]) {
    sha.update((bytes.len() as u64).to_le_bytes());
    sha.update(bytes);
}
