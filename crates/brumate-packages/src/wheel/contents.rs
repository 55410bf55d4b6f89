//! Contents of a wheel.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::layout::Scheme;
use super::metadata::{EntryPoint, Metadata, WheelInfo};

/// Contents of an accepted wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelContents {
    /// All but the files.
    pub summary: WheelSummary,
    /// Every file, sorted by its path in the archive. Directories have no entry.
    pub files: Vec<WheelFile>,
}

/// Contents of a wheel without the list of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WheelSummary {
    /// File name; its tags state the Pythons that the wheel is for.
    pub file_name: String,
    /// Length of the wheel in bytes.
    pub bytes: u64,
    /// Bytes of its files, decompressed.
    pub unpacked_bytes: u64,
    /// Number of files.
    pub file_count: u64,
    /// Fields of `METADATA`.
    pub metadata: Metadata,
    /// Fields of `WHEEL`.
    pub wheel: WheelInfo,
    /// Entries of `entry_points.txt`; empty without that file.
    pub entry_points: Vec<EntryPoint>,
    /// Top-level modules and packages, sorted: what code writes after `import`.
    pub import_names: Vec<String>,
    /// Native modules, in the order of their paths.
    pub native_modules: Vec<NativeModule>,
    /// Directories of the archive that belong into site-packages beside the root (`name-1.0.data/purelib`). Usually
    /// empty.
    pub library_directories: Vec<String>,
}

impl WheelSummary {
    /// Returns the normalised name and the version, from the file name; `METADATA` has the same.
    pub fn distribution(&self) -> (&str, &str) {
        (&self.metadata.name, &self.metadata.version)
    }
}

/// File of a wheel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WheelFile {
    /// Path in the archive.
    pub path: String,
    /// Place in an installation.
    pub scheme: Scheme,
    /// Bytes of `path` before the path in the scheme (`name-1.0.data/purelib/`); 0 for files below the root.
    prefix: u16,
    /// Length in bytes, decompressed.
    pub size: u64,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
}

impl WheelFile {
    pub(super) fn new(path: &str, scheme: Scheme, relative: &str, size: u64, sha256: [u8; 32]) -> Self {
        let prefix = u16::try_from(path.len() - relative.len()).unwrap_or(0);
        Self { path: path.to_owned(), scheme, prefix, size, sha256 }
    }

    /// Returns the path below its scheme's directory.
    pub fn scheme_path(&self) -> &str {
        self.path.get(usize::from(self.prefix)..).unwrap_or(&self.path)
    }

    /// Returns the path below site-packages; `None` if the file does not belong there.
    pub fn site_packages_path(&self) -> Option<&str> {
        (self.scheme == Scheme::SitePackages).then(|| self.scheme_path())
    }
}

/// File that two wheels place at the same path of site-packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// Path below site-packages.
    pub path: String,
    /// File names of the two wheels, in the given order.
    pub wheels: [String; 2],
    /// Whether both have the same content, so that either can be used. False if one has a file and the other a
    /// directory.
    pub is_same: bool,
}

/// Finds files that several wheels of a set place at the same path. Each wheel is given by its file name and its
/// files. `import` would find the file of the wheel that is mounted last; a file in the place of a directory cannot be
/// mounted.
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

/// Native module, or a library that one needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeModule {
    /// Path in the archive.
    pub path: String,
    /// Platform that it is made for.
    pub format: NativeFormat,
}

/// Format of a native module, from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NativeFormat {
    /// WebAssembly, which may run in the sandbox.
    Wasm,
    /// ELF: Linux and other Unixes.
    Elf,
    /// Mach-O: macOS.
    MachO,
    /// PE: Windows.
    Pe,
    /// Another format.
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
