//! The files of the bundle: their names, their digests, the contents of zip archives.

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

/// Returns the SHA-256 of `data`.
pub(crate) fn sha256(data: &[u8]) -> [u8; 32] {
    Sha256::digest(data).into()
}

/// Returns the SHA-256 of `data`, in lower-case hexadecimal digits.
pub(crate) fn sha256_hex(data: &[u8]) -> String {
    sha256(data).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the files of the bundle, relative to `runtime`: the archives at its top, and the wheels.
///
/// Text files at the top (the lock, a README) and the recipes are not shipped.
pub(crate) fn files(runtime: &Path) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for (directory, prefix) in [(runtime.to_owned(), ""), (runtime.join("wheels"), "wheels/")] {
        let entries = std::fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_text = prefix.is_empty() && (name.ends_with(".toml") || name.ends_with(".md"));
            if entry.file_type()?.is_dir() && prefix.is_empty() || is_text {
                continue;
            }
            files.insert(format!("{prefix}{name}"));
        }
    }
    Ok(files)
}

/// Returns all files of the zip at `path`, by name.
pub(crate) fn read_zip(path: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let file = std::fs::File::open(path)?;
    read_archive(file).with_context(|| format!("{} is no sound zip", path.display()))
}

/// Returns all files of a zip, by name. A name that occurs twice or leaves the archive is an error.
pub(crate) fn read_archive(source: impl std::io::Read + std::io::Seek) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut archive = zip::ZipArchive::new(source)?;
    let mut members = BTreeMap::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index)?;
        if member.is_dir() {
            continue;
        }
        let name = member.name()?.into_owned();
        ensure!(member.enclosed_name().is_some(), "{name} leaves the archive");
        let mut data = Vec::new();
        member.read_to_end(&mut data)?;
        ensure!(members.insert(name.clone(), data).is_none(), "{name} occurs twice");
    }
    Ok(members)
}
