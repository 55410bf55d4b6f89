//! Files of sessions as MCP resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_session::CancellationToken;
use brumate_session::sessions::{SessionError, is_text};
use rmcp::model::{CacheScope, ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::{Interpreter, answer, calls, uri};

impl Interpreter {
    /// The one template.
    pub(crate) fn template() -> ResourceTemplate {
        ResourceTemplate::new(uri::TEMPLATE, "session_file")
            .with_title("File of a session")
            .with_description("A file in the working directory of a session; images and other binary files as blobs")
    }

    /// Files of the sessions that this connection has used. Others' are not listed: who knows their names may read them.
    pub(crate) async fn resources(&self) -> Vec<Resource> {
        let mut resources = Vec::new();
        for id in self.used() {
            // One that has expired meanwhile has no files any more.
            match self.sessions().files(self.principal(), &id).await {
                Ok(files) => resources.extend(files.iter().map(|file| answer::resource(&id, file))),
                Err(_) => self.forget(&id),
            }
        }
        resources
    }

    /// The content of a file.
    ///
    /// # Errors
    ///
    /// "Not found" for everything that is no file of a session, whatever else it may be.
    pub(crate) async fn read(
        &self,
        address: &str,
        modern: bool,
        cancel: &CancellationToken,
    ) -> Result<ReadResourceResult, ErrorData> {
        let missing = |reason: String| {
            let data = Some(json!({"uri": address.chars().take(1024).collect::<String>()}));
            // The code was changed in 2026-07-28.
            if modern { ErrorData::invalid_params(reason, data) } else { ErrorData::resource_not_found(reason, data) }
        };
        let Some((id, name)) = uri::parse(address) else {
            return Err(missing("Resource not found".to_owned()));
        };
        let read = self.sessions().read_whole_file(self.principal(), id.as_str(), &name, cancel).await;
        let (bytes, mime) = match read {
            Ok(read) => read,
            Err(
                error @ (SessionError::NotFound { .. } | SessionError::Lost { .. } | SessionError::FileName { .. }),
            ) => {
                return Err(missing(error.to_string()));
            }
            Err(SessionError::File { name, error }) => {
                return Err(missing(format!("Resource not found: {name}: {error}")));
            }
            Err(error) => return Err(ErrorData::internal_error(calls::told(&error), None)),
        };
        let contents = match String::from_utf8(bytes) {
            Ok(text) if is_text(&mime) => ResourceContents::text(text, address),
            Ok(text) => ResourceContents::blob(STANDARD.encode(text), address),
            Err(error) => ResourceContents::blob(STANDARD.encode(error.into_bytes()), address),
        };
        // It may change with the next cell, and is nobody else's.
        let result = ReadResourceResult::new(vec![contents.with_mime_type(mime)]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }
}
