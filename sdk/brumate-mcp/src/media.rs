//! Media: pictures, recordings and files.

use crate::contents::ResourceContents;
use percent_encoding::{AsciiSet, CONTROLS};
use std::path::Path;

/// Characters that are percent-encoded in a path of several segments.
pub(crate) const PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`').add(b'{').add(b'}');

/// A picture, encoded as in a file.
///
/// ```
/// use brumate_mcp::{Image, tool};
///
/// /// Draws a dot.
/// #[tool]
/// async fn dot() -> Image {
///     let png = b"\x89PNG\r\n\x1a\n".to_vec(); // ...
///     Image::new(png, "png")
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The encoded picture.
    pub data: Vec<u8>,
    /// The media type, such as `image/png`.
    pub mime_type: String,
}

/// A recording, encoded as in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audio {
    /// The encoded recording.
    pub data: Vec<u8>,
    /// The media type, such as `audio/wav`.
    pub mime_type: String,
}

macro_rules! media {
    ($type:ident, $family:literal, $fallback:literal) => {
        impl $type {
            /// Makes it from bytes and a format: a media type (`image/png`) or its second half (`png`).
            pub fn new(data: impl Into<Vec<u8>>, format: impl AsRef<str>) -> Self {
                let format = format.as_ref();
                let mime_type =
                    if format.contains('/') { format.to_owned() } else { format!(concat!($family, "/{}"), format) };
                Self { data: data.into(), mime_type }
            }

            /// Reads a file. Its name gives the media type.
            ///
            /// # Errors
            ///
            /// Returns the error of reading the file.
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

/// A file: text if its media type and its bytes are text, else bytes.
///
/// In a tool's result it is an embedded resource. As the result of a resource it is the resource's contents.
///
/// ```
/// use brumate_mcp::{File, tool};
///
/// /// Exports the table.
/// #[tool]
/// async fn export() -> File {
///     File::new("table.csv", "a,b\n1,2\n")
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The URI. A resource that returns the file uses its own instead.
    pub uri: String,
    /// The bytes.
    pub data: Vec<u8>,
    /// The media type.
    pub mime_type: String,
}

impl File {
    /// Makes a file from bytes. The name gives the media type.
    pub fn new(name: impl AsRef<str>, data: impl Into<Vec<u8>>) -> Self {
        let name = name.as_ref();
        let mime_type = mime_guess::from_path(name).first_or_octet_stream().to_string();
        let name = name.trim_start_matches('/');
        let encoded = percent_encoding::utf8_percent_encode(name, PATH);
        Self { uri: format!("file:///{encoded}"), data: data.into(), mime_type }
    }

    /// Reads a file. The client sees only its name, not its path.
    ///
    /// # Errors
    ///
    /// Returns the error of reading the file.
    #[expect(clippy::disallowed_methods, reason = "a file that the program names")]
    pub fn from_path(path: impl AsRef<Path>) -> std::io::Result<Self> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::new(name, std::fs::read(path)?))
    }

    /// Sets the media type.
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
