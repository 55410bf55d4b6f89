//! Backups of a data directory, also while servers use it, and their restoration.
//!
//! A backup is a directory of the same form. It first copies the registry at one moment. Then it freezes each session
//! that the registry names: the session's server waits for the end of the call that uses the session, and writes it.
//! While it is frozen, the backup reads its present record and opens its files, so each session is consistent. The files
//! are immutable: they are copied after the session goes on.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::{StreamExt as _, TryFutureExt as _, TryStreamExt as _};
use rustix::fs::{FlockOperation, Mode, OFlags};
use tokio::time::timeout;

use super::Sessions;
use super::directory::{DataDir, DataDirError, lock_file, private_file};
use super::error::duration_in_words;
use super::id::SessionId;
use super::lease::{FrozenElsewhere, LeaseRequestError, freeze};
use super::ownership::refusal;
use super::record::{SessionRecord, SessionState};
use super::registry::SqliteRegistry;

/// Longest time that a backup waits for the calls that use a session.
pub const BACKUP_TIMEOUT: Duration = Duration::from_secs(60);
/// Sessions that are frozen and copied at the same time.
const COPIED_AT_ONCE: usize = 64;
/// Attempts to copy the file of a session that is not frozen and whose server replaces it.
const ATTEMPTS: usize = 10;
/// Time between two looks at the processes of a killed server, which still write a crash snapshot.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Contents of a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// Number of sessions with their state.
    pub sessions: usize,
    /// Sessions whose state is not in the backup.
    pub left_out: Vec<LeftOut>,
    /// Bytes of all session files.
    pub bytes: u64,
    /// Session files.
    pub files: Vec<PathBuf>,
}

/// Session whose state is not in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Id of the session.
    pub id: SessionId,
    /// Reason, for the user.
    pub reason: String,
}

impl Sessions {
    /// Copies a data directory to the directory `to`, which must not exist or be empty. Waits at most `wait` for
    /// the calls that use a session. A session that is still busy then is left out, unless its last answered state is in a
    /// file. Until the backup is complete, the directory has `.partial` at the end of its name.
    ///
    /// # Errors
    ///
    /// [`DataDirError`] of either directory. A failed backup leaves nothing behind.
    pub async fn backup(data_dir: &Path, to: &Path, wait: Duration) -> Result<Backup, DataDirError> {
        let source =
            DataDir::open_read_only(data_dir).ok_or_else(|| DataDirError::Nothing { path: data_dir.to_owned() })?;
        DataDir::check_empty(to)?;
        let mut name = to.as_os_str().to_owned();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let target = DataDir::lock_empty(&partial)?;
        let failed = |source: io::Error| DataDirError::Io { path: to.to_owned(), source };
        let made = copy_all(&source, &target, wait).await.and_then(|backup| {
            std::fs::rename(&partial, to).map_err(failed)?;
            let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
            let moved = |file: PathBuf| file.strip_prefix(&partial).map_or(file.clone(), |file| to.join(file));
            Ok(Backup { files: backup.files.into_iter().map(moved).collect(), ..backup })
        });
        if made.is_err() && partial.exists() {
            // The first error counts.
            let _ = std::fs::remove_dir_all(&partial);
        }
        made
    }

    /// Copies a backup into a data directory that has no sessions.
    ///
    /// # Errors
    ///
    /// [`DataDirError`], also when a server uses the directory or it has sessions.
    pub fn restore_backup(from: &Path, data_dir: &Path) -> Result<Backup, DataDirError> {
        let source = DataDir::open_read_only(from).ok_or_else(|| DataDirError::Nothing { path: from.to_owned() })?;
        let records = SqliteRegistry::check(&source)?;
        let target = DataDir::lock(data_dir)?;
        if DataDir::open_read_only(data_dir).is_some() && !SqliteRegistry::read(&target)?.is_empty() {
            return Err(DataDirError::NotEmpty { path: data_dir.to_owned() });
        }
        let failed = |source: io::Error| DataDirError::Io { path: data_dir.to_owned(), source };
        for name in needed_files(&source, &records) {
            match open(&source, &name).and_then(|file| copy(&file, &target, &name)) {
                // A missing file is reported when its session is used.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => copied.map_err(failed)?,
            }
        }
        // Copied last: the files that it names exist by then.
        target.remove_registry().map_err(failed)?;
        SqliteRegistry::copy(&source, &target.registry())?;
        finish(&target, &records, Vec::new())
    }

