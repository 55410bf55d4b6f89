//! Changes are stored before they are answered, or rolled back: with limits on disk space, a full disk, and a failing
//! registry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brumate_session::sessions::{Durability, FileName, LOCAL_PRINCIPAL, SessionError, SessionState};
use brumate_session::testing::Script;
use brumate_session::{Allowance, Allowances, CancellationToken, OverLimit};

use super::support::{Host, engine, texts};

/// Returns the engine of [`engine`] with a cell that needs about 16 kB.
pub(crate) fn engine_with_big() -> brumate_session::testing::FakeEngine {
    engine().on("big", Script::silent().writes("big", vec![b'x'; 4096]).sets("x", "big").stdout("written\n"))
}

#[tokio::test]
async fn the_cell_that_is_too_much_for_the_disk_learns_it_and_never_was() {
    let host = Host::with(engine_with_big(), |settings| settings.max_disk_bytes = 30_000).await;
    let (first, second) = (host.open("x = 1").await, host.open("x = 1").await);
    assert!(host.cell(Some(&first), "big").await.unwrap().run.is_success());
    for _ in 0..2 {
        let report = host.cell(Some(&second), "big").await.unwrap();
        let error = report.run.error.as_deref().unwrap();
        assert!(error.starts_with("SessionLimitError: sessions may take 29.2 KiB of the disk"), "{error}");
        assert!(error.contains("`sessions_disk`") && error.ends_with("as it was before this cell."), "{error}");
        assert_eq!((report.run.is_success(), report.rolled_back, report.files.len()), (false, true, 0));
        assert_eq!(texts(&report), ["written\n"], "what it said is told");
        assert_eq!(host.x(&second).await, "1");
        assert!(host.sessions.files(LOCAL_PRINCIPAL, &second).await.unwrap().is_empty());
    }
    let error = host.upload(&second, "a", 4096).await.unwrap_err();
    assert_eq!(error, SessionError::DiskFull { limit: 30_000 });
    assert!(host.sessions.files(LOCAL_PRINCIPAL, &second).await.unwrap().is_empty());
    // No session is lost.
    let host = host.restart(true).await;
    assert_eq!((host.x(&first).await, host.x(&second).await), ("big".to_owned(), "1".to_owned()));
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &first).await.unwrap());
    assert!(host.cell(Some(&second), "big").await.unwrap().run.is_success());
    host.upload(&second, "a", 10).await.unwrap();
}

#[tokio::test]
async fn live_sessions_count() {
    let host = Host::with(engine_with_big(), |settings| settings.max_disk_bytes = 30_000).await;
    let first = host.open("big").await;
    assert!(host.images().is_empty(), "it is awake");
    let report = host.cell(None, "big").await.unwrap();
    assert!(!report.run.is_success() && report.created, "{report:?}");
    // A fork would need as much.
    let fork = host.sessions.fork(LOCAL_PRINCIPAL, &first, &CancellationToken::new()).await;
    assert_eq!(fork.unwrap_err(), SessionError::DiskFull { limit: 30_000 });
}

#[tokio::test]
async fn estimates_that_are_too_large_refuse_nobody() {
    for factor in [1000, 0] {
        let host = Host::with(engine_with_big(), |settings| settings.max_disk_bytes = 30_000).await;
        host.engine.set_estimate_factor(factor);
        let mut ids = Vec::new();
        for _ in 0..5 {
            ids.push(host.open("x = 1").await);
        }
        assert!(host.cell(Some(&ids[0]), "big").await.unwrap().run.is_success());
        assert!(!host.cell(Some(&ids[1]), "big").await.unwrap().run.is_success());
        for id in &ids[1..] {
            assert_eq!(host.x(id).await, "1");
        }
        let on_disk: u64 = (host.images().iter())
            .map(|name| std::fs::metadata(host.path().join("sessions").join(name)).unwrap().len())
            .sum();
        assert!(on_disk <= 30_000, "{on_disk}");
    }
}

