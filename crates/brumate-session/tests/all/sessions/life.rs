//! Hibernation, resumption, expiry, restarts of the server, fork, reset, clear.

use brumate_engine_api::ExitReason;
use brumate_session::CancellationToken;
use brumate_session::Request;
use brumate_session::sessions::{Durability, LOCAL_PRINCIPAL, SessionError, SessionState, Sessions};
use brumate_session::testing::Script;

use super::support::{Host, engine};

#[tokio::test]
async fn idle_sessions_are_hibernated_and_resumed() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    host.pass(59);
    host.sessions.sweep().await;
    assert_eq!((host.state(&id).await, host.engine.alive()), (SessionState::Live, 1));
    host.pass(1);
    host.sessions.sweep().await;
    assert_eq!((host.state(&id).await, host.engine.alive(), host.images().len()), (SessionState::Hibernated, 0, 1));
    assert_eq!(host.x(&id).await, "1");
    assert_eq!((host.state(&id).await, host.engine.alive()), (SessionState::Live, 1));
    assert!(host.images().is_empty(), "the file of an earlier state is gone");
}

#[tokio::test]
async fn a_session_that_was_only_looked_at_keeps_its_file() {
    let host = Host::with(engine().on("file", Script::silent().writes("a.txt", "hello")), |_| {}).await;
    let id = host.open("file").await;
    host.pass(60);
    host.sessions.sweep().await;
    let before = host.images();
    let name = brumate_session::sessions::FileName::parse("a.txt").unwrap();
    let read = host.read(&id, &name).await;
    assert_eq!(read.unwrap(), (b"hello".to_vec(), "text/plain".to_owned()));
    assert_eq!((host.images(), host.engine.alive()), (before.clone(), 1));
    host.pass(60);
    host.sessions.sweep().await;
    assert_eq!((host.images(), host.engine.alive()), (before, 0));
}

#[tokio::test]
async fn sessions_expire_exactly_when_they_are_used_and_soon_when_they_are_not() {
    let host = Host::new().await;
    let (used, unused) = (host.open("x = 1").await, host.open("x = 2").await);
    host.pass(1800);
    assert_eq!(host.x(&used).await, "1", "not yet");
    host.pass(1800);
    assert_eq!(host.x(&used).await, "1");
    assert_eq!(host.sessions.list(LOCAL_PRINCIPAL).await.len(), 2);
    let error = host.cell(Some(&unused), "x").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "SessionExpiredError: Session {unused} not found or has expired. Sessions expire after 30 minutes of \
             inactivity. Please create a new session (use session_id=\"\" or session_id=\"0\") and re-execute your \
             setup code."
        )
    );
    host.pass(1801);
    host.sessions.sweep().await;
    assert!(host.sessions.list(LOCAL_PRINCIPAL).await.is_empty());
    assert!(Sessions::read_records(host.path()).unwrap().is_empty());
    assert_eq!((host.engine.alive(), host.sessions.live(), host.images().len()), (0, 0, 0));
}

#[tokio::test]
async fn a_cell_that_runs_longer_than_sessions_live_does_not_expire() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let cell = host.begin(&id, "loop");
    host.until_executed(2).await;
    host.pass(4000);
    host.sessions.sweep().await;
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(cell.await.unwrap().is_ok());
    assert_eq!(host.x(&id).await, "1", "it was used until just now");
}

