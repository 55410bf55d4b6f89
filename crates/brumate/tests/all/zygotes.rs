//! Zygotes that are killed alone: sessions and running cells do not notice, whoever comes next has another zygote.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::support::processes::{descendants, zygotes};
use crate::support::sessions::{cell, config, sandbox, say};
use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Machine as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Ended, Event, Execute, ExecuteMode, GuestAnswer, MachineSpec};
use brumate_engine::client::{EngineError, ExitReason, Sandbox, SandboxConfig, Session, StartMode};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;

/// What bounds a failing test; no measurement.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kills every zygote of this process, and nothing else. Returns how many there were.
async fn kill_zygotes() -> usize {
    let victims = zygotes(std::process::id() as i32);
    for &zygote in &victims {
        kill_process(Pid::from_raw(zygote).expect("a process"), Signal::KILL).expect("it lives");
    }
    settle("a killed zygote is buried", |alive| victims.iter().all(|zygote| !alive.contains(zygote))).await;
    victims.len()
}

/// Waits until the processes below this one are as they should be.
async fn settle(what: &str, good: impl Fn(&BTreeSet<i32>) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let alive = descendants();
        if good(&alive) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: {alive:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A session with state in memory and in files.
async fn begin(session: &Session, number: usize) {
    say(session, &format!("number = {number}\nopen('file', 'w').write('{number}')")).await;
}

/// Panics unless a session is as [`begin`] left it, and does all that sessions do.
async fn works(session: &Session, number: usize) {
    let proof = "print(number, open('file').read())";
    let expected = format!("{number} {number}\n");
    assert_eq!(say(session, proof).await, expected);
    let crashed = cell(session, "number = -1; import os; os._exit(1)").await.0;
    assert!(matches!(crashed, Err(EngineError::RolledBack { reason: ExitReason::Exit(1), .. })), "{crashed:?}");
    assert_eq!(say(session, proof).await, expected);
    let fork = session.fork().await.expect("a fork");
    say(&fork, "number = -1").await;
    assert_eq!(say(session, proof).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_and_cells_outlive_their_zygote() {
    let sandbox = sandbox(1).await;
    let spec = MachineSpec::default;
    let mut sessions = Vec::new();
    for number in 0..3 {
        let session = sandbox.session(spec()).await.expect("a session");
        begin(&session, number).await;
        sessions.push(session);
    }
    let busy = sandbox.session(spec()).await.expect("a session");
    begin(&busy, 3).await;
    // One cell runs: it has asked, and goes on when it is answered.
    let (sender, mut events) = mpsc::channel(4);
    let code = "from _brumate.channel import ask\nheard = ask('')\nimport json\nprint(json.dumps(heard))";
    let request = Execute { code: code.to_owned(), mode: ExecuteMode::Cell, allow_stdin: true, ..Execute::default() };
    let interrupt_handle = busy.interrupt_handle();
    let listening = async {
        let mut printed = String::new();
        while let Some(event) = events.recv().await {
            match event {
                Event::Request(request) => {
                    assert_eq!(kill_zygotes().await, 1);
                    let line = GuestAnswer::Input(Some("alive".to_owned()));
                    assert!(interrupt_handle.answer(request.id, line));
                }
                Event::Stream { text, .. } => printed.push_str(&text),
                _ => {}
            }
        }
        printed
    };
    let (outcome, printed) = tokio::join!(busy.execute(request, sender), listening);
    let outcome = outcome.expect("it goes on");
    assert!(matches!(outcome.ended, Ended::Returned(_)), "{:?}", outcome.ended);
    assert_eq!(printed, "\"alive\"\n");
    assert_eq!(say(&busy, "print(heard)").await, "alive\n");
    sessions.push(busy);

    // New ones come from a new zygote, which is killed as well.
    let new = sandbox.session(spec()).await.expect("a session");
    begin(&new, 4).await;
    sessions.push(new);
    let mut machine = sandbox.machine(spec()).await.expect("a machine");
    assert_eq!(kill_zygotes().await, 1);
    let (sender, _events) = mpsc::channel(4);
    machine.execute(Execute { code: "1".to_owned(), ..Execute::default() }, sender).await.expect("it lives");
    for (number, session) in sessions.iter().enumerate() {
        works(session, number).await;
    }

    // They sleep, and wake in a third zygote's machines.
    let directory = tempfile::tempdir().expect("a directory");
    for (number, session) in sessions.iter().enumerate() {
        let file = directory.path().join(number.to_string());
        session.write_to(&file).await.expect("it sleeps");
        works(&sandbox.resume_session(&file, spec()).await.expect("it resumes").0, number).await;
    }

    // With the last of its machines a jail without zygote ends.
    drop((sessions, machine));
    let sandbox_only = |alive: &BTreeSet<i32>| {
        // Supervisor, first process, zygote, one machine kept ready.
        alive.len() <= 4
    };
    settle("jails are left", sandbox_only).await;
    say(&sandbox.session(spec()).await.expect("a session"), "print(1)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_a_machine_ended_is_known_without_its_zygote() {
    let sandbox = sandbox(0).await;
    let before = descendants();
    let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
    let new: Vec<_> = descendants().difference(&before).copied().collect();
    let &[pid] = &new[..] else { panic!("a machine is one process: {new:?}") };
    kill_zygotes().await;
    let (sender, mut events) = mpsc::channel(4);
    let code = "block = bytearray(100 << 20)\nprint('running', flush=True)\nwhile True: pass";
    let running = machine.execute(Execute { code: code.to_owned(), ..Execute::default() }, sender);
    let killing = async {
        events.recv().await.expect("an event");
        kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("it lives");
        while events.recv().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(running, killing);
    // It was far from its limit, so it is not told that this was the reason.
    let Err(EngineError::MachineExited { reason: ExitReason::Signal(9), peak_memory_bytes: Some(peak), .. }) = &outcome
    else {
        panic!("{outcome:?}");
    };
    assert!((100 << 20..1 << 30).contains(peak), "{peak}");
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("ended from outside (SIGKILL)") && !text.contains("limit"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zygotes_that_nobody_uses_end_and_others_start() {
    let idle = Some(Duration::from_millis(500));
    let sandbox = Sandbox::start(SandboxConfig { idle, ..config(2) }).await.expect("a sandbox");
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    begin(&session, 1).await;
    // The session, its checkpoint, the first process of their jail and its supervisor are left, and the zygote that made them.
    settle("machines that are kept ready end", |alive| alive.len() <= 5).await;
    works(&session, 1).await;
    drop(session);
    settle("nothing is left", BTreeSet::is_empty).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("another session");
    begin(&session, 2).await;
    works(&session, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quick_start_is_followed_by_another_zygote() {
    let sandbox = Sandbox::start(SandboxConfig { start: StartMode::Quick, ..config(0) }).await.expect("a sandbox");
    let first: BTreeSet<i32> = zygotes(std::process::id() as i32).into_iter().collect();
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    begin(&session, 1).await;
    let renewed = |_: &BTreeSet<i32>| zygotes(std::process::id() as i32).iter().any(|zygote| !first.contains(zygote));
    settle("another zygote", renewed).await;
    works(&session, 1).await;
    let other = sandbox.session(MachineSpec::default()).await.expect("another session");
    begin(&other, 2).await;
    works(&other, 2).await;
}