#[tokio::test]
async fn an_end_in_order_writes_everything_whatever_the_limits_say() {
    static LIMIT: AtomicU64 = AtomicU64::new(1 << 20);
    let host = Host::with(engine_with_big(), |settings| {
        let disk = |_: &str| Allowance { disk_bytes: Some(LIMIT.load(Ordering::SeqCst)), ..Allowance::default() };
        settings.allowances = Allowances::new(disk);
    })
    .await;
    let ids = [host.open("big").await, host.open("big").await, host.open("x = 1").await];
    LIMIT.store(10, Ordering::SeqCst);
    let report = host.cell(Some(&ids[2]), "x = 2").await.unwrap();
    assert!(
        report.run.error.unwrap().contains("your sessions may take 10 bytes of the disk"),
        "the next cell feels it"
    );
    let host = host.restart(true).await;
    assert_eq!(host.states(&ids.each_ref().map(String::as_str)).await, [SessionState::Hibernated; 3]);
    LIMIT.store(1 << 20, Ordering::SeqCst);
    assert_eq!((host.x(&ids[0]).await, host.x(&ids[2]).await), ("big".to_owned(), "1".to_owned()));
}

#[tokio::test]
async fn a_principals_disk_is_felt_by_its_own_cells_only() {
    let host = Host::with(engine_with_big(), |settings| {
        settings.allowances = Allowances::new(|name| Allowance {
            disk_bytes: (name == LOCAL_PRINCIPAL).then_some(20_000),
            ..Allowance::default()
        });
    })
    .await;
    let (first, second) = (host.open("big").await, host.open("x = 1").await);
    let error = host.cell(Some(&second), "big").await.unwrap().run.error.unwrap();
    let limit = SessionError::OverLimit(OverLimit::Disk { limit: 20_000 });
    assert!(error.starts_with(&limit.to_string()), "{error}");
    let cell = brumate_session::Request::cell(None, "big");
    let other = host.sessions.execute(cell.with_principal("other"), &CancellationToken::new(), &mut |_| {}).await;
    assert!(other.unwrap().run.is_success());
    assert_eq!(host.x(&first).await, "big");
}

#[tokio::test]
async fn what_would_not_fit_on_the_disk_is_refused_before_it_is_full() {
    static FREE: AtomicU64 = AtomicU64::new(u64::MAX);
    let host = Host::with(engine_with_big(), |settings| {
        settings.free_space = Arc::new(|_| Some(FREE.load(Ordering::SeqCst)));
    })
    .await;
    let (first, second) = (host.open("big").await, host.open("x = 1").await);
    // A session that does not fit by its estimate is written to know its size.
    FREE.store((1 << 20) + 20_000, Ordering::SeqCst);
    assert!(host.cell(Some(&second), "1 + 1").await.unwrap().run.is_success());
    host.engine.set_max_session_bytes(1000);
    let error = host.cell(Some(&second), "big").await.unwrap().run.error.unwrap();
    assert!(error.contains("No space left on device") && error.ends_with("as it was before this cell."), "{error}");
    assert_eq!((host.x(&first).await, host.x(&second).await), ("big".to_owned(), "1".to_owned()));
    FREE.store(1 << 20, Ordering::SeqCst);
    assert_eq!(host.cell(None, "x = 1").await.unwrap_err(), SessionError::NoSpace { free: 1 << 20 });
}

#[tokio::test]
async fn what_the_disk_refuses_at_the_end_is_named_and_its_processes_keep_it() {
    let host = Host::with(engine_with_big(), |_| {}).await;
    let (large, small, held) = (host.open("big").await, host.open("x = 1").await, host.open("unkeepable").await);
    host.engine.set_max_session_bytes(1000);
    let mut unwritten: Vec<String> = host.sessions.close().await.iter().map(ToString::to_string).collect();
    unwritten.sort();
    let mut expected = [large.clone(), held.clone()];
    expected.sort();
    assert_eq!(unwritten, expected);
    // The crash snapshot has the state.
    let host = host.restart(false).await;
    assert_eq!((host.x(&large).await, host.x(&small).await), ("big".to_owned(), "1".to_owned()));
    assert_eq!(host.state(&held).await, SessionState::Lost);
}

