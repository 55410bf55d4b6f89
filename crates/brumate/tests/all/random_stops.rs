//! Guests that are interrupted and killed at random instants, in one server process that has to stay as it was.
//!
//! It counts the process's descriptors, memory and descendants: it needs a process of its own, as nextest gives every test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Machine as _;
use brumate_engine::api::{Ended, Execute, Limits, MachineSpec, Outcome, StopReason};
use brumate_engine::client::{EngineError, ExitReason, Machine, Sandbox, SandboxConfig};
use brumate_test_support::{Random, count, seed};
use tokio::sync::mpsc;

/// Guests that are stopped.
fn total() -> u64 {
    count(125, 500)
}

/// Machines at a time.
const CONCURRENT: u64 = 4;

/// Latest instant of a stop after the start of the guest, in microseconds: long enough to be in the middle of an import.
const LATEST_MICROS: u64 = 120_000;

/// Every so many guests one is stopped ten times as late: after its imports.
const LATE_EVERY: u64 = 8;

/// Growth of this process's memory that is no leak, in bytes. A leak of a machine's buffers would be many times more.
const MEMORY_GROWTH: u64 = 96 << 20;

/// How long what was killed may take to be gone. No measurement: it bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the guests do for ever.
const GUESTS: &[(&str, &str)] = &[
    (
        "memoryview",
        "source = bytearray(32 << 20)\ntarget = memoryview(bytearray(32 << 20))\nwhile True:\n    target[:] = source\n",
    ),
    ("bytes", "while True:\n    b'xy' * (24 << 20)\n"),
    ("concatenation", "block = bytes(8 << 20)\nwhile True:\n    b''.join([block] * 6)\n"),
    (
        "files",
        "import os\nblock = os.urandom(1 << 20)\nwhile True:\n    with open('data', 'wb') as file:\n        for _ in range(32):\n\
         \x20           file.write(block)\n    with open('data', 'rb') as file:\n        while file.read(1 << 18):\n            pass\n\
         \x20   os.rename('data', 'other')\n    os.remove('other')\n",
    ),
    (
        "directories",
        "import os, shutil\nwhile True:\n    for number in range(200):\n        os.makedirs(f'tree/{number}/x')\n    shutil.rmtree('tree')\n",
    ),
    (
        "callbacks",
        "import ctypes\nkind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n\
         qsort = ctypes.CDLL(None).qsort\nwhile True:\n    values = (ctypes.c_int * 2000)(*range(2000, 0, -1))\n\
         \x20   qsort(values, 2000, 4, kind(lambda a, b: (a > b) - (a < b)))\n",
    ),
    ("numpy", "import numpy\na = numpy.ones(4 << 20)\nwhile True:\n    b = a.copy()\n    b[1:] = b[:-1]\n"),
    (
        "pandas",
        "import pandas\nframe = pandas.DataFrame({'a': range(10_000)})\nwhile True:\n    frame.groupby('a').sum()\n",
    ),
    ("imports", "import PIL.Image, numpy.linalg, numpy.random\nwhile True:\n    pass\n"),
    ("output", "while True:\n    print('x' * 5000)\n"),
    (
        "database",
        "import sqlite3\nbase = sqlite3.connect('base.db')\nbase.execute('CREATE TABLE IF NOT EXISTS t (x)')\nwhile True:\n\
         \x20   base.executemany('INSERT INTO t VALUES (?)', [(b'x' * 1000,)] * 500)\n    base.commit()\n    base.execute('DELETE FROM t')\n",
    ),
    ("exceptions", "while True:\n    try:\n        raise ValueError\n    except ValueError:\n        pass\n"),
    ("sleep", "import time\nwhile True:\n    time.sleep(0.001)\n"),
    (
        "event loop",
        "import asyncio\nwhile True:\n    await asyncio.gather(*[asyncio.sleep(0.001) for _ in range(50)])\n",
    ),
];

/// The way to stop a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StopMethod {
    Interrupt,
    Kill,
    /// Both, one right after the other.
    InterruptAndKill,
    /// The caller stops waiting for the answer.
    Abandon,
}

fn limits() -> Limits {
    // Far longer than a guest lives here: what ends it is the stop.
    let long = Duration::from_secs(300);
    Limits { wall: long, cpu: long, grace: Duration::from_secs(30), memory_bytes: 256 << 20, ..Limits::default() }
}

async fn machine(sandbox: &Sandbox) -> Machine {
    sandbox.machine(MachineSpec { limits: limits(), ..MachineSpec::default() }).await.expect("a machine")
}

fn request(code: &str) -> Execute {
    Execute { code: code.to_owned(), ..Execute::default() }
}

/// The guest's program, and after an interrupt a proof that the interpreter is whole: files can be written, C code runs.
fn program(code: &str, number: u64) -> String {
    let indented: String = code.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "try:\n{indented}except KeyboardInterrupt:\n    pass\nimport zlib\nwith open('sound', 'w') as file:\n    \
         file.write('{number}')\n[int(open('sound').read()), len(zlib.decompress(zlib.compress(bytes(100_000))))]"
    )
}

