//! Snapshots of sessions: one file each, which can be restored on another host.
//!
//! A snapshot is a zip archive:
//!
//! | entry | content |
//! |---|---|
//! | `snapshot.json` | version and [`SessionSnapshot`] |
//! | `session` | the state of the hibernated session; missing when the session has run no code |
//! | `images/NAME.image` | the image that the state is based on, if the cache has it |

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use brumate_engine::client;
use brumate_session::CancellationToken;
use brumate_session::sessions::{LOCAL_PRINCIPAL, SessionError, SessionId, SessionSnapshot, Sessions};
use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::error::Error;

/// Version of the archive's format.
const FORMAT: u32 = 1;

/// Largest `snapshot.json`, in bytes.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// Largest other entry, in bytes: a session with 4 GiB of memory and 4 GiB of files.
const MAX_ENTRY_BYTES: u64 = 8 << 30;

const MANIFEST: &str = "snapshot.json";
const SESSION: &str = "session";
const IMAGES: &str = "images";

/// The content of `snapshot.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The version of Brumate that wrote it.
    brumate: String,
    session: SessionSnapshot,
}

/// Writes a snapshot of a session to the file `to`. The file appears when it is complete.
///
/// # Errors
///
/// The session cannot be used, or `to` cannot be written.
pub async fn write(
    sessions: &Sessions,
    cache_dir: &Path,
    id: &str,
    to: &Path,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    let to = std::path::absolute(to).map_err(|error| failed(to, error))?;
    let directory = work_directory(to.parent().unwrap_or(Path::new("/")), &to)?;
    let file = directory.path().join(SESSION);
    let session = sessions.snapshot(LOCAL_PRINCIPAL, id, &file, cancel).await?;
    let cache_dir = cache_dir.to_owned();
    blocking(move || {
        if session.has_file {
            client::copy_images(std::slice::from_ref(&file), &cache_dir, &directory.path().join(IMAGES))
                .map_err(|error| failed(&to, io::Error::other(error)))?;
        }
        let manifest = Manifest { format: FORMAT, brumate: env!("CARGO_PKG_VERSION").to_owned(), session };
        pack(directory.path(), &manifest, &to).map_err(|error| failed(&to, error))
    })
    .await
}

/// Makes a session from the snapshot in the file `from`. Returns its id.
///
/// # Errors
///
/// The file is not a snapshot, or is of a version that this one cannot restore.
pub async fn restore(
    sessions: &Sessions,
    cache_dir: &Path,
    from: &Path,
    cancel: &CancellationToken,
) -> Result<SessionId, Error> {
    let directory = work_directory(cache_dir, from)?;
    let (cache_dir, parts, from) = (cache_dir.to_owned(), directory.path().to_owned(), from.to_owned());
    let manifest = blocking(move || {
        let manifest = unpack(&from, &parts).map_err(|error| failed(&from, error))?;
        client::take_images(&parts.join(IMAGES), &cache_dir).map_err(|error| failed(&from, io::Error::other(error)))?;
        Ok(manifest)
    })
    .await?;
    let file = directory.path().join(SESSION);
    Ok(sessions.restore_snapshot(LOCAL_PRINCIPAL, manifest.session, &file, cancel).await?)
}

/// Runs `work` on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(SessionError::Storage(error.to_string()).into()))
}

/// Makes a temporary directory in `parent` for the parts of a snapshot. It is removed when the value is dropped.
fn work_directory(parent: &Path, snapshot: &Path) -> Result<tempfile::TempDir, Error> {
    let made = tempfile::Builder::new().prefix(".brumate-snapshot-").tempdir_in(parent);
    made.map_err(|error| failed(snapshot, error))
}

/// Returns the error of a snapshot file.
fn failed(path: &Path, source: io::Error) -> Error {
    Error::HostFile { path: path.to_owned(), source }
}

/// Writes the archive `to` from the parts in `directory`.
fn pack(directory: &Path, manifest: &Manifest, to: &Path) -> io::Result<()> {
    let target = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(Path::new("/")))?;
    let mut archive = ZipWriter::new(io::BufWriter::new(target));
    let options = SimpleFileOptions::default().large_file(true);
    archive.start_file(MANIFEST, options)?;
    archive.write_all(&serde_json::to_vec(manifest)?)?;
    if manifest.session.has_file {
        // The state is compressed already.
        archive.start_file(SESSION, options.compression_method(CompressionMethod::Stored))?;
        io::copy(&mut File::open(directory.join(SESSION))?, &mut archive)?;
    }
    if let Ok(images) = std::fs::read_dir(directory.join(IMAGES)) {
        for image in images {
            let image = image?;
            archive.start_file(format!("{IMAGES}/{}", image.file_name().to_string_lossy()), options)?;
            io::copy(&mut File::open(image.path())?, &mut archive)?;
        }
    }
    let target = archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    target.as_file().sync_all()?;
    target.persist(to).map(drop).map_err(|error| error.error)
}

