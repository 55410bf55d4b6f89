//! Several servers use the sessions of one data directory at random, while some servers are killed. Every answered cell counts exactly
//! once, in order.
//!
//! `BRUMATE_TEST_SEED` is the number that all chance follows from. With `BRUMATE_TEST_LONG` set there are twenty servers.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use brumate_test_support::{Random, cache_directory, count, seed};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Threads that use the servers at the same time.
const WORKERS: u64 = 4;

/// A cell that counts, in memory and in a file.
const STEP: &str = "n += 1\nwith open('log', 'a') as log:\n    _ = log.write(f'{n}\\n')\nn";

/// A server over standard input and output, with its client. The server is killed when it is dropped.
struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
}

impl Server {
    fn start(data: &Path) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_brumate"))
            .args(["stdio", "--tools", "interpreter", "--ready", "0", "--hibernate-after", "2s", "--data-dir"])
            .arg(data)
            .arg("--cache-dir")
            .arg(cache_directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut server = Server { process, input, output, calls: 0 };
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.request("initialize", &hello).expect("it answers");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect("it listens");
        server
    }

    fn send(&mut self, message: &Value) -> std::io::Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes())
    }

    /// Returns the result, or `None` if the server was killed before it answered.
    fn request(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.calls += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params})).ok()?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).ok()? == 0 || !line.ends_with('\n') {
                return None;
            }
            let mut message: Value = serde_json::from_str(&line).expect("a message");
            if message["id"] == self.calls && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{message}");
                return Some(message["result"]["structuredContent"].take());
            }
        }
    }

    /// Runs a cell. Returns `None` if the server was killed before it answered.
    fn cell(&mut self, session: &str, code: &str) -> Option<Value> {
        let arguments = json!({"code": code, "session_id": session});
        let answer = self.request("tools/call", &json!({"name": "execute_code", "arguments": arguments}))?;
        assert_eq!(answer["success"], true, "{answer}");
        Some(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server with its process id, so that it can be killed while another thread waits for its answer.
struct KillableServer {
    process: AtomicI32,
    server: Mutex<Server>,
}

impl KillableServer {
    fn new(data: &Path) -> KillableServer {
        let server = Server::start(data);
        KillableServer { process: AtomicI32::new(server.process.id().cast_signed()), server: Mutex::new(server) }
    }

    /// Kills the server and starts another one.
    fn replace(&self, data: &Path) {
        let process = Pid::from_raw(self.process.load(Ordering::SeqCst)).expect("a process");
        kill_process(process, Signal::KILL).expect("it lives");
        let mut server = self.server.lock().unwrap();
        *server = Server::start(data);
        self.process.store(server.process.id().cast_signed(), Ordering::SeqCst);
    }
}

/// A session with its answered numbers, and the number of missing answers.
struct Session {
    id: String,
    answered: Mutex<Vec<u64>>,
    unanswered: AtomicU64,
}

/// Uses random sessions in random servers. Within one thread the numbers of a session increase.
fn use_one(random: &mut Random, places: &[KillableServer], sessions: &[Session], last: &mut [u64]) {
    let (place, which) = (random.pick(places), random.below(sessions.len() as u64) as usize);
    let session = &sessions[which];
    let answer = place.server.lock().unwrap().cell(&session.id, STEP);
    let Some(answer) = answer else {
        session.unanswered.fetch_add(1, Ordering::SeqCst);
        return;
    };
    let number: u64 = answer["result"].as_str().and_then(|text| text.parse().ok()).expect("a number");
    assert!(number > last[which], "{number} was answered after {}", last[which]);
    last[which] = number;
    session.answered.lock().unwrap().push(number);
}

/// Checks that a session has each answer once, in memory and in its file.
fn check(session: &Session, server: &mut Server) {
    let answer = server.cell(&session.id, "print(n, *open('log').read().split() if n else ())").expect("it lives");
    let found: Vec<u64> =
        answer["output"][0].as_str().expect("a line").split_whitespace().map(|text| text.parse().unwrap()).collect();
    let (n, log) = (found[0], &found[1..]);
    let expected: Vec<u64> = (1..=n).collect();
    let answered = session.answered.lock().unwrap();
    let what = format!("{n} cells count; answered {answered:?}; not answered {:?}", session.unanswered);
    assert_eq!(log, expected, "memory and files are of one moment: {what}");
    assert_eq!(answered.iter().collect::<HashSet<_>>().len(), answered.len(), "{what}");
    assert!(answered.iter().all(|number| *number <= n), "{what}");
    let most = answered.len() as u64 + session.unanswered.load(Ordering::SeqCst);
    assert!((answered.len() as u64..=most).contains(&n), "{what}");
}

#[test]
fn servers_that_are_killed_while_they_share_sessions_lose_nothing() {
    let seed = seed();
    let data = tempfile::tempdir().expect("a directory");
    let places: Vec<KillableServer> = (0..count(3, 20)).map(|_| KillableServer::new(data.path())).collect();
    let begin = |index: u64| {
        let mut server = places[index as usize % places.len()].server.lock().unwrap();
        let answer = server.cell("", "n = 0").expect("it lives");
        let id = answer["session_info"]["session_id"].as_str().expect("an id").to_owned();
        Session { id, answered: Mutex::default(), unanswered: AtomicU64::new(0) }
    };
    let sessions: Vec<Session> = (0..count(3, 10)).map(begin).collect();
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (places, sessions) = (&places, &sessions);
            scope.spawn(move || {
                let (mut random, mut last) = (Random::part(seed, worker), vec![0; sessions.len()]);
                for _ in 0..count(15, 300) {
                    use_one(&mut random, places, sessions, &mut last);
                }
            });
        }
        scope.spawn(|| {
            let mut random = Random::part(seed, WORKERS);
            for _ in 0..count(4, 100) {
                thread::sleep(Duration::from_millis(random.below(1000)));
                random.pick(&places).replace(data.path());
            }
        });
    });
    for (session, place) in sessions.iter().zip(places.iter().cycle()) {
        check(session, &mut place.server.lock().unwrap());
    }
    drop(places);
    // Who comes next finds nothing of those that were killed.
    let _server = Server::start(data.path());
    let sockets = std::fs::read_dir(data.path().join("servers")).unwrap().count();
    assert_eq!(sockets, 1, "sockets are left");
}
