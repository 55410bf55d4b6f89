//! Reads of session files from outside.

use brumate_engine_api::{EngineError, FileChunk, FileError, Session};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::error::SessionError;
use super::files::{FileName, guest_path, is_hidden, mime_of};
use super::limits::{CHUNK_BYTES, MAX_RESOURCE_BYTES};

/// Directory of full cell outputs.
pub(super) const OUTPUTS: &str = ".output";

/// Range of a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRange {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes; `None`, or more than there are, reads to the end of the file.
    pub length: Option<u64>,
}

/// File, or a range of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// MIME type of the file.
    pub mime: String,
    /// Offset of the first byte.
    pub offset: u64,
    /// Size of the whole file in bytes.
    pub size: u64,
}

/// Decides whether a number of bytes may be read now. It may wait; its error is a text for the caller.
pub struct ReadAdmission(Box<dyn FnOnce(u64) -> BoxFuture<'static, Result<(), String>> + Send>);

impl ReadAdmission {
    /// Makes an admission that calls `decide`.
    pub fn new(decide: impl FnOnce(u64) -> BoxFuture<'static, Result<(), String>> + Send + 'static) -> Self {
        Self(Box::new(decide))
    }

    /// Makes an admission that allows every read.
    pub fn always() -> Self {
        Self::new(|_| Box::pin(std::future::ready(Ok(()))))
    }

    /// Asks whether a number of bytes may be read now.
    ///
    /// # Errors
    ///
    /// [`SessionError::Refused`].
    pub(super) async fn admit(self, bytes: u64) -> Result<(), SessionError> {
        (self.0)(bytes).await.map_err(SessionError::Refused)
    }
}

impl std::fmt::Debug for ReadAdmission {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ReadAdmission")
    }
}

impl Sessions {
    /// Reads a part of a file, at most 1 MiB. Resumes the session.
    ///
    /// # Errors
    ///
    /// [`SessionError::File`], and the errors of resuming a session.
    pub async fn read_file(
        &self,
        principal: &str,
        id: &str,
        name: &FileName,
        offset: u64,
        cancel: &CancellationToken,
    ) -> Result<FileChunk, SessionError> {
        let entry = self.find(principal, id).await?;
        let name = name.clone();
        self.detached(cancel, |sessions, cancel| async move {
            let mut guard = sessions.lock_session(&entry, &cancel).await?;
            let mut recovered = None;
            let session = sessions.ensure_readable(&entry, &mut guard, &mut recovered, &cancel).await?;
            let chunk = read_chunk(session, name.as_str(), offset).await;
            drop((guard, recovered));
            sessions.free_place_for_waiting();
            chunk
        })
        .await
    }

    /// Reads a file or a range of it, with its MIME type. Calls `admission` with the number of bytes before they are
    /// read. Resumes the session.
    ///
    /// # Errors
    ///
    /// [`SessionError::TooLarge`] for more than [`MAX_RESOURCE_BYTES`], [`SessionError::Refused`] if `admission`
    /// refuses, [`SessionError::File`] with [`FileError::NotFound`] for hidden files, and those of
    /// [`Sessions::read_file`].
    pub async fn read_part(
        &self,
        principal: &str,
        id: &str,
        name: &FileName,
        range: Option<FileRange>,
        admission: ReadAdmission,
        cancel: &CancellationToken,
    ) -> Result<FilePart, SessionError> {
        let entry = self.find(principal, id).await?;
        let name = name.clone();
        if is_hidden(name.as_str()) && !is_whole_output(name.as_str()) {
            return Err(SessionError::File { name: name.as_str().to_owned(), error: FileError::NotFound });
        }
        self.detached(cancel, |sessions, cancel| async move {
            let mut guard = sessions.lock_session(&entry, &cancel).await?;
            let mut recovered = None;
            let session = sessions.ensure_readable(&entry, &mut guard, &mut recovered, &cancel).await?;
            let read = read_range(session, name.as_str(), range, MAX_RESOURCE_BYTES, admission, &cancel).await;
            drop((guard, recovered));
            sessions.free_place_for_waiting();
            let (bytes, offset, size) = read?;
            let known = entry.record().files.get(name.as_str()).map(|file| file.mime.clone());
            let mime = known.unwrap_or_else(|| mime_of(name.as_str(), &bytes).to_owned());
            Ok(FilePart { bytes, mime, offset, size })
        })
        .await
    }
}

/// Returns the error of an engine about a file.
pub(super) fn file_error(name: &str, error: EngineError) -> SessionError {
    match error {
        EngineError::File(error) => SessionError::File { name: name.to_owned(), error },
        other => SessionError::Engine(other),
    }
}

async fn read_chunk(session: &dyn Session, name: &str, offset: u64) -> Result<FileChunk, SessionError> {
    session.read_file(&guest_path(name), offset, CHUNK_BYTES).await.map_err(|error| file_error(name, error))
}

/// Returns whether a name is that of a cell's full output, which is hidden but can be read.
fn is_whole_output(name: &str) -> bool {
    let number = name.strip_prefix(OUTPUTS).and_then(|rest| rest.strip_prefix('/')?.strip_suffix(".txt"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads a range of a file, or all of it, at most `limit` bytes. Returns the bytes, their offset, and the size of the
/// file.
pub(super) async fn read_range(
    session: &dyn Session,
    name: &str,
    range: Option<FileRange>,
    limit: u64,
    admission: ReadAdmission,
    cancel: &CancellationToken,
) -> Result<(Vec<u8>, u64, u64), SessionError> {
    let start = range.map_or(0, |range| range.offset);
    let first = read_chunk(session, name, start).await?;
    let size = first.size;
    let rest = size.saturating_sub(start);
    let wanted = range.and_then(|range| range.length).unwrap_or(rest).min(rest);
    if wanted > limit {
        return Err(SessionError::TooLarge { name: name.to_owned(), size, limit });
    }
    tokio::select! {
        admitted = admission.admit(wanted) => admitted?,
        () = cancel.cancelled() => return Err(SessionError::Cancelled),
    }
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let mut bytes = first.bytes;
    while bytes.len() < wanted {
        let chunk = read_chunk(session, name, start + bytes.len() as u64).await?;
        if chunk.bytes.is_empty() {
            break;
        }
        bytes.extend(chunk.bytes);
    }
    bytes.truncate(wanted);
    Ok((bytes, start, size))
}
