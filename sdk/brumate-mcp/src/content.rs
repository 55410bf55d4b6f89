//! The content of results, prompts and messages.

use crate::contents::ResourceContents;
use crate::media::{Audio, File, Image};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model as wire;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The speaker in a conversation, or the audience of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Hints for clients about a piece of content or a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Annotations {
    /// The audience; empty for no particular one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// How important it is: from 0 (optional) to 1 (required).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f32>,
    /// The time of the last change (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A picture that represents a server, a tool, a resource or a prompt in a client's interface.
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
    /// Makes an icon from a URL: `https:` or `data:`.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None }
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds a size that the icon is made for, such as `48x48` or `any`.
    #[must_use]
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }

    /// Sets the theme that the icon is made for: `light` or `dark`.
    #[must_use]
    pub fn theme(mut self, theme: impl Into<String>) -> Self {
        self.theme = Some(theme.into());
        self
    }
}

/// A block of a result or a message: text, a picture, a recording, an embedded resource or a link.
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
    /// A block of a kind that this version does not know, as the protocol has it.
    Other(Value),
}

impl Content {
    fn of(kind: ContentKind) -> Self {
        Self { kind, annotations: None, meta: Map::new() }
    }

    /// Makes a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(ContentKind::Text(text.into()))
    }

    /// Makes a block with a resource and its contents.
    pub fn embedded(contents: ResourceContents) -> Self {
        Self::of(ContentKind::Embedded(contents))
    }

    /// Makes a block with the URI of a resource, which the client may read.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::of(ContentKind::Link(serde_json::json!({ "uri": uri.into(), "name": name.into() })))
    }

    /// Makes a link from the entry of a resource in `resources/list`.
    #[cfg(feature = "server")]
    pub(crate) fn link_to(entry: Value) -> Self {
        Self::of(ContentKind::Link(entry))
    }

    /// Sets hints for the client.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Sets an entry of the block's `_meta`.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Returns the text, if the block is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            ContentKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the picture, if the block is one.
    pub fn as_image(&self) -> Option<&Image> {
        match &self.kind {
            ContentKind::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Returns the recording, if the block is one.
    pub fn as_audio(&self) -> Option<&Audio> {
        match &self.kind {
            ContentKind::Audio(audio) => Some(audio),
            _ => None,
        }
    }

    /// Returns the embedded resource, if the block is one.
    pub fn as_resource(&self) -> Option<&ResourceContents> {
        match &self.kind {
            ContentKind::Embedded(contents) => Some(contents),
            _ => None,
        }
    }

    /// Returns the URI, if the block is a link.
    pub fn as_link(&self) -> Option<&str> {
        match &self.kind {
            ContentKind::Link(link) => link.get("uri")?.as_str(),
            _ => None,
        }
    }

    /// Returns a block of an unknown kind, as the protocol has it.
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

    /// Reads a block of the protocol. A block whose bytes are not valid base64 is kept as it came.
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
