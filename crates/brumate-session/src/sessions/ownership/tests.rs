use std::path::Path;

use crate::request::Request;
use crate::sessions::CellReport;
use crate::sessions::limits::LOCAL_PRINCIPAL;
use crate::sessions::settings::SessionSettings;
use crate::testing::{FakeEngine, Script};

use super::*;

/// The search for a session to hibernate may lock a new session before its first cell does.
#[tokio::test]
async fn a_session_that_is_being_made_is_not_taken_for_one_that_another_server_has_removed() {
    let directory = tempfile::tempdir().unwrap();
    let sessions = Sessions::open(Arc::new(FakeEngine::default()), SessionSettings::new(directory.path()));
    let sessions = sessions.await.unwrap();
    let entry = sessions.create(LOCAL_PRINCIPAL).await.unwrap();
    drop(entry.try_lock().expect("nobody has it"));
    assert!(!entry.has_lease());
    sessions.apply_records(Vec::new());
    let guard = sessions.lock_session(&entry, &CancellationToken::new()).await.expect("it is there");
    assert!(entry.has_lease() && matches!(*guard, MachineState::Absent));
    // A stored session is gone when the registry lacks it.
    let record = entry.record().clone();
    sessions.inner.registry.put(record.clone(), RecordParts::All, CommitSync::Process).await.unwrap();
    drop(guard);
    sessions.inner.registry.remove(vec![record.id]).await.unwrap();
    assert!(matches!(
        sessions.lock_session(&entry, &CancellationToken::new()).await,
        Err(SessionError::NotFound { .. })
    ));
}

/// A server whose engine knows an endless cell.
async fn server(directory: &Path) -> Sessions {
    let engine = FakeEngine::default()
        .on("x = 1", Script::silent().sets("x", "1"))
        .on("loop", Script::silent().stdout("begun\n").endless());
    Sessions::open(Arc::new(engine), SessionSettings::new(directory)).await.unwrap()
}

/// Begins an endless cell.
fn begin(sessions: &Sessions, id: &str) -> tokio::task::JoinHandle<Result<CellReport, SessionError>> {
    let (sessions, request) = (sessions.clone(), Request::cell(Some(id), "loop"));
    tokio::spawn(async move {
        sessions.execute(request.with_principal(LOCAL_PRINCIPAL), &CancellationToken::new(), &mut |_| {}).await
    })
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Stops the cell of a server.
async fn stop(
    sessions: &Sessions,
    entry: &Arc<SessionEntry>,
    cell: tokio::task::JoinHandle<Result<CellReport, SessionError>>,
) {
    until(|| entry.is_running()).await;
    let id = entry.record().id.clone();
    assert!(sessions.interrupt(LOCAL_PRINCIPAL, id.as_str()).await.unwrap());
    assert!(!cell.await.unwrap().unwrap().run.is_success());
}

/// A server that has just given a session up waits behind those that have waited before.
#[tokio::test]
async fn servers_take_turns_in_the_order_in_which_they_began_to_wait() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two, three) =
        (server(directory.path()).await, server(directory.path()).await, server(directory.path()).await);
    let request = Request::cell(None, "x = 1");
    let made =
        one.execute(request.with_principal(LOCAL_PRINCIPAL), &CancellationToken::new(), &mut |_| {}).await.unwrap();
    let id = made.id.as_str();
    let mut entries = Vec::new();
    for sessions in [&one, &two, &three] {
        entries.push(sessions.find(LOCAL_PRINCIPAL, id).await.unwrap());
    }
    let first = begin(&one, id);
    until(|| entries[0].is_running()).await;
    let second = begin(&two, id);
    until(|| entries[0].claims().len() == 1).await;
    let third = begin(&three, id);
    until(|| entries[0].claims().len() == 2).await;
    stop(&one, &entries[0], first).await;
    let again = begin(&one, id);
    until(|| entries[1].claims().len() == 2).await;
    stop(&two, &entries[1], second).await;
    until(|| entries[2].claims().len() == 1).await;
    assert!(!entries[0].is_running(), "it waits");
    stop(&three, &entries[2], third).await;
    stop(&one, &entries[0], again).await;
}
