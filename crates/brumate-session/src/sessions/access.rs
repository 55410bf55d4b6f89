//! Access to the files of sessions from outside: reads, uploads, copies of host files.

use std::sync::Arc;

use brumate_engine_api::{EngineError, FileChunk, FileError, Session};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::error::SessionError;
use super::files::{FileName, SNIFFED_BYTES, guest_path, is_hidden, mime_of};
use super::id::SessionId;
use super::inputs::InputFile;
use super::record::SessionState;
use super::registry::Parts;
use super::report::SessionFile;
use super::settings::{CHUNK_BYTES, MAX_RESOURCE_BYTES};
use super::slot::{Body, Slot};
use super::store::{Before, Undone};

/// Directory of full cell outputs.
pub(super) const OUTPUTS: &str = ".output";

/// Part of a file to write into a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Name of the file.
    pub name: FileName,
    /// Offset of the bytes in the file.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the file ends after these bytes.
    pub last: bool,
}

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
pub struct Admit(Box<dyn FnOnce(u64) -> BoxFuture<'static, Result<(), String>> + Send>);

impl Admit {
    /// Makes an admission that calls `decide`.
    pub fn new(decide: impl FnOnce(u64) -> BoxFuture<'static, Result<(), String>> + Send + 'static) -> Self {
        Self(Box::new(decide))
    }

    /// Makes an admission that allows every read.
    pub fn always() -> Self {
        Self::new(|_| Box::pin(std::future::ready(Ok(()))))
    }
}

impl std::fmt::Debug for Admit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Admit")
    }
}

/// Data to write to a file.
enum Content {
    /// Part that the caller sent.
    Part { offset: u64, bytes: Vec<u8>, last: bool },
    /// Whole file of the host.
    Input(InputFile),
}

