//! Several servers use the sessions of one small disk at random, while servers, machines and the disk fail: what was answered is not
//! lost, and no cell counts twice.
//!
//! `BRUMATE_SOAK_SECONDS` is the duration, 20 by default. With it the report `target/long/soak-sessions.md` is written.
//! `cargo xtask test --long` sets it to an hour.

use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use brumate_test_support::{Random, cache_directory, seed};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::disk::Disk;
use super::model::{Figures, Model, STEP};
use super::server::{Server, signal};
use crate::support::processes;

/// Threads that use the servers at the same time.
const WORKERS: u64 = 4;
const SERVERS: usize = 3;
const SESSIONS: usize = 6;

/// A server with its process id, so that a signal can be sent while another thread waits for its answer.
struct Place {
    process: AtomicI32,
    server: Mutex<Server>,
}

impl Place {
    fn new(disk: &Disk) -> Place {
        let server = Server::start(disk, &disk.data());
        Place { process: AtomicI32::new(server.process()), server: Mutex::new(server) }
    }

    fn process(&self) -> i32 {
        self.process.load(Ordering::SeqCst)
    }

    /// Ends the server with a signal and starts another one.
    fn replace(&self, disk: &Disk, how: Signal) {
        let below = processes::below(self.process());
        signal(self.process(), how);
        let mut server = self.server.lock().unwrap();
        let ended = std::mem::replace(&mut *server, Server::start(disk, &disk.data())).wait();
        assert!(how == Signal::KILL || ended.success(), "a server that is told to end writes all sessions: {ended}");
        self.process.store(server.process(), Ordering::SeqCst);
        // They write crash snapshots, for which the next fault must not take the disk.
        while below.iter().any(|pid| processes::parent_of(*pid).is_some()) {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A run of the soak.
struct Soak {
    disk: Disk,
    places: Vec<Place>,
    sessions: RwLock<Vec<Arc<Model>>>,
    figures: Mutex<Figures>,
    end: Instant,
}

impl Soak {
    fn new(duration: Duration) -> Soak {
        let disk = Disk::new();
        let places = (0..SERVERS).map(|_| Place::new(&disk)).collect();
        let soak = Soak {
            disk,
            places,
            sessions: RwLock::default(),
            figures: Mutex::default(),
            end: Instant::now() + duration,
        };
        for index in 0..SESSIONS {
            let model = soak.open(&soak.places[index % SERVERS]).expect("there is room");
            soak.sessions.write().unwrap().push(model);
        }
        soak
    }

    /// Makes a session. `None` if the server was killed or told to end, or the disk is full.
    fn open(&self, place: &Place) -> Option<Arc<Model>> {
        let mut server = place.server.lock().unwrap();
        let answer = server.cell("", "n = 0")?;
        let id = answer["session_info"]["session_id"].as_str()?;
        if answer["success"] == true {
            return Some(Arc::new(Model::new(id)));
        }
        // The session was made, and its cell was interrupted.
        clear(&mut server, id);
        None
    }

    fn pick(&self, random: &mut Random) -> (usize, Arc<Model>) {
        let sessions = self.sessions.read().unwrap();
        let index = random.below(sessions.len() as u64) as usize;
        (index, Arc::clone(&sessions[index]))
    }

    /// Raises the counter of a session. With `interrupt` the cell is interrupted as soon as it was sent.
    fn step(&self, place: &Place, model: &Model, interrupt: bool) {
        let mut server = place.server.lock().unwrap();
        let (start, before) = (Instant::now(), model.begin());
        let cell = server.call("execute_code", &json!({"code": STEP, "session_id": model.id}));
        if interrupt {
            model.interrupt();
            let stop = server.call("interrupt", &json!({"session_id": model.id}));
            let _ = server.answer(stop);
        }
        let answer = server.answer(cell);
        let wait = start.elapsed();
        drop(server);
        let effect = model.end(before, answer.as_ref());
        self.figures.lock().unwrap().add(effect, wait);
    }

    /// Removes a session, through a server or by the command line, and makes another one.
    fn renew(&self, random: &mut Random) {
        let (index, _) = self.pick(random);
        let place = random.pick(&self.places);
        let Some(new) = self.open(place) else { return };
        let old = std::mem::replace(&mut self.sessions.write().unwrap()[index], new);
        old.removed.store(true, Ordering::SeqCst);
        if random.below(2) == 0 {
            clear(&mut place.server.lock().unwrap(), &old.id);
        } else {
            let _ = self.sessions_command(&["remove", &old.id]);
        }
    }

    /// Runs `brumate sessions`.
    fn sessions_command(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = self.disk.command(env!("CARGO_BIN_EXE_brumate"));
        command.arg("sessions").args(arguments).arg("--data-dir").arg(self.disk.data());
        command.arg("--cache-dir").arg(cache_directory()).output().expect("brumate")
    }

    fn work(&self, random: &mut Random) {
        while Instant::now() < self.end {
            let (_, model) = self.pick(random);
            match random.below(40) {
                0 => self.renew(random),
                1..4 => self.step(random.pick(&self.places), &model, true),
                _ => self.step(random.pick(&self.places), &model, false),
            }
        }
    }

    /// Injects one fault after the other. Two at once may cost a session: a crash snapshot needs room on the disk.
    fn disturb(&self, random: &mut Random) {
        let mut round = random.below(6);
        while Instant::now() < self.end {
            thread::sleep(Duration::from_millis(200 + random.below(600)));
            let place = random.pick(&self.places);
            let fault = match round % 6 {
                0 => {
                    // Some calls elsewhere give up, others go on when the server does.
                    signal(place.process(), Signal::STOP);
                    thread::sleep(Duration::from_millis(500 + random.below(6000)));
                    signal(place.process(), Signal::CONT);
                    "SIGSTOP of a server"
                }
                1 => {
                    place.replace(&self.disk, Signal::KILL);
                    "SIGKILL of a server"
                }
                2 => {
                    self.kill_machine(random);
                    "SIGKILL of a machine"
                }
                3 => {
                    self.back_up();
                    "backup"
                }
                4 if self.disk.is_small() => {
                    self.disk.fill();
                    thread::sleep(Duration::from_millis(500 + random.below(1000)));
                    self.disk.empty();
                    "full disk"
                }
                _ => {
                    // It interrupts the cells that run.
                    self.sessions.read().unwrap().iter().for_each(|model| model.interrupt());
                    place.replace(&self.disk, Signal::TERM);
                    "SIGTERM of a server"
                }
            };
            *self.figures.lock().unwrap().faults.entry(fault).or_default() += 1;
            round += 1;
        }
    }

    /// Kills one process of a session. A session whose processes all die is lost, so each is used before the next kill.
    fn kill_machine(&self, random: &mut Random) {
        let of_servers = |find: fn(i32) -> Vec<i32>| -> Vec<i32> {
            self.places.iter().flat_map(|place| find(place.process())).collect()
        };
        let zygotes = of_servers(processes::zygotes);
        let of_zygote = |pid: &i32| processes::parent_of(*pid).is_some_and(|parent| zygotes.contains(&parent));
        let below = of_servers(|process| processes::below(process).into_iter().collect());
        let machines: Vec<i32> = below.into_iter().filter(of_zygote).collect();
        if machines.is_empty() {
            return;
        }
        signal(*random.pick(&machines), Signal::KILL);
        let sessions = self.sessions.read().unwrap().clone();
        for model in sessions {
            self.step(random.pick(&self.places), &model, false);
        }
    }

    /// Makes a backup, and checks that each session in it is at least as new as its last answer before.
    fn back_up(&self) {
        let place = tempfile::tempdir().expect("a directory");
        let to = place.path().join("backup");
        let before: Vec<(Arc<Model>, u64)> =
            self.sessions.read().unwrap().iter().map(|model| (Arc::clone(model), model.answered())).collect();
        let output = self.sessions_command(&["backup", &to.display().to_string()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let after: Vec<u64> = before.iter().map(|(model, _)| model.begun()).collect();
        let mut server = Server::start(&self.disk, &to);
        for ((model, least), most) in before.iter().zip(after) {
            if model.removed.load(Ordering::SeqCst) {
                continue;
            }
            let answer = shown(&mut server, &model.id);
            assert!(answer["success"] == true, "{model:?}: {answer}");
            let text = answer["output"][0].as_str().expect("a line").to_owned();
            let memory: u64 = text.split_whitespace().next().expect("a number").parse().expect("a number");
            assert!((*least..=most).contains(&memory), "{least} to {most} in the backup: {model:?}, {text}");
        }
    }
}

/// Removes a session, unless the server is killed or the disk is full.
fn clear(server: &mut Server, session: &str) {
    let call = server.call("clear_session", &json!({"session_id": session}));
    let _ = server.answer(call);
}

/// Returns the counter of a session and that of its file.
fn shown(server: &mut Server, session: &str) -> Value {
    server.cell(session, "print(n, open('count').read() if n else 0)").expect("it lives")
}

fn write_report(text: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target directory");
    let path = target.join("long/soak-sessions.md");
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[test]
fn whatever_fails_nothing_that_was_answered_is_lost() {
    let long: Option<u64> = std::env::var("BRUMATE_SOAK_SECONDS")
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("BRUMATE_SOAK_SECONDS is `{text}`: set it to a number")));
    let (seed, start) = (seed(), Instant::now());
    let soak = Soak::new(Duration::from_secs(long.unwrap_or(20)));
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let soak = &soak;
            scope.spawn(move || soak.work(&mut Random::part(seed, worker)));
        }
        scope.spawn(|| soak.disturb(&mut Random::part(seed, WORKERS)));
    });
    let Soak { disk, places, sessions, figures, .. } = soak;
    for place in places {
        let server = place.server.into_inner().unwrap();
        signal(server.process(), Signal::TERM);
        let ended = server.wait();
        assert!(ended.success(), "{ended}");
    }
    let mut server = Server::start(&disk, &disk.data());
    // Who comes next finds nothing of those that were killed.
    let sockets = disk.command("ls").arg(disk.data().join("servers")).output().expect("ls");
    assert_eq!(String::from_utf8_lossy(&sockets.stdout).lines().count(), 1, "sockets are left");
    for model in sessions.into_inner().unwrap() {
        let answer = shown(&mut server, &model.id);
        assert!(answer["success"] == true, "{model:?}: {answer}");
        model.check(&answer);
    }
    let mut figures = figures.into_inner().unwrap();
    let report = figures.report(seed, start.elapsed());
    eprintln!("{report}");
    if long.is_some() {
        write_report(&report);
    }
    assert!(figures.outcomes.contains_key("answered"), "{report}");
}