/// Extracts the parts of an archive to `directory`.
fn unpack(from: &Path, directory: &Path) -> io::Result<Manifest> {
    let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason);
    let no_snapshot = |_| invalid("it is not a snapshot of a session");
    let mut archive = ZipArchive::new(File::open(from)?).map_err(no_snapshot)?;
    let mut text = Vec::new();
    let manifest = archive.by_name(MANIFEST).map_err(no_snapshot)?;
    #[expect(clippy::disallowed_methods, reason = "at most `MAX_MANIFEST_BYTES`")]
    manifest.take(MAX_MANIFEST_BYTES).read_to_end(&mut text)?;
    let format = serde_json::from_slice::<serde_json::Value>(&text).ok().and_then(|value| value["format"].as_u64());
    match format {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(_) => {
            return Err(invalid("the snapshot is from a newer version of Brumate; update Brumate to restore it"));
        }
        None => return Err(invalid("it is not a snapshot of a session")),
    }
    let manifest: Manifest = serde_json::from_slice(&text)?;
    let names = archive.file_names().map(|name| name.map(Cow::into_owned)).collect::<Result<Vec<_>, _>>();
    let names = names.map_err(no_snapshot)?;
    for name in names {
        let target = match name.strip_prefix("images/") {
            Some(image) if is_image(image) => directory.join(IMAGES).join(image),
            None if name == SESSION => directory.join(SESSION),
            None if name == MANIFEST => continue,
            _ => return Err(invalid("it has an entry that does not belong to a snapshot")),
        };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let entry = archive.by_name(&name)?;
        if entry.size() > MAX_ENTRY_BYTES {
            return Err(invalid("an entry is too large"));
        }
        let size = entry.size();
        if io::copy(&mut entry.take(size), &mut File::create_new(&target)?)? != size {
            return Err(invalid("an entry is truncated"));
        }
    }
    if manifest.session.has_file && !directory.join(SESSION).exists() {
        return Err(invalid("the entry `session` is missing"));
    }
    Ok(manifest)
}

/// Returns whether `name` is a valid name of an image in the cache.
fn is_image(name: &str) -> bool {
    let digits = name.strip_suffix(".image");
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn manifest() -> Manifest {
        let session =
            SessionSnapshot { has_file: true, executions: 3, files: BTreeMap::default(), packages: Vec::new() };
        Manifest { format: FORMAT, brumate: "0.1.0".to_owned(), session }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(source.path().join(SESSION), "state").unwrap();
        std::fs::create_dir(source.path().join(IMAGES)).unwrap();
        let name = format!("{}.image", "a5".repeat(32));
        std::fs::write(source.path().join(IMAGES).join(&name), vec![7; 100_000]).unwrap();
        let file = source.path().join("x.brumate");
        pack(source.path(), &manifest(), &file).unwrap();
        assert!(std::fs::metadata(&file).unwrap().len() < 2000, "the image is compressed");
        let unpacked = unpack(&file, target.path()).unwrap();
        assert_eq!(unpacked.session, manifest().session);
        assert_eq!(std::fs::read(target.path().join(SESSION)).unwrap(), b"state");
        assert_eq!(std::fs::read(target.path().join(IMAGES).join(name)).unwrap(), vec![7; 100_000]);
    }

    #[test]
    fn other_archives_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.brumate");
        let refused = |entries: &[(&str, &[u8])]| {
            let mut archive = ZipWriter::new(File::create(&file).unwrap());
            for (name, content) in entries {
                archive.start_file(*name, SimpleFileOptions::default()).unwrap();
                archive.write_all(content).unwrap();
            }
            archive.finish().unwrap();
            unpack(&file, tempfile::tempdir().unwrap().path()).unwrap_err().to_string()
        };
        let good = serde_json::to_vec(&manifest()).unwrap();
        assert_eq!(refused(&[("README", b"")]), "it is not a snapshot of a session");
        assert_eq!(refused(&[(MANIFEST, b"{}")]), "it is not a snapshot of a session");
        assert_eq!(
            refused(&[(MANIFEST, b"{\"format\": 2}")]),
            "the snapshot is from a newer version of Brumate; update Brumate to restore it"
        );
        assert_eq!(refused(&[(MANIFEST, &good)]), "the entry `session` is missing");
        for name in ["images/../x.image", "images/x.image", "../session", "other"] {
            assert_eq!(
                refused(&[(MANIFEST, &good), (name, b"")]),
                "it has an entry that does not belong to a snapshot",
                "{name}"
            );
        }
        std::fs::write(&file, "no archive").unwrap();
        assert!(unpack(&file, directory.path()).unwrap_err().to_string().contains("not a snapshot"));
    }
}
