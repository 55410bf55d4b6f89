//! The record of a configuration file, with which taking an entry out restores the file.
//!
//! A record is a file in the state directory. It has what cannot be read from the configuration file itself: the entry that was replaced,
//! and which parts of the file Brumate has made.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::InstallError;
use crate::file::write_whole;

/// Largest record, in bytes.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// Longest wait for another Brumate that changes the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The record of one file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The configuration file, for people who read the record.
    pub(crate) file: PathBuf,
    /// Parts of the file that Brumate has made besides entries.
    pub(crate) made: Made,
    /// Brumate's entries by their names.
    pub(crate) entries: BTreeMap<String, Installed>,
}

/// The parts of a file that Brumate has made.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    /// The file did not exist.
    pub(crate) file: bool,
    /// The file had no value.
    pub(crate) root: Option<MadeRoot>,
    /// The root object was empty, with this white space before its closing brace.
    pub(crate) root_rest: Option<String>,
    /// The key of the servers did not exist.
    pub(crate) key: bool,
    /// The object of the servers was empty, with this white space before its closing brace.
    pub(crate) key_rest: Option<String>,
}

/// A root object that Brumate has made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeRoot {
    /// Text that was put before it.
    pub(crate) before: String,
    /// Text that was put behind it.
    pub(crate) behind: String,
    /// The white space that it has replaced.
    pub(crate) blank: String,
}

/// An entry of Brumate's.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installed {
    /// Its command.
    pub(crate) command: String,
    /// Server that the entry starts. Records of earlier versions have none.
    #[serde(default)]
    pub(crate) server: Option<String>,
    /// The text of the value that was there before.
    pub(crate) replaced: Option<String>,
}

/// The place of a file's record.
#[derive(Debug, Clone)]
pub(crate) struct RecordFile {
    directory: PathBuf,
    name: String,
    file: PathBuf,
}

impl RecordFile {
    /// Returns the place for a configuration file without symbolic links in its path.
    pub(crate) fn new(state: &Path, file: &Path) -> RecordFile {
        use std::os::unix::ffi::OsStrExt as _;
        let digest = Sha256::digest(file.as_os_str().as_bytes());
        let name = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        RecordFile { directory: state.to_owned(), name, file: file.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.name))
    }

    /// Waits until no other Brumate changes the file. The lock is held until the returned file is closed. The state directory is made.
    pub(crate) fn lock(&self) -> Result<File, InstallError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.map_err(InstallError::io("make the directory", &self.directory))?;
        let path = self.directory.join(format!("{}.lock", self.name));
        let opened = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = opened.map_err(InstallError::io("open", &path))?;
        let end = Instant::now() + LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                Err(TryLockError::WouldBlock) => return Err(InstallError::Busy { file: self.file.clone() }),
                Err(TryLockError::Error(error)) => return Err(InstallError::io("lock", &path)(error)),
            }
        }
    }

    /// Reads the record. Without one it returns an empty record.
    pub(crate) fn load(&self) -> Result<Record, InstallError> {
        let path = self.path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Record { file: self.file.clone(), ..Record::default() });
            }
            Err(error) => return Err(InstallError::io("open", &path)(error)),
        };
        let mut bytes = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "at most MAX_RECORD_BYTES")]
        let read = file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes);
        read.map_err(InstallError::io("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|_| InstallError::Record { file: path })
    }

    /// Writes the record for its owner alone, or removes it if it has no entries.
    pub(crate) fn save(&self, record: &Record) -> Result<(), InstallError> {
        let path = self.path();
        if record.entries.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(InstallError::io("remove", &path)(error))
                }
                _ => Ok(()),
            };
        }
        let bytes = serde_json::to_vec_pretty(record).map_err(|_| InstallError::Record { file: path.clone() })?;
        let temporary = write_whole(&self.directory, &bytes)?;
        temporary.persist(&path).map_err(|error| InstallError::io("write", &path)(error.error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn record(file: &RecordFile) -> Record {
        let mut record = file.load().expect("nothing there yet");
        let (command, replaced) = ("brumate".to_owned(), Some("{\"env\": {}}".to_owned()));
        let installed = Installed { command, server: Some("/s.py".to_owned()), replaced };
        record.entries.insert("a".to_owned(), installed);
        record
    }

    #[test]
    fn it_is_kept_for_its_owner_and_goes_with_its_last_entry() {
        let state = tempfile::tempdir().expect("made");
        let file = RecordFile::new(&state.path().join("deep/er"), Path::new("/home/ada/.claude.json"));
        let lock = file.lock().expect("free");
        let mut record = record(&file);
        file.save(&record).expect("written");
        assert!(file.load().expect("read") == record);
        let mode = fs::metadata(file.path()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it may hold the variables of an entry");
        record.entries.clear();
        file.save(&record).expect("removed");
        assert!(!file.path().exists());
        file.save(&record).expect("removed already");
        drop(lock);
    }

    #[test]
    fn a_damaged_one_is_reported_and_not_overwritten() {
        let state = tempfile::tempdir().expect("made");
        let file = RecordFile::new(state.path(), Path::new("/f"));
        fs::write(file.path(), "{ secret").expect("written");
        let Err(error) = file.load() else { panic!("it is damaged") };
        assert!(error.to_string().contains("is damaged. Remove it"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn a_record_of_an_older_version_is_read() {
        let state = tempfile::tempdir().expect("made");
        let file = RecordFile::new(state.path(), Path::new("/f"));
        let old = r#"{"file": "/f", "made": {"file": false, "root": null, "root_rest": null, "key": false, "key_rest": null},
            "entries": {"a": {"command": "brumate", "replaced": null}}}"#;
        fs::write(file.path(), old).expect("written");
        assert!(file.load().expect("read").entries["a"].server.is_none());
    }

    #[test]
    fn files_do_not_share_a_record() {
        let state = Path::new("/state");
        assert_ne!(RecordFile::new(state, Path::new("/a")).path(), RecordFile::new(state, Path::new("/b")).path());
    }
}
