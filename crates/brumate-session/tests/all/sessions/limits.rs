//! Limits on sessions, live sessions, and their disk space.

use brumate_session::sessions::{LOCAL_PRINCIPAL, SessionError, SessionState};
use brumate_session::testing::Script;
use brumate_session::{Allowance, Allowances, CancellationToken, OverLimit, Request};

use super::support::{Host, engine};

#[tokio::test]
async fn the_least_recently_used_session_is_hibernated_for_another() {
    let host = Host::with(engine(), |settings| settings.max_live = 2).await;
    let one = host.open("x = 1").await;
    host.pass(1);
    let two = host.open("x = 2").await;
    host.pass(1);
    host.x(&one).await;
    host.pass(1);
    let three = host.open("x = 1").await;
    let states = host.states(&[&one, &two, &three]).await;
    assert_eq!(states, [SessionState::Live, SessionState::Hibernated, SessionState::Live]);
    assert_eq!(host.x(&two).await, "2");
    assert_eq!(host.state(&one).await, SessionState::Hibernated);
    assert_eq!(host.engine.most_alive(), 2);
}

#[tokio::test]
async fn who_finds_all_places_busy_waits_for_the_first_that_is_free() {
    let host = Host::with(engine(), |settings| settings.max_live = 1).await;
    let (busy, other) = (host.open("x = 1").await, host.open("x = 2").await);
    let running = host.begin(&busy, "loop");
    host.until_executed(3).await;
    let waiting: Vec<_> = (0..4).map(|_| host.begin(&other, "x")).collect();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(waiting.iter().all(|cell| !cell.is_finished()));
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &busy).await.unwrap());
    running.await.unwrap().unwrap();
    for cell in waiting {
        assert_eq!(cell.await.unwrap().unwrap().run.result.as_deref(), Some("2"));
    }
    assert_eq!(host.x(&busy).await, "1");
    assert_eq!(host.engine.most_alive(), 1);
}

#[tokio::test]
async fn many_sessions_used_at_random_never_mix_and_never_exceed_the_limit() {
    let scripts = (0..40)
        .fold(engine(), |engine, n| engine.on(&format!("x = {n}0"), Script::silent().sets("x", &format!("{n}0"))));
    let host = Host::with(scripts, |settings| settings.max_live = 5).await;
    let mut ids = Vec::new();
    for n in 0..40 {
        ids.push(host.open(&format!("x = {n}0")).await);
    }
    // Pseudorandom numbers, the same each time.
    let mut state = 1_u64;
    for _ in 0..25 {
        let cells: Vec<_> = (0..10)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let n = (state >> 33) as usize % ids.len();
                (n, host.begin(&ids[n], "x"))
            })
            .collect();
        host.pass(1);
        for (n, cell) in cells {
            assert_eq!(cell.await.unwrap().unwrap().run.result, Some(format!("{n}0")));
        }
    }
    assert!(host.engine.most_alive() <= 5, "{}", host.engine.most_alive());
}

#[tokio::test]
async fn sessions_in_all_are_bounded() {
    let host = Host::with(engine(), |settings| settings.max_sessions = 2).await;
    let (one, _two) = (host.open("x = 1").await, host.open("x = 1").await);
    let error = host.cell(None, "x = 1").await.unwrap_err();
    assert_eq!(error, SessionError::TooMany { limit: 2 });
    assert!(error.to_string().contains("`max_sessions`"), "{error}");
    let cancel = brumate_session::CancellationToken::new();
    assert!(matches!(host.sessions.fork(LOCAL_PRINCIPAL, &one, &cancel).await, Err(SessionError::TooMany { .. })));
    host.sessions.clear(LOCAL_PRINCIPAL, &one).await.unwrap();
    host.open("x = 1").await;
}

