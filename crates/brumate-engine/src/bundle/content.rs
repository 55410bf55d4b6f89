//! The bytes of the bundle's files: in the unpacked bundle, or in the repository.

use std::fs::File;
use std::sync::OnceLock;

use super::pack;
use crate::memory::Mapped;

/// The bytes of one file of the bundle.
///
/// | build | where the bytes are |
/// |---|---|
/// | release | in the unpacked bundle |
/// | development | in the repository's `runtime/`, mapped at first use, so that test programs are linked without them |
#[derive(Debug)]
pub struct Content(Source);

#[derive(Debug)]
enum Source {
    Packed { start: usize, length: usize },
    File { path: &'static str, mapped: OnceLock<Mapped> },
}

impl Content {
    /// Returns the bytes of a part of the unpacked bundle.
    #[allow(dead_code, reason = "the table of a development build does not use it")]
    pub(super) const fn packed(start: usize, length: usize) -> Content {
        Content(Source::Packed { start, length })
    }

    /// Returns the bytes of the file at `path`, which does not change while the program runs.
    #[allow(dead_code, reason = "the table of a release build does not use it")]
    pub(super) const fn file(path: &'static str) -> Content {
        Content(Source::File { path, mapped: OnceLock::new() })
    }

    /// Returns the bytes.
    ///
    /// # Panics
    /// In a development build, when the file cannot be read. In a release build, when no cache is open and no memory is left.
    pub fn bytes(&'static self) -> &'static [u8] {
        match &self.0 {
            Source::Packed { start, length } => pack::bytes(*start, *length),
            Source::File { path, mapped } => mapped.get_or_init(|| map(path)).bytes(),
        }
    }
}

fn map(path: &str) -> Mapped {
    let map = || {
        let file = File::open(path)?;
        Mapped::new(&file, 0, file.metadata()?.len())
    };
    map().unwrap_or_else(|error| {
        panic!("{path}: {error}; this development build reads the bundle there: build it again")
    })
}
