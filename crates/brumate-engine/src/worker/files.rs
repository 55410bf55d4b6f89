//! Serves the server's file requests on the machine's own file system. No guest code runs.

use crate::api::{FileChunk, FileError, FileInfo, MAX_FILE_CHUNK, MAX_LISTED_FILES, MAX_NEW_FILES};
use crate::wire::{FileReply, FileRequest};
use brumate_abi::errno::Errno;
use brumate_vfs::{ListedFile, Timestamp, Vfs};

/// Answers a request of the server.
pub(super) fn serve(vfs: &mut Vfs, request: FileRequest) -> Result<FileReply, FileError> {
    match request {
        FileRequest::List { directory } => match vfs.list_files(directory.as_bytes(), MAX_LISTED_FILES) {
            Ok(files) => Ok(FileReply::List(files.into_iter().map(info).collect())),
            Err(Errno::EOVERFLOW) => Err(FileError::Other(format!("it holds more than {MAX_LISTED_FILES} files"))),
            Err(errno) => Err(file_error(errno)),
        },
        FileRequest::Read { path, offset, length } => {
            let length = MAX_FILE_CHUNK.min(length as usize);
            let (bytes, size) = vfs.read_file_at(path.as_bytes(), offset, length).map_err(file_error)?;
            Ok(FileReply::Read(FileChunk { bytes, size }))
        }
        FileRequest::Write { path, offset, bytes, truncate } => {
            done(vfs.write_file_at(path.as_bytes(), offset, &bytes, truncate))
        }
        FileRequest::Remove { path } => done(vfs.remove_file(path.as_bytes())),
        FileRequest::RemoveTree { directory } => done(vfs.remove_tree(directory.as_bytes())),
    }
}

/// Returns the files that were created or written after `since`, except those below `except`, and the number of files
/// beyond [`MAX_NEW_FILES`].
pub(super) fn new_files(vfs: &mut Vfs, since: Timestamp, except: Option<&str>) -> (Vec<FileInfo>, u64) {
    let (files, more) = vfs.changed_files(since, except.map(str::as_bytes), MAX_NEW_FILES);
    (files.into_iter().map(info).collect(), more)
}

fn file_error(errno: Errno) -> FileError {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR => FileError::NotFound,
        Errno::EISDIR | Errno::EINVAL => FileError::NotAFile,
        Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG => FileError::NoSpace,
        other => FileError::Other(other.to_string()),
    }
}

fn done(result: Result<(), Errno>) -> Result<FileReply, FileError> {
    result.map(|()| FileReply::Done).map_err(file_error)
}

fn info(file: ListedFile) -> FileInfo {
    let modified = file.modified.secs.saturating_mul(1_000_000_000).saturating_add(file.modified.nanos.into());
    FileInfo { path: file.path, size: file.size, modified, stamp: file.stamp }
}