#[tokio::test]
async fn sessions_that_never_expire_do_not() {
    let host = Host::with(engine(), |settings| settings.timeout = None).await;
    let id = host.open("x = 1").await;
    host.pass(100 * 365 * 86400);
    host.sessions.sweep().await;
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn sessions_outlive_the_server() {
    let host = Host::new().await;
    let (one, two) = (host.open("x = 1").await, host.open("x = 2").await);
    let host = host.restart(true).await;
    assert_eq!((host.engine.alive(), host.state(&one).await), (0, SessionState::Hibernated));
    assert_eq!((host.x(&one).await, host.x(&two).await), ("1".to_owned(), "2".to_owned()));
    // Sessions expire while no server runs.
    let host = host.restart(true).await;
    host.pass(1801);
    let host = host.restart(true).await;
    assert!(host.sessions.list(LOCAL_PRINCIPAL).await.is_empty() && host.images().is_empty());
}

#[tokio::test]
async fn a_killed_server_loses_live_sessions_and_never_restores_an_older_state() {
    let host = Host::new().await;
    let (slept, changed) = (host.open("x = 1").await, host.open("x = 1").await);
    host.pass(60);
    host.sessions.sweep().await;
    // The session was resumed and changed: its old file, if it still existed, would be outdated.
    host.cell(Some(&changed), "x = 2").await.unwrap();
    let host = host.restart(false).await;
    assert_eq!(host.x(&slept).await, "1");
    let error = host.cell(Some(&changed), "x").await.unwrap_err();
    assert!(error.to_string().contains("the server ended without hibernating it"), "{error}");
    assert!(matches!(error, SessionError::Lost { .. }));
}

#[tokio::test]
async fn a_killed_server_leaves_crash_snapshots_of_its_sessions() {
    let host = Host::with(engine().on("file", Script::silent().writes("a.txt", "hello")), |_| {}).await;
    let (one, two) = (host.open("x = 1").await, host.open("file").await);
    let fork = host.sessions.fork(LOCAL_PRINCIPAL, &one, &CancellationToken::new()).await.unwrap().to_string();
    host.pass(60);
    host.sessions.sweep().await;
    // The session was resumed and changed: the file that it was resumed from is outdated.
    host.cell(Some(&one), "x = 2").await.unwrap();
    let mut host = host;
    for _ in 0..2 {
        host.engine.set_server_crashed(true);
        let engine = host.engine.clone();
        host = host.restart(false).await;
        engine.set_server_crashed(false);
        assert_eq!(host.state(&one).await, SessionState::Hibernated);
    }
    assert_eq!((host.x(&one).await, host.x(&fork).await), ("2".to_owned(), "1".to_owned()));
    assert!(host.cell(Some(&two), "1 + 1").await.unwrap().files.is_empty());
    let host = host.restart(true).await;
    assert_eq!(host.images().len(), 3, "{:?}", host.images());
    assert_eq!(host.x(&one).await, "2");
}

#[tokio::test]
async fn without_a_crash_snapshot_changes_are_written_before_the_answer() {
    let host = Host::with(engine(), |_| {}).await;
    host.engine.set_no_crash_recovery(true);
    let id = host.open("x = 1").await;
    host.cell(Some(&id), "x = 2").await.unwrap();
    let fork = host.sessions.fork(LOCAL_PRINCIPAL, &id, &CancellationToken::new()).await.unwrap().to_string();
    assert_eq!(host.images().len(), 2, "one file each");
    let host = host.restart(false).await;
    assert_eq!((host.x(&id).await, host.x(&fork).await), ("2".to_owned(), "2".to_owned()));
    // The next call makes a crash snapshot possible again.
    host.engine.set_no_crash_recovery(true);
    host.pass(60);
    host.sessions.sweep().await;
    host.cell(Some(&id), "x = 1").await.unwrap();
    host.engine.set_no_crash_recovery(false);
    host.cell(Some(&id), "x = 2").await.unwrap();
    assert_eq!(host.images().len(), 1, "that of the fork: {:?}", host.images());
    host.engine.set_server_crashed(true);
    let engine = host.engine.clone();
    let host = host.restart(false).await;
    engine.set_server_crashed(false);
    assert_eq!(host.x(&id).await, "2");
}

#[tokio::test]
async fn with_durable_cells_a_server_that_is_killed_loses_nothing() {
    let scripts = engine().on("lose", Script::dying(ExitReason::Signal(9)).losing_session());
    let host = Host::with(scripts, |settings| settings.durability = Durability::Cell).await;
    let id = host.open("x = 1").await;
    host.cell(Some(&id), "x = 2").await.unwrap();
    assert_eq!(host.images().len(), 1, "one file at a time");
    let host = host.restart(false).await;
    assert_eq!(host.x(&id).await, "2");
    // A session whose machine and checkpoint are gone continues from its file.
    let report = host.cell(Some(&id), "lose").await.unwrap();
    assert!(report.rolled_back && report.run.error.unwrap().ends_with("The session is as it was before this cell."));
    assert_eq!(host.x(&id).await, "2");
}

#[tokio::test]
async fn clocks_that_are_set_make_nobody_older() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    host.set_time(1_000_000 + 10 * 365 * 86400);
    host.sessions.sweep().await;
    assert_eq!((host.x(&id).await, host.state(&id).await), ("1".to_owned(), SessionState::Live));
    // Nor is it younger.
    host.set_time(5);
    host.pass(1801);
    assert!(matches!(host.cell(Some(&id), "x").await, Err(SessionError::NotFound { .. })));
}