    /// Returns the session that is hibernated in `file`, and where the image that comes with it belongs; `None` for another
    /// file.
    pub fn private_image_of(file: &Path) -> Option<(SessionId, PathBuf)> {
        let id = DataDir::session_of(file.file_name()?.to_str()?)?;
        let image = file.with_file_name(DataDir::private_image_name(&id));
        Some((id, image))
    }
}

/// Makes `target` a backup of `source`.
async fn copy_all(source: &DataDir, target: &DataDir, wait: Duration) -> Result<Backup, DataDirError> {
    SqliteRegistry::copy(source, &target.registry())?;
    let records = SqliteRegistry::read(target)?;
    let mut copying = Vec::with_capacity(records.len());
    for (number, record) in records.iter().enumerate() {
        copying.push(copy_session(source, target, &record.id, wait).map_ok(move |copied| (number, copied)));
    }
    // Unordered: a busy session holds up no other.
    let copies = futures::stream::iter(copying).buffer_unordered(COPIED_AT_ONCE);
    let mut copies: Vec<(usize, Copied)> = copies.try_collect().await?;
    copies.sort_unstable_by_key(|(number, _)| *number);
    let (mut present, mut left_out) = (Vec::new(), Vec::new());
    for (record, (_, copied)) in records.into_iter().zip(copies) {
        match copied {
            Copied::Removed => SqliteRegistry::forget(target, &record.id)?,
            Copied::LeftOut(reason) => {
                let mut lost = record.clone();
                lost.lose(&format!("it is not in the backup: {reason}"));
                lost.file = None;
                SqliteRegistry::replace(target, &lost)?;
                left_out.push(LeftOut { id: record.id, reason });
            }
            Copied::Whole(copied) => {
                if *copied != record {
                    SqliteRegistry::replace(target, &copied)?;
                }
                present.push(*copied);
            }
        }
    }
    let named: HashSet<String> = needed_files(target, &present).into_iter().collect();
    let cleaned = target.clean(|name| named.contains(name));
    cleaned.map_err(|source| DataDirError::Io { path: target.root().to_owned(), source })?;
    finish(target, &present, left_out)
}

/// Result of copying a session.
enum Copied {
    /// The session's files are in the backup. Its record may be newer than the copied registry's.
    Whole(Box<SessionRecord>),
    /// The session was removed meanwhile.
    Removed,
    /// The session's state could not be copied; the reason for the user.
    LeftOut(String),
}

