//! Images that travel with sessions from one host, or one version of Brumate, to another.
//!
//! An image that was carried is never put into the cache, where others would find it: whoever wrote the file decides what
//! it does. It stays beside its session as [`MachineSpec::private_image`](crate::api::MachineSpec::private_image), and
//! only that session uses it.

use std::collections::HashSet;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::images::{self, Images};
use super::session_file;
use crate::api::EngineError;
use crate::image::file;

/// Most files in a directory of images that are looked at.
const MAX_CARRIED: usize = 4096;

/// Largest file of an image, in bytes.
pub const MAX_IMAGE_BYTES: u64 = file::MAX_FILE;

/// Copies the base images of the hibernated sessions in these files from a cache to the directory `to`, which is
/// created with mode 0700 if there are any. Returns their number. A file that is no session, or whose image is not in
/// the cache, is skipped.
///
/// # Errors
/// If the cache or `to` cannot be used.
pub fn copy_images(sessions: &[PathBuf], cache_dir: &Path, to: &Path) -> Result<usize, EngineError> {
    if !Images::are_in(cache_dir) {
        return Ok(0);
    }
    let images = Images::open(cache_dir)?;
    let mut wanted: HashSet<[u8; 32]> = sessions.iter().filter_map(|path| session_file::base_of(path).ok()).collect();
    let mut count = 0;
    for (name, mut file, header) in images.all() {
        if wanted.remove(&header.id) {
            DirBuilder::new().mode(0o700).recursive(true).create(to)?;
            let mut copy = File::create_new(to.join(name))?;
            io::copy(&mut file, &mut copy)?;
            copy.sync_all()?;
            count += 1;
        }
    }
    Ok(count)
}

/// Copies the base image of the session hibernated in `session` from a cache to the file `to`. Returns whether the cache
/// has it.
///
/// # Errors
/// If the session is damaged, or the cache or `to` cannot be used.
pub fn copy_image(session: &Path, cache_dir: &Path, to: &Path) -> Result<bool, EngineError> {
    let base = session_file::base_of(session)?;
    if !Images::are_in(cache_dir) {
        return Ok(false);
    }
    let images = Images::open(cache_dir)?;
    let Some((_, mut file, _)) = images.all().find(|(_, _, header)| header.id == base) else { return Ok(false) };
    io::copy(&mut file, &mut File::create_new(to)?)?;
    Ok(true)
}

/// Returns whether a cache has the base image of the session hibernated in `session`.
///
/// # Errors
/// [`EngineError::Image`] when the file is damaged, [`EngineError::Outdated`] when it is of another format,
/// [`EngineError::Io`] when it cannot be read.
pub fn has_base(session: &Path, cache_dir: &Path) -> Result<bool, EngineError> {
    let base = session_file::base_of(session)?;
    Ok(Images::are_in(cache_dir) && Images::open(cache_dir)?.find(&base).is_some())
}

/// Returns whether two hibernated sessions began with the same image.
///
/// # Errors
/// Fails as [`has_base`] does.
pub fn have_same_base(session: &Path, other: &Path) -> Result<bool, EngineError> {
    Ok(session_file::base_of(session)? == session_file::base_of(other)?)
}

/// Copies an image that came with the session hibernated in `session` to the new file `to`. It must be the base of that
/// session: its content has the SHA-256 that the session names, and it is not read further than its header says.
///
/// # Errors
/// [`EngineError::Image`] when it is another image, or damaged, [`EngineError::Outdated`] when this version cannot load it; others when a
/// file cannot be read or written. The copy is removed then.
pub fn take_image(session: &Path, mut image: impl Read, to: &Path) -> Result<(), EngineError> {
    let base = session_file::base_of(session)?;
    let mut copy = File::create_new(to)?;
    let taken = copy_bounded(&mut image, &base, &mut copy).and_then(|()| images::private(to, &base).map(drop));
    taken.map_err(|error| {
        // The error that is reported counts.
        let _ = std::fs::remove_file(to);
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                EngineError::Image("the image in it is damaged, or not the one that its session began with".to_owned())
            }
            io::ErrorKind::Unsupported => {
                EngineError::Outdated("its image is of another version of Brumate".to_owned())
            }
            _ => error.into(),
        }
    })
}

/// Copies the base image of the session hibernated in `session` from the directory `images`, to which [`copy_images`] wrote it, to the new
/// file `to`. Returns whether it was there.
///
/// # Errors
/// Fails as [`take_image`] does.
pub fn take_image_from(images: &Path, session: &Path, to: &Path) -> Result<bool, EngineError> {
    let base = session_file::base_of(session)?;
    let entries = match std::fs::read_dir(images) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries.take(MAX_CARRIED) {
        let Ok(image) = images::open_regular(&entry?.path()) else { continue };
        if file::header(&image).is_ok_and(|header| header.id == base) {
            take_image(session, &image, to)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Copies an image after its header has shown that it claims to be `base`.
fn copy_bounded(image: &mut impl Read, base: &[u8; 32], to: &mut File) -> io::Result<()> {
    let mut page = vec![0; file::HEADER_BYTES as usize];
    image.read_exact(&mut page)?;
    let length = file::claimed_length(&page, base).ok_or(io::ErrorKind::InvalidData)?;
    to.write_all(&page)?;
    let rest = length - file::HEADER_BYTES;
    if io::copy(&mut image.take(rest), to)? != rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    to.sync_all()
}
