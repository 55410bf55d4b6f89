//! Checkpoints that follow their machine from cell to cell, or are forked anew: whichever, a cell that ends the machine never was.

use std::collections::BTreeSet;
use std::time::Duration;

use brumate_engine::api::MachineSpec;
use brumate_engine::client::{EngineError, Session};

use crate::support::processes::descendants;
use crate::support::sessions::{cell, sandbox, say};
use brumate_test_support::{Random, count, seed};

/// Ends the machine after it has changed what the tests look at.
const CRASH: &str = "number = -1\nkept.append(-1)\nkept[0] = -1\nimport os\nos._exit(1)";

/// Longer than a checkpoint takes while nobody waits; shorter than it takes a session to settle.
const MEANWHILE: Duration = Duration::from_millis(50);

async fn crash(session: &Session, code: &str) {
    let (outcome, printed) = cell(session, code).await;
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}; printed {printed}");
}

/// The processes there are, when the session has seen to its checkpoint.
async fn processes() -> BTreeSet<i32> {
    tokio::time::sleep(MEANWHILE).await;
    descendants()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_cells_keep_their_checkpoint_and_lose_nothing() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "number, kept = 0, [0]").await;
    let mut number = 0;
    let mut followed = 0;
    for round in 0..count(2, 60) {
        for _ in 0..8 {
            let before = processes().await;
            number += 1;
            say(&session, "number += 1\nkept.append(number)").await;
            // Neither the machine nor the checkpoint is another one.
            followed += u64::from(processes().await == before);
        }
        crash(&session, CRASH).await;
        let expected = format!("{number} True\n");
        assert_eq!(say(&session, "print(number, kept == list(range(number + 1)))").await, expected, "round {round}");
    }
    // After each crash and at the beginning some are forked anew.
    assert!(followed >= count(2, 60) * 4, "{followed} cells of {number}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cells_in_quick_succession_lose_nothing() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let mut random = Random::part(seed(), 11);
    say(&session, "number, kept, large = 0, [0], {}").await;
    let mut number = 0;
    for round in 0..count(10, 400) {
        for _ in 0..random.below(12) {
            number += 1;
            let more = *random.pick(&[
                "",
                "",
                "",
                "",
                "large[0] = bytes(3 << 20)",
                "open('f', 'w').write(str(number))",
                "import this",
            ]);
            say(&session, &format!("number += 1\nkept.append(number)\n{more}")).await;
        }
        crash(&session, CRASH).await;
        let expected = format!("{number} True\n");
        let proof = "print(number, kept == list(range(number + 1)))";
        assert_eq!(say(&session, proof).await, expected, "round {round}");
    }
}

/// Changes that memory alone does not hold: what makes one, and what proves that it was.
const CHANGES: [(&str, &str); 17] = [
    ("open('written', 'w').write('text')", "open('written').read() == 'text'"),
    ("open('written', 'a').write(' and more')", "open('written').read() == 'text and more'"),
    ("held = open('written'); held.read(4)", "held.read(4) == ' and'"),
    ("held.read(2)", "held.read() == 'ore'"),
    ("held.close()", "held.closed"),
    ("os.mkdir('directory'); os.chdir('directory')", "os.getcwd().endswith('/directory')"),
    (
        "os.chdir('..'); os.rename('directory', 'renamed')",
        "os.listdir('renamed') == [] and not os.path.exists('directory')",
    ),
    ("os.umask(0o27)", "os.umask(0o27) == 0o27"),
    ("os.chmod('written', 0o600); os.utime('written', (5, 6))", "os.stat('written').st_mtime == 6"),
    ("read, write = os.pipe(); os.write(write, b'piped')", "os.read(read, 5) == b'piped'"),
    ("os.close(read); os.close(write)", "not os.path.exists(f'/proc/self/fd/{read}')"),
    (
        "import ctypes\ncompare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x * 3)",
        "ctypes.cast(compare, ctypes.c_void_p).value > 0 and compare(14) == 42",
    ),
    ("compare = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x / 2)", "compare(5.0) == 2.5"),
    ("import yaml", "yaml.load('[1, 2]', yaml.CSafeLoader) == [1, 2]"),
    ("block = bytearray(80 << 20); block[-1] = 7", "block[-1] == 7 and len(block) == 80 << 20"),
    ("del block", "'block' not in globals()"),
    ("os.remove('written')", "not os.path.exists('written')"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_memory_does_not_hold_is_kept_as_well() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "import os, sys\nnumber, kept = 0, [0]").await;
    for (number, (change, proof)) in (1..).zip(CHANGES) {
        // So that the checkpoint follows before.
        for _ in 0..4 {
            say(&session, "1 + 1").await;
        }
        let (outcome, printed) = cell(&session, &format!("number += 1\n{change}")).await;
        let ended = outcome.unwrap_or_else(|error| panic!("{change}: {error}; printed {printed}")).ended;
        assert!(matches!(ended, brumate_engine::api::Ended::Returned(_)), "{change}: {ended:?}; printed {printed}");
        crash(&session, CRASH).await;
        assert_eq!(say(&session, &format!("print({proof}, number)")).await, format!("True {number}\n"), "{change}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_a_session_takes_nothing_from_its_checkpoint() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "number, kept = 0, [0]").await;
    let mut copies = Vec::new();
    for number in 1..=12u64 {
        say(&session, "number += 1\nkept.append(number)").await;
        if number.is_multiple_of(3) {
            // From here on the two share all pages; what the machine had to itself before is not seen any more.
            let copy = session.fork().await.unwrap();
            if number.is_multiple_of(2) {
                crash(&session, CRASH).await;
                assert_eq!(say(&session, "print(number, len(kept))").await, format!("{number} {}\n", number + 1));
            }
            say(&copy, "number += 100").await;
            say(&copy, "number += 100").await;
            copies.push((copy, number + 200));
        }
    }
    crash(&session, CRASH).await;
    assert_eq!(say(&session, "print(number, kept == list(range(13)))").await, "12 True\n");
    for (copy, number) in copies {
        crash(&copy, CRASH).await;
        assert_eq!(say(&copy, "print(number)").await, format!("{number}\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rest_cells_are_followed_again() {
    let sandbox = sandbox(0).await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "number, kept = 0, [0]").await;
    for round in 1..=2u64 {
        for _ in 0..5 {
            say(&session, "number += 1").await;
        }
        // It settles: what was given to follow is given back.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        crash(&session, CRASH).await;
        assert_eq!(say(&session, "print(number)").await, format!("{}\n", round * 6 - 1));
        say(&session, "number += 1").await;
    }
}
