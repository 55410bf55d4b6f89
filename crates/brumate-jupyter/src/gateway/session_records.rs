//! Sessions in Jupyter's sense: documents and their kernels. They end with their kernels.

use axum::http::StatusCode;
use serde::Deserialize;

use super::error::ApiError;
use brumate_jupyter_protocol::new_id;

/// Longest path, name or kind of a document, in bytes.
const MAX_TEXT: usize = 4096;

/// A document and its kernel.
#[derive(Debug, Clone)]
pub(super) struct SessionRecord {
    pub(super) id: String,
    pub(super) principal: String,
    /// Path of the document, as the client names it. The server opens no file at this path.
    pub(super) path: String,
    pub(super) name: String,
    /// Kind of document: `notebook`, `console`, `file`.
    pub(super) kind: String,
    pub(super) kernel_id: String,
}

/// Body of a request that makes or changes a session.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SessionRequest {
    pub(super) path: Option<String>,
    pub(super) name: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) kernel: Option<KernelRequest>,
    /// The document in the form of old clients.
    notebook: Option<Document>,
}

#[derive(Debug, Default, Deserialize)]
struct Document {
    path: Option<String>,
    name: Option<String>,
}

/// Body of a request that starts a kernel, or names one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct KernelRequest {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
}

impl SessionRequest {
    /// Checks the lengths, and reads the form of old clients.
    ///
    /// # Errors
    ///
    /// A text is too long.
    pub(super) fn checked(mut self) -> Result<Self, ApiError> {
        if let Some(document) = self.notebook.take() {
            self.kind.get_or_insert_with(|| "notebook".to_owned());
            self.path = self.path.or(document.path);
            self.name = self.name.or(document.name);
        }
        for (what, text) in [("path", &self.path), ("name", &self.name), ("type", &self.kind)] {
            if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT) {
                let message = format!("the {what} of a session has at most {MAX_TEXT} bytes");
                return Err(ApiError::new(StatusCode::BAD_REQUEST, message));
            }
        }
        Ok(self)
    }
}

impl SessionRecord {
    /// Makes a record. Its kernel is noted by its id.
    ///
    /// # Errors
    ///
    /// The path or the type is missing.
    pub(super) fn new(principal: &str, request: &SessionRequest, kernel_id: &str) -> Result<Self, ApiError> {
        let missing = |what| ApiError::new(StatusCode::BAD_REQUEST, format!("the session needs a `{what}`"));
        Ok(Self {
            id: uuid(),
            principal: principal.to_owned(),
            path: request.path.clone().ok_or_else(|| missing("path"))?,
            name: request.name.clone().unwrap_or_default(),
            kind: request.kind.clone().ok_or_else(|| missing("type"))?,
            kernel_id: kernel_id.to_owned(),
        })
    }

    /// Changes the fields that a request names, except the kernel.
    pub(super) fn change(&mut self, request: &SessionRequest) {
        for (field, new) in
            [(&mut self.path, &request.path), (&mut self.name, &request.name), (&mut self.kind, &request.kind)]
        {
            if let Some(new) = new {
                field.clone_from(new);
            }
        }
    }
}

/// Makes a random id in the form of a UUID, which Jupyter's routes expect.
pub(super) fn uuid() -> String {
    let id = new_id();
    // Version 4 and variant 1 (RFC 9562).
    format!("{}-{}-4{}-a{}-{}", &id[..8], &id[8..12], &id[13..16], &id[17..20], &id[20..])
}
