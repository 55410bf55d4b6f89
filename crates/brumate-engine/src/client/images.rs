//! Base images on disk: made on first use, verified when they are opened, replaced when they are damaged.
//!
//! A file's name is the key of everything that went into the image. It appears by `rename` after `fsync`.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::api::Image;
use crate::bundle;
use crate::code::cache::{CacheError, hex, lock, private_directory};
use crate::code::compile::TRANSLATION;
use crate::image::file::{self, FORMAT, Header};

/// Ending of an image's name.
const SUFFIX: &str = ".image";

/// An image that was found whole.
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
    /// Verified files of this process.
    verified: Mutex<HashMap<[u8; 32], Verified>>,
}

impl Images {
    /// Opens or makes the directory below `root`.
    ///
    /// # Errors
    /// When it cannot be made or is not private.
    pub(crate) fn open(root: &Path) -> Result<Images, CacheError> {
        let path = root.join("images");
        let directory = private_directory(root, &[&path])?;
        Ok(Images { path, directory, verified: Mutex::new(HashMap::new()) })
    }

    /// The image, if it is there and whole. Reads all of it the first time.
    pub(crate) fn get(&self, image: &Image) -> Option<Verified> {
        let key = key(image);
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Whether there is a file for the image, whole or not.
    pub(crate) fn exists(&self, image: &Image) -> bool {
        rustix::fs::statat(&self.directory, name(&key(image)), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Takes over what a builder wrote.
    ///
    /// # Errors
    /// When the builder's file is malformed, or the disk refuses.
    pub(crate) fn commit(&self, image: &Image, built: &File) -> Result<Verified, CacheError> {
        let io = |source: std::io::Error| CacheError::Io { path: self.path.clone(), source };
        let key = key(image);
        let temporary = tempfile::Builder::new().prefix(".building-").tempfile_in(&self.path).map_err(io)?;
        file::complete(built, temporary.as_file(), key).map_err(io)?;
        temporary.as_file().sync_all().map_err(io)?;
        temporary.persist(self.path.join(name(&key))).map_err(|error| io(error.error))?;
        rustix::fs::fsync(&self.directory).map_err(|errno| io(errno.into()))?;
        self.get(image).ok_or_else(|| io(std::io::Error::other("an image vanished from the cache")))
    }

    /// Waits for other processes that build, and keeps them waiting while the lock lives.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn lock(&self) -> Result<OwnedFd, CacheError> {
        lock(&self.directory, &self.path)
    }
}

fn name(key: &[u8; 32]) -> String {
    format!("{}{SUFFIX}", hex(key))
}

/// Digest of everything an image is made from. What the CPU or wasmtime's settings change is not part of an image.
fn key(image: &Image) -> [u8; 32] {
    /// What goes into every image. Each machine asks for a key, and this is some hundred kilobytes.
    static COMMON: LazyLock<Sha256> = LazyLock::new(|| {
        let mut sha = Sha256::new();
        add(&mut sha, env!("CARGO_PKG_VERSION").as_bytes());
        add(&mut sha, &FORMAT.to_le_bytes());
        add(&mut sha, &TRANSLATION.to_le_bytes());
        for archive in [&bundle::INTERPRETER, &bundle::STDLIB, &bundle::PYCACHE] {
            add(&mut sha, archive.sha256.as_bytes());
        }
        for wheel in bundle::wheels() {
            add(&mut sha, wheel.sha256.as_bytes());
        }
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
        // No module is called like that.
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
