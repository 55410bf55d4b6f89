//! Helpers that the tests share.

use std::io::{Cursor, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{Archive, OpenFlags, Vfs, VfsConfig, at};
use brumate_abi::errno::Errno;

/// Returns a file system whose clock advances one microsecond per read.
pub(super) fn vfs() -> Vfs {
    vfs_with(&VfsConfig::default())
}

pub(super) fn vfs_with(config: &VfsConfig) -> Vfs {
    let ticks = AtomicU64::new(1_700_000_000_000_000_000);
    Vfs::new(config, Box::new(move || ticks.fetch_add(1000, Ordering::Relaxed))).unwrap()
}

/// Returns a file system whose clock does not advance.
pub(super) fn vfs_at_standstill() -> Vfs {
    Vfs::new(&VfsConfig::default(), Box::new(|| 1_700_000_000_000_000_000)).unwrap()
}

/// A zip archive of the given files; names that end in `/` are directories.
pub(super) fn zip(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in files {
        match name.strip_suffix('/') {
            Some(directory) => writer.add_directory(directory, options).unwrap(),
            None => {
                writer.start_file(*name, options).unwrap();
                writer.write_all(content).unwrap();
            }
        }
    }
    writer.finish().unwrap().into_inner()
}

pub(super) fn archive(files: &[(&str, &[u8])], method: CompressionMethod) -> Archive {
    Archive::new(Arc::new(zip(files, method))).unwrap()
}

/// Shorthand for the calls tests make all the time, with paths from the current directory.
impl Vfs {
    pub(super) fn open(&mut self, path: &str, flags: u32) -> Result<i32, Errno> {
        self.openat(at::FDCWD, path.as_bytes(), OpenFlags(flags), 0o666)
    }

    pub(super) fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        self.mkdirat(at::FDCWD, path.as_bytes(), 0o777)
    }

    pub(super) fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        self.unlinkat(at::FDCWD, path.as_bytes(), 0)
    }

    pub(super) fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        self.unlinkat(at::FDCWD, path.as_bytes(), at::REMOVEDIR)
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        self.renameat(at::FDCWD, from.as_bytes(), at::FDCWD, to.as_bytes())
    }

    pub(super) fn symlink(&mut self, target: &str, path: &str) -> Result<(), Errno> {
        self.symlinkat(target.as_bytes(), at::FDCWD, path.as_bytes())
    }

    /// Names in a directory, without the dots, as listed.
    pub(super) fn names(&mut self, path: &str) -> Result<Vec<String>, Errno> {
        let fd = self.open(path, OpenFlags::DIRECTORY)?;
        let mut names = Vec::new();
        self.read_directory(fd, &mut |entry| {
            if !matches!(entry.name, b"." | b"..") {
                names.push(String::from_utf8_lossy(entry.name).into_owned());
            }
            true
        })?;
        self.close(fd)?;
        Ok(names)
    }
}
