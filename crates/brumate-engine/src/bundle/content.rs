//! The bytes of the bundle's files: in the program, or in the repository.

use std::fs::File;
use std::sync::OnceLock;

use crate::memory::Mapped;

/// The bytes of one file of the bundle.
///
/// | build | where the bytes are |
/// |---|---|
/// | release | in the program |
/// | development | in the repository's `runtime/`, mapped at first use, so that test programs are linked without them |
#[derive(Debug)]
pub struct Content(Source);

#[derive(Debug)]
enum Source {
    Embedded(&'static [u8]),
    File { path: &'static str, mapped: OnceLock<Mapped> },
}

impl Content {
    /// Returns bytes that are part of the program.
    #[allow(dead_code, reason = "the table of a development build does not use it")]
    pub(super) const fn embedded(bytes: &'static [u8]) -> Content {
        Content(Source::Embedded(bytes))
    }

    /// Returns the bytes of the file at `path`, which nobody changes while the program runs.
    #[allow(dead_code, reason = "the table of a release build does not use it")]
    pub(super) const fn file(path: &'static str) -> Content {
        Content(Source::File { path, mapped: OnceLock::new() })
    }

    /// Returns the bytes.
    ///
    /// # Panics
    /// In a development build, when the file cannot be read.
    pub fn bytes(&'static self) -> &'static [u8] {
        match &self.0 {
            Source::Embedded(bytes) => bytes,
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
