//! Read-only examination of a data directory, with advice for each problem.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brumate_setting::Setting;
use rustix::fs::{Access, FlockOperation, access};

use super::Sessions;
use super::directory::{DataDir, lock_file, users};
use super::record::{SessionRecord, SessionState};
use super::registry::SqliteRegistry;

/// Damaged sessions that are named; further ones are counted.
const MAX_NAMED: usize = 20;

/// Result of an examination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Examination {
    /// Whether the directory exists.
    pub exists: bool,
    /// Processes that use it, as far as they are known; `None` if it is not in use.
    pub in_use: Option<Vec<u32>>,
    /// Number of sessions in the registry.
    pub sessions: usize,
    /// Number of lost sessions.
    pub lost: usize,
    /// Bytes of the files of hibernated sessions.
    pub bytes: u64,
    /// Problems.
    pub problems: Vec<DataDirProblem>,
}

/// Problem of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataDirProblem {
    /// Part that has the problem.
    pub subject: ProblemSubject,
    /// What is wrong, and what to do.
    pub text: String,
}

/// Fault of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFault {
    /// The file is damaged; how.
    Damaged(String),
    /// The file needs parts of another version of Brumate; which.
    Outdated(String),
}

/// Part of a data directory that a [`DataDirProblem`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemSubject {
    /// The directory.
    Directory,
    /// The registry.
    Registry,
    /// The file of a session.
    Session,
}

/// Checks a session's file, and the image that came with it.
pub type FileCheck<'a> = dyn Fn(&Path, Option<&Path>) -> Result<(), FileFault> + 'a;

impl Examination {
    fn problem(&mut self, subject: ProblemSubject, text: String) {
        self.problems.push(DataDirProblem { subject, text });
    }
}

impl Sessions {
    /// Examines a data directory, also while servers use it. Reads the file of every hibernated session, and
    /// the image that came with it, with `check`, which the engine provides.
    pub fn examine(data_dir: &Path, check: &FileCheck<'_>) -> Examination {
        let mut found = Examination::default();
        match std::fs::metadata(data_dir) {
            Ok(metadata) => {
                found.exists = true;
                examine_directory(data_dir, &metadata, &mut found);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                examine_place(data_dir, &mut found);
                return found;
            }
            Err(error) => {
                let text = format!("{} cannot be looked at: {error}; {}", data_dir.display(), choose_another());
                found.problem(ProblemSubject::Directory, text);
                return found;
            }
        }
        found.in_use = used_by(data_dir);
        let Some(directory) = DataDir::open_read_only(data_dir) else { return found };
        match SqliteRegistry::check(&directory) {
            Ok(records) => examine_sessions(&directory, &records, check, &mut found),
            Err(error) => {
                let path = directory.registry();
                let text = format!(
                    "{error}; stop the servers that use it, and restore {0} from a backup or move it away with its -wal and \
                     -shm: a new one is made, and the sessions are gone",
                    path.display()
                );
                found.problem(ProblemSubject::Registry, text);
            }
        }
        found
    }
}

fn choose_another() -> String {
    format!("choose another with {}", Setting::DataDir.brief())
}

/// Checks whether a missing directory can be made.
fn examine_place(data_dir: &Path, found: &mut Examination) {
    let parent = data_dir.ancestors().skip(1).find(|parent| parent.exists());
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if access(parent, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let text = format!(
            "{} cannot be made: {} is not writable; {}",
            data_dir.display(),
            parent.display(),
            choose_another()
        );
        found.problem(ProblemSubject::Directory, text);
    }
}

fn examine_directory(data_dir: &Path, metadata: &Metadata, found: &mut Examination) {
    let shown = data_dir.display();
    if !metadata.is_dir() {
        return found.problem(ProblemSubject::Directory, format!("{shown} is no directory; {}", choose_another()));
    }
    for directory in [data_dir.to_path_buf(), data_dir.join("sessions")] {
        let Ok(metadata) = std::fs::metadata(&directory) else { continue };
        let shown = directory.display();
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            let text = format!(
                "{shown} belongs to user {}; give it to the user that runs Brumate (chown), or {}",
                metadata.uid(),
                choose_another()
            );
            found.problem(ProblemSubject::Directory, text);
        } else if metadata.mode() & 0o022 != 0 {
            found.problem(ProblemSubject::Directory, format!("others may write to {shown}: chmod 700 {shown}"));
        } else if access(&directory, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
            found.problem(
                ProblemSubject::Directory,
                format!("{shown} is not writable: chmod 700 {shown}, if its disk is"),
            );
        }
    }
}

/// Returns the processes that use a directory, as far as they are known; `None` if it is not in use.
pub(super) fn used_by(data_dir: &Path) -> Option<Vec<u32>> {
    let lock = std::fs::File::open(data_dir.join("lock")).ok()?;
    let is_free = lock_file(&lock, FlockOperation::NonBlockingLockExclusive).unwrap_or(true);
    (!is_free).then(|| users(data_dir))
}

