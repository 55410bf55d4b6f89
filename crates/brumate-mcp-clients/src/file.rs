//! Reading a configuration file, and replacing it whole.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::InstallError;

/// Largest configuration file that is edited, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 32 << 20;

/// Most symbolic links on the way to a file.
const MAX_LINKS: usize = 40;

/// Most exchanges of files until what other programs have written is in its place.
const MAX_EXCHANGES: usize = 100;

/// A file as it was read.
pub(crate) struct Contents {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Its permissions.
    pub(crate) mode: u32,
    /// Its owner and group.
    owner: (u32, u32),
}

/// Follows symbolic links at the end of a path, also those to nothing. Returns the file's path without links in its directory.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, InstallError> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(error) if is_no_link(&error) => return without_links(&target),
            Err(error) => return Err(InstallError::io("read", &target)(error)),
        }
    }
    Err(InstallError::LinkLoop { file: path.to_owned() })
}

/// Returns true for the errors of `read_link` on what is no link.
fn is_no_link(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns a path in the canonical path of its directory.
fn without_links(path: &Path) -> Result<PathBuf, InstallError> {
    let Some(name) = path.file_name() else {
        return Err(InstallError::NotAFile { file: path.to_owned(), what: "a directory" });
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match directory.canonicalize() {
        Ok(directory) => Ok(directory.join(name)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(InstallError::NoDirectory { file: path.to_owned() })
        }
        Err(error) => Err(InstallError::io("open", directory)(error)),
    }
}

/// Reads a file. `None`: it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Contents>, InstallError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(InstallError::io("read", path)(error)),
    };
    // Opening a FIFO would wait for its writer.
    only_files(path, &metadata)?;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(InstallError::io("open", path)(error)),
    };
    let metadata = file.metadata().map_err(InstallError::io("read", path))?;
    only_files(path, &metadata)?;
    let mut bytes = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "at most MAX_FILE_BYTES and one more")]
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(InstallError::io("read", path))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(InstallError::TooLarge { file: path.to_owned(), limit: MAX_FILE_BYTES });
    }
    let mode = metadata.permissions().mode() & 0o777;
    Ok(Some(Contents { bytes, mode, owner: (metadata.uid(), metadata.gid()) }))
}

fn only_files(path: &Path, metadata: &Metadata) -> Result<(), InstallError> {
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(InstallError::NotAFile { file: path.to_owned(), what })
}

/// Writes a temporary file for its owner alone, and waits until it is on disk.
pub(crate) fn write_whole(directory: &Path, bytes: &[u8]) -> Result<NamedTempFile, InstallError> {
    let made = tempfile::Builder::new().prefix(".brumate-").tempfile_in(directory);
    let mut temporary = made.map_err(InstallError::io("write to", directory))?;
    let written = temporary.write_all(bytes).and_then(|()| temporary.as_file().sync_all());
    written.map_err(InstallError::io("write to", directory))?;
    Ok(temporary)
}

/// The old and the new content of a file.
pub(crate) struct Replacement<'a> {
    /// The path as the caller has it, with symbolic links.
    pub(crate) path: &'a Path,
    /// The file.
    pub(crate) target: &'a Path,
    /// Old content. `None`: the file did not exist.
    pub(crate) old: Option<&'a Contents>,
    /// New content. `None`: the file is removed.
    pub(crate) new: Option<&'a [u8]>,
    /// Whether only its owner may read it.
    pub(crate) private: bool,
}

impl Replacement<'_> {
    /// Replaces the file, if it is still what it was. Returns false if it is not; then nothing is changed. `before_rename` is called
    /// when the new file is complete.
    pub(crate) fn make(&self, before_rename: &mut dyn FnMut()) -> Result<bool, InstallError> {
        let directory = self.target.parent().unwrap_or(Path::new("/"));
        let temporary = self.new.map(|bytes| self.prepare(directory, bytes)).transpose()?;
        before_rename();
        let now = if resolve(self.path)? == self.target { read(self.target)? } else { return Ok(false) };
        if now.as_ref().map(|now| &now.bytes) != self.old.map(|old| &old.bytes) {
            return Ok(false);
        }
        match temporary {
            Some(temporary) if self.old.is_none() => match temporary.persist_noclobber(self.target) {
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                made => made.map(drop).map_err(|error| InstallError::io("write", self.target)(error.error))?,
            },
            Some(temporary) => {
                let old = self.old.map(|old| old.bytes.as_slice()).unwrap_or_default();
                if !exchange(temporary, self.target, old)? {
                    return Ok(false);
                }
            }
            None => fs::remove_file(self.target).map_err(InstallError::io("remove", self.target))?,
        }
        // The file is replaced: that its directory is not on disk yet is no reason to report a failure.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(true)
    }

    /// Writes the new file under another name, with the owner and the permissions of the old one.
    fn prepare(&self, directory: &Path, bytes: &[u8]) -> Result<NamedTempFile, InstallError> {
        let temporary = write_whole(directory, bytes)?;
        let Some(old) = self.old else { return Ok(temporary) };
        let mut mode = if self.private { old.mode & 0o700 } else { old.mode };
        let failed = InstallError::io("write to", directory);
        let metadata = match temporary.as_file().metadata() {
            Ok(metadata) => metadata,
            Err(error) => return Err(failed(error)),
        };
        if (metadata.uid(), metadata.gid()) != old.owner {
            let (user, group) = old.owner;
            if std::os::unix::fs::fchown(temporary.as_file(), Some(user), Some(group)).is_err() {
                // What the old group may do is not for another one.
                mode &= 0o707;
            }
        }
        let set = temporary.as_file().set_permissions(Permissions::from_mode(mode));
        set.and_then(|()| temporary.as_file().sync_all()).map_err(failed)?;
        Ok(temporary)
    }
}