#[tokio::test]
async fn a_small_change_needs_no_room_for_the_file_that_it_replaces() {
    static FREE: AtomicU64 = AtomicU64::new(u64::MAX);
    let host = Host::with(engine_with_big(), |settings| {
        settings.free_space = Arc::new(|_| Some(FREE.load(Ordering::SeqCst)));
    })
    .await;
    // Its file takes about 16 kB, and its estimate is twice as much.
    host.engine.set_estimate_factor(2);
    let id = host.open("big").await;
    host.pass(60);
    host.sessions.sweep().await;
    assert_eq!(host.state(&id).await, SessionState::Hibernated);
    FREE.store((1 << 20) + 5_000, Ordering::SeqCst);
    host.engine.set_max_session_bytes(5_000);
    assert!(host.cell(Some(&id), "x = 1").await.unwrap().run.is_success());
    // A state that is larger than the old file and the free space together is refused.
    FREE.store((1 << 20) + 100, Ordering::SeqCst);
    let report = host.cell(Some(&id), "big").await.unwrap();
    assert!(!report.run.is_success() && report.rolled_back, "{report:?}");
    FREE.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(host.x(&id).await, "1");
}

#[tokio::test]
async fn a_durable_cell_that_cannot_be_stored_is_told_and_undone() {
    let host = Host::with(engine_with_big(), |settings| settings.durability = Durability::Cell).await;
    let id = host.open("x = 1").await;
    let before = host.images();
    host.engine.set_max_session_bytes(1000);
    for code in ["big", "unkeepable"] {
        let report = host.cell(Some(&id), code).await.unwrap();
        assert!(!report.run.is_success() && report.rolled_back);
        let (error, reason) = (report.run.error.unwrap(), ["No space left on device", "an open connection"]);
        assert!(
            error.starts_with("SessionStorageError: ") && error.contains(reason[usize::from(code != "big")]),
            "{error}"
        );
        assert!(error.ends_with("as it was before this cell."), "{error}");
        assert_eq!(host.images(), before, "the last good file stays");
    }
    assert!(matches!(host.upload(&id, "a", 2000).await, Err(SessionError::Storage(_))));
    // A server that is killed now has stored it as well.
    let host = host.restart(false).await;
    assert_eq!(host.x(&id).await, "1");
    assert!(host.sessions.files(LOCAL_PRINCIPAL, &id).await.unwrap().is_empty());
    host.engine.set_max_session_bytes(u64::MAX);
    assert!(host.cell(Some(&id), "big").await.unwrap().run.is_success());
    assert_eq!(host.restart(false).await.x(&id).await, "big");
}

/// Makes the registry refuse to change existing rows, or to add new ones.
fn refuse(host: &Host, refused: bool) {
    let connection = rusqlite::Connection::open(host.path().join("sessions.sqlite")).unwrap();
    for what in ["UPDATE", "DELETE", "INSERT"] {
        let sql = match refused {
            true => format!(
                "CREATE TRIGGER no_{what} BEFORE {what} ON sessions BEGIN SELECT RAISE(FAIL, 'the disk is full'); END;"
            ),
            false => format!("DROP TRIGGER no_{what};"),
        };
        connection.execute_batch(&sql).unwrap();
    }
}