/// Starts a guest, stops it, judges the answer.
async fn stop_one(seed: u64, number: u64, sandbox: &Sandbox) -> StopMethod {
    // A stop depends on its number alone, not on which task has its turn.
    let mut random = Random::part(seed, number);
    let (name, code) = *random.pick(GUESTS);
    let latest = if number.is_multiple_of(LATE_EVERY) { LATEST_MICROS * 10 } else { LATEST_MICROS };
    let instant = Duration::from_micros(random.below(latest));
    let stop = match random.below(8) {
        0..4 => StopMethod::Interrupt,
        4..6 => StopMethod::Kill,
        6 => StopMethod::InterruptAndKill,
        _ => StopMethod::Abandon,
    };
    let mut machine = machine(sandbox).await;
    let interrupt_handle = machine.interrupt_handle();
    let (sender, mut events) = mpsc::channel(4);
    let listening = tokio::spawn(async move { while events.recv().await.is_some() {} });
    let running = machine.execute(request(&program(code, number)), sender);
    let stopping = async {
        tokio::time::sleep(instant).await;
        match stop {
            StopMethod::Interrupt => interrupt_handle.interrupt(),
            StopMethod::Kill => interrupt_handle.kill(),
            StopMethod::InterruptAndKill => {
                interrupt_handle.interrupt();
                interrupt_handle.kill();
            }
            StopMethod::Abandon => return,
        }
        std::future::pending().await
    };
    let answer = tokio::select! {
        answer = running => Some(answer),
        () = stopping => None,
    };
    let what = format!("seed {seed}, guest {number} ({name}, {stop:?} after {instant:?})");
    judge(&what, number, stop, answer);
    listening.await.expect("the events end with the execution");
    if stop == StopMethod::Interrupt {
        // The interrupt was for what ran then.
        works(&what, &mut machine).await;
    }
    stop
}

/// Panics when the answer is wrong.
fn judge(what: &str, number: u64, stop: StopMethod, answer: Option<Result<Outcome, EngineError>>) {
    match (stop, answer) {
        (StopMethod::Abandon, None) => {}
        (StopMethod::Interrupt, Some(Ok(outcome))) => {
            assert_eq!(outcome.stopped, Some(StopReason::Cancelled), "{what}: {:?}", outcome.ended);
            match &outcome.ended {
                Ended::Returned(Some(value)) => {
                    let numbers: Vec<u64> = serde_json::from_str(&value.json).expect("a list");
                    assert_eq!(numbers, [number, 100_000], "{what}");
                }
                // Outside the `try`; or an extension module answered with an exception of its own that came of it.
                Ended::Raised { ename, traceback, .. } => {
                    assert!(traceback.contains("KeyboardInterrupt"), "{what}: {ename}: {traceback}");
                }
                other => panic!("{what}: {other:?}"),
            }
        }
        (
            StopMethod::Kill | StopMethod::InterruptAndKill,
            Some(Err(EngineError::MachineExited { reason: ExitReason::Cancelled, .. })),
        ) => {}
        (_, answer) => panic!("{what}: {answer:?}"),
    }
}

/// Panics when a machine does not work.
async fn works(what: &str, machine: &mut Machine) {
    let (sender, events) = mpsc::channel(4);
    drop(events);
    let outcome = machine.execute(request("import math\nint(math.fsum(range(10)))"), sender).await;
    let Ok(Outcome { ended: Ended::Returned(Some(value)), stopped: None, .. }) = &outcome else {
        panic!("{what}: {outcome:?}")
    };
    assert_eq!(value.json, "45");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_stopped_at_random_instants_leave_nothing_behind() {
    let cache = brumate_test_support::cache_directory();
    let config = SandboxConfig {
        // Every process that is alive at the end is to be accounted for.
        ready: 0,
        cache_dir: cache,
        program: Some(env!("CARGO_BIN_EXE_brumate").into()),
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::start(config).await.expect("a sandbox");
    sandbox.compile_wheels(&["numpy", "pandas", "pillow"]).await.expect("wheels");
    // What is done once and stays: threads, buffers, the first machine.
    works("the first machine", &mut machine(&sandbox).await).await;
    let base = settled(&Footprint::now()).await;

    let seed = seed();
    let next = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..CONCURRENT)
        .map(|_| {
            let (sandbox, next) = (sandbox.clone(), next.clone());
            tokio::spawn(async move {
                let mut stops = BTreeMap::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total() {
                        return stops;
                    }
                    *stops.entry(stop_one(seed, number, &sandbox).await).or_insert(0) += 1;
                }
            })
        })
        .collect();
    let mut stops: BTreeMap<StopMethod, u64> = BTreeMap::new();
    for task in tasks {
        for (stop, count) in task.await.expect("every stop is answered as it should be") {
            *stops.entry(stop).or_insert(0) += count;
        }
    }
    assert_eq!(stops.values().sum::<u64>(), total());
    assert_eq!(stops.len(), 4, "every kind of stop: {stops:?}");

    works("the last machine", &mut machine(&sandbox).await).await;
    let after = settled(&base).await;
    assert_eq!(after.descendants, base.descendants, "processes are left");
    assert!(after.descriptors <= base.descriptors, "descriptors leak: {base:?}, {after:?}");
    assert!(after.memory <= base.memory + MEMORY_GROWTH, "memory leaks: {base:?}, {after:?}");
}

/// Resources of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Footprint {
    /// Numbers of the processes started from here, directly or not, zombies included.
    descendants: BTreeSet<i32>,
    /// Open descriptors.
    descriptors: usize,
    /// Resident memory, in bytes.
    memory: u64,
}

impl Footprint {
    fn now() -> Footprint {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let kilobytes =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        let memory = kilobytes.map(|kilobytes: u64| kilobytes * 1024).expect("VmRSS");
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
        Footprint { descendants: crate::support::processes::descendants(), descriptors, memory }
    }
}

/// The footprint once what was killed is gone, or when patience ends.
async fn settled(expected: &Footprint) -> Footprint {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut before = Footprint::now();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = Footprint::now();
        let quiet = now.descendants == before.descendants && now.descriptors == before.descriptors;
        let good = now.descendants.len() <= expected.descendants.len() && now.descriptors <= expected.descriptors;
        if quiet && good || tokio::time::Instant::now() >= deadline {
            return now;
        }
        before = now;
    }
}