#[tokio::test]
async fn sessions_grow_older_while_their_machine_is_off() {
    let host = Host::new().await;
    let (old, young) = (host.open("x = 1").await, host.open("x = 2").await);
    host.pass(1000);
    assert_eq!(host.x(&young).await, "2");
    let host = host.restart(true).await;
    host.pass(801);
    host.reboot();
    let host = host.restart(true).await;
    assert!(matches!(host.cell(Some(&old), "x").await, Err(SessionError::NotFound { .. })));
    assert_eq!(host.x(&young).await, "2");
}

#[tokio::test]
async fn a_damaged_or_missing_file_is_that_sessions_problem_only() {
    let host = Host::new().await;
    let (damaged, missing, fine) = (host.open("x = 1").await, host.open("x = 1").await, host.open("x = 2").await);
    let host = host.restart(true).await;
    let file = |id: &str| host.images().into_iter().find(|name| name.starts_with(id)).unwrap();
    std::fs::write(host.path().join("sessions").join(file(&damaged)), "garbage").unwrap();
    std::fs::remove_file(host.path().join("sessions").join(file(&missing))).unwrap();
    for _ in 0..2 {
        let error = host.cell(Some(&damaged), "x").await.unwrap_err().to_string();
        assert!(error.starts_with("SessionAsleepError") && error.contains("its checksum is wrong"), "{error}");
    }
    assert!(host.cell(Some(&missing), "x").await.is_err());
    assert_eq!(host.x(&fine).await, "2");
    assert_eq!((host.sessions.live(), host.engine.alive()), (1, 1), "who does not wake takes no place");
    let host = host.restart(true).await;
    assert_eq!(host.state(&missing).await, SessionState::Lost);
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &damaged).await.unwrap());
}

#[tokio::test]
async fn files_of_nobody_are_removed_at_the_start() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let path = host.path().join("sessions");
    for name in ["zzzzzzzzzzzzzzzz-3.session", ".tmp12"] {
        std::fs::write(path.join(name), "").unwrap();
    }
    let host = host.restart(true).await;
    assert_eq!(host.images().len(), 1);
    assert!(host.images()[0].starts_with(&id));
}

#[tokio::test]
async fn forks_are_independent_live_or_hibernated() {
    let host = Host::with(engine().on("file", Script::silent().writes("a.txt", "hello").sets("x", "1")), |_| {}).await;
    let cancel = CancellationToken::new();
    let parent = host.open("file").await;
    let awake = host.sessions.fork(LOCAL_PRINCIPAL, &parent, &cancel).await.unwrap().to_string();
    host.cell(Some(&parent), "x = 2").await.unwrap();
    assert_eq!((host.x(&awake).await, host.x(&parent).await), ("1".to_owned(), "2".to_owned()));
    assert!(host.cell(Some(&awake), "1 + 1").await.unwrap().files.is_empty(), "the parent's files are known");
    assert_eq!(host.sessions.files(LOCAL_PRINCIPAL, &awake).await.unwrap().len(), 1);
    host.pass(60);
    host.sessions.sweep().await;
    let asleep = host.sessions.fork(LOCAL_PRINCIPAL, &parent, &cancel).await.unwrap().to_string();
    assert_eq!(host.engine.alive(), 0, "a file is copied without waking anybody");
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &parent).await.unwrap());
    assert_eq!(host.x(&asleep).await, "2");
    let error = host.sessions.fork(LOCAL_PRINCIPAL, &parent, &cancel).await.unwrap_err();
    assert!(matches!(error, SessionError::NotFound { .. }));
    let host = host.restart(true).await;
    assert_eq!((host.x(&awake).await, host.x(&asleep).await), ("1".to_owned(), "2".to_owned()));
}