#[tokio::test]
async fn a_registry_that_cannot_be_written_loses_nothing() {
    for durability in [Durability::Shutdown, Durability::Cell] {
        let host = match durability {
            Durability::Shutdown => Host::with(engine_with_big(), |_| {}).await,
            Durability::Cell => Host::with(engine_with_big(), |settings| settings.durability = Durability::Cell).await,
        };
        let (awake, asleep) = (host.open("x = 1").await, host.open("x = 2").await);
        host.pass(60);
        host.sessions.sweep().await;
        assert_eq!(host.x(&awake).await, "1");
        refuse(&host, true);
        for id in [&awake, &asleep] {
            let report = host.cell(Some(id), "big").await.unwrap();
            let error = report.run.error.unwrap();
            assert!(error.contains("the disk is full") && report.rolled_back, "{error}");
            assert!(matches!(host.upload(id, "a", 10).await, Err(SessionError::Storage(_))));
            let crashed = host.cell(Some(id), "crash").await.unwrap();
            assert!(crashed.rolled_back, "{crashed:?}");
            assert!(matches!(host.sessions.reset(LOCAL_PRINCIPAL, id).await, Err(SessionError::Storage(_))));
            assert!(matches!(host.sessions.clear(LOCAL_PRINCIPAL, id).await, Err(SessionError::Storage(_))));
        }
        refuse(&host, false);
        host.engine.set_server_crashed(true);
        let engine = host.engine.clone();
        let host = host.restart(false).await;
        engine.set_server_crashed(false);
        assert_eq!((host.x(&awake).await, host.x(&asleep).await), ("1".to_owned(), "2".to_owned()));
    }
}

#[tokio::test]
async fn who_is_revoked_loses_what_runs_and_keeps_its_sessions() {
    let host = Host::with(engine(), |settings| settings.max_concurrent = 1).await;
    let (busy, other) = (host.open("x = 1").await, host.open("x = 2").await);
    let running = host.begin(&busy, "loop");
    host.until_executed(3).await;
    let waiting = host.begin(&other, "x");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    host.sessions.revoke("somebody else");
    assert!(!running.is_finished());
    host.sessions.revoke(LOCAL_PRINCIPAL);
    let report = running.await.unwrap().unwrap();
    let error = report.run.error.unwrap();
    assert!(error.starts_with("AccessRevokedError: the access to this server was revoked"), "{error}");
    assert_eq!((report.rolled_back, waiting.await.unwrap().unwrap_err()), (true, SessionError::Revoked));
    assert_eq!((host.x(&busy).await, host.x(&other).await), ("1".to_owned(), "2".to_owned()));
}

#[tokio::test]
async fn files_of_a_session_of_another_version_can_be_had() {
    let script = Script::silent().writes("a.txt", "hello").sets("x", "1");
    let host = Host::with(engine().on("file", script), |_| {}).await;
    let id = host.open("file").await;
    let host = host.restart(true).await;
    let before = host.images();
    host.engine.set_outdated(true);
    let (cancel, name) = (CancellationToken::new(), FileName::parse("a.txt").unwrap());
    let error = host.cell(Some(&id), "x").await.unwrap_err();
    assert!(matches!(error, SessionError::Outdated { .. }), "{error}");
    assert!(
        error.to_string().starts_with("SessionAsleepError: ") && error.to_string().contains("fork_session"),
        "{error}"
    );
    assert!(matches!(host.upload(&id, "b", 1).await, Err(SessionError::Outdated { .. })));
    assert_eq!(host.sessions.files(LOCAL_PRINCIPAL, &id).await.unwrap().len(), 1);
    let read = host.read(&id, &name).await;
    assert_eq!(read.unwrap().0, b"hello");
    let chunk = host.sessions.read_file(LOCAL_PRINCIPAL, &id, &name, 1, &cancel).await.unwrap();
    assert_eq!((chunk.bytes, host.engine.alive()), (b"ello".to_vec(), 0));
    let fork = host.sessions.fork(LOCAL_PRINCIPAL, &id, &cancel).await.unwrap().to_string();
    assert_eq!(host.x(&fork).await, "NameError: name 'x' is not defined");
    assert_eq!(host.sessions.files(LOCAL_PRINCIPAL, &fork).await.unwrap().len(), 1);
    let read = host.read(&fork, &name).await;
    assert_eq!(read.unwrap().0, b"hello");
    // The parent is unchanged.
    host.engine.set_outdated(false);
    assert!(before.iter().all(|name| host.images().contains(name)));
    assert_eq!(host.x(&id).await, "1");
    let host = host.restart(true).await;
    let read = host.read(&fork, &name).await;
    assert_eq!(read.unwrap().0, b"hello");
}
