//! Several servers of one user on one data directory.

use std::time::Duration;

use brumate_session::CancellationToken;
use brumate_session::sessions::{
    BACKUP_TIMEOUT, FileName, LOCAL_PRINCIPAL, SessionError, SessionSettings, SessionState, Sessions,
};
use brumate_session::testing::{FakeEngine, Script};
use brumate_test_support::{Random, count, seed};

use super::support::{Host, engine};

fn leases(host: &Host) -> usize {
    std::fs::read_dir(host.path().join("leases")).unwrap().count()
}

#[tokio::test]
async fn a_session_goes_where_it_is_used() {
    let one = Host::new().await;
    let two = one.beside().await;
    let id = one.open("x = 1").await;
    assert_eq!(two.state(&id).await, SessionState::Live, "the other server has it");
    assert_eq!(two.x(&id).await, "1");
    assert_eq!((one.engine.alive(), two.engine.alive(), leases(&one)), (0, 1, 1));
    two.cell(Some(&id), "x = 2").await.unwrap();
    assert_eq!(one.x(&id).await, "2");
    one.pass(60);
    one.sessions.sweep().await;
    assert_eq!((one.engine.alive(), two.engine.alive(), leases(&one)), (0, 0, 0));
    assert_eq!((two.state(&id).await, two.x(&id).await), (SessionState::Hibernated, "2".to_owned()));
    two.sessions.close().await;
    assert_eq!(one.x(&id).await, "2", "a server that ends leaves its sessions to the others");
}