#[tokio::test]
async fn a_fork_needs_no_place_of_its_own() {
    let host = Host::with(engine(), |settings| settings.max_live = 1).await;
    let parent = host.open("x = 1").await;
    let child = host.sessions.fork(LOCAL_PRINCIPAL, &parent, &CancellationToken::new()).await.unwrap().to_string();
    assert_eq!(host.state(&child).await, SessionState::Hibernated);
    assert_eq!((host.x(&child).await, host.x(&parent).await), ("1".to_owned(), "1".to_owned()));
    assert_eq!(host.engine.most_alive(), 1);
}

#[tokio::test]
async fn reset_keeps_the_name_and_nothing_else() {
    let host = Host::with(engine().on("file", Script::silent().writes("a.txt", "hello").sets("x", "1")), |_| {}).await;
    let id = host.open("file").await;
    let running = host.begin(&id, "loop");
    host.until_executed(2).await;
    host.sessions.reset(LOCAL_PRINCIPAL, &id).await.unwrap();
    let killed = running.await.unwrap().unwrap();
    assert!(!killed.run.is_success() && !killed.rolled_back, "what runs is killed");
    assert!(killed.run.error.unwrap().starts_with("SessionResetError: The session was reset or cleared"));
    assert!(host.sessions.files(LOCAL_PRINCIPAL, &id).await.unwrap().is_empty());
    let host = host.restart(false).await;
    assert_eq!(host.x(&id).await, "NameError: name 'x' is not defined");
}

#[tokio::test]
async fn clearing_ends_what_runs_and_whoever_waits() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let (running, waiting) = (host.begin(&id, "loop"), host.begin(&id, "x"));
    host.until_executed(2).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(!running.await.unwrap().unwrap().run.is_success());
    assert!(matches!(waiting.await.unwrap(), Err(SessionError::NotFound { .. })));
    assert!(!host.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(!host.sessions.clear(LOCAL_PRINCIPAL, "nonsense").await.unwrap());
    assert_eq!((host.engine.alive(), host.sessions.live()), (0, 0));
    assert!(Sessions::read_records(host.path()).unwrap().is_empty());
}

#[tokio::test]
async fn a_session_is_its_principals_alone() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let cancel = CancellationToken::new();
    let stranger =
        host.sessions.execute(Request::cell(Some(&id), "x").with_principal("mallory"), &cancel, &mut |_| {}).await;
    assert!(matches!(stranger, Err(SessionError::NotFound { .. })));
    assert!(!host.sessions.clear("mallory", &id).await.unwrap());
    assert!(host.sessions.list("mallory").await.is_empty());
    assert!(matches!(host.sessions.fork("mallory", &id, &cancel).await, Err(SessionError::NotFound { .. })));
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn nothing_begins_while_the_server_ends() {
    let host = Host::new().await;
    let id = host.open("x = 1").await;
    let running = host.begin(&id, "loop");
    host.until_executed(2).await;
    host.sessions.close().await;
    assert!(running.await.unwrap().is_ok(), "what ran was stopped and answered");
    assert_eq!(host.engine.alive(), 0);
    assert_eq!(host.cell(Some(&id), "x").await.unwrap_err(), SessionError::ShuttingDown);
    assert_eq!(host.cell(None, "x").await.unwrap_err(), SessionError::ShuttingDown);
    let host = host.restart(false).await;
    assert_eq!(host.x(&id).await, "1");
}
