//! Backups of a data directory, also while a server uses it, and their restoration.
//!
//! A backup is a directory of the same form. The files of sessions are immutable: each holds one generation of a
//! state, and the server replaces it by another file. A backup first copies the registry at one moment, then the files
//! that it names. If the server has replaced a file meanwhile, the backup takes the registry's present record of that
//! session as well, so each session is consistent. A server writes its live sessions when the backup asks it to.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::Sessions;
use super::directory::{DataDir, DataDirError, private_file};
use super::examine::used_by;
use super::lease::flush_all;
use super::record::{SessionRecord, SessionState};
use super::registry::Registry;

/// Attempts to copy the file of a session that its server keeps replacing.
const ATTEMPTS: usize = 100;
/// Longest time that servers may take to write their live sessions.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);
/// Reason for a session that is lost in a backup, because it was running code.
const WAS_AWAKE: &str = "it was running code when the backup was made";

/// Contents of a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// Number of sessions.
    pub sessions: usize,
    /// Sessions without their state, because they were running code.
    pub without_state: usize,
    /// Bytes of all session files.
    pub bytes: u64,
    /// Session files.
    pub files: Vec<PathBuf>,
}

impl Sessions {
    /// Copies a data directory to the directory `to`, which must not exist or be empty. Waits for servers that use the
    /// data directory to write their live sessions. Until the backup is complete, the directory has `.partial` at the
    /// end of its name.
    ///
    /// # Errors
    ///
    /// [`DataDirError`] of either directory. A failed backup leaves nothing behind.
    pub fn backup(data_dir: &Path, to: &Path) -> Result<Backup, DataDirError> {
        let source =
            DataDir::open_read_only(data_dir).ok_or_else(|| DataDirError::Nothing { path: data_dir.to_owned() })?;
        DataDir::check_empty(to)?;
        let mut name = to.as_os_str().to_owned();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let target = DataDir::lock_empty(&partial)?;
        let failed = |source: io::Error| DataDirError::Io { path: to.to_owned(), source };
        let made = copy_all(&source, &target).and_then(|backup| {
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
        let records = Registry::check(&source)?;
        let target = DataDir::lock(data_dir)?;
        if DataDir::open_read_only(data_dir).is_some() && !Registry::read(&target)?.is_empty() {
            return Err(DataDirError::NotEmpty { path: data_dir.to_owned() });
        }
        let failed = |source: io::Error| DataDirError::Io { path: data_dir.to_owned(), source };
        for name in needed_files(&source, &records, false) {
            // A missing file is reported when its session is used.
            copy(&source, &target, &name).map_err(failed)?;
        }
        // Copied last: the files that it names exist by then.
        target.remove_registry().map_err(failed)?;
        Registry::copy(&source, &target.registry())?;
        mark_lost(&target, records)
    }

    /// Returns where the image that comes with the session hibernated in `file` belongs; `None` for another file.
    pub fn private_image_of(file: &Path) -> Option<PathBuf> {
        let id = DataDir::session_of(file.file_name()?.to_str()?)?;
        Some(file.with_file_name(DataDir::private_image_name(&id)))
    }

    /// Writes the sessions that are live and idle.
    pub(super) async fn write_idle(&self) {
        let slots: Vec<_> = self.slots().values().filter(|slot| slot.has_lease()).cloned().collect();
        for slot in slots {
            let Some(guard) = slot.try_lock() else { continue };
            if let Err(error) = self.write_if_live(&slot, &guard).await {
                tracing::warn!(session = ?slot.record().id, %error, "a session is missing in a backup");
            }
        }
    }
}

/// Makes `target` a backup of `source`.
fn copy_all(source: &DataDir, target: &DataDir) -> Result<Backup, DataDirError> {
    let in_use = used_by(source.root()).is_some();
    if in_use {
        let failed = |error| DataDirError::Io { path: source.root().to_owned(), source: error };
        flush_all(&source.servers(), FLUSH_TIMEOUT).map_err(failed)?;
    }
    Registry::copy(source, &target.registry())?;
    let mut records = Vec::new();
    for record in Registry::read(target)? {
        records.extend(copy_session(source, target, record, in_use)?);
    }
    let named: HashSet<String> = needed_files(target, &records, false).into_iter().collect();
    let cleaned = target.clean(|name| named.contains(name));
    cleaned.map_err(|source| DataDirError::Io { path: target.root().to_owned(), source })?;
    mark_lost(target, records)
}

/// Copies the files of a session. If the server has replaced them, copies the new ones and updates the copied
/// registry. `None` if the session was removed meanwhile.
fn copy_session(
    source: &DataDir,
    target: &DataDir,
    record: SessionRecord,
    in_use: bool,
) -> Result<Option<SessionRecord>, DataDirError> {
    let failed = |source: io::Error| DataDirError::Io { path: target.root().to_owned(), source };
    let mut present = record.clone();
    for _ in 0..ATTEMPTS {
        let mut whole = true;
        for name in needed_files(source, std::slice::from_ref(&present), in_use) {
            whole &= copy(source, target, &name).map_err(failed)?;
        }
        if whole || record.state == SessionState::Lost {
            if present != record {
                Registry::replace(target, &present)?;
            }
            return Ok(Some(present));
        }
        let found = Registry::read(source)?.into_iter().find(|found| found.id == record.id);
        match found {
            Some(found) if found == present => {
                // The file is missing for good, which is reported when the session is used.
                return Ok(Some(present));
            }
            Some(found) => present = found,
            None => {
                Registry::forget(target, &record.id)?;
                return Ok(None);
            }
        }
    }
    Err(failed(io::Error::other("the server replaces the file of a session faster than it is copied")))
}

/// Lists the files that hold the state of sessions. A live server still writes crash snapshots; a killed one has left them complete.
fn session_files(directory: &DataDir, records: &[SessionRecord], in_use: bool) -> Vec<String> {
    let mut names = Vec::new();
    for record in records {
        match &record.image {
            Some(image) => names.push(image.name.clone()),
            None if !in_use && record.state == SessionState::Live => {
                names.extend(directory.crash_snapshot_files(&record.id))
            }
            None => {}
        }
    }
    names
}

/// Lists the files of [`session_files`], and the images that came with these sessions.
fn needed_files(directory: &DataDir, records: &[SessionRecord], in_use: bool) -> Vec<String> {
    let with_images = records.iter().filter(|record| directory.existing_private_image(&record.id).is_some());
    let images: Vec<String> = with_images.map(|record| DataDir::private_image_name(&record.id)).collect();
    let mut names = session_files(directory, records, in_use);
    names.extend(images);
    names
}

/// Copies a session file and syncs it to disk; false if the file does not exist any more. A link is not followed: a
/// backup may be somebody else's.
fn copy(from: &DataDir, to: &DataDir, name: &str) -> io::Result<bool> {
    let target = to.image(name);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut source = match rustix::fs::open(from.image(name), flags, Mode::empty()) {
        Ok(source) => File::from(source),
        Err(rustix::io::Errno::NOENT) => {
            let _ = std::fs::remove_file(&target);
            return Ok(false);
        }
        Err(errno) => return Err(errno.into()),
    };
    if !source.metadata()?.is_file() {
        return Err(io::Error::other(format!("{} is not a regular file", from.image(name).display())));
    }
    let mut copied = private_file(&target)?;
    copied.set_len(0)?;
    io::copy(&mut source, &mut copied)?;
    copied.sync_all()?;
    Ok(true)
}

/// Marks sessions without their state as lost in the registry, and counts.
fn mark_lost(target: &DataDir, records: Vec<SessionRecord>) -> Result<Backup, DataDirError> {
    let mut backup = Backup { sessions: records.len(), ..Backup::default() };
    let mut lost = Vec::new();
    for record in records {
        let files = session_files(target, std::slice::from_ref(&record), false);
        let there: Vec<PathBuf> = files.iter().map(|name| target.image(name)).filter(|path| path.is_file()).collect();
        let bytes = there.iter().filter_map(|path| Some(std::fs::metadata(path).ok()?.len()));
        backup.bytes = backup.bytes.saturating_add(bytes.sum());
        backup.files.extend(there);
        if record.state == SessionState::Live && files.is_empty() {
            lost.push(record.id);
        }
    }
    backup.without_state = lost.len();
    Registry::lose(target, &lost, WAS_AWAKE)?;
    let failed = |source| DataDirError::Io { path: target.root().to_owned(), source };
    target.sync().map_err(failed)?;
    Ok(backup)
}
