use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::super::limits::LOCAL_PRINCIPAL;
use super::super::settings::{Durability, SessionSettings};
use super::super::snapshot::SnapshotFiles;
use super::super::{CellReport, SessionError, Sessions};
use super::*;
use crate::request::Request;
use crate::testing::{FakeEngine, Script};

/// Store whose files are elsewhere: a stored file leaves its path, and comes back when it is read.
#[derive(Debug)]
struct Elsewhere {
    local: PathBuf,
    stored: PathBuf,
    /// Data directory, for a look at the registry.
    data: PathBuf,
}

#[async_trait]
impl FileStore for Elsewhere {
    fn path(&self, name: &str) -> PathBuf {
        self.local.join(name)
    }

    async fn store(&self, name: &str) -> io::Result<()> {
        if self.stored.join("full").exists() {
            return Err(io::Error::other("the store is away"));
        }
        fs::rename(self.path(name), self.stored.join(name))
    }

    async fn fetch(&self, name: &str) -> io::Result<PathBuf> {
        if self.stored.join(name).is_file() {
            fs::copy(self.stored.join(name), self.path(name))?;
        }
        Ok(self.path(name))
    }

    fn has(&self, name: &str) -> bool {
        self.stored.join(name).is_file()
    }

    fn remove(&self, name: &str) {
        // A server that ended now must not leave a record that names no file.
        let records = Sessions::read_records(&self.data).unwrap();
        assert!(records.iter().all(|record| record.current_file().is_none_or(|file| file.name != name)), "{name}");
        let _ = (fs::remove_file(self.path(name)), fs::remove_file(self.stored.join(name)));
    }

    fn names(&self) -> io::Result<Vec<String>> {
        names(&self.stored)
    }
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// A server whose session files are stored in the directory `stored`.
async fn server(data: &Path, stored: &Path) -> Sessions {
    let engine = FakeEngine::default()
        .on("x = 1", Script::silent().sets("x", "1"))
        .on("x = 2", Script::silent().sets("x", "2"))
        .on("x = 3", Script::silent().sets("x", "3").failing_to_commit())
        .on("x", Script::silent().gets("x"));
    let mut settings = SessionSettings::new(data);
    settings.durability = Durability::Cell;
    let (stored, data) = (stored.to_owned(), data.to_owned());
    let store = |directory: &super::super::DataDir| -> Box<dyn FileStore> {
        Box::new(Elsewhere { local: directory.file(""), stored, data })
    };
    Sessions::open_with(Arc::new(engine), settings, store).await.unwrap()
}

async fn cell(sessions: &Sessions, id: Option<&str>, code: &str) -> Result<CellReport, SessionError> {
    let request = Request::cell(id, code).with_principal(LOCAL_PRINCIPAL);
    sessions.execute(request, &CancellationToken::new(), &mut |_| {}).await
}

#[tokio::test]
async fn sessions_live_from_a_store_that_is_no_directory_of_theirs() {
    let (data, stored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sessions = server(data.path(), stored.path()).await;
    let id = cell(&sessions, None, "x = 1").await.unwrap().id.to_string();
    assert_eq!(names(stored.path()).unwrap().len(), 1);

    // A change that cannot be stored is undone, and one that the machine cannot commit.
    let undone = cell(&sessions, Some(&id), "x = 3").await.unwrap();
    assert!(undone.rolled_back, "{undone:?}");
    assert_eq!(names(stored.path()).unwrap().len(), 1);
    fs::write(stored.path().join("full"), "").unwrap();
    let undone = cell(&sessions, Some(&id), "x = 2").await.unwrap();
    assert!(undone.rolled_back, "{undone:?}");
    fs::remove_file(stored.path().join("full")).unwrap();
    sessions.close().await;
    drop(sessions);

    let sessions = server(data.path(), stored.path()).await;
    let cancel = CancellationToken::new();
    let copy = sessions.fork(LOCAL_PRINCIPAL, &id, &cancel).await.unwrap().to_string();
    let taken = SnapshotFiles { session: data.path().join("taken"), image: data.path().join("taken-image") };
    let snapshot = sessions.snapshot(LOCAL_PRINCIPAL, &id, &taken, &cancel).await.unwrap();
    let restored = sessions.restore_snapshot(LOCAL_PRINCIPAL, snapshot, &taken, &cancel).await.unwrap().to_string();
    for session in [&id, &copy, &restored] {
        let report = cell(&sessions, Some(session), "x").await.unwrap();
        assert_eq!(report.run.result.as_deref(), Some("1"), "{session}");
    }
    assert_eq!(names(stored.path()).unwrap().len(), 3);
    sessions.reset(LOCAL_PRINCIPAL, &id).await.unwrap();
    for session in [&copy, &restored] {
        assert!(sessions.clear(LOCAL_PRINCIPAL, session).await.unwrap());
    }
    assert_eq!(names(stored.path()).unwrap(), Vec::<String>::new());
}
