//! Private directories and files of this user, and locks on them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::error::DataDirError;

/// Locks a file, or changes this process's lock on it. Returns false when other processes have it locked.
///
/// # Errors
///
/// An I/O error.
pub(crate) fn lock_file(file: &File, operation: FlockOperation) -> std::io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes the directory `path` with mode 0700. An existing directory must be writable for this user only.
pub(super) fn private_directory(root: &Path, path: &Path) -> Result<(), DataDirError> {
    let io = |source| DataDirError::Io { path: root.to_owned(), source };
    DirBuilder::new().mode(0o700).recursive(true).create(path).map_err(io)?;
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(DataDirError::NotPrivate { path: path.to_owned() });
    }
    if metadata.mode() & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(io)?;
    }
    Ok(())
}

/// Opens or makes a file that only this user may read and write.
pub(crate) fn private_file(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}
