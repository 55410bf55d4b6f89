//! Crash snapshots: the files with which sessions survive the end of their server.
//!
//! While a session lives, three files are beside the file `path` in which it is hibernated: `path.will` with the
//! server's header, and `path.will-0` and `path.will-1`, to which the session's processes have descriptors. The machine
//! writes to one, its checkpoint to the other (see the worker's half). The first is locked while any process has it
//! open. A process that gets the lock is sure that no other process writes any more.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use super::session_file::{self, Header, copy_checked, look, trailer};
use super::temporary;
use crate::api::EngineError;
use crate::image::sealed::Trailer;
use brumate_jail::CRASH_SNAPSHOT_TIME;

/// How long to wait for the processes of a server that has disconnected. They end after their own time limit; the rest is for
/// the kernel.
const OWNER_TIMEOUT: Duration = Duration::from_secs(CRASH_SNAPSHOT_TIME.as_secs() + 15);

/// How often to check whether they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The files of a live session. Removed when dropped: a session that its server ends leaves no crash snapshot.
#[derive(Debug)]
pub(super) struct CrashSnapshotFiles {
    pub(super) path: PathBuf,
    pub(super) slots: [File; 2],
}

impl Drop for CrashSnapshotFiles {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Returns `path` with `suffix` added to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn header_path(path: &Path) -> PathBuf {
    beside(path, ".will")
}

fn slot_paths(path: &Path) -> [PathBuf; 2] {
    [beside(path, ".will-0"), beside(path, ".will-1")]
}

/// Removes a crash snapshot. A file that cannot be removed is overwritten by the next one.
fn remove(path: &Path) {
    let [first, second] = slot_paths(path);
    // The first file is removed last: it stays locked until then.
    for file in [header_path(path), second, first] {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %file.display(), "a crash snapshot cannot be removed");
            }
            _ => {}
        }
    }
}

/// Opens one of the files; never follows a link.
fn open(path: &Path, create: bool) -> io::Result<File> {
    let flags = if create { OFlags::RDWR | OFlags::CREATE } else { OFlags::RDONLY };
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Locks the first file of a crash snapshot. Returns `false` if a process has it open, or if it has been removed
/// meanwhile.
fn lock(first: &File) -> io::Result<bool> {
    match flock(first, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(rustix::fs::fstat(first)?.st_nlink > 0),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Retries `work` while the crash snapshot is in use.
pub(super) async fn when_free<T: Send + 'static>(
    path: &Path,
    work: impl Fn(&Path) -> Result<Option<T>, EngineError> + Clone + Send + 'static,
) -> Result<T, EngineError> {
    let deadline = Instant::now() + OWNER_TIMEOUT;
    loop {
        let (path, work) = (path.to_owned(), work.clone());
        let tried = tokio::task::spawn_blocking(move || work(&path)).await;
        if let Some(done) = tried.map_err(io::Error::other)?? {
            return Ok(done);
        }
        if Instant::now() >= deadline {
            return Err(EngineError::Image("the session still runs".to_owned()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Creates the files of a session's crash snapshot, empty. `None` while another session uses them.
pub(super) fn create(path: &Path, header: &Header) -> Result<Option<CrashSnapshotFiles>, EngineError> {
    let [first, second] = slot_paths(path);
    let first = open(&first, true)?;
    if !lock(&first)? {
        return Ok(None);
    }
    let slots = [first, open(&second, true)?];
    // They are removed if something fails after this.
    let files = CrashSnapshotFiles { path: path.to_owned(), slots };
    for slot in &files.slots {
        slot.set_len(0)?;
    }
    put_header(path, header)?;
    Ok(Some(files))
}

fn put_header(path: &Path, header: &Header) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary::file(directory)?;
    file.write_all(&header.encode()?)?;
    file.persist(header_path(path)).map_err(|error| error.error)?;
    Ok(())
}

/// Replaces the header of a crash snapshot of this process.
///
/// # Errors
/// When the disk refuses.
pub(super) async fn write_header(path: PathBuf, header: Header) -> Result<(), EngineError> {
    let written = tokio::task::spawn_blocking(move || put_header(&path, &header)).await;
    Ok(written.map_err(io::Error::other)??)
}

/// Waits until the crash snapshot for `path` is written, if there is one, and replaces `path` with it if it is newer.
/// No crash snapshot is left then.
///
/// # Errors
/// If the session still runs, or the disk refuses; the crash snapshot stays then.
pub(super) async fn adopt(path: &Path) -> Result<(), EngineError> {
    when_free(path, try_adopt).await
}

fn try_adopt(path: &Path) -> Result<Option<()>, EngineError> {
    let mut header = match open(&header_path(path), false) {
        Ok(header) => header,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(())),
        Err(error) => return Err(error.into()),
    };
    let slots = slot_paths(path);
    let first = match open(&slots[0], false) {
        Ok(first) => first,
        // Another process is about to remove it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remove(path);
            return Ok(Some(()));
        }
        Err(error) => return Err(error.into()),
    };
    if !lock(&first)? {
        return Ok(None);
    }
    let header = Header::read(&mut header)?;
    if let Some((slot, written)) = newest(&slots) {
        let newer = match look(path) {
            Some((session, generation)) if session == header.session => written.generation > generation,
            // The file is damaged, or of a session that was there before.
            _ => true,
        };
        if newer {
            let mut file = open(slot, false)?;
            session_file::complete(path, &header, &mut io::Read::take(&mut file, written.payload), written.generation)?;
        }
    }
    remove(path);
    Ok(Some(()))
}

/// Returns the newer one of the complete crash snapshots.
fn newest(slots: &[PathBuf; 2]) -> Option<(&Path, Trailer)> {
    let whole = |path: &Path| {
        let mut file = open(path, false).ok()?;
        let trailer = trailer(&mut file, 0).ok()?;
        copy_checked(&mut file, &trailer, BufWriter::new(io::sink())).ok()?;
        Some(trailer)
    };
    let found = slots.iter().filter_map(|path| Some((path.as_path(), whole(path)?)));
    found.max_by_key(|(_, trailer)| trailer.generation)
}

/// Removes a crash snapshot that no process writes: `path` has become another session, or a newer state.
pub(super) fn discard(path: &Path) {
    if let Ok(first) = open(&slot_paths(path)[0], false)
        && matches!(lock(&first), Ok(true))
    {
        remove(path);
    }
}

#[cfg(test)]
mod tests;
