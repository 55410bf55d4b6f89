//! Threads of the guest: alive over cells, checkpoints, roll-backs and forks; stopped, killed, and out of memory.

use std::time::Duration;

use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Ended, Limits, MachineSpec, StopReason};
use brumate_engine::client::{EngineError, Session};
use brumate_test_support::{Random, count, seed};

use crate::support::sessions::{cell, sandbox, say};

/// Ends the machine.
const CRASH: &str = "import os\nos._exit(1)";

/// Threads that count as long as the session lives, and wait in different ways. The queues are those in C: an interrupt between a lock of
/// `queue.Queue`'s and its `with` leaves it locked, as natively.
const WORKERS: &str = "
import queue, threading, time
counts = [0] * 64
go, questions, answers = threading.Event(), queue.SimpleQueue(), queue.SimpleQueue()

def clear(things):
    while not things.empty():
        try: things.get_nowait()
        except queue.Empty: break

def compute(index):
    while not go.is_set():
        counts[index] += 1
        time.sleep(0.001)

def answer(index):
    while (question := questions.get()) is not None:
        counts[index] += 1
        answers.put(question + 1)

threads = [threading.Thread(target=(compute, answer)[index % 2], args=(index,), daemon=True) for index in range(64)]
for thread in threads:
    thread.start()
";

/// Proves that all of them are alive and work.
const PROOF: &str = "
before = list(counts)
for number in range(100):
    questions.put(number)
got = sorted(answers.get() for _ in range(100))
time.sleep(0.1)
busy = sum(counts[index] > before[index] for index in range(0, 64, 2))
print(got == list(range(1, 101)), busy, sum(thread.is_alive() for thread in threads))
";

async fn roll_back(session: &Session, code: &str) {
    let (outcome, printed) = cell(session, code).await;
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}; printed {printed}");
}