/// Puts a file in the place of another, if that one is still `old` at this moment. Returns false if it is not, and puts it back.
///
/// The two files change places at once, so what was replaced can still be looked at. File systems that cannot do this get a plain rename.
fn exchange(temporary: NamedTempFile, target: &Path, old: &[u8]) -> Result<bool, InstallError> {
    let swap = || rustix::fs::renameat_with(CWD, temporary.path(), CWD, target, RenameFlags::EXCHANGE);
    let displaced = || read(temporary.path()).ok().flatten().map(|contents| contents.bytes);
    let mut placed = displaced();
    match swap() {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            return match temporary.persist(target) {
                Ok(_) => Ok(true),
                Err(error) => Err(InstallError::io("write", target)(error.error)),
            };
        }
        Err(error) => return Err(InstallError::io("write", target)(error.into())),
    }
    let mut found = displaced();
    if found.as_deref() == Some(old) {
        return Ok(true);
    }
    for _ in 0..MAX_EXCHANGES {
        match swap() {
            Ok(()) => {}
            // Somebody has removed the file meanwhile.
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(InstallError::io("write", target)(error.into())),
        }
        let taken = displaced();
        if taken == placed {
            return Ok(false);
        }
        // The file was replaced once more: what is newer goes back.
        (placed, found) = (found, taken);
    }
    // What is under the temporary name is another program's, and is not removed.
    let _ = temporary.keep();
    Ok(false)
}

/// Returns the path of a file's backup: beside the path that the caller has.
pub(crate) fn backup_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".brumate.bak");
    path.with_file_name(name)
}

/// Keeps a file's bytes beside it, for its owner alone. Returns false if there is a backup already; it stays.
pub(crate) fn back_up(path: &Path, contents: &Contents) -> Result<bool, InstallError> {
    let backup = backup_path(path);
    if fs::symlink_metadata(&backup).is_ok() {
        return Ok(false);
    }
    let directory = backup.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = write_whole(directory, &contents.bytes)?;
    // It is the file's owner who wants it back. Only the superuser can give it away.
    let _ = std::os::unix::fs::fchown(temporary.as_file(), Some(contents.owner.0), Some(contents.owner.1));
    match temporary.persist_noclobber(&backup) {
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|_| true).map_err(|error| InstallError::io("write", &backup)(error.error)),
    }
}

/// Removes a backup that has nothing else than the file itself. Other backups stay.
pub(crate) fn drop_backup(path: &Path, bytes: Option<&[u8]>) {
    let backup = backup_path(path);
    let same = read(&backup).is_ok_and(|found| found.is_some_and(|found| Some(found.bytes.as_slice()) == bytes));
    if same {
        // One that cannot be removed does no harm.
        let _ = fs::remove_file(backup);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_change_places_only_if_the_old_one_is_as_it_was_read() {
        let directory = tempfile::tempdir().expect("made");
        let target = directory.path().join("c.json");
        let names = || fs::read_dir(directory.path()).expect("there").count();
        for (there, exchanged) in [("old", true), ("newer", false)] {
            fs::write(&target, there).expect("written");
            let temporary = write_whole(directory.path(), b"new").expect("written");
            assert_eq!(exchange(temporary, &target, b"old").expect("possible"), exchanged);
            let expected = if exchanged { "new" } else { there };
            assert_eq!(fs::read_to_string(&target).expect("there"), expected);
            assert_eq!(names(), 1, "no temporary file is left");
        }
        fs::remove_file(&target).expect("removed");
        let temporary = write_whole(directory.path(), b"new").expect("written");
        assert!(!exchange(temporary, &target, b"old").expect("possible"));
        assert_eq!(names(), 0, "a file that is gone is not made again");
    }
}
