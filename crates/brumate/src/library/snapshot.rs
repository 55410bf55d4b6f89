//! Snapshots of sessions: one file each, which can be restored on another host.
//!
//! A snapshot is a zip archive with these entries, in this order:
//!
//! | entry | content |
//! |---|---|
//! | `snapshot.json` | version and [`SessionSnapshot`] |
//! | `session` | the state of the hibernated session; missing when the session has run no code |
//! | `images/NAME.image` | the image that the state is based on, if the cache has it |
//!
//! The file may be a stranger's. It is read in order and without the archive's directory, at most `MAX_ENTRIES` entries,
//! each up to a bound; an image is taken only if it is the one that `session` names, and the session alone uses it.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use brumate_engine::client;
use brumate_session::CancellationToken;
use brumate_session::sessions::{LOCAL_PRINCIPAL, SessionError, SessionId, SessionSnapshot, Sessions, SnapshotFiles};
use serde::{Deserialize, Serialize};
use zip::read::{ZipFile, read_zipfile_from_stream};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::error::Error;

/// Version of the archive's format.
const FORMAT: u32 = 1;

/// Largest `snapshot.json`, in bytes.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// Largest `session`, in bytes: its payload and its header. It is not compressed a second time.
const MAX_SESSION_BYTES: u64 = (4 << 30) + (1 << 20);

/// Most bytes that one byte of a compressed entry unpacks to. Images of interpreters unpack to 3 to 20.
const MAX_RATIO: u64 = 100;

/// Bytes that a manifest may have, whatever it compresses to.
const SMALL_MANIFEST_BYTES: u64 = 1 << 20;

/// Most entries of a snapshot.
const MAX_ENTRIES: usize = 3;

const MANIFEST: &str = "snapshot.json";
const SESSION: &str = "session";
const IMAGES: &str = "images";
/// Name of the image in a working directory.
const IMAGE: &str = "image";

/// The content of `snapshot.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The version of Brumate that wrote it.
    brumate: String,
    session: SessionSnapshot,
}

/// The version of a manifest, which may have anything else.
#[derive(Debug, Deserialize)]
struct Format {
    format: u64,
}

