//! Writes of session files from outside: uploads, and copies of host files.

use std::sync::Arc;

use brumate_engine_api::{FileError, Session};
use brumate_setting::Setting;
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::entry::{MachineState, SessionEntry};
use super::error::SessionError;
use super::file_access::{OUTPUTS, file_error};
use super::files::{FileName, SNIFFED_BYTES, guest_path, mime_of};
use super::id::SessionId;
use super::inputs::InputFile;
use super::limits::CHUNK_BYTES;
use super::record::SessionState;
use super::registry::RecordParts;
use super::report::SessionFile;
use super::store::{RolledBackChange, Savepoint};

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

/// Data to write to a file.
enum FileContent {
    /// Part that the caller sent.
    Part { offset: u64, bytes: Vec<u8>, last: bool },
    /// Whole file of the host.
    Input(InputFile),
}

impl Sessions {
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
        self.put_file(principal, id, name, FileContent::Part { offset, bytes, last }, cancel).await
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
            let error =
                FileError::Other(format!("this server has no input directory (set by {})", Setting::InputDir.brief()));
            return Err(SessionError::Input { name: from.escape_debug().take(80).collect(), error });
        }
        refuse_reserved(&name)?;
        let (inputs, wanted) = (self.inner.settings.inputs.clone(), from.to_owned());
        let opened = tokio::task::spawn_blocking(move || inputs.open_file(&wanted));
        let file = opened.await.map_err(|error| SessionError::Storage(error.to_string()))??;
        if file.size > self.inner.settings.limits.file_bytes {
            return Err(SessionError::File { name: name.as_str().to_owned(), error: FileError::NoSpace });
        }
        self.put_file(principal, id, name, FileContent::Input(file), cancel).await
    }

    async fn put_file(
        &self,
        principal: &str,
        id: Option<&str>,
        name: FileName,
        content: FileContent,
        cancel: &CancellationToken,
    ) -> Result<(SessionId, SessionFile), SessionError> {
        let (entry, created) = match id {
            Some(id) => (self.find(principal, id).await?, false),
            None => (self.create(principal).await?, true),
        };
        self.detached(cancel, |sessions, cancel| async move {
            let uploaded = sessions.put_file_in(&entry, name, content, &cancel).await;
            if uploaded.is_err()
                && created
                && let Some(guard) = entry.try_lock()
            {
                sessions.remove(&entry, guard).await?;
            }
            sessions.free_place_for_waiting();
            uploaded
        })
        .await
    }

    async fn put_file_in(
        &self,
        entry: &Arc<SessionEntry>,
        name: FileName,
        content: FileContent,
        cancel: &CancellationToken,
    ) -> Result<(SessionId, SessionFile), SessionError> {
        let mut guard = self.lock_session(entry, cancel).await?;
        if self.inner.closing.is_cancelled() {
            return Err(SessionError::ShuttingDown);
        }
        self.ensure_live(entry, &mut guard, cancel).await?;
        if self.inner.settings.allowances.of(entry.principal()).revoked {
            return Err(SessionError::Revoked);
        }
        let MachineState::Live(live) = &*guard else { return Err(self.not_found(entry)) };
        let (session, name, before) = (&*live.session, name.as_str(), Savepoint::of(entry));
        session.begin().await?;
        let written = match content {
            FileContent::Part { offset, bytes, last } => write_all(session, name, offset, bytes, last).await,
            FileContent::Input(file) => copy_input_file(session, name, file, cancel).await,
        };
        let listed = match written {
            Ok(()) => self.note_files(entry, session).await,
            Err(error) => Err(error),
        };
        let concluded = match listed {
            Ok(_) => {
                {
                    let mut record = entry.record();
                    record.generation = record.generation.saturating_add(1);
                    record.state = SessionState::Live;
                }
                self.commit_change(entry, session, before, RecordParts::All).await
            }
            // A partial write is undone.
            Err(error) => {
                Err(RolledBackChange { error, lost: self.roll_back_change(entry, session, before).await.lost })
            }
        };
        if let Err(RolledBackChange { error, lost }) = concluded {
            if lost.is_some() {
                *guard = MachineState::Absent;
            }
            return Err(error);
        }
        let known = entry.record().files.get(name).map(|file| (file.mime.clone(), file.size));
        let (mime, size) = match known {
            Some(known) => known,
            // Hidden files are not listed.
            None => {
                let start = live.session.read_file(&guest_path(name), 0, SNIFFED_BYTES).await?;
                (mime_of(name, &start.bytes).to_owned(), start.size)
            }
        };
        self.touch(entry);
        let id = entry.record().id.clone();
        Ok((id, SessionFile { name: name.to_owned(), mime, size }))
    }
}

/// Refuses names in the directory of cell outputs.
fn refuse_reserved(name: &FileName) -> Result<(), SessionError> {
    if name.as_str().split('/').next() != Some(OUTPUTS) {
        return Ok(());
    }
    let error = FileError::Other(format!("names in `{OUTPUTS}` belong to the outputs of cells; choose another one"));
    Err(SessionError::File { name: name.as_str().to_owned(), error })
}

/// Copies a host file. A copy that ends early is removed.
async fn copy_input_file(
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
