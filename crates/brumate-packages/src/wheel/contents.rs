//! What is in a wheel.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::layout::Scheme;
use super::metadata::{EntryPoint, Metadata, WheelInfo};

/// A wheel that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelContents {
    /// All but the files.
    pub summary: WheelSummary,
    /// Every file, sorted by its path in the archive. Directories have no entry.
    pub files: Vec<WheelFile>,
}

/// A wheel without the list of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WheelSummary {
    /// File name; its tags say for which Pythons the wheel is.
    pub file_name: String,
    /// Length of the wheel, in bytes.
    pub bytes: u64,
    /// Bytes of its files, unpacked.
    pub unpacked_bytes: u64,
    /// How many files it has.
    pub file_count: u64,
    /// `METADATA`.
    pub metadata: Metadata,
    /// `WHEEL`.
    pub wheel: WheelInfo,
    /// `entry_points.txt`; empty when there is none.
    pub entry_points: Vec<EntryPoint>,
    /// Top-level modules and packages it provides, sorted: what code writes after `import`.
    pub import_names: Vec<String>,
    /// Native modules, in the order of their paths.
    pub native_modules: Vec<NativeModule>,
    /// Directories of the archive whose content belongs into site-packages beside that of the root
    /// (`name-1.0.data/purelib`). Usually there are none.
    pub library_directories: Vec<String>,
}

impl WheelSummary {
    /// Normalised name and the version of the distribution, as its file name says; `METADATA` says the same.
    pub fn distribution(&self) -> (&str, &str) {
        (&self.metadata.name, &self.metadata.version)
    }
}

/// One file of a wheel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WheelFile {
    /// Path in the archive.
    pub path: String,
    /// Where it belongs.
    pub scheme: Scheme,
    /// How many bytes of `path` precede the path in the scheme (`name-1.0.data/purelib/`); 0 for the root's files.
    prefix: u16,
    /// Length, unpacked.
    pub size: u64,
    /// sha256 of the content.
    pub sha256: [u8; 32],
}

impl WheelFile {
    pub(super) fn new(path: &str, scheme: Scheme, relative: &str, size: u64, sha256: [u8; 32]) -> Self {
        let prefix = u16::try_from(path.len() - relative.len()).unwrap_or(0);
        Self { path: path.to_owned(), scheme, prefix, size, sha256 }
    }

    /// The path below its scheme's directory.
    pub fn scheme_path(&self) -> &str {
        self.path.get(usize::from(self.prefix)..).unwrap_or(&self.path)
    }

    /// The path below site-packages, if it belongs there.
    pub fn site_packages_path(&self) -> Option<&str> {
        (self.scheme == Scheme::SitePackages).then(|| self.scheme_path())
    }
}

/// A file that two wheels want to put in the same place of site-packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// Path below site-packages.
    pub path: String,
    /// File names of the two wheels, in the order in which they were given.
    pub wheels: [String; 2],
    /// Whether both bring the same content, so that it does not matter which one is used. False when one brings a file and
    /// the other a directory.
    pub is_same: bool,
}

/// Which wheels of a set get in each other's way? Each is a file name and its files. `import` would find the file of
/// whichever is mounted last; a file in the place of a directory cannot be mounted at all.
pub fn collisions<'a>(wheels: impl IntoIterator<Item = (&'a str, &'a [WheelFile])>) -> Vec<Collision> {
    let mut owners: HashMap<&str, (&str, Option<&WheelFile>)> = HashMap::new();
    let mut found = Vec::new();
    for (wheel, files) in wheels {
        for (file, path) in files.iter().filter_map(|file| Some((file, file.site_packages_path()?))) {
            let parents = path.match_indices('/').map(|(at, _)| (&path[..at], None));
            for (place, content) in parents.chain([(path, Some(file))]) {
                let (owner, earlier) = *owners.entry(place).or_insert((wheel, content));
                let is_directory_twice = earlier.is_none() && content.is_none();
                if owner == wheel || is_directory_twice {
                    continue;
                }
                let is_same = earlier.zip(content).is_some_and(|(a, b)| (a.size, a.sha256) == (b.size, b.sha256));
                found.push(Collision { path: place.to_owned(), wheels: [owner.to_owned(), wheel.to_owned()], is_same });
            }
        }
    }
    found
}

/// A native module, or a library that one needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeModule {
    /// Path in the archive.
    pub path: String,
    /// What it is made for.
    pub format: NativeFormat,
}

/// What a native module's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NativeFormat {
    /// WebAssembly: may run in the sandbox.
    Wasm,
    /// Linux and other Unixes.
    Elf,
    /// macOS.
    MachO,
    /// Windows.
    Pe,
    /// Something else.
    Unknown,
}

impl NativeFormat {
    pub(super) fn of(first_bytes: &[u8]) -> Self {
        match first_bytes {
            [0, b'a', b's', b'm', ..] => Self::Wasm,
            [0x7f, b'E', b'L', b'F', ..] => Self::Elf,
            [b'M', b'Z', ..] => Self::Pe,
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..]
            | [0xfe, 0xed, 0xfa, 0xcf | 0xce, ..]
            | [0xca, 0xfe, 0xba, 0xbe, ..] => Self::MachO,
            _ => Self::Unknown,
        }
    }
}