fn with_limits(limits: Limits) -> MachineSpec {
    MachineSpec { limits, ..MachineSpec::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_live_over_cells_checkpoints_and_forks() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, WORKERS).await;
    assert_eq!(say(&session, PROOF).await, "True 32 64\n");
    // The machine is replaced by its checkpoint, in which all threads are alive.
    roll_back(&session, CRASH).await;
    assert_eq!(say(&session, PROOF).await, "True 32 64\n");
    let copy = session.fork().await.unwrap();
    for session in [&copy, &session] {
        assert_eq!(say(session, PROOF).await, "True 32 64\n");
        say(session, "go.set()\nfor thread in threads: questions.put(None)\nfor thread in threads: thread.join()")
            .await;
        assert_eq!(say(session, "print(threading.active_count())").await, "1\n");
    }
    // Ended threads are no part of a later checkpoint.
    say(&session, "after = 1").await;
    roll_back(&session, CRASH).await;
    assert_eq!(say(&session, "print(after, threading.active_count())").await, "1 1\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_with_threads_are_not_written_and_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let wait =
        "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()";
    say(&session, wait).await;
    let error = session.write_to(&file).await.unwrap_err();
    assert!(error.to_string().contains("the session holds a running thread, which cannot be kept"), "{error}");
    say(&session, "stop.set()\nthread.join()").await;
    // Workers that only wait for work end with the cell, and start again at the next use.
    let pool =
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\nsum(pool.map(int, range(9)))";
    say(&session, pool).await;
    session.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
    assert_eq!(say(&resumed, "print(pool.submit(pow, 2, 5).result())").await, "32\n");
    say(&resumed, "stop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()").await;
    assert_eq!(say(&resumed, "stop.set()\nthread.join()\nprint(thread.is_alive())").await, "False\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_ends_with_an_interrupt() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let deadlock = "
import threading
first, second, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def take(one, other):
    with one:
        both.wait()
        other.acquire()
thread = threading.Thread(target=take, args=(second, first), daemon=True)
thread.start()
kept = 1
take(first, second)
";
    let handle = session.interrupt_handle();
    let stop = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        handle.interrupt();
    });
    let (outcome, printed) = cell(&session, deadlock).await;
    stop.await.unwrap();
    let outcome = outcome.unwrap();
    assert_eq!(outcome.stopped, Some(StopReason::Cancelled), "{printed}");
    assert!(matches!(&outcome.ended, Ended::Raised { ename, .. } if ename == "KeyboardInterrupt"), "{outcome:?}");
    // The interrupt has left the block that held the other thread's lock.
    assert_eq!(say(&session, "thread.join(30)\nprint(kept, thread.is_alive())").await, "1 False\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_never_returns_from_c_is_killed() {
    let sandbox = sandbox(0).await;
    let limits = Limits { cpu: Duration::from_secs(1), grace: Duration::from_millis(300), ..Limits::default() };
    let session = sandbox.session(with_limits(limits)).await.unwrap();
    say(&session, "import threading\nkept = 1").await;
    roll_back(&session, "thread = threading.Thread(target=sum, args=(range(1 << 50),))\nthread.start()\nthread.join()")
        .await;
    assert_eq!(say(&session, "print(kept, threading.active_count())").await, "1 1\n");
    // In Python it is the main thread that is interrupted. The other one goes on.
    let spin = "
done = False
def spin():
    while not done: pass
thread = threading.Thread(target=spin)
thread.start()
thread.join()
";
    let (outcome, _) = cell(&session, spin).await;
    assert_eq!(outcome.unwrap().stopped, Some(StopReason::CpuLimit));
    assert_eq!(say(&session, "done = True\nthread.join()\nprint(threading.active_count())").await, "1\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_and_their_memory_are_bounded() {
    let sandbox = sandbox(0).await;
    let limits = Limits { memory_bytes: 400 << 20, ..Limits::default() };
    let session = sandbox.session(with_limits(limits)).await.unwrap();
    let allocate = "
import threading
kept, caught = [], []
def allocate():
    try:
        while True: kept.append(bytearray(8 << 20))
    except MemoryError:
        kept.clear()
        caught.append(True)
thread = threading.Thread(target=allocate)
thread.start()
thread.join()
print(caught)
";
    assert_eq!(say(&session, allocate).await, "[True]\n");
    let many = "
stop, threads = threading.Event(), []
try:
    while True:
        thread = threading.Thread(target=stop.wait)
        thread.start()
        threads.append(thread)
except RuntimeError as error:
    print(error, len(threads) == 64)
stop.set()
for thread in threads: thread.join()
for _ in range(1000):
    thread = threading.Thread(target=list)
    thread.start()
    thread.join()
print(threading.active_count())
";
    assert_eq!(say(&session, many).await, "can't start new thread True\n1\n");
}

/// Cells that threads work during, and that leave threads.
const CELLS: [&str; 6] = [
    "while True: pass",
    "import time\nwhile True: time.sleep(0.0005)",
    "threading.Event().wait()",
    "short = [threading.Thread(target=sum, args=(range(3000),)) for _ in range(20)]\nfor t in short: t.start()\nfor t in short: t.join()",
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool: list(pool.map(str, range(2000)))",
    "clear(answers)\nfor n in range(500): questions.put(n)\nfor n in range(500): answers.get()",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stops_at_random_moments_leave_threads_that_work() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let mut random = Random::part(seed(), 53);
    say(&session, WORKERS).await;
    let mut stopped = 0;
    for round in 0..count(25, 500) {
        let handle = session.interrupt_handle();
        let kills = random.below(5) == 0;
        let after = Duration::from_micros(random.below(20_000));
        let stop = tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if kills { handle.kill() } else { handle.interrupt() }
        });
        let code = *random.pick(&CELLS);
        let (outcome, printed) = cell(&session, code).await;
        stop.await.unwrap();
        match outcome {
            Ok(outcome) => stopped += u64::from(outcome.stopped == Some(StopReason::Cancelled)),
            Err(EngineError::RolledBack { .. }) => stopped += 1,
            Err(error) => panic!("round {round}, {code}: {error}; printed {printed}"),
        }
        if random.below(4) == 0 {
            say(&session, "clear(questions)\ntime.sleep(0.02)\nclear(answers)").await;
            assert_eq!(say(&session, PROOF).await, "True 32 64\n", "round {round}");
        }
    }
    assert!(stopped > 3, "{stopped}");
}
