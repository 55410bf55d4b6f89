//! What results, prompts and messages are made of.

use crate::contents::ResourceContents;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, CONTROLS};
use rmcp::model as wire;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// Characters that are percent-encoded in a path of several segments.
pub(crate) const PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`').add(b'{').add(b'}');

/// Who speaks in a conversation, or whom something is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints for clients about a piece of content or a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Annotations {
    /// Whom it is meant for; nobody in particular if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// From 0, entirely optional, to 1, effectively required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f32>,
    /// When it last changed, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A picture that stands for a server, a tool, a resource or a prompt in a client's interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    src: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sizes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    theme: Option<String>,
}

impl Icon {
    /// An icon at `src`, an `https:` or a `data:` address.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None }
    }

    /// Its media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// A size it is made for, as `48x48` or `any`; repeat for more.
    #[must_use]
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }

    /// The theme it is made for: `light` or `dark`.
    #[must_use]
    pub fn theme(mut self, theme: impl Into<String>) -> Self {
        self.theme = Some(theme.into());
        self
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The encoded picture, as in a file.
    pub data: Vec<u8>,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
}

/// A recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audio {
    /// The encoded recording, as in a file.
    pub data: Vec<u8>,
    /// Its media type, such as `audio/wav`.
    pub mime_type: String,
}

macro_rules! media {
    ($type:ident, $family:literal, $fallback:literal) => {
        impl $type {
            /// From bytes and a format, which is a media type or its second half (`png`).
            pub fn new(data: impl Into<Vec<u8>>, format: impl AsRef<str>) -> Self {
                let format = format.as_ref();
                let mime_type =
                    if format.contains('/') { format.to_owned() } else { format!(concat!($family, "/{}"), format) };
                Self { data: data.into(), mime_type }
            }

            /// From a file, the type by its name.
            ///
            /// # Errors
            ///
            /// What reading it fails with.
            #[expect(clippy::disallowed_methods, reason = "a file that the program names")]
            pub fn from_path(path: impl AsRef<Path>) -> std::io::Result<Self> {
                let path = path.as_ref();
                let guessed = mime_guess::from_path(path).first_raw().filter(|mime| mime.starts_with($family));
                Ok(Self { data: std::fs::read(path)?, mime_type: guessed.unwrap_or($fallback).to_owned() })
            }
        }
    };
}

media!(Image, "image", "image/png");
media!(Audio, "audio", "audio/wav");

/// A file: text where its type and bytes are text, bytes otherwise.
///
/// In a tool's result it is an embedded resource; as a resource's content it is what the resource holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its address; a resource that returns the file puts its own in its place.
    pub uri: String,
    /// The bytes.
    pub data: Vec<u8>,
    /// Its media type.
    pub mime_type: String,
}

impl File {
    /// From bytes; the type by the name.
    pub fn new(name: impl AsRef<str>, data: impl Into<Vec<u8>>) -> Self {
        let name = name.as_ref();
        let mime_type = mime_guess::from_path(name).first_or_octet_stream().to_string();
        let name = name.trim_start_matches('/');
        let encoded = percent_encoding::utf8_percent_encode(name, PATH);
        Self { uri: format!("file:///{encoded}"), data: data.into(), mime_type }
    }

    /// From a file, known to the client by the file's name alone.
    ///
    /// # Errors
    ///
    /// What reading it fails with.
    #[expect(clippy::disallowed_methods, reason = "a file that the program names")]
    pub fn from_path(path: impl AsRef<Path>) -> std::io::Result<Self> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::new(name, std::fs::read(path)?))
    }

    /// Another media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = mime_type.into();
        self
    }

    pub(crate) fn into_contents(self, uri: String) -> ResourceContents {
        let textual = self.mime_type.starts_with("text/")
            || ["json", "xml", "yaml", "toml", "javascript"].iter().any(|kind| self.mime_type.ends_with(kind));
        match String::from_utf8(self.data) {
            Ok(text) if textual => ResourceContents::text(uri, text).mime_type(self.mime_type),
            Ok(text) => ResourceContents::bytes(uri, text.into_bytes()).mime_type(self.mime_type),
            Err(error) => ResourceContents::bytes(uri, error.into_bytes()).mime_type(self.mime_type),
        }
    }
}

/// One block of a result or a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    kind: ContentKind,
    annotations: Option<Annotations>,
    meta: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum ContentKind {
    Text(String),
    Image(Image),
    Audio(Audio),
    Embedded(ResourceContents),
    Link(Value),
    /// A block of a kind that this version does not know, as the protocol writes it.
    Other(Value),
}

impl Content {
    fn of(kind: ContentKind) -> Self {
        Self { kind, annotations: None, meta: Map::new() }
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(ContentKind::Text(text.into()))
    }

    /// A resource with its contents.
    pub fn embedded(contents: ResourceContents) -> Self {
        Self::of(ContentKind::Embedded(contents))
    }

    /// The address of a resource, for the client to read if it wants to.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::of(ContentKind::Link(serde_json::json!({ "uri": uri.into(), "name": name.into() })))
    }

    /// Hints for the client.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// An entry of the block's `_meta`.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// The text, if that is what it is.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            ContentKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the picture, if that is what it is.
    pub fn as_image(&self) -> Option<&Image> {
        match &self.kind {
            ContentKind::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Returns the recording, if that is what it is.
    pub fn as_audio(&self) -> Option<&Audio> {
        match &self.kind {
            ContentKind::Audio(audio) => Some(audio),
            _ => None,
        }
    }

    /// Returns the embedded resource, if that is what it is.
    pub fn as_resource(&self) -> Option<&ResourceContents> {
        match &self.kind {
            ContentKind::Embedded(contents) => Some(contents),
            _ => None,
        }
    }

    /// Returns the address of a resource that is only named, if that is what it is.
    pub fn as_link(&self) -> Option<&str> {
        match &self.kind {
            ContentKind::Link(link) => link.get("uri")?.as_str(),
            _ => None,
        }
    }

    /// Returns a block that this version does not know, as it came.
    pub fn as_other(&self) -> Option<&Value> {
        match &self.kind {
            ContentKind::Other(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the hints for the client.
    pub fn hints(&self) -> Option<&Annotations> {
        self.annotations.as_ref()
    }

    /// Reads what the protocol carries. A block whose bytes are no base64 is kept as it came.
    #[cfg(feature = "client")]
    pub(crate) fn from_wire(block: wire::ContentBlock) -> Self {
        let (kind, annotations, meta) = match block {
            wire::ContentBlock::Text(block) => (Ok(ContentKind::Text(block.text)), block.annotations, block.meta),
            wire::ContentBlock::Image(block) => {
                let kind = match STANDARD.decode(&block.data) {
                    Ok(data) => Ok(ContentKind::Image(Image { data, mime_type: block.mime_type })),
                    Err(_) => Err(wire::ContentBlock::image(block.data, block.mime_type)),
                };
                (kind, block.annotations, block.meta)
            }
            wire::ContentBlock::Audio(block) => {
                let kind = match STANDARD.decode(&block.data) {
                    Ok(data) => Ok(ContentKind::Audio(Audio { data, mime_type: block.mime_type })),
                    Err(_) => Err(wire::ContentBlock::audio(block.data, block.mime_type)),
                };
                (kind, block.annotations, block.meta)
            }
            wire::ContentBlock::Resource(block) => {
                let kind = ResourceContents::from_wire(block.resource.clone()).map(ContentKind::Embedded);
                (kind.map_err(|_| wire::ContentBlock::resource(block.resource)), block.annotations, block.meta)
            }
            wire::ContentBlock::ResourceLink(mut link) => {
                let (annotations, meta) = (link.annotations.take(), link.meta.take());
                (Err(wire::ContentBlock::ResourceLink(link)), annotations, meta)
            }
            other => (Err(other), None, None),
        };
        let kind = kind.unwrap_or_else(|block| {
            let is_link = matches!(block, wire::ContentBlock::ResourceLink(_));
            let value = serde_json::to_value(block).unwrap_or_default();
            if is_link { ContentKind::Link(value) } else { ContentKind::Other(value) }
        });
        let annotations = annotations.and_then(|hints| serde_json::to_value(hints).ok());
        let annotations = annotations.and_then(|hints| serde_json::from_value(hints).ok());
        Self { kind, annotations, meta: meta.map(|meta| meta.0).unwrap_or_default() }
    }

    pub(crate) fn into_wire(self) -> wire::ContentBlock {
        let mut block = match self.kind {
            ContentKind::Text(text) => wire::ContentBlock::text(text),
            ContentKind::Image(image) => wire::ContentBlock::image(STANDARD.encode(image.data), image.mime_type),
            ContentKind::Audio(audio) => wire::ContentBlock::audio(STANDARD.encode(audio.data), audio.mime_type),
            ContentKind::Embedded(contents) => wire::ContentBlock::resource(contents.into_wire()),
            ContentKind::Link(link) => match serde_json::from_value(link) {
                Ok(link) => wire::ContentBlock::resource_link(link),
                Err(error) => wire::ContentBlock::text(error.to_string()),
            },
            ContentKind::Other(value) => match serde_json::from_value(value.clone()) {
                Ok(block) => block,
                Err(_) => wire::ContentBlock::text(value.to_string()),
            },
        };
        let annotations =
            self.annotations.and_then(|a| serde_json::to_value(a).ok()).and_then(|a| serde_json::from_value(a).ok());
        let meta = (!self.meta.is_empty()).then(|| wire::MetaObject(self.meta));
        match &mut block {
            wire::ContentBlock::Text(block) => (block.annotations, block.meta) = (annotations, meta),
            wire::ContentBlock::Image(block) => (block.annotations, block.meta) = (annotations, meta),
            wire::ContentBlock::Audio(block) => (block.annotations, block.meta) = (annotations, meta),
            wire::ContentBlock::Resource(block) => (block.annotations, block.meta) = (annotations, meta),
            wire::ContentBlock::ResourceLink(block) => (block.annotations, block.meta) = (annotations, meta),
            _ => {}
        }
        block
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<Image> for Content {
    fn from(image: Image) -> Self {
        Self::of(ContentKind::Image(image))
    }
}

impl From<Audio> for Content {
    fn from(audio: Audio) -> Self {
        Self::of(ContentKind::Audio(audio))
    }
}

impl From<File> for Content {
    fn from(file: File) -> Self {
        let uri = file.uri.clone();
        Self::embedded(file.into_contents(uri))
    }
}

impl From<ResourceContents> for Content {
    fn from(contents: ResourceContents) -> Self {
        Self::embedded(contents)
    }
}
