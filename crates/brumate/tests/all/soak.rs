//! Very many runs and forks: what the server and its zygotes use is the same after them as after the first few.
//!
//! With `BRUMATE_TEST_LONG` set there are 100,000 stateless runs and 10,000 forks of a session.
//!
//! A test binary of its own, since it counts the process's descriptors, memory and descendants.

mod disk;
mod footprint;
mod model;
mod server;
mod sessions;

use crate::support::sessions::{cell, sandbox, say};
use brumate_engine::api::Machine as _;
use brumate_engine::api::{Ended, Execute, MachineSpec, Outcome};
use brumate_engine::client::{Sandbox, Session};
use brumate_test_support::{Random, count, seed};
use footprint::Footprint;

/// Runs and forks before the first measurement: threads, buffers and pools have their size then.
const WARM_UP: u64 = 100;

/// Growth of resident memory that is no leak, in bytes: allocators' slack. A machine's buffers are many times more, and a
/// leak of 200 bytes in each of 100,000 runs as well.
const MEMORY_GROWTH: u64 = 16 << 20;

/// More mappings that are no leak: arenas of allocators, stacks of threads.
const MAPPINGS_GROWTH: usize = 32;

/// What a stateless run does, some of it badly.
const RUNS: &[&str] = &[
    "6 * 7",
    "print('x' * 100_000)",
    "open('file', 'wb').write(bytes(1 << 20))",
    "import json; json.dumps(list(range(1000)))",
    "1 / 0",
    "import os; os._exit(1)",
    "import os; os.abort()",
    "import ctypes; ctypes.string_at(0xfffffff0)",
];

async fn run(sandbox: &Sandbox, random: &mut Random) {
    let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let listening = tokio::spawn(async move { while events.recv().await.is_some() {} });
    let code = *random.pick(RUNS);
    // How it ends is not the subject here, but that it works.
    let outcome = machine.execute(Execute { code: code.to_owned(), ..Execute::default() }, sender).await;
    listening.await.expect("the events end");
    match outcome {
        Ok(Outcome { ended: Ended::Returned(_), .. }) => {}
        Ok(Outcome { ended: Ended::Raised { ename, .. }, .. }) if ename == "ZeroDivisionError" => {}
        Err(_) if code.contains("os.") || code.contains("ctypes") => {}
        other => panic!("{code}: {other:?}"),
    }
}

/// Forks a session, runs cells in the child, one of which may end its machine.
async fn fork(session: &Session, number: u64) {
    let child = session.fork().await.expect("a fork");
    assert_eq!(say(&child, "x.append(1); print(len(x))").await, "1001\n");
    if number.is_multiple_of(4) {
        cell(&child, "import os; os._exit(1)").await.0.expect_err("the machine ends");
        assert_eq!(say(&child, "print(len(x))").await, "1001\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_grows() {
    let (runs, forks) = (count(100, 100_000), count(50, 10_000));
    let mut random = Random::part(seed(), 0);
    let sandbox = sandbox(2).await;
    let session = sandbox.session(MachineSpec::default()).await.expect("a session");
    say(&session, "x = [0] * 1000").await;
    for number in 0..WARM_UP {
        run(&sandbox, &mut random).await;
        fork(&session, number).await;
    }
    let before = Footprint::settled(None).await;
    for _ in 0..runs {
        run(&sandbox, &mut random).await;
    }
    for number in 0..forks {
        fork(&session, number).await;
    }
    assert_eq!(say(&session, "print(len(x))").await, "1000\n");
    let after = Footprint::settled(Some(&before)).await;
    eprintln!("{before:?}\n{after:?}");
    assert_eq!(after.processes, before.processes, "processes");
    assert_eq!(after.zygotes.len(), before.zygotes.len(), "zygotes");
    assert!(!after.zygotes.is_empty());
    let pairs = std::iter::once((&before.server, &after.server)).chain(before.zygotes.iter().zip(&after.zygotes));
    for (before, after) in pairs {
        assert_eq!(after.pid, before.pid, "a zygote was replaced");
        assert!(after.descriptors <= before.descriptors, "descriptors: {before:?}, {after:?}");
        assert!(after.mappings <= before.mappings + MAPPINGS_GROWTH, "mappings: {before:?}, {after:?}");
        assert!(after.memory <= before.memory + MEMORY_GROWTH, "memory: {before:?}, {after:?}");
    }
}
