//! Files of sessions as MCP resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_session::CancellationToken;
use brumate_session::sessions::{FileName, FilePart, ReadAdmission, SessionError, is_text};
use rmcp::model::{CacheScope, ErrorData, ListResourcesResult, ReadResourceResult, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::{Interpreter, calls, results, uri};

/// Most files on one page of `resources/list`.
const PAGE: usize = 1000;

impl Interpreter {
    /// Returns the resource template. Its description explains ranges; clients of the predecessor match this template literally.
    pub(crate) fn template() -> ResourceTemplate {
        ResourceTemplate::new(uri::TEMPLATE, "session_file").with_title("File of a session").with_description(
            "A file in the working directory of a session; images and other binary files as blobs. With \
             ?offset=N&length=N behind the name a range of its bytes",
        )
    }

    /// Returns a page of the files of the sessions that this connection has used. Files of other sessions are not listed, but can be
    /// read by their URIs.
    ///
    /// # Errors
    ///
    /// The cursor was not made by this method.
    pub(crate) async fn resources(&self, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
        let unknown =
            |_| ErrorData::invalid_params("this cursor is not from resources/list; list from the beginning", None);
        let skipped = cursor.map_or(Ok(0), str::parse::<usize>).map_err(unknown)?;
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
        let listed = resources.len();
        let mut list = ListResourcesResult::with_all_items(resources);
        list.next_cursor = more.then(|| (skipped + listed).to_string());
        Ok(list)
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
    ) -> Result<ReadResourceResult, ErrorData> {
        let missing = |reason: String| {
            let data = Some(json!({"uri": address.chars().take(1024).collect::<String>()}));
            // Protocol 2026-07-28 changed the error code.
            if stateless {
                ErrorData::invalid_params(reason, data)
            } else {
                ErrorData::resource_not_found(reason, data)
            }
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
            Err(error) => return Err(ErrorData::internal_error(calls::error_text(&error), None)),
        };
        let contents = match String::from_utf8(bytes) {
            Ok(text) if is_text(&mime) => ResourceContents::text(text, address),
            Ok(text) => ResourceContents::blob(STANDARD.encode(text), address),
            Err(error) => ResourceContents::blob(STANDARD.encode(error.into_bytes()), address),
        };
        let mut contents = contents.with_mime_type(mime);
        if range.is_some() {
            let about = json!({"brumate/offset": offset, "brumate/size": size});
            contents = contents.with_meta(serde_json::from_value(about).unwrap_or_default());
        }
        // The next cell may change the file, and only this principal may read it.
        let result = ReadResourceResult::new(vec![contents]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }
}

/// Returns the error for a file that is too large for one answer, with the URI of its first range.
fn too_large(session: &str, file: &FileName, error: &SessionError, limit: u64) -> ErrorData {
    let first = uri::range_uri(session, file.as_str(), 0, limit);
    ErrorData::invalid_params(format!("{error}; read it in ranges, beginning with {first}"), None)
}
