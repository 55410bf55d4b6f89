//! Servers, zygotes and machines that are killed at random instants while a session is hibernated: whoever wakes it finds
//! the old state or the new one, and neither processes nor files are left behind.
//!
//! `BRUMATE_TEST_SEED` is the number all chance follows from (1 when it is not set). With `BRUMATE_TEST_LONG` set there are
//! 500 rounds.

mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::processes;
use crate::support::sessions::{sandbox, say};
use brumate_engine::api::MachineSpec;
use brumate_engine::client::Sandbox;
use brumate_test_support::{Random, count, seed};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};
use server::{HibernationResult, Server};

/// What bounds a failing test; no measurement.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Server,
    /// A jail, with everything in it: its supervisor.
    Jail,
    Zygote,
    /// The session's, or its checkpoint.
    Machine,
}

#[test]
#[ignore = "played by the processes that the other test starts"]
fn a_server_that_is_killed() {
    server::play();
}

/// Kills one of the server's processes. Which machine depends on chance; there may be none for an instant.
fn kill(victim: Victim, server: &Server, random: &mut Random) {
    let below = processes::below(server.id());
    let children = |of: &[i32]| -> Vec<i32> {
        below
            .iter()
            .copied()
            .filter(|&pid| processes::parent_of(pid).is_some_and(|parent| of.contains(&parent)))
            .collect()
    };
    let wardens = children(&[server.id()]);
    let zygotes = processes::zygotes(server.id());
    let mut machines = children(&children(&wardens));
    machines.retain(|pid| !zygotes.contains(pid));
    let victim = match victim {
        Victim::Server => server.id(),
        Victim::Jail => *random.pick(&wardens),
        Victim::Zygote if zygotes.is_empty() => return,
        Victim::Zygote => *random.pick(&zygotes),
        Victim::Machine if machines.is_empty() => return,
        Victim::Machine => *random.pick(&machines),
    };
    // It may have ended on its own meanwhile.
    let _ = kill_process(Pid::from_raw(victim).expect("a process"), Signal::KILL);
}

/// The state that sleeps in `file`, all of it: what it says of itself is proved by everything in it.
async fn sleeping(sandbox: &Sandbox, file: &Path) -> u64 {
    let (session, _) = sandbox.resume_session(file, MachineSpec::default()).await.expect("old or new, it resumes");
    let told = say(&session, server::PROOF).await;
    let (number, proof) = told.trim().split_once(' ').expect("a number and a proof");
    assert_eq!(proof, "True True True True", "{told}");
    number.parse().expect("a number")
}

/// Waits until no process is left but those in `expected`. Orphans come to this process, which has to bury them.
async fn settle(expected: &BTreeSet<i32>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left: Vec<i32> = processes::descendants().difference(expected).copied().collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "processes are left: {left:?}");
        for pid in left {
            let _ = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn half_written(directory: &Path) -> usize {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with('.')).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_killed_the_session_is_old_or_new() {
    set_child_subreaper(Some(Pid::from_raw(1).expect("any number"))).expect("orphans come to this process");
    let sandbox = sandbox(0).await;
    let alone = processes::descendants();
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("session");
    let seed = seed();
    let mut random = Random::part(seed, 0);

    let mut running = Server::start(&file);
    let mut kept = running.begin();
    let start = Instant::now();
    assert!(matches!(running.hear(), Some(HibernationResult::Written(_))));
    let usual = start.elapsed();
    let (mut results, mut survivors) = (BTreeMap::new(), 0);
    for round in 0..count(15, 500) {
        let victim = *random.pick(&[Victim::Server, Victim::Jail, Victim::Zygote, Victim::Machine]);
        let next = running.begin();
        // Some come too late: the instants shortly before the end are those that matter.
        let instant = usual.mul_f64(random.below(1200) as f64 / 1000.0);
        tokio::time::sleep(instant).await;
        kill(victim, &running, &mut random);
        let said = running.hear();
        let what = format!("seed {seed}, round {round}: {victim:?} killed after {instant:?} of {usual:?}, {said:?}");
        if victim == Victim::Server {
            running.bury();
            settle(&alone).await;
            survivors = survivors.max(half_written(directory.path()));
        }
        let found = sleeping(&sandbox, &file).await;
        match said {
            Some(HibernationResult::Written(number)) => assert_eq!((number, found), (next, next), "{what}"),
            Some(HibernationResult::Failed) if victim != Victim::Server => {
                assert!([kept, next].contains(&found), "{what}: {found}")
            }
            None if victim == Victim::Server => assert!([kept, next].contains(&found), "{what}: {found}"),
            _ => panic!("{what}"),
        }
        *results.entry((victim, found == next)).or_insert(0) += 1;
        kept = found;
        if victim == Victim::Server {
            running = Server::start(&file);
        }
    }
    // A killed server leaves at most what it was writing; the next one removes that.
    assert!(survivors <= 1, "{survivors} files");
    running.begin();
    assert!(matches!(running.hear(), Some(HibernationResult::Written(_))));
    assert_eq!(half_written(directory.path()), 0, "files are left");
    drop(running);
    settle(&alone).await;
    // Kills before the end of a hibernation and after it: the instants were the right ones.
    eprintln!("victims, and whether the new state was kept: {results:?}");
    assert!([true, false].iter().all(|new| results.keys().any(|(_, was)| was == new)), "{results:?}");
}
