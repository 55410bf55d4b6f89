//! Files of sessions as MCP resources.

use brumate_mcp::{Error, Resource, ResourceContents};
use brumate_session::CancellationToken;
use brumate_session::sessions::{FileName, FilePart, ReadAdmission, SessionError, is_text};
use rmcp::model::ErrorCode;
use serde_json::json;

use super::{Interpreter, calls, results, uri};

/// Most files on one page of `resources/list`.
const PAGE: usize = 1000;

/// Reads a cursor: the number of files on the pages before it, as it was written.
fn skipped_by(cursor: &str) -> Option<usize> {
    let skipped: usize = cursor.parse().ok()?;
    (skipped > 0 && skipped.is_multiple_of(PAGE) && skipped.to_string() == cursor).then_some(skipped)
}

impl Interpreter {
    /// Returns the resource template. Its description explains ranges; clients of the predecessor match this template literally.
    pub(crate) fn template() -> Resource {
        Resource::new(uri::TEMPLATE).name("session_file").title("File of a session").description(
            "A file in the working directory of a session; images and other binary files as blobs. With \
             ?offset=N&length=N behind the name a range of its bytes",
        )
    }

    /// Returns a page of the files of the sessions that this connection has used, and the cursor of the next page. Files of other sessions are not listed, but can be
    /// read by their URIs.
    ///
    /// # Errors
    ///
    /// The cursor was not made by this method, or the files before it are gone.
    pub(crate) async fn resources(&self, cursor: Option<&str>) -> Result<(Vec<Resource>, Option<String>), Error> {
        let unknown = || Error::invalid_params("this cursor is not from resources/list; list from the beginning");
        let skipped = cursor.map_or(Some(0), skipped_by).ok_or_else(unknown)?;
        let (mut resources, mut passed, mut more) = (Vec::new(), 0, false);
        for id in self.used() {
            // The session has expired.
            let Ok(files) = self.sessions().files(self.principal(), &id).await else {
                self.remove_from_list(&id);
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
        let next = more.then(|| (skipped + resources.len()).to_string());
        Ok((resources, next))
    }

    /// Reads a file, or a range of it. `admit` is called with the size of the content before it is read.
    ///
    /// # Errors
    ///
    /// "Not found" for every URI that is not a file of a session.
    pub(crate) async fn read(
        &self,
        address: &str,
        stateless: bool,
        admit: ReadAdmission,
        cancel: &CancellationToken,
    ) -> Result<ResourceContents, Error> {
        let missing = |reason: String| {
            let data = Some(json!({"uri": address.chars().take(1024).collect::<String>()}));
            // Protocol 2026-07-28 changed the error code.
            let code = if stateless { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
            Error::protocol(code.0, reason, data)
        };
        let Some(uri::FileAddress { session, file, range }) = uri::parse(address) else {
            return Err(missing("Resource not found".to_owned()));
        };
        let read = self.sessions().read_part(self.principal(), session.as_str(), &file, range, admit, cancel).await;
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
            Err(error) => return Err(Error::new(calls::error_text(&error))),
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
