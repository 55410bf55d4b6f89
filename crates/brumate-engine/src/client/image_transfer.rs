//! Transfer of images with sessions from one host, or one version of Brumate, to another.

use std::collections::HashSet;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::images::Images;
use super::session_file;

/// Copies the base images of the hibernated sessions in these files from a cache to the directory `to`, which is
/// created with mode 0700 if there are any. Returns their number. A file that is no session, or whose image is not in
/// the cache, is skipped.
///
/// # Errors
/// If the cache or `to` cannot be used.
pub fn copy_images(sessions: &[PathBuf], cache_dir: &Path, to: &Path) -> Result<usize, Error> {
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

/// Copies the images that [`copy_images`] wrote to `from` into a cache, except those that are there already. Returns
/// their number.
///
/// # Errors
/// If the cache cannot be used or an image is damaged.
pub fn take_images(from: &Path, cache_dir: &Path) -> Result<usize, Error> {
    let entries = match std::fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let images = Images::open(cache_dir)?;
    let mut count = 0;
    for entry in entries {
        let path = entry?.path();
        let taken = File::open(&path).and_then(|file| images.take_over(file));
        count += usize::from(taken.map_err(|error| Error::Image(format!("{}: {error}", path.display())))?);
    }
    Ok(count)
}
