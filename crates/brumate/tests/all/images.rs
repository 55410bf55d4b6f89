//! Forks, checkpoints, sleep: a session goes on where it was, and never shares its chance or its bytes with another.

use crate::support::sessions::{cell, say};
use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Image, Limits, MachineSpec, StopReason};
use brumate_engine::client::{EngineError, Sandbox};

async fn sandbox() -> Sandbox {
    crate::support::sessions::sandbox(2).await
}

const CHANCE: &str = "import random, tempfile, uuid, secrets, sqlite3, ctypes, os, time
import email.utils, multiprocessing.process
c = ctypes.CDLL(None)
c.drand48.restype = ctypes.c_double
print(random.random(), random.Random().random(), next(tempfile._get_candidate_names()), uuid.uuid1(), uuid.uuid4(),
      secrets.token_hex(), sqlite3.connect(':memory:').execute('select random(), hex(randomblob(8))').fetchone(),
      c.rand(), c.random(), c.drand48(), os.urandom(8).hex(), email.utils.make_msgid(),
      multiprocessing.process.current_process().authkey[:8].hex(), sep='|')
if 'numpy' in __import__('sys').modules:
    import numpy
    print(numpy.random.rand(), numpy.random.default_rng().random(), sep='|')
";

/// Parts that two guests drew alike.
fn alike(first: &str, second: &str) -> Vec<String> {
    let parts = |text: &str| text.trim().split(['|', '\n']).map(str::to_owned).collect::<Vec<_>>();
    let (first, second) = (parts(first), parts(second));
    assert!(first.len() >= 13 && first.len() == second.len(), "{first:?} {second:?}");
    first.into_iter().zip(second).filter(|(a, b)| a == b).map(|(a, _)| a).collect()
}

#[tokio::test]
async fn no_two_machines_agree_on_anything_random() {
    let sandbox = sandbox().await;
    sandbox.build_image(&Image::data()).await.unwrap();
    for image in [Image::plain(), Image::data()] {
        let spec = || MachineSpec { image: image.clone(), ..MachineSpec::default() };
        let (first, second) = (sandbox.session(spec()).await.unwrap(), sandbox.session(spec()).await.unwrap());
        let (a, b) = (say(&first, CHANCE).await, say(&second, CHANCE).await);
        assert_eq!(alike(&a, &b), Vec::<String>::new());
        // Forks of a session, and a session that sleeps, draw anew.
        let (child, other) = (first.fork().await.unwrap(), first.fork().await.unwrap());
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("session");
        first.write_to(&file).await.unwrap();
        let (resumed, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
        let (again, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
        let mut drawn = Vec::new();
        for session in [&first, &child, &other, &resumed, &again] {
            drawn.push(say(session, CHANCE).await);
        }
        for (index, a) in drawn.iter().enumerate() {
            for b in &drawn[index + 1..] {
                assert_eq!(alike(a, b), Vec::<String>::new());
            }
        }
    }
}

#[tokio::test]
async fn a_seed_given_on_purpose_stays() {
    let sandbox = sandbox().await;
    sandbox.build_image(&Image::data()).await.unwrap();
    let session = sandbox.session(MachineSpec { image: Image::data(), ..MachineSpec::default() }).await.unwrap();
    say(&session, "import random, numpy; random.seed(7); numpy.random.seed(7); random.random(); numpy.random.rand()")
        .await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    session.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
    let draw = "print(random.random(), numpy.random.rand())";
    assert_eq!(say(&session, draw).await, say(&resumed, draw).await);
}

#[tokio::test]
async fn a_fork_has_the_parents_state_and_its_own_future() {
    let sandbox = sandbox().await;
    let parent = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&parent, "x = [1]\nopen('f', 'w').write('parent')\nh = open('f', 'a')").await;
    let child = parent.fork().await.unwrap();
    say(&child, "x.append(2); h.write(' child'); h.flush()").await;
    assert_eq!(say(&child, "print(x, open('f').read())").await, "[1, 2] parent child\n");
    assert_eq!(say(&parent, "print(x, open('f').read())").await, "[1] parent\n");
    drop(parent);
    let grandchild = child.fork().await.unwrap();
    assert_eq!(say(&grandchild, "print(x)").await, "[1, 2]\n");
}

#[tokio::test]
async fn a_cell_that_ends_the_machine_never_was() {
    let sandbox = sandbox().await;
    let limits = Limits {
        wall: std::time::Duration::from_secs(1),
        grace: std::time::Duration::from_millis(300),
        ..Limits::default()
    };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.unwrap();
    say(&session, "x = 1\nopen('kept', 'w').write('before')").await;
    let endings = [
        "x = 2; open('kept', 'w').write('after'); import os; os._exit(3)",
        "x = 3; open('new', 'w').close(); import os; os.abort()",
        "x = 4; import ctypes; ctypes.string_at(0xfffffff0)",
        "x = 5; sum(range(10 ** 12))",
        "x = 6\nwhile True:\n    try:\n        while True: pass\n    except KeyboardInterrupt:\n        pass",
    ];
    for code in endings {
        let (outcome, _) = cell(&session, code).await;
        assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{code}: {outcome:?}");
        let state = "import os; print(x, open('kept').read(), os.path.exists('new'))";
        assert_eq!(say(&session, state).await, "1 before False\n");
    }
    say(&session, "x = 10").await;
    assert_eq!(say(&session, "print(x)").await, "10\n");
}

#[tokio::test]
async fn a_stop_means_the_cell_and_not_its_checkpoint() {
    let sandbox = sandbox().await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "x = 1").await;
    for _ in 0..20 {
        // At this moment the checkpoint of the last cell is being forked, or is not even begun.
        session.interrupt_handle().kill();
        let (outcome, _) = cell(&session, "x = 2\nwhile True: pass").await;
        assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}");
        assert_eq!(say(&session, "print(x)").await, "1\n");
        session.interrupt_handle().interrupt();
        let (outcome, _) = cell(&session, "while True: pass").await;
        assert_eq!(outcome.unwrap().stopped, Some(StopReason::Cancelled));
    }
}

