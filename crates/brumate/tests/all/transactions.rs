//! Transactions of sessions: what is rolled back never was, what is committed goes on.

use crate::support::sessions::{cell, sandbox, say};
use brumate_engine::api::MachineSpec;
use brumate_engine::api::Session as _;
use brumate_engine::api::SessionFiles as _;
use brumate_engine::api::SessionTransaction as _;
use brumate_engine::client::{EngineError, Session};

/// What a session holds: a variable, a file, a module.
const LOOK: &str = "import os, sys; print(globals().get('x'), sorted(os.listdir('.')), 'colorsys' in sys.modules)";

async fn change(session: &Session, x: u32) {
    say(session, &format!("x = {x}; import colorsys; open('f{x}', 'w').write('a' * 100_000)")).await;
}

#[tokio::test]
async fn what_is_rolled_back_never_was() {
    let sandbox = sandbox(2).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    // Nothing has run in it yet.
    session.begin().await.unwrap();
    change(&session, 1).await;
    session.roll_back().await.unwrap();
    assert_eq!(say(&session, LOOK).await, "None [] False\n");
    for round in 0..3 {
        say(&session, "x = 0").await;
        session.begin().await.unwrap();
        change(&session, 2).await;
        session.write_file("/workspace/upload", 0, b"bytes".to_vec(), true).await.unwrap();
        say(&session, "x += 1").await;
        session.roll_back().await.unwrap();
        // An end too many is none.
        session.roll_back().await.unwrap();
        session.commit().await.unwrap();
        assert_eq!(say(&session, LOOK).await, "0 [] False\n", "round {round}");
    }
}

#[tokio::test]
async fn what_is_committed_goes_on_and_survives_the_next_crash() {
    let sandbox = sandbox(2).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    for x in 1..6 {
        session.begin().await.unwrap();
        say(&session, &format!("x = {x}")).await;
        if x % 2 == 0 {
            say(&session, &format!("open('f{x}', 'w').close()")).await;
        }
        session.commit().await.unwrap();
        let (crashed, _) = cell(&session, "x = 'crashed'; import os; os.abort()").await;
        assert!(matches!(crashed, Err(EngineError::RolledBack { .. })), "{crashed:?}");
        assert!(say(&session, LOOK).await.starts_with(&format!("{x} ")));
    }
    // Looking changes nothing that counts, and one that was not ended is committed by the next.
    session.begin().await.unwrap();
    say(&session, "x = 7").await;
    session.begin().await.unwrap();
    say(&session, "x = 8").await;
    session.roll_back().await.unwrap();
    assert_eq!(say(&session, LOOK).await, "7 ['f2', 'f4'] False\n");
}

#[tokio::test]
async fn a_machine_that_ends_in_a_transaction_takes_all_of_it_along() {
    let sandbox = sandbox(2).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "x = 1").await;
    session.begin().await.unwrap();
    say(&session, "x = 2").await;
    let (crashed, _) = cell(&session, "import os; os.abort()").await;
    assert!(matches!(crashed, Err(EngineError::RolledBack { .. })), "{crashed:?}");
    // Who goes on in it would work on the state before.
    let directory = tempfile::tempdir().unwrap();
    let written = session.write_file("/workspace/a", 0, b"a".to_vec(), true).await;
    let slept = session.write_to(&directory.path().join("session")).await;
    for refused in [written.err(), slept.err(), session.fork().await.err(), session.commit().await.err()] {
        assert!(matches!(refused, Some(EngineError::RolledBack { .. })), "{refused:?}");
    }
    assert_eq!(say(&session, LOOK).await, "1 [] False\n");
}

#[tokio::test]
async fn estimates_are_rather_too_large() {
    let sandbox = sandbox(2).await;
    let directory = tempfile::tempdir().unwrap();
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let mut before = 0;
    for code in ["x = 1", "import os; kept = os.urandom(10 << 20)", "open('f', 'wb').write(os.urandom(10 << 20))"] {
        say(&session, code).await;
        let estimate = session.estimated_bytes().await.expect("/proc tells");
        let size = session.write_to(&directory.path().join("session")).await.unwrap();
        assert!(estimate >= size, "{code}: {estimate} {size}");
        assert!(size >= before, "{code}: {size} {before}");
        before = size + (9 << 20);
    }
}
