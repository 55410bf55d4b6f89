//! Any bytes as what package indexes and lock files say.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use brumate_packages::index::{Metadata, Origin, metadata_of, parse_page};
use brumate_packages::lock::{self, Lock};
use brumate_packages::{MarkerEnvironment, Requirement};
use url::Url;

/// The readers: the first byte of an input, divided by their number, leaves the number of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reader {
    /// `METADATA`.
    Metadata,
    /// An index page in JSON.
    JsonPage,
    /// An index page in HTML.
    HtmlPage,
    /// `METADATA` out of a wheel.
    Wheel,
    /// `pylock.toml`.
    Lock,
    /// A requirement.
    Requirement,
}

impl Reader {
    const ALL: [Reader; 6] =
        [Self::Metadata, Self::JsonPage, Self::HtmlPage, Self::Wheel, Self::Lock, Self::Requirement];

    fn chosen_by(byte: u8) -> Self {
        Self::ALL[usize::from(byte) % Self::ALL.len()]
    }
}

/// Gives the bytes after the first to the reader that the first chooses.
///
/// Reading never panics, and what was read can be used: a lock or a requirement that is written out is read again as the
/// same. Returns whether the reader accepted the bytes.
pub fn run(bytes: &[u8]) -> bool {
    let Some((&first, bytes)) = bytes.split_first() else { return false };
    match Reader::chosen_by(first) {
        Reader::Metadata => metadata(bytes),
        Reader::JsonPage => page(bytes, "application/json"),
        Reader::HtmlPage => page(bytes, "text/html"),
        Reader::Wheel => metadata_of(Cursor::new(bytes)).is_ok(),
        Reader::Lock => std::str::from_utf8(bytes).is_ok_and(lock),
        Reader::Requirement => std::str::from_utf8(bytes).is_ok_and(requirement),
    }
}

fn metadata(bytes: &[u8]) -> bool {
    let Ok(metadata) = Metadata::parse(bytes) else { return false };
    for requirement in &metadata.requires {
        requirement.applies_in(&MarkerEnvironment::default());
    }
    true
}

fn page(bytes: &[u8], content_type: &str) -> bool {
    let base = Url::parse("https://index.example/simple/foo/").expect("a URL");
    let Ok(files) = parse_page(bytes, content_type, &base, &Arc::new(Origin::Direct)) else { return false };
    assert!(files.iter().all(|file| file.sha256.as_ref().is_none_or(|sha256| sha256.len() == 64)));
    // HTML is never wrong: what counts is whether there are links.
    !files.is_empty()
}

fn lock(text: &str) -> bool {
    let Ok(lock) = Lock::read(text, Path::new("/")) else { return false };
    let text = lock::write(&lock.resolution, &[]).expect("what was read can be written");
    let again = Lock::read(&text, Path::new("/")).expect("what was written can be read");
    assert_eq!(again.resolution.packages.len(), lock.resolution.packages.len());
    true
}

fn requirement(text: &str) -> bool {
    let Ok(requirement) = text.parse::<Requirement>() else { return false };
    requirement.to_string().parse::<Requirement>().expect("what was shown can be read");
    true
}