#[tokio::test]
async fn a_session_that_cannot_be_hibernated_stays_live_and_others_make_room() {
    let host = Host::with(engine(), |settings| settings.max_live = 2).await;
    let stuck = host.open("unkeepable").await;
    host.pass(1);
    let (two, three) = (host.open("x = 2").await, host.open("x = 1").await);
    assert_eq!((host.state(&stuck).await, host.state(&two).await), (SessionState::Live, SessionState::Hibernated));
    host.pass(60);
    host.sessions.sweep().await;
    assert_eq!((host.state(&stuck).await, host.state(&three).await), (SessionState::Live, SessionState::Hibernated));
    // A session that cannot be stored is lost with the server, and its record has the reason.
    let host = host.restart(true).await;
    let error = host.cell(Some(&stuck), "x").await.unwrap_err();
    assert!(error.to_string().contains("an open connection"), "{error}");
}

#[tokio::test]
async fn when_no_session_can_be_hibernated_the_next_call_learns_why() {
    let host = Host::with(engine(), |settings| settings.max_live = 1).await;
    host.open("unkeepable").await;
    let error = host.cell(None, "x = 1").await.unwrap_err();
    assert!(error.to_string().contains("an open connection"), "{error}");
    assert_eq!(host.sessions.list(LOCAL_PRINCIPAL).await.len(), 1);
}

#[tokio::test]
async fn code_that_runs_at_the_same_time_is_bounded() {
    let host = Host::with(engine(), |settings| settings.max_concurrent = 1).await;
    let ids = [host.open("x = 1").await, host.open("x = 2").await];
    let running = host.begin(&ids[0], "loop");
    host.until_executed(3).await;
    let waiting = host.begin(&ids[1], "x");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(host.engine.executed().len(), 3);
    host.sessions.interrupt(LOCAL_PRINCIPAL, &ids[0]).await.unwrap();
    running.await.unwrap().unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().run.result.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_principal_has_limits_of_its_own_and_no_more_than_these() {
    let host = Host::with(engine(), |settings| {
        settings.max_live = 1;
        settings.allowances = Allowances::new(|name| match name {
            LOCAL_PRINCIPAL => Allowance { sessions: Some(2), disk_bytes: Some(1 << 20), ..Allowance::default() },
            _ => Allowance { disk_bytes: Some(0), ..Allowance::default() },
        });
    })
    .await;
    let (_, second) = (host.open("x = 1").await, host.open("x = 2").await);
    let error = host.cell(None, "x = 1").await.unwrap_err();
    assert_eq!(error, SessionError::OverLimit(OverLimit::Sessions { limit: 2 }));
    assert!(error.to_string().contains("you have 2 sessions"), "{error}");
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &second).await.unwrap());
    host.open("x = 1").await;
    // A principal without disk space cannot make a session.
    let cell = Request::cell(None, "x = 1");
    let ran = host.sessions.execute(cell.with_principal("other"), &CancellationToken::new(), &mut |_| {}).await;
    assert_eq!(ran.unwrap_err(), SessionError::OverLimit(OverLimit::Disk { limit: 0 }));
}

#[tokio::test]
async fn runs_of_a_principal_wait_for_each_other_and_for_nobody_else() {
    let host = Host::with(engine(), |settings| {
        settings.allowances =
            Allowances::new(|name| Allowance { runs: (name == LOCAL_PRINCIPAL).then_some(1), ..Allowance::default() });
    })
    .await;
    let (busy, other) = (host.open("x = 1").await, host.open("x = 2").await);
    let running = host.begin(&busy, "loop");
    host.until_executed(3).await;
    let waiting = host.begin(&other, "x");
    let cell = Request::cell(None, "x = 1");
    assert!(host.sessions.execute(cell.with_principal("other"), &CancellationToken::new(), &mut |_| {}).await.is_ok());
    assert!(!waiting.is_finished());
    assert!(host.sessions.interrupt(LOCAL_PRINCIPAL, &busy).await.unwrap());
    running.await.unwrap().unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().run.result.as_deref(), Some("2"));
}