/// Copies the files of a session in a consistent state. Waits at most `wait` for each of those that change it.
async fn copy_session(
    source: &DataDir,
    target: &DataDir,
    id: &SessionId,
    wait: Duration,
) -> Result<Copied, DataDirError> {
    let (frozen, mut reason) = match timeout(wait, freeze(source, id)).await {
        Ok(Ok(frozen)) => (Some(frozen), "its server went on with it".to_owned()),
        Ok(Err(error)) => (None, reason_of(error)),
        Err(_) => {
            let wait = duration_in_words(wait);
            (None, format!("a call on it was still running after {wait}; make a backup when it has ended"))
        }
    };
    // A server ends a freeze that takes too long.
    let mut is_still = matches!(frozen, Some(FrozenElsewhere::Unowned(_)));
    if is_still && timeout(wait, await_crash_snapshot(source, id)).await.is_err() {
        is_still = false;
        "processes of its ended server still write it".clone_into(&mut reason);
    }
    for _ in 0..ATTEMPTS {
        let Some(present) = SqliteRegistry::read_one(source, id)? else { return Ok(Copied::Removed) };
        let has_state = match present.state {
            SessionState::Fresh | SessionState::Lost => true,
            SessionState::Live | SessionState::Hibernated => present.current_file().is_some(),
        };
        // While it may change, only a file of the last answered state is consistent.
        if !is_still && !has_state {
            return Ok(Copied::LeftOut(reason));
        }
        let opened: io::Result<Vec<(String, File)>> = needed_files(source, std::slice::from_ref(&present))
            .into_iter()
            .map(|name| open(source, &name).map(|file| (name, file)))
            .collect();
        let files = match opened {
            Ok(files) => files,
            // The file is missing for good, which is reported when the session is used.
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_still => Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(DataDirError::Io { path: source.root().to_owned(), source: error }),
        };
        // The session goes on while its files are copied.
        drop(frozen);
        for (name, file) in files {
            let place = DataDir::at(target.root(), None);
            let copied = tokio::task::spawn_blocking(move || copy(&file, &place, &name)).await;
            let copied = copied.unwrap_or_else(|error| Err(io::Error::other(error)));
            copied.map_err(|source| DataDirError::Io { path: target.root().to_owned(), source })?;
        }
        return Ok(Copied::Whole(Box::new(present)));
    }
    Ok(Copied::LeftOut(reason))
}

/// Returns why a session's server has not frozen it.
fn reason_of(error: LeaseRequestError) -> String {
    match refusal(error) {
        (Some(process), reason) => format!("its server (process {process}): {reason}"),
        (None, reason) => reason,
    }
}

/// Waits until the processes of a killed server have written a session's crash snapshot. They end by themselves.
async fn await_crash_snapshot(directory: &DataDir, id: &SessionId) {
    let Ok(first) = File::open(directory.file(&format!("{}.will-0", DataDir::crash_snapshot_name(id)))) else {
        return;
    };
    while let Ok(false) = lock_file(&first, FlockOperation::NonBlockingLockShared) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Lists the files that records need: states, and images that came with sessions. A server that was killed has left crash
/// snapshots.
fn needed_files(directory: &DataDir, records: &[SessionRecord]) -> Vec<String> {
    let mut names = Vec::new();
    for record in records {
        match &record.file {
            Some(file) => names.push(file.name.clone()),
            None if record.state == SessionState::Live => names.extend(directory.crash_snapshot_files(&record.id)),
            None => {}
        }
        if directory.existing_private_image(&record.id).is_some() {
            names.push(DataDir::private_image_name(&record.id));
        }
    }
    names
}

/// Opens a session file. A link is not followed: a backup may be somebody else's.
fn open(directory: &DataDir, name: &str) -> io::Result<File> {
    let path = directory.file(name);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other(format!("{} is not a regular file", path.display())))
}

/// Copies a session file and syncs it to disk.
fn copy(mut from: &File, to: &DataDir, name: &str) -> io::Result<()> {
    let mut target = private_file(&to.file(name))?;
    target.set_len(0)?;
    io::copy(&mut from, &mut target)?;
    target.sync_all()
}

/// Syncs a finished copy to disk, and counts.
fn finish(target: &DataDir, records: &[SessionRecord], left_out: Vec<LeftOut>) -> Result<Backup, DataDirError> {
    let mut backup = Backup { sessions: records.len(), left_out, ..Backup::default() };
    for name in needed_files(target, records) {
        let path = target.file(&name);
        if let Ok(found) = std::fs::metadata(&path) {
            backup.bytes = backup.bytes.saturating_add(found.len());
            backup.files.push(path);
        }
    }
    let failed = |source| DataDirError::Io { path: target.root().to_owned(), source };
    target.sync().map_err(failed)?;
    Ok(backup)
}