impl Sessions {
    /// Reads a part of a file, at most [`CHUNK_BYTES`]. Resumes the session.
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
        let slot = self.find(principal, id).await?;
        let name = name.clone();
        self.detached(cancel, |sessions, cancel| async move {
            let mut turn = sessions.turn(&slot, &cancel).await?;
            let mut recovered = None;
            let session = sessions.awake_or_recovered(&slot, &mut turn, &mut recovered, &cancel).await?;
            let chunk = read_chunk(session, name.as_str(), offset).await;
            drop((turn, recovered));
            sessions.make_room();
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
        admit: Admit,
        cancel: &CancellationToken,
    ) -> Result<FilePart, SessionError> {
        let slot = self.find(principal, id).await?;
        let name = name.clone();
        if is_hidden(name.as_str()) && !is_whole_output(name.as_str()) {
            return Err(SessionError::File { name: name.as_str().to_owned(), error: FileError::NotFound });
        }
        self.detached(cancel, |sessions, cancel| async move {
            let mut turn = sessions.turn(&slot, &cancel).await?;
            let mut recovered = None;
            let session = sessions.awake_or_recovered(&slot, &mut turn, &mut recovered, &cancel).await?;
            let read = read_range(session, name.as_str(), range, MAX_RESOURCE_BYTES, admit, &cancel).await;
            drop((turn, recovered));
            sessions.make_room();
            let (bytes, offset, size) = read?;
            let known = slot.record().files.get(name.as_str()).map(|file| file.mime.clone());
            let mime = known.unwrap_or_else(|| mime_of(name.as_str(), &bytes).to_owned());
            Ok(FilePart { bytes, mime, offset, size })
        })
        .await
    }

    /// Writes a part of a file, into a new session if `id` is `None`. Returns the session and the file with its new
    /// size.
    ///
    /// # Errors
    ///
    /// As [`Sessions::read_file`].
    pub async fn upload(
        &self,
        principal: &str,
        id: Option<&str>,
        upload: Upload,
        cancel: &CancellationToken,
    ) -> Result<(SessionId, SessionFile), SessionError> {
        let Upload { name, offset, bytes, last } = upload;
        refuse_reserved(&name)?;
        self.put_file(principal, id, name, Content::Part { offset, bytes, last }, cancel).await
    }

    /// Copies a file of an input directory ([`SessionSettings::inputs`](super::SessionSettings::inputs)) into a
    /// session, into a new one if `id` is `None`. Returns the session and the file with its size. A copy that ends
    /// early is undone.
    ///
    /// # Errors
    ///
    /// [`SessionError::Input`], and those of [`Sessions::upload`].
    pub async fn upload_from(
        &self,
        principal: &str,
        id: Option<&str>,
        name: FileName,
        from: &str,
        cancel: &CancellationToken,
    ) -> Result<(SessionId, SessionFile), SessionError> {
        if self.inner.settings.inputs.is_empty() {
            let error = FileError::Other("this server has no input directory (set by --input-dir)".to_owned());
            return Err(SessionError::Input { name: from.escape_debug().take(80).collect(), error });
        }
        refuse_reserved(&name)?;
        let (inputs, wanted) = (self.inner.settings.inputs.clone(), from.to_owned());
        let opened = tokio::task::spawn_blocking(move || inputs.open_file(&wanted));
        let file = opened.await.map_err(|error| SessionError::Storage(error.to_string()))??;
        if file.size > self.inner.settings.limits.file_bytes {
            return Err(SessionError::File { name: name.as_str().to_owned(), error: FileError::NoSpace });
        }
        self.put_file(principal, id, name, Content::Input(file), cancel).await
    }

    async fn put_file(
        &self,
        principal: &str,
        id: Option<&str>,
        name: FileName,
        content: Content,
        cancel: &CancellationToken,
    ) -> Result<(SessionId, SessionFile), SessionError> {
        let (slot, created) = match id {
            Some(id) => (self.find(principal, id).await?, false),
            None => (self.create(principal).await?, true),
        };
        self.detached(cancel, |sessions, cancel| async move {
            let uploaded = sessions.put_file_in(&slot, name, content, &cancel).await;
            if uploaded.is_err()
                && created
                && let Some(turn) = slot.try_lock()
            {
                sessions.forget(&slot, turn).await?;
            }
            sessions.make_room();
            uploaded
        })
        .await
    }

    async fn put_file_in(
        &self,
        slot: &Arc<Slot>,
        name: FileName,
        content: Content,
        cancel: &CancellationToken,
    ) -> Result<(SessionId, SessionFile), SessionError> {
        let mut turn = self.turn(slot, cancel).await?;
        if self.inner.closing.is_cancelled() {
            return Err(SessionError::ShuttingDown);
        }
        self.awake(slot, &mut turn, cancel).await?;
        if self.inner.settings.allowances.of(slot.principal()).revoked {
            return Err(SessionError::Revoked);
        }
        let Body::Live(live) = &*turn else { return Err(self.gone(slot)) };
        let (session, name, before) = (&*live.session, name.as_str(), Before::of(slot));
        session.begin().await?;
        let written = match content {
            Content::Part { offset, bytes, last } => write_all(session, name, offset, bytes, last).await,
            Content::Input(file) => copy_in(session, name, file, cancel).await,
        };
        let listed = match written {
            Ok(()) => self.note_files(slot, session).await,
            Err(error) => Err(error),
        };
        let concluded = match listed {
            Ok(_) => {
                {
                    let mut record = slot.record();
                    record.generation = record.generation.saturating_add(1);
                    record.state = SessionState::Live;
                }
                self.conclude(slot, session, before, Parts::All).await
            }
            // A partial write is undone.
            Err(error) => Err(Undone { error, lost: self.undo(slot, session, before).await }),
        };
        if let Err(Undone { error, lost }) = concluded {
            if lost.is_some() {
                *turn = Body::Away;
            }
            return Err(error);
        }
        let known = slot.record().files.get(name).map(|file| (file.mime.clone(), file.size));
        let (mime, size) = match known {
            Some(known) => known,
            // Hidden files are not listed.
            None => {
                let start = live.session.read_file(&guest_path(name), 0, SNIFFED_BYTES).await?;
                (mime_of(name, &start.bytes).to_owned(), start.size)
            }
        };
        self.touch(slot);
        let id = slot.record().id.clone();
        Ok((id, SessionFile { name: name.to_owned(), mime, size }))
    }
}

fn file_error(name: &str, error: EngineError) -> SessionError {
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

/// Refuses names in the directory of cell outputs.
fn refuse_reserved(name: &FileName) -> Result<(), SessionError> {
    if name.as_str().split('/').next() != Some(OUTPUTS) {
        return Ok(());
    }
    let error = FileError::Other(format!("names in `{OUTPUTS}` belong to the outputs of cells; choose another one"));
    Err(SessionError::File { name: name.as_str().to_owned(), error })
}

/// Reads a range of a file, or all of it, at most `limit` bytes. Returns the bytes, their offset, and the size of the
/// file.
pub(super) async fn read_range(
    session: &dyn Session,
    name: &str,
    range: Option<FileRange>,
    limit: u64,
    admit: Admit,
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
        admitted = (admit.0)(wanted) => admitted.map_err(SessionError::Refused)?,
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

/// Copies a host file. A copy that ends early is removed.
async fn copy_in(
    session: &dyn Session,
    name: &str,
    mut file: InputFile,
    cancel: &CancellationToken,
) -> Result<(), SessionError> {
    let mut offset = 0_u64;
    let copied = loop {
        if cancel.is_cancelled() {
            break Err(SessionError::Cancelled);
        }
        let piece = match file.next().await {
            Ok(piece) => piece,
            Err(error) => {
                let error = FileError::Other(error.kind().to_string());
                break Err(SessionError::File { name: name.to_owned(), error });
            }
        };
        // The last piece is empty and ends the file.
        let (length, last) = (piece.len() as u64, piece.is_empty());
        if let Err(error) = session.write_file(&guest_path(name), offset, piece, last).await {
            break Err(file_error(name, error));
        }
        if last {
            break Ok(());
        }
        offset += length;
    };
    if copied.is_err() {
        // The file may not exist yet.
        let _ = session.remove_file(&guest_path(name)).await;
    }
    copied
}

pub(super) async fn write_all(
    session: &dyn Session,
    name: &str,
    offset: u64,
    mut bytes: Vec<u8>,
    last: bool,
) -> Result<(), SessionError> {
    let path = guest_path(name);
    let mut offset = offset;
    loop {
        let rest = bytes.split_off(bytes.len().min(CHUNK_BYTES as usize));
        let written = bytes.len() as u64;
        let truncate = last && rest.is_empty();
        session.write_file(&path, offset, bytes, truncate).await.map_err(|error| file_error(name, error))?;
        if rest.is_empty() {
            return Ok(());
        }
        offset = offset
            .checked_add(written)
            .ok_or_else(|| SessionError::File { name: name.to_owned(), error: FileError::NoSpace })?;
        bytes = rest;
    }
}
