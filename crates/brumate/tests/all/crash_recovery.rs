//! Servers that are killed lose no session: what they had been told of it is found when it is resumed, and no process stays.
//!
//! `BRUMATE_TEST_SEED` is the number all chance follows from (1 when it is not set). With `BRUMATE_TEST_LONG` set there are
//! 500 random rounds.

mod server;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::sessions::{sandbox, say};
use brumate_engine::api::MachineSpec;
use brumate_engine::client::Sandbox;
use brumate_test_support::{Random, count, seed};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};
use server::Server;

/// What bounds a failing test; no measurement.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
#[ignore = "played by the processes that the other tests start"]
fn a_server_that_vanishes() {
    server::play();
}

/// The directory of a killed server, and a sandbox that reads what it left.
struct CrashSetup {
    sandbox: Sandbox,
    /// Processes of this test itself.
    own_processes: BTreeSet<i32>,
    directory: tempfile::TempDir,
}

impl CrashSetup {
    async fn new() -> CrashSetup {
        set_child_subreaper(Some(Pid::from_raw(1).expect("any number"))).expect("orphans come to this process");
        let sandbox = sandbox(0).await;
        CrashSetup {
            sandbox,
            own_processes: crate::support::processes::descendants(),
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("session")
    }

    /// Kills the server, whatever it does; returns the state it was told of last, and the one that is found.
    async fn vanish(&self, server: &mut Server) -> ((u64, u64), (u64, u64)) {
        server.vanish();
        // Woken at once: whoever still writes is waited for.
        let found = self.state(&self.file()).await;
        self.settle().await;
        (server.state, found)
    }

    /// Returns the state in `file`, and checks that all parts of the state agree.
    async fn state(&self, file: &Path) -> (u64, u64) {
        let (session, _) = self.sandbox.resume_session(file, MachineSpec::default()).await.expect("it resumes");
        let told = say(&session, server::PROOF).await;
        let [cells, uploads, cells_agree, uploads_agree] =
            <[&str; 4]>::try_from(told.split_whitespace().collect::<Vec<_>>()).expect("four words");
        assert_eq!((cells_agree, uploads_agree), ("True", "True"), "{told}");
        (cells.parse().expect("a number"), uploads.parse().expect("a number"))
    }

    /// Waits until no process of a server is left. This process is the parent of orphans and must wait for them.
    async fn settle(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left: Vec<i32> =
                crate::support::processes::descendants().difference(&self.own_processes).copied().collect();
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

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// How many of these are cells that change the state.
fn cells_of(commands: &[&str]) -> u64 {
    commands.iter().filter(|command| matches!(**command, "next" | "little")).count() as u64
}

/// Lets a server do these things, one after the other.
fn told(server: &mut Server, commands: &[&str]) {
    for command in commands {
        server.tell(command);
        assert!(server.line().expect("it lives").starts_with("state "));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_session_outlives_its_server() {
    let place = CrashSetup::new().await;
    let (mut cells, mut uploads) = (0, 0);
    let rounds: [&[&str]; 8] = [
        &[],
        &["little", "little", "little", "little"],
        &["next", "little", "little", "little", "crash", "little"],
        &["next", "next", "next"],
        &["upload"],
        &["next", "crash"],
        &["sleep", "next", "upload"],
        &["crash", "sleep"],
    ];
    for commands in rounds {
        let mut server = Server::start(&place.file());
        told(&mut server, commands);
        // Time for the checkpoint: both could write.
        tokio::time::sleep(Duration::from_millis(200)).await;
        cells += cells_of(commands);
        uploads += commands.iter().filter(|&&command| command == "upload").count() as u64;
        let (_, found) = place.vanish(&mut server).await;
        assert_eq!(found, (cells, uploads), "{commands:?}");
        assert_eq!(place.names(), ["session"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_that_runs_when_its_server_vanishes_never_was() {
    let place = CrashSetup::new().await;
    let mut cells = 0;
    for long in ["sleeps", "spins", "floods"] {
        let little = ["next", "little", "little", "little"];
        for before in [&["next", "upload"][..], &["next", "crash"], &["next", "sleep"], &little] {
            let mut server = Server::start(&place.file());
            told(&mut server, before);
            cells += cells_of(before);
            server.tell(long);
            assert_eq!(server.line().as_deref(), Some("running"));
            let (told, found) = place.vanish(&mut server).await;
            assert_eq!(found, told, "{long} after {before:?}");
            assert_eq!(found.0, cells);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_after_an_answer_and_while_the_checkpoint_is_made() {
    let place = CrashSetup::new().await;
    let mut random = Random::part(seed(), 2);
    for round in 0..count(5, 200) {
        let mut server = Server::start(&place.file());
        let command = *random.pick(&["next", "upload", "crash", "little"]);
        let before = *random.pick(&[&["next"][..], &["next", "little", "little", "little"]]);
        told(&mut server, &[before, &[command]].concat());
        // The checkpoint takes about this long.
        let instant = Duration::from_micros(random.below(5000));
        tokio::time::sleep(instant).await;
        let (told, found) = place.vanish(&mut server).await;
        assert_eq!(found, told, "round {round}: {command}, {instant:?} later");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_any_instant() {
    let place = CrashSetup::new().await;
    let seed = seed();
    let mut random = Random::part(seed, 3);
    let (mut exact, mut newer, mut kept) = (0, 0, (0, 0));
    for round in 0..count(13, 500) {
        let mut server = Server::start(&place.file());
        // What it woke from counts as long as it has said nothing.
        server.state = kept;
        server.tell("run");
        let instant = Duration::from_micros(random.below(300_000));
        tokio::time::sleep(instant).await;
        let (told, found) = place.vanish(&mut server).await;
        let what = format!("seed {seed}, round {round}: killed after {instant:?}, told of {told:?}, found {found:?}");
        let steps = (found.0 + found.1).checked_sub(told.0 + told.1);
        assert!(found.0 >= told.0 && found.1 >= told.1 && steps.is_some_and(|steps| steps <= 1), "{what}");
        if found == told {
            exact += 1
        } else {
            newer += 1
        }
        kept = found;
    }
    eprintln!("{exact} times what was acknowledged, {newer} times one more");
    assert!(exact > 0);
}

/// How much memory a large session has, in MiB.
fn megabytes() -> u64 {
    count(100, 800)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_session_has_the_time_it_needs() {
    let place = CrashSetup::new().await;
    for long in [None, Some("sleeps")] {
        let mut server = Server::start(&place.file());
        told(&mut server, &["next", "grow"]);
        if let Some(long) = long {
            server.tell(long);
            assert_eq!(server.line().as_deref(), Some("running"));
        }
        server.vanish();
        let start = Instant::now();
        let (session, _) =
            place.sandbox.resume_session(&place.file(), MachineSpec::default()).await.expect("it resumes");
        eprintln!("{} MiB: found after {:?}", megabytes(), start.elapsed());
        let proof = format!("print(len(large) == {}, all(blob(n) == b for n, b in enumerate(large)))", megabytes());
        assert_eq!(say(&session, &proof).await, "True True\n");
        drop(session);
        place.settle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_have_wills_of_their_own() {
    let place = CrashSetup::new().await;
    let mut server = Server::start(&place.file());
    told(&mut server, &["next", "forks", "upload"]);
    let (told, found) = place.vanish(&mut server).await;
    assert_eq!((told, found), ((1, 1), (1, 1)));
    assert_eq!(place.state(&place.file().with_extension("other")).await, (3, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_cannot_write_leaves_what_slept_before() {
    let place = CrashSetup::new().await;
    let mut server = Server::start(&place.file());
    told(&mut server, &["next", "sleep", "next"]);
    // All its machines end before the server does.
    let below = crate::support::processes::below(server.id());
    for &pid in below.iter().filter(|&&pid| crate::support::processes::parent_of(pid) == Some(server.id())) {
        kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("it lives");
    }
    let (told, found) = place.vanish(&mut server).await;
    assert_eq!((told, found), ((2, 0), (1, 0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wills_are_written_without_a_zygote() {
    let place = CrashSetup::new().await;
    for before in [&["next"][..], &["next", "crash"]] {
        let mut server = Server::start(&place.file());
        told(&mut server, before);
        for zygote in crate::support::processes::zygotes(server.id()) {
            kill_process(Pid::from_raw(zygote).expect("a process"), Signal::KILL).expect("it lives");
        }
        told(&mut server, &["next", "upload", "crash"]);
        let (told, found) = place.vanish(&mut server).await;
        assert_eq!(told, found);
    }
    assert_eq!(place.state(&place.file()).await, (4, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_its_sessions_leaves_nothing() {
    let place = CrashSetup::new().await;
    let mut server = Server::start(&place.file());
    told(&mut server, &["next", "upload"]);
    assert_eq!(place.names(), ["session.will", "session.will-0", "session.will-1"]);
    server.tell("end");
    while server.line().is_some() {}
    drop(server);
    place.settle().await;
    assert_eq!(place.names(), Vec::<String>::new());
}