#[tokio::test]
async fn a_cell_that_runs_in_another_server_is_waited_for_and_can_be_stopped() {
    let one = Host::new().await;
    let two = one.beside().await;
    let id = one.open("x = 1").await;
    assert!(!two.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap(), "nothing runs");
    let running = one.begin(&id, "loop");
    one.until_executed(2).await;
    let waiting = two.begin(&id, "x");
    assert!(two.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(!running.await.unwrap().unwrap().run.is_success());
    assert_eq!(waiting.await.unwrap().unwrap().run.result.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_cell_that_waits_is_interrupted_before_it_runs() {
    let one = Host::new().await;
    let two = one.beside().await;
    let id = one.open("x = 1").await;
    let running = one.begin(&id, "loop");
    one.until_executed(2).await;
    // Cells wait here and there.
    let waiting = [two.begin(&id, "x"), one.begin(&id, "x")];
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(two.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(!running.await.unwrap().unwrap().run.is_success());
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap().run.result.as_deref(), Some("1"), "one interrupt stops one cell");
    }
    // A cell that waits for a run slot or a place is the session's only one.
    let busy = Host::with(engine(), |settings| settings.max_concurrent = 1).await;
    let (other, id) = (busy.open("x = 1").await, busy.open("x = 2").await);
    let running = busy.begin(&other, "loop");
    busy.until_executed(3).await;
    let waiting = busy.begin(&id, "x = 1");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(busy.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    let error = waiting.await.unwrap().unwrap_err();
    assert!(error == SessionError::Interrupted && error.to_string().starts_with("KeyboardInterrupt: "), "{error}");
    assert!(!busy.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(busy.sessions.interrupt(LOCAL_PRINCIPAL, &other).await.unwrap());
    running.await.unwrap().unwrap();
    assert_eq!(busy.x(&id).await, "2", "the cell did not run");
}

/// A server that is stopped has its socket and its leases still, and answers nothing.
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_delays_a_call_for_some_seconds_only() {
    let one = Host::new().await;
    let id = one.open("x = 1").await;
    one.pass(60);
    one.sessions.sweep().await;
    let hung = std::os::unix::net::UnixListener::bind(one.path().join("servers/4194305-hung")).unwrap();
    let lease = std::fs::File::create(one.path().join("leases").join(&id)).unwrap();
    std::fs::write(one.path().join("leases").join(&id), "4194305-hung").unwrap();
    lease.lock().unwrap();
    let two = one.beside().await;
    let start = tokio::time::Instant::now();
    let errors = [
        two.cell(Some(&id), "x").await.unwrap_err(),
        two.sessions.reset(LOCAL_PRINCIPAL, &id).await.unwrap_err(),
        two.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap_err(),
        two.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap_err(),
        two.sessions.fork(LOCAL_PRINCIPAL, &id, &CancellationToken::new()).await.unwrap_err(),
        two.upload(&id, "a", 1).await.unwrap_err(),
    ];
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    for error in errors {
        assert!(matches!(&error, SessionError::OwnedElsewhere { process: Some(4_194_305), .. }), "{error}");
        assert!(error.to_string().contains("it has not answered for 5 s"), "{error}");
    }
    drop((hung, lease));
}

#[tokio::test]
async fn a_call_that_waits_for_another_server_can_be_cancelled() {
    let one = Host::new().await;
    let two = one.beside().await;
    let id = one.open("x = 1").await;
    let running = one.begin(&id, "loop");
    one.until_executed(2).await;
    let cancel = CancellationToken::new();
    let name = FileName::parse("a.txt").unwrap();
    let read = two.sessions.read_file(LOCAL_PRINCIPAL, &id, &name, 0, &cancel);
    let (read, ()) = tokio::join!(read, async { cancel.cancel() });
    assert_eq!(read.unwrap_err(), SessionError::Cancelled);
    assert!(one.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap());
    running.await.unwrap().unwrap();
    assert_eq!((one.x(&id).await, one.engine.alive()), ("1".to_owned(), 1), "it has stayed");
}

#[tokio::test]
async fn what_one_server_empties_or_removes_is_so_for_all() {
    let one = Host::new().await;
    let two = one.beside().await;
    let (emptied, removed) = (one.open("x = 1").await, one.open("x = 1").await);
    let running = [one.begin(&emptied, "loop"), one.begin(&removed, "loop")];
    one.until_executed(4).await;
    two.sessions.reset(LOCAL_PRINCIPAL, &emptied).await.unwrap();
    assert!(two.sessions.clear(LOCAL_PRINCIPAL, &removed).await.unwrap());
    for running in running {
        let killed = running.await.unwrap().unwrap();
        assert!(!killed.run.is_success() && killed.run.error.unwrap().starts_with("SessionResetError"));
    }
    assert_eq!(one.x(&emptied).await, "NameError: name 'x' is not defined");
    assert!(matches!(one.cell(Some(&removed), "x").await, Err(SessionError::NotFound { .. })));
    assert!(!one.sessions.clear(LOCAL_PRINCIPAL, &removed).await.unwrap());
    assert_eq!(one.sessions.list(LOCAL_PRINCIPAL).await.len(), 1);
    assert!(one.images().iter().all(|name| !name.starts_with(&removed)), "{:?}", one.images());
}

#[tokio::test]
async fn a_session_that_cannot_be_hibernated_is_not_released() {
    let one = Host::new().await;
    let two = one.beside().await;
    let id = one.open("x = 1").await;
    one.cell(Some(&id), "unkeepable").await.unwrap();
    let error = two.cell(Some(&id), "x").await.unwrap_err();
    assert!(matches!(error, SessionError::OwnedElsewhere { process: Some(_), .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("in use by another Brumate") && text.contains("an open connection"), "{text}");
    assert_eq!(one.x(&id).await, "1");
}

#[tokio::test]
async fn the_sessions_of_a_server_that_was_killed_go_to_the_others() {
    let one = Host::new().await;
    let two = one.beside().await;
    let (asleep, awake) = (one.open("x = 2").await, one.open("x = 1").await);
    assert_eq!(two.x(&asleep).await, "2");
    two.pass(60);
    two.sessions.sweep().await;
    assert_eq!(one.x(&awake).await, "1");
    let engine = one.engine.clone();
    engine.set_server_crashed(true);
    one.abandon().await;
    assert_eq!((two.x(&awake).await, two.x(&asleep).await), ("1".to_owned(), "2".to_owned()));
    // Without a crash snapshot the session is lost, and never in an older state.
    let three = two.beside().await;
    assert_eq!(three.x(&awake).await, "1");
    three.cell(Some(&awake), "x = 2").await.unwrap();
    drop(three.abandon().await);
    let error = two.cell(Some(&awake), "x").await.unwrap_err();
    assert!(matches!(error, SessionError::Lost { .. }), "{error}");
    assert_eq!((two.x(&asleep).await, leases(&two)), ("2".to_owned(), 1));
}

#[tokio::test]
async fn limits_and_ages_are_those_of_all_servers() {
    let one = Host::with(engine(), |settings| settings.max_sessions = 2).await;
    let two = one.beside().await;
    let (kept, expired) = (one.open("x = 1").await, two.open("x = 2").await);
    for host in [&one, &two] {
        assert!(matches!(host.cell(None, "x = 1").await, Err(SessionError::TooMany { limit: 2 })));
    }
    one.pass(60);
    for host in [&one, &two] {
        host.sessions.sweep().await;
    }
    // Listing a session counts as use, and needs no machine.
    one.pass(20 * 60);
    two.sessions.files(LOCAL_PRINCIPAL, &kept).await.unwrap();
    one.pass(20 * 60);
    one.sessions.sweep().await;
    assert!(matches!(two.cell(Some(&expired), "x").await, Err(SessionError::NotFound { .. })));
    assert_eq!(one.x(&kept).await, "1");
}

#[tokio::test]
async fn the_disk_is_that_of_all_servers() {
    let engine = || engine().on("big", Script::silent().writes("big", vec![b'b'; 4096]));
    let one = Host::with(engine(), |settings| settings.max_disk_bytes = 20_000).await;
    let two = one.beside_with(engine()).await;
    let id = one.open("big").await;
    let report = two.cell(None, "big").await.unwrap();
    assert!(
        !report.run.is_success() && report.run.error.as_deref().unwrap().contains("SessionLimitError"),
        "{:?}",
        report.run.error
    );
    assert!(one.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert!(two.cell(None, "big").await.unwrap().run.is_success());
}

#[tokio::test]
async fn a_backup_has_the_sessions_of_all_servers() {
    let one = Host::new().await;
    let two = one.beside().await;
    let ids = [one.open("x = 1").await, two.open("x = 2").await];
    let place = tempfile::tempdir().unwrap();
    let made = Sessions::backup(one.path(), &place.path().join("backup"), BACKUP_TIMEOUT).await.unwrap();
    assert_eq!((made.sessions, made.left_out, made.files.len()), (2, Vec::new(), 2));
    let host = Host::new().await.move_to(&place.path().join("backup")).await;
    assert_eq!([host.x(&ids[0]).await, host.x(&ids[1]).await], ["1", "2"]);
}

/// Sets `x` to a number.
fn set(number: u64) -> String {
    format!("x = {number}")
}

fn numbers() -> FakeEngine {
    let values = 0..10_u64;
    values.fold(engine(), |engine, number| engine.on(&set(number), Script::silent().sets("x", &number.to_string())))
}

/// Servers that start, end and are killed while all of them use all sessions: no session is lost, and none is older
/// than its last answer.
#[tokio::test]
async fn used_at_random_by_servers_that_come_and_go_no_session_is_lost() {
    let seed = seed();
    let mut random = Random::part(seed, 41);
    let change = |settings: &mut SessionSettings| (settings.max_live, settings.timeout) = (3, None);
    let first = Host::with(numbers(), change).await;
    let mut servers = vec![first.beside_with(numbers()).await, first.beside_with(numbers()).await];
    let mut expected: Vec<(String, u64)> = Vec::new();
    for step in 0..count(300, 5000) {
        let (which, dice) = (random.below(servers.len() as u64) as usize, random.below(20));
        let server = &servers[which];
        let what = format!("seed {seed}, step {step}");
        match dice {
            0..2 if expected.len() < 8 => {
                let number = random.below(10);
                expected.push((server.open(&set(number)).await, number));
            }
            0..2 => {
                let (id, _) = expected.swap_remove(random.below(expected.len() as u64) as usize);
                assert!(server.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap(), "{what}");
            }
            2 => {
                let server = servers.swap_remove(which);
                if random.below(2) == 0 {
                    server.sessions.close().await;
                } else {
                    // Its sessions survive it.
                    server.engine.set_server_crashed(true);
                }
                drop(server.abandon().await);
                servers.push(first.beside_with(numbers()).await);
            }
            3 => {
                server.pass(60);
                server.sessions.sweep().await;
            }
            4..9 if !expected.is_empty() => {
                let (one, number) = (random.below(expected.len() as u64) as usize, random.below(10));
                let (id, value) = &mut expected[one];
                *value = number;
                assert!(server.cell(Some(id), &set(*value)).await.unwrap().run.is_success(), "{what}");
            }
            _ if !expected.is_empty() => {
                let (id, value) = random.pick(&expected);
                assert_eq!(server.x(id).await, value.to_string(), "{what}");
            }
            _ => {}
        }
    }
    assert_eq!(first.sessions.list(LOCAL_PRINCIPAL).await.len(), expected.len());
    assert_eq!(std::fs::read_dir(first.path().join("servers")).unwrap().count(), 3, "sockets of the ended are left");
}
