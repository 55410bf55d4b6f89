//! Contents of resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model as wire;
use serde_json::{Map, Value};

/// The contents of a resource: text or bytes, with a URI and a media type.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    pub(crate) uri: String,
    body: ContentsBody,
    mime_type: Option<String>,
    meta: Map<String, Value>,
}

/// The text or the bytes.
#[derive(Clone, Debug, PartialEq)]
enum ContentsBody {
    Text(String),
    Bytes(Vec<u8>),
}

impl ResourceContents {
    /// Makes contents of text at `uri`.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), body: ContentsBody::Text(text.into()), mime_type: None, meta: Map::new() }
    }

    /// Makes contents of bytes at `uri`.
    pub fn bytes(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { uri: uri.into(), body: ContentsBody::Bytes(bytes.into()), mime_type: None, meta: Map::new() }
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets an entry of `_meta`.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Returns the text, if the contents are text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            ContentsBody::Text(text) => Some(text),
            ContentsBody::Bytes(_) => None,
        }
    }

    /// Returns the bytes. Text is returned as UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.body {
            ContentsBody::Text(text) => text.as_bytes(),
            ContentsBody::Bytes(bytes) => bytes,
        }
    }

    /// Returns the contents as the protocol writes them.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self.clone().into_wire()).unwrap_or_default()
    }

    /// Sets the media type if there is none.
    pub(crate) fn or_mime_type(mut self, mime_type: Option<&str>) -> Self {
        self.mime_type = self.mime_type.or_else(|| mime_type.map(str::to_owned));
        self
    }

    /// Returns the URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the media type, if there is one.
    pub fn media_type(&self) -> Option<&str> {
        self.mime_type.as_deref()
    }

    pub(crate) fn into_wire(self) -> wire::ResourceContents {
        let mut contents = match self.body {
            ContentsBody::Text(text) => wire::ResourceContents::text(text, self.uri),
            ContentsBody::Bytes(bytes) => wire::ResourceContents::blob(STANDARD.encode(bytes), self.uri),
        };
        // The constructors of rmcp guess a media type. Here it is the handler's, or none.
        match &mut contents {
            wire::ResourceContents::TextResourceContents { mime_type, .. }
            | wire::ResourceContents::BlobResourceContents { mime_type, .. } => *mime_type = self.mime_type,
            _ => {}
        }
        if self.meta.is_empty() { contents } else { contents.with_meta(wire::MetaObject(self.meta)) }
    }

    /// Reads contents as rmcp has them.
    ///
    /// # Errors
    ///
    /// Returns a text if bytes are not valid base64, or if the form is unknown.
    #[cfg(any(feature = "client", feature = "skills"))]
    pub(crate) fn from_wire(contents: wire::ResourceContents) -> Result<Self, String> {
        let (uri, body, mime_type, meta) = match contents {
            wire::ResourceContents::TextResourceContents { uri, mime_type, text, meta } => {
                (uri, ContentsBody::Text(text), mime_type, meta)
            }
            wire::ResourceContents::BlobResourceContents { uri, mime_type, blob, meta } => {
                let bytes = STANDARD.decode(blob).map_err(|error| format!("resource `{uri}`: {error}"))?;
                (uri, ContentsBody::Bytes(bytes), mime_type, meta)
            }
            other => return Err(format!("contents of an unknown form: {other:?}")),
        };
        Ok(Self { uri, body, mime_type, meta: meta.map(|meta| meta.0).unwrap_or_default() })
    }
}
