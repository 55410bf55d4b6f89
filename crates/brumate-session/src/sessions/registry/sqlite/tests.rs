use super::super::super::record::{FileRecord, SessionState, StateFile};
use super::*;
use crate::packages::LayerRecord;

async fn read(registry: &SqliteRegistry) -> Vec<SessionRecord> {
    let (sender, receiver) = std::sync::mpsc::channel();
    registry.connection.lock().writes_at_read = None;
    registry.read_again(Box::new(move |records| sender.send(records).unwrap())).await.unwrap();
    receiver.recv().unwrap()
}

fn record(state: SessionState) -> SessionRecord {
    let mut record = SessionRecord::new(SessionId::random().unwrap(), "local", 17);
    record.state = state;
    record.note = "n".to_owned();
    record.file = Some(StateFile { name: "a.session".to_owned(), bytes: 3, generation: u64::MAX });
    record.generation = 4;
    let (file_name, sha256) = ("rich-12.6.0-py3-none-any.whl".to_owned(), "00".repeat(32));
    record.packages = vec![LayerRecord { file_name, sha256, url: Some("https://example.org/".to_owned()) }];
    record.files.insert("ä/b.csv".to_owned(), FileRecord { size: 5, stamp: u64::MAX, mime: "text/csv".to_owned() });
    record
}

#[tokio::test]
async fn what_is_written_is_read_also_by_others() {
    let root = tempfile::tempdir().unwrap();
    let directory = DataDir::lock(root.path()).unwrap();
    let registry = SqliteRegistry::open(&directory).unwrap();
    let mut asleep = record(SessionState::Hibernated);
    let lost = record(SessionState::Lost);
    registry.put(asleep.clone(), RecordParts::All, CommitSync::Process).await.unwrap();
    registry.put(lost.clone(), RecordParts::All, CommitSync::Disk).await.unwrap();
    asleep.generation = 5;
    asleep.file = None;
    registry.put(asleep.clone(), RecordParts::WithoutFiles, CommitSync::Process).await.unwrap();
    let mut expected = vec![asleep.clone(), lost.clone()];
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(read(&registry).await, expected);
    let other = DataDir::open_read_only(root.path()).unwrap();
    assert_eq!(SqliteRegistry::read(&other).unwrap(), expected);
    registry.remove(vec![asleep.id, SessionId::random().unwrap()]).await.unwrap();
    assert_eq!(SqliteRegistry::read(&other).unwrap(), [lost]);
}

#[tokio::test]
async fn a_registry_of_the_first_version_is_read_and_carried_on() {
    let root = tempfile::tempdir().unwrap();
    let directory = DataDir::lock(root.path()).unwrap();
    let old = TABLES.replace(",\n        packages TEXT NOT NULL DEFAULT '[]'", "");
    assert_ne!(old, TABLES);
    let connection = Connection::open(directory.registry()).unwrap();
    connection.execute_batch(&format!("{old} PRAGMA user_version = 1;")).unwrap();
    let id = SessionId::random().unwrap();
    let values = format!("('{id}', 'local', 1, 2, 'fresh', '', NULL, 0, 0, 3, 4)");
    connection.execute_batch(&format!("INSERT INTO sessions VALUES {values};")).unwrap();
    drop(connection);
    let records = SqliteRegistry::read(&directory).unwrap();
    let registry = SqliteRegistry::open(&directory).unwrap();
    let mut record = read(&registry).await.remove(0);
    assert_eq!((records, record.executions), (vec![record.clone()], 4));
    record.packages = self::record(SessionState::Live).packages;
    registry.put(record.clone(), RecordParts::All, CommitSync::Process).await.unwrap();
    assert_eq!(SqliteRegistry::read(&directory).unwrap(), [record]);
}

#[tokio::test]
async fn a_registry_of_the_second_version_gets_a_history() {
    let root = tempfile::tempdir().unwrap();
    let directory = DataDir::lock(root.path()).unwrap();
    let connection = Connection::open(directory.registry()).unwrap();
    connection.execute_batch(&format!("{TABLES} PRAGMA user_version = 2;")).unwrap();
    let id = SessionId::random().unwrap();
    let values = format!("('{id}', 'local', 1, 2, 'fresh', '', NULL, 0, 0, 3, 4, '[]')");
    connection.execute_batch(&format!("INSERT INTO sessions VALUES {values};")).unwrap();
    drop(connection);
    assert_eq!(SqliteRegistry::read_cells(&directory, &id).unwrap(), Some(Vec::new()));
    let registry = SqliteRegistry::open(&directory).unwrap();
    let cell = CellRecord { code: "x".to_owned(), outputs: Some("[]".to_owned()), ..CellRecord::default() };
    let bytes = registry.add_cell(id.clone(), cell.clone()).await.unwrap();
    assert_eq!((bytes, read(&registry).await[0].history_bytes), (cell.bytes(), cell.bytes()));
    assert_eq!(SqliteRegistry::read_cells(&directory, &id).unwrap(), Some(vec![cell]));
    registry.remove(vec![id.clone()]).await.unwrap();
    assert_eq!(
        (registry.cells(id.clone()).await.unwrap(), SqliteRegistry::read_cells(&directory, &id).unwrap()),
        (Vec::new(), None)
    );
}

#[test]
fn every_file_is_the_users_own() {
    use std::os::unix::fs::MetadataExt;
    let root = tempfile::tempdir().unwrap();
    let directory = DataDir::lock(root.path()).unwrap();
    let _registry = SqliteRegistry::open(&directory).unwrap();
    let files: Vec<_> = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o077, 0, "{file:?}");
    }
}

#[test]
fn damage_and_later_versions_are_errors() {
    let root = tempfile::tempdir().unwrap();
    let directory = DataDir::lock(root.path()).unwrap();
    std::fs::write(directory.registry(), vec![7; 8192]).unwrap();
    let error = SqliteRegistry::open(&directory).unwrap_err().to_string();
    assert!(error.contains("not a database"), "{error}");
    std::fs::remove_file(directory.registry()).unwrap();
    let registry = SqliteRegistry::open(&directory).unwrap();
    registry.connection.lock().connection.pragma_update(None, "user_version", 99).unwrap();
    drop(registry);
    let error = SqliteRegistry::open(&directory).unwrap_err().to_string();
    assert!(error.contains("version 99"), "{error}");
}