fn examine_sessions(directory: &DataDir, records: &[SessionRecord], check: &FileCheck<'_>, found: &mut Examination) {
    found.sessions = records.len();
    found.lost = records.iter().filter(|record| record.state == SessionState::Lost).count();
    let mut damaged = 0_usize;
    for record in records {
        let Some(file) = &record.file else { continue };
        found.bytes = found.bytes.saturating_add(file.bytes);
        let path = directory.file(&file.name);
        let wrong = match std::fs::metadata(&path) {
            // The server has replaced the file or removed the session since the registry was read.
            Err(_) if found.in_use.is_some() => continue,
            Err(error) => Some(FileFault::Damaged(error.to_string())),
            Ok(metadata) if metadata.len() != file.bytes => {
                Some(FileFault::Damaged(format!("it has {} bytes instead of {}", metadata.len(), file.bytes)))
            }
            Ok(_) => {
                let private = directory.existing_private_image(&record.id);
                check(&path, private.as_deref()).err().filter(|_| path.exists())
            }
        };
        let Some(wrong) = wrong else { continue };
        damaged += 1;
        if damaged <= MAX_NAMED {
            let (id, shown) = (&record.id, path.display());
            let text = match wrong {
                FileFault::Damaged(wrong) => format!(
                    "session {id} cannot be resumed: {shown}: {wrong}; restore the file from a backup, or give the session up with \
                     `brumate sessions remove {id}`"
                ),
                FileFault::Outdated(wrong) => format!(
                    "session {id} cannot be resumed: {shown}: {wrong}; its files can be read, and fork_session makes a new session \
                     with them (see docs/upgrading.md)"
                ),
            };
            found.problem(ProblemSubject::Session, text);
        }
    }
    if let Some(more) = damaged.checked_sub(MAX_NAMED + 1) {
        found.problem(ProblemSubject::Session, format!("{} more sessions cannot be resumed", more + 1));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::id::SessionId;
    use super::super::record::StateFile;
    use super::super::registry::{CommitSync, RecordParts, RegistryStore as _};
    use super::*;

    fn unbroken(path: &Path, _image: Option<&Path>) -> Result<(), FileFault> {
        match std::fs::read_to_string(path).unwrap().as_str() {
            "whole" => Ok(()),
            "older" => Err(FileFault::Outdated("Brumate 0.0.1 put it to sleep".to_owned())),
            _ => Err(FileFault::Damaged("its checksum is wrong".to_owned())),
        }
    }

    fn texts(found: &Examination, subject: ProblemSubject) -> Vec<&str> {
        found
            .problems
            .iter()
            .filter(|problem| problem.subject == subject)
            .map(|problem| problem.text.as_str())
            .collect()
    }

    #[tokio::test]
    async fn damage_is_named_and_nothing_is_touched() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("data");
        assert_eq!(Sessions::examine(&root, &unbroken), Examination::default());
        assert!(!root.exists());
        let directory = DataDir::lock(&root).unwrap();
        let registry = SqliteRegistry::open(&directory).unwrap();
        let mut ids = Vec::new();
        let files = [
            ("good", Some("whole")),
            ("bad", Some("wrong")),
            ("short", Some("")),
            ("gone", None),
            ("older", Some("older")),
        ];
        for (name, content) in files {
            let mut record = SessionRecord::new(SessionId::random().unwrap(), "local", 0);
            record.state = SessionState::Hibernated;
            record.file = Some(StateFile { name: name.to_owned(), bytes: 5, generation: 0 });
            ids.push(record.id.clone());
            if let Some(content) = content {
                std::fs::write(directory.file(name), content).unwrap();
            }
            registry.put(record, RecordParts::All, CommitSync::Disk).await.unwrap();
        }
        let busy = Sessions::examine(&root, &unbroken);
        assert_eq!(busy.in_use, Some(vec![std::process::id()]));
        assert_eq!(texts(&busy, ProblemSubject::Session).len(), 3, "{busy:?}");
        drop((registry, directory));
        let found = Sessions::examine(&root, &unbroken);
        assert_eq!((found.exists, &found.in_use, found.sessions, found.bytes), (true, &None, 5, 25));
        let damaged = texts(&found, ProblemSubject::Session);
        for (id, part) in [(&ids[1], "checksum is wrong"), (&ids[2], "0 bytes instead of 5"), (&ids[3], "No such file")]
        {
            let named = damaged.iter().any(|text| text.contains(part) && text.contains(&format!("remove {id}`")));
            assert!(named, "{part}: {damaged:?}");
        }
        let older = damaged.iter().find(|text| text.contains("Brumate 0.0.1")).expect("named");
        assert!(older.contains("fork_session") && !older.contains("remove"), "{older}");
        assert_eq!(damaged.len(), 4);
        // Loses a page of the registry.
        let path = root.join("sessions.sqlite");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096..].fill(0xff);
        std::fs::write(&path, bytes).unwrap();
        let found = Sessions::examine(&root, &unbroken);
        assert!(texts(&found, ProblemSubject::Registry)[0].contains("restore"), "{found:?}");
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o777)).unwrap();
        let found = Sessions::examine(&root, &unbroken);
        assert!(texts(&found, ProblemSubject::Directory)[0].contains("chmod 700"), "{found:?}");
    }
}
