//! Files of sessions as MCP resources.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use brumate_mcp::{
    CacheScope, Context, Error, ProvidedContents, Resource, ResourceContents, ResourcePage, ResourceProvider,
};
use brumate_session::CancellationToken;
use brumate_session::sessions::{FileName, FilePart, ReadAdmission, SessionError, Sessions, is_text};
use futures::FutureExt as _;
use serde_json::json;

use crate::client_sessions::ClientSessions;
use crate::results::{self, error_text};
use crate::state::principal;
use crate::uri;

/// JSON-RPC error codes for a resource that does not exist, since protocol 2026-07-28 and before.
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;

/// Most files on one page of `resources/list`.
const PAGE: usize = 1000;

/// Reads a cursor: the number of files on the pages before it, as it was written.
fn skipped_by(cursor: &str) -> Option<usize> {
    let skipped: usize = cursor.parse().ok()?;
    (skipped > 0 && skipped.is_multiple_of(PAGE) && skipped.to_string() == cursor).then_some(skipped)
}

/// Returns the size of an answer that contains a file of `bytes`, as base64 or as JSON text.
fn answer_bytes(bytes: u64) -> usize {
    /// Size of the message around the content.
    const ENVELOPE: u64 = 4096;
    usize::try_from(bytes.saturating_add(bytes / 3 + ENVELOPE)).unwrap_or(usize::MAX)
}

/// The files of sessions as resources.
#[derive(Debug)]
pub(crate) struct FileResources {
    sessions: Sessions,
    stop: CancellationToken,
}

impl ResourceProvider for FileResources {
    /// Returns the resource template. Its description explains ranges; clients of the predecessor match this template literally.
    fn templates(&self) -> Vec<Resource> {
        vec![Resource::new(uri::TEMPLATE).name("session_file").title("File of a session").description(
            "A file in the working directory of a session; images and other binary files as blobs. With \
             ?offset=N&length=N behind the name a range of its bytes. The name .history.ipynb is the session as a Jupyter notebook: its \
             cells with their outputs",
        )]
    }

    /// Returns a page of the files of the sessions that the client has used. Files of other sessions are not listed, but can be read by
    /// their URIs.
    ///
    /// # Errors
    ///
    /// Returns an error if this method did not make the cursor, or if the files before it are gone.
    async fn list(&self, cursor: Option<&str>, context: Context) -> Result<ResourcePage, Error> {
        let unknown = || Error::invalid_params("this cursor is not from resources/list; list from the beginning");
        let skipped = cursor.map_or(Some(0), skipped_by).ok_or_else(unknown)?;
        let client = ClientSessions::of(&context);
        let (mut resources, mut passed, mut more) = (Vec::new(), 0, false);
        for id in client.used() {
            // The session has expired.
            let Ok(files) = self.sessions.files(principal(&context), &id).await else {
                client.remove(&id);
                continue;
            };
            let first = skipped.saturating_sub(passed).min(files.len());
            passed += files.len();
            let room = PAGE - resources.len();
            resources.extend(files[first..].iter().take(room).map(|file| results::resource(&id, file)));
            more = files.len() - first > room;
            if more {
                break;
            }
        }
        if passed < skipped {
            return Err(unknown());
        }
        let next = (skipped + resources.len()).to_string();
        let page = ResourcePage::new(resources);
        Ok(if more { page.next_cursor(next) } else { page })
    }

    async fn read(&self, uri: &str, context: Context) -> Result<Option<ProvidedContents>, Error> {
        let read = AssertUnwindSafe(self.contents(uri, &context)).catch_unwind().await;
        let Ok(contents) = read else {
            tracing::error!("reading a resource panicked; this is a defect");
            return Err(Error::new("Brumate failed; this is a defect"));
        };
        // The next cell may change the file, and only this principal may read it.
        Ok(Some(ProvidedContents::from(contents?).cache(Duration::ZERO, CacheScope::Private)))
    }
}

impl FileResources {
    /// Makes the resources. `stop` cancels reading.
    pub(crate) fn new(sessions: &Sessions, stop: &CancellationToken) -> Self {
        Self { sessions: sessions.clone(), stop: stop.clone() }
    }

    /// Reads a file, or a range of it.
    ///
    /// # Errors
    ///
    /// Returns "not found" for every URI that is not a file of a session.
    async fn contents(&self, address: &str, context: &Context) -> Result<ResourceContents, Error> {
        let missing = |reason: String| {
            let data = Some(json!({"uri": address.chars().take(1024).collect::<String>()}));
            // Protocol 2026-07-28 changed the error code.
            let code = if context.is_stateless_protocol() { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
            Error::protocol(code, reason, data)
        };
        let Some(uri::FileAddress { session, file, range }) = uri::parse(address) else {
            return Err(missing("Resource not found".to_owned()));
        };
        let room = context.clone();
        let admit = ReadAdmission::new(move |bytes| {
            let room = room.clone();
            Box::pin(async move {
                let reserved = room.reserve_response(answer_bytes(bytes)).await;
                reserved.map_err(|error| error.message().to_owned())
            })
        });
        let cancel = self.stop.child_token();
        let owner = principal(context);
        let read = match file.as_str() {
            uri::NOTEBOOK => self.sessions.read_notebook(owner, session.as_str(), range, admit).await,
            _ => self.sessions.read_part(owner, session.as_str(), &file, range, admit, &cancel).await,
        };
        let FilePart { bytes, mime, offset, size } = match read {
            Ok(read) => read,
            Err(
                error @ (SessionError::NotFound { .. } | SessionError::Lost { .. } | SessionError::FileName { .. }),
            ) => {
                return Err(missing(error.to_string()));
            }
            Err(SessionError::File { name, error }) => {
                return Err(missing(format!("Resource not found: {name}: {error}")));
            }
            Err(error @ SessionError::TooLarge { limit, .. }) => {
                return Err(too_large(session.as_str(), &file, &error, limit));
            }
            Err(error) => return Err(Error::new(error_text(&error))),
        };
        let contents = match String::from_utf8(bytes) {
            Ok(text) if is_text(&mime) => ResourceContents::text(address, text),
            Ok(text) => ResourceContents::bytes(address, text),
            Err(error) => ResourceContents::bytes(address, error.into_bytes()),
        };
        let contents = contents.mime_type(mime);
        Ok(match range {
            Some(_) => contents.meta("brumate/offset", offset).meta("brumate/size", size),
            None => contents,
        })
    }
}

/// Returns the error for a file that is too large for one answer, with the URI of its first range.
fn too_large(session: &str, file: &FileName, error: &SessionError, limit: u64) -> Error {
    let first = uri::range_uri(session, file.as_str(), 0, limit);
    Error::invalid_params(format!("{error}; read it in ranges, beginning with {first}"))
}