#[tokio::test]
async fn a_cell_that_nobody_waited_for_never_was() {
    let sandbox = sandbox().await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "x = 1").await;
    let abandoned = cell(&session, "x = 2; print('not for the next'); import time; time.sleep(1); x = 3");
    assert!(tokio::time::timeout(std::time::Duration::from_millis(300), abandoned).await.is_err());
    let (outcome, text) = cell(&session, "print('never run')").await;
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}");
    assert_eq!(text, "");
    assert_eq!(say(&session, "print(x)").await, "1\n");
}

#[tokio::test]
async fn a_sleeping_session_wakes_in_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let code = "import numpy as np, pandas as pd, sqlite3, time\n\
        frame = pd.DataFrame({'a': np.arange(65536.0), 'b': np.arange(65536)})\n\
        def numbers():\n    for n in range(99):\n        yield n\n\
        g = numbers(); next(g)\nh = open('notes', 'w+'); h.write('hello'); h.flush()\n\
        start = time.monotonic()";
    let size = {
        let first = sandbox().await;
        first.build_image(&Image::data()).await.unwrap();
        let session = first.session(MachineSpec { image: Image::data(), ..MachineSpec::default() }).await.unwrap();
        say(&session, code).await;
        session.write_to(&file).await.unwrap()
    };
    assert!(size < 5 << 20, "{size}");
    let second = sandbox().await;
    let (session, revoked) = second.resume_session(&file, MachineSpec::default()).await.unwrap();
    assert_eq!(revoked, Vec::<String>::new());
    let after = "h.seek(0); print(frame.a.sum(), next(g), h.read(), 0 <= time.monotonic() - start < 3600)";
    assert_eq!(say(&session, after).await, "2147450880.0 1 hello True\n");
}

#[tokio::test]
async fn what_is_no_session_is_refused() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    session.write_to(&file).await.unwrap();
    let whole = std::fs::read(&file).unwrap();
    let mut changed = whole.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    for damaged in [&whole[..0], &whole[..20], &whole[..last], &changed] {
        std::fs::write(&file, damaged).unwrap();
        let error = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap_err();
        assert!(matches!(&error, EngineError::Image(reason) if reason.contains("damaged")), "{error}");
    }
    // Which version wrote it does not matter.
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let at = whole.windows(version.len()).position(|window| window == version).unwrap();
    let mut other = whole.clone();
    other[at] += 1;
    std::fs::write(&file, &other).unwrap();
    sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
    // The number after the mark at the beginning is that of the format.
    let mut other = whole;
    assert_eq!(other[4..12], *b"brumate\x1c");
    other[12] += 1;
    std::fs::write(&file, &other).unwrap();
    let error = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap_err();
    assert!(matches!(&error, EngineError::Outdated(reason) if reason.contains("another format")), "{error}");
}

/// Returns a session's local time, locks and links.
const PLACE: &str = "import fcntl, time, os
other = open('/tmp/locked')
try:
    fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    held = 'free'
except BlockingIOError:
    held = 'locked'
print(time.tzname[0], time.strftime('%H %Z', time.localtime(1720000000)), held, os.stat('/tmp/locked').st_nlink)";

#[tokio::test]
async fn local_time_locks_and_links_stay_and_are_rolled_back() {
    let sandbox = sandbox().await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let set = |zone: &str| format!("import os, time; os.environ['TZ'] = '{zone}'; time.tzset()");
    say(&session, "import fcntl, os; f = open('/tmp/locked', 'w'); os.link('/tmp/locked', '/tmp/linked')").await;
    say(&session, &(set("Europe/Berlin") + "; fcntl.flock(f, fcntl.LOCK_EX)")).await;
    let berlin = "CET 11 CEST locked 2\n";
    assert_eq!(say(&session, PLACE).await, berlin);
    // A cell that ends the machine has not happened, a zone that it set neither.
    let (died, _) = cell(&session, &(set("Asia/Tokyo") + "; fcntl.flock(f, fcntl.LOCK_UN); os.abort()")).await;
    assert!(matches!(died, Err(EngineError::RolledBack { .. })), "{died:?}");
    assert_eq!(say(&session, PLACE).await, berlin);
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("session");
    session.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
    let fork = session.fork().await.unwrap();
    for other in [&resumed, &fork] {
        assert_eq!(say(other, PLACE).await, berlin);
    }
    say(&fork, &(set("Asia/Tokyo") + "; f.close(); os.unlink('/tmp/linked')")).await;
    assert_eq!(say(&fork, PLACE).await, "JST 18 JST free 1\n");
    assert_eq!((say(&resumed, PLACE).await, say(&session, PLACE).await), (berlin.to_owned(), berlin.to_owned()));
    // Another session of the same image is in UTC.
    let own = sandbox.session(MachineSpec::default()).await.unwrap();
    assert_eq!(say(&own, "import time; print(time.tzname, time.localtime(0).tm_zone)").await, "('UTC', 'UTC') UTC\n");
}