/// Returns the files of a snapshot in a working directory.
fn files_in(directory: &Path) -> SnapshotFiles {
    SnapshotFiles { session: directory.join(SESSION), image: directory.join(IMAGE) }
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
    let files = files_in(directory.path());
    let session = sessions.snapshot(LOCAL_PRINCIPAL, id, &files, cancel).await?;
    let cache_dir = cache_dir.to_owned();
    blocking(move || {
        if session.has_file && !files.image.exists() {
            client::copy_image(&files.session, &cache_dir, &files.image)
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
    let unpacking = move || unpack(&from, &parts, &cache_dir).map_err(|error| failed(&from, error));
    let manifest = blocking(unpacking).await?;
    let files = files_in(directory.path());
    Ok(sessions.restore_snapshot(LOCAL_PRINCIPAL, manifest.session, &files, cancel).await?)
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
    // A reader bounds what this entry unpacks to by its compressed size, and texts of cells may compress well.
    archive.start_file(MANIFEST, options.compression_method(CompressionMethod::Stored))?;
    archive.write_all(&serde_json::to_vec(manifest)?)?;
    if manifest.session.has_file {
        // The state is compressed already.
        archive.start_file(SESSION, options.compression_method(CompressionMethod::Stored))?;
        io::copy(&mut File::open(directory.join(SESSION))?, &mut archive)?;
        if let Ok(mut image) = File::open(directory.join(IMAGE)) {
            // The name was the image's key. Readers of this format want the form of one and look at the content.
            archive.start_file(format!("{IMAGES}/{}.image", "0".repeat(64)), options)?;
            io::copy(&mut image, &mut archive)?;
        }
    }
    let target = archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    target.as_file().sync_all()?;
    target.persist(to).map(drop).map_err(|error| error.error)
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Extracts the parts of an archive to `directory`.
fn unpack(from: &Path, directory: &Path, cache_dir: &Path) -> io::Result<Manifest> {
    let no_snapshot = |_| invalid("it is not a snapshot of a session");
    let files = files_in(directory);
    let file = File::open(from)?;
    let length = file.metadata()?.len();
    let mut stream = BufReader::new(file);
    let mut manifest = None;
    for number in 0.. {
        let Some(entry) = read_zipfile_from_stream(&mut stream).map_err(no_snapshot)? else { break };
        if number >= MAX_ENTRIES {
            return Err(invalid("it has more entries than a snapshot"));
        }
        let name = entry.name().map_err(no_snapshot)?.into_owned();
        match (&manifest, name.strip_prefix("images/")) {
            (None, _) if name == MANIFEST => manifest = Some(read_manifest(entry, length)?),
            (None, _) => return Err(invalid("it is not a snapshot of a session")),
            (Some(_), None) if name == SESSION => take_session(entry, &files.session)?,
            (Some(_), Some(image)) if is_image(image) && files.session.exists() => {
                take_image(entry, length, &files, cache_dir)?;
            }
            _ => return Err(invalid("it has an entry that does not belong to a snapshot")),
        }
    }
    let manifest = manifest.ok_or_else(|| invalid("it is not a snapshot of a session"))?;
    if manifest.session.has_file && !files.session.exists() {
        return Err(invalid("the entry `session` is missing"));
    }
    Ok(manifest)
}

/// Reads `snapshot.json`. `length`: bytes of the archive.
fn read_manifest(entry: ZipFile<'_, impl Read>, length: u64) -> io::Result<Manifest> {
    let compressed = entry.compressed_size().min(length);
    let bound = compressed.saturating_mul(MAX_RATIO).clamp(SMALL_MANIFEST_BYTES, MAX_MANIFEST_BYTES);
    let mut text = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "at most `MAX_MANIFEST_BYTES`")]
    entry.take(bound + 1).read_to_end(&mut text)?;
    if text.len() as u64 > bound {
        return Err(invalid("its entry `snapshot.json` is too large"));
    }
    // The rest is not kept: it may be anything.
    match serde_json::from_slice::<Format>(&text) {
        Ok(Format { format }) if format == u64::from(FORMAT) => Ok(serde_json::from_slice(&text)?),
        Ok(_) => Err(invalid("the snapshot is from a newer version of Brumate; update Brumate to restore it")),
        Err(_) => Err(invalid("it is not a snapshot of a session")),
    }
}

/// Extracts `session`. It is stored as it is, so it takes no more space than it takes in the archive.
fn take_session(entry: ZipFile<'_, impl Read>, to: &Path) -> io::Result<()> {
    if entry.compression() != CompressionMethod::Stored {
        return Err(invalid("its entry `session` is compressed"));
    }
    let size = entry.size();
    if size > MAX_SESSION_BYTES {
        return Err(invalid("its entry `session` is too large"));
    }
    match io::copy(&mut entry.take(size), &mut File::create_new(to)?)? {
        copied if copied == size => Ok(()),
        _ => Err(invalid("its entry `session` is truncated")),
    }
}

/// Extracts the image, unless the cache has the same one, or this version cannot load it. `length`: bytes of the archive.
fn take_image(
    mut entry: ZipFile<'_, impl Read>,
    length: u64,
    files: &SnapshotFiles,
    cache_dir: &Path,
) -> io::Result<()> {
    let compressed = entry.compressed_size().min(length);
    if entry.size() > client::MAX_IMAGE_BYTES || entry.size() > compressed.saturating_mul(MAX_RATIO) {
        return Err(invalid("the image in it is too large for its compressed size"));
    }
    if client::has_base(&files.session, cache_dir).map_err(refused)? {
        return Ok(());
    }
    let size = entry.size();
    match client::take_image(&files.session, (&mut entry).take(size), &files.image) {
        // Whether the session can do without it is checked before it is restored.
        Err(client::EngineError::Outdated(_)) => Ok(()),
        taken => taken.map_err(refused),
    }
}

/// Returns the error for a part that the engine refuses.
fn refused(error: client::EngineError) -> io::Error {
    match error {
        client::EngineError::Io(error) => io::Error::new(error.kind(), error),
        error => invalid(&error.to_string()),
    }
}

/// Returns whether `name` is a valid name of an image in a snapshot.
fn is_image(name: &str) -> bool {
    let digits = name.strip_suffix(".image");
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Name of an entry that becomes a second [`MANIFEST`].
    const TWIN: &str = "snapshot.twin";

    fn manifest() -> Manifest {
        let session = SessionSnapshot {
            has_file: true,
            executions: 3,
            files: BTreeMap::default(),
            packages: Vec::new(),
            cells: Vec::new(),
        };
        Manifest { format: FORMAT, brumate: "0.1.0".to_owned(), session }
    }

    /// Returns the error of unpacking an archive of these entries; `true`: compressed.
    fn refused(entries: &[(&str, &[u8], bool)]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.brumate");
        let mut archive = ZipWriter::new(File::create(&file).unwrap());
        for (name, content, compressed) in entries {
            let method = if *compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
            archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap();
        // The writer refuses a name that is there already.
        let bytes = std::fs::read(&file).unwrap();
        let twice = bytes.windows(TWIN.len()).enumerate().filter(|(_, name)| *name == TWIN.as_bytes());
        let places: Vec<usize> = twice.map(|(place, _)| place).collect();
        let mut bytes = bytes.clone();
        for place in places {
            bytes[place..place + TWIN.len()].copy_from_slice(MANIFEST.as_bytes());
        }
        std::fs::write(&file, bytes).unwrap();
        let parts = tempfile::tempdir().unwrap();
        let error = unpack(&file, parts.path(), directory.path()).unwrap_err().to_string();
        let unpacked: u64 =
            std::fs::read_dir(parts.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(unpacked < 1 << 20, "{unpacked} bytes were unpacked: {error}");
        error
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(source.path().join(SESSION), "state").unwrap();
        let file = source.path().join("x.brumate");
        pack(source.path(), &manifest(), &file).unwrap();
        let unpacked = unpack(&file, target.path(), source.path()).unwrap();
        assert_eq!(unpacked.session, manifest().session);
        assert_eq!(std::fs::read(target.path().join(SESSION)).unwrap(), b"state");
        assert!(!target.path().join(IMAGE).exists());
    }

    #[test]
    fn other_archives_are_refused() {
        let good = serde_json::to_vec(&manifest()).unwrap();
        assert_eq!(refused(&[("README", b"", true)]), "it is not a snapshot of a session");
        assert_eq!(refused(&[(MANIFEST, b"{}", true)]), "it is not a snapshot of a session");
        assert_eq!(
            refused(&[(MANIFEST, b"{\"format\": 2}", true)]),
            "the snapshot is from a newer version of Brumate; update Brumate to restore it"
        );
        assert_eq!(refused(&[(MANIFEST, &good, true)]), "the entry `session` is missing");
        let image = format!("images/{}.image", "a5".repeat(32));
        for name in ["images/../x.image", "images/x.image", "../session", "other", TWIN, &image] {
            assert_eq!(
                refused(&[(MANIFEST, &good, true), (name, b"", false)]),
                "it has an entry that does not belong to a snapshot",
                "{name}"
            );
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.brumate");
        std::fs::write(&file, "no archive").unwrap();
        assert!(unpack(&file, directory.path(), directory.path()).unwrap_err().to_string().contains("not a snapshot"));
    }

    #[test]
    fn bombs_are_refused_before_they_unpack() {
        let good = serde_json::to_vec(&manifest()).unwrap();
        let zeros = vec![0; 64 << 20];
        let image = format!("images/{}.image", "a5".repeat(32));
        assert_eq!(refused(&[(MANIFEST, &good, true), (SESSION, &zeros, true)]), "its entry `session` is compressed");
        assert_eq!(
            refused(&[(MANIFEST, &good, true), (SESSION, b"state", false), (&image, &zeros, true)]),
            "the image in it is too large for its compressed size"
        );
        // Sizes in the archive's headers are not believed, and a manifest ends at its bound.
        for (bytes, compressed) in [(64 << 20, true), (2 << 20, true), (17 << 20, false)] {
            assert_eq!(
                refused(&[(MANIFEST, &zeros[..bytes], compressed)]),
                "its entry `snapshot.json` is too large",
                "{bytes}"
            );
        }
        // A small manifest, or one that compresses little, is read and not kept.
        let list = [b"[", &b"0,".repeat(1 << 18)[..], b"0]"].concat();
        assert_eq!(refused(&[(MANIFEST, &list, true)]), "it is not a snapshot of a session");
    }
}
