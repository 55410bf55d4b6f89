//! The server process that is killed. It runs cells as it is told, and prints the last answered state.

use std::path::Path;

use brumate_engine::api::Session as _;
use brumate_engine::api::SessionFiles as _;
use brumate_engine::api::{Event, Execute, ExecuteMode, MachineSpec, StreamName};
use brumate_engine::client::Session;
use tokio::sync::mpsc;

use crate::support::sessions::{sandbox, say};
use crate::support::subprocess::{self, Subprocess, tell};

/// Code that makes the first state of a session.
const BEGIN: &str = "import array, random, time\nnumber = little = 0\ndef blob(number): return random.Random(number).randbytes(1 << 20)\n";

/// Code that makes the next state: memory and files, all of which contain its number.
const NEXT: &str = "number += 1\nnumbers = array.array('q', [number]) * 100_000\n\
    held = blob(number)\nwith open('file', 'wb') as file:\n    file.write(blob(-number))\nprint(number + little)\n";

/// Code that makes the next state by changing a little of the memory.
const LITTLE: &str = "little += 1\nprint(number + little)\n";

/// A cell that changes everything, prints that it has begun, and does not end.
const LONG: &str = "number += 1000\nheld = None\nopen('file', 'wb').close()\nprint('running', flush=True)\n";

/// Number of cells in a row.
const LITTLES: usize = 4;

/// Code that prints the number of the state, the number of uploads, and whether all parts agree.
pub(crate) const PROOF: &str = "import os\nuploads = sorted(int(name) for name in os.listdir('uploads')) \
    if os.path.exists('uploads') else []\nprint(number + little, len(uploads), number == 0 or (\
    numbers == array.array('q', [number]) * 100_000 and held == blob(number) and \
    open('file', 'rb').read() == blob(-number)), all(open(f'uploads/{n}', 'rb').read() == bytes([n % 256]) * 1000 for n in \
    uploads))";

/// The test's handle of the server. The server is killed when it is dropped.
pub(crate) struct Server {
    process: Subprocess,
    /// The last answered state: number of cells, number of uploads.
    pub(crate) state: (u64, u64),
}

impl Server {
    /// Starts a server that resumes the session in `file`, or makes a new one.
    pub(crate) fn start(file: &Path) -> Server {
        let process = Subprocess::start("crash_recovery::a_server_that_vanishes", file);
        let mut server = Server { process, state: (0, 0) };
        assert_eq!(server.line().expect("it starts"), "ready");
        server
    }

    pub(crate) fn id(&self) -> i32 {
        self.process.id()
    }

    /// Sends a command; see [`serve`].
    pub(crate) fn tell(&mut self, command: &str) {
        self.process.tell(command);
    }

    /// Waits for its next line. Returns `None` when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let said = self.process.line()?;
        if let Some(("state", numbers)) = said.split_once(' ') {
            let (cells, uploads) = numbers.split_once(' ').expect("two numbers");
            self.state = (cells.parse().unwrap(), uploads.parse().unwrap());
        }
        Some(said)
    }

    /// Kills it, reads its remaining lines, and waits for its end.
    pub(crate) fn vanish(&mut self) {
        self.process.kill();
        while self.line().is_some() {}
        self.process.bury();
    }
}

/// Runs as the server.
pub(crate) fn play() {
    subprocess::play(|file| async move { serve(&file).await });
}

/// The state of the session, as the server knows it.
struct ExpectedState {
    cells: u64,
    uploads: u64,
}

impl ExpectedState {
    async fn next(&mut self, session: &Session, cell: &str) {
        self.cells = say(session, cell).await.trim().parse().expect("a number");
        self.tell();
    }

    async fn upload(&mut self, session: &Session) {
        let path = format!("/workspace/uploads/{}", self.uploads);
        session.write_file(&path, 0, vec![self.uploads as u8; 1000], true).await.expect("written");
        self.uploads += 1;
        self.tell();
    }

    fn tell(&self) {
        tell(&format!("state {} {}", self.cells, self.uploads));
    }
}

async fn serve(file: &Path) {
    let sandbox = sandbox(1).await;
    let session = if file.exists() || file.with_extension("will").exists() {
        sandbox.resume_session(file, MachineSpec::default()).await.expect("it resumes").0
    } else {
        let session = sandbox.session(MachineSpec::default()).await.expect("a session");
        say(&session, BEGIN).await;
        session
    };
    session.enable_crash_recovery(file).await.expect("a will");
    let told = say(&session, PROOF).await;
    let mut numbers = told.split_whitespace().filter_map(|word| word.parse().ok());
    let mut known = ExpectedState { cells: numbers.next().unwrap(), uploads: numbers.next().unwrap() };
    tell("ready");
    for command in std::io::stdin().lines() {
        match command.expect("a command").as_str() {
            "next" => known.next(&session, NEXT).await,
            "little" => known.next(&session, LITTLE).await,
            "upload" => known.upload(&session).await,
            "sleep" => {
                session.write_to(file).await.expect("it sleeps");
                known.tell();
            }
            // A cell that ends its machine: the checkpoint takes over.
            "crash" => {
                let (outcome, _) =
                    crate::support::sessions::cell(&session, "number = -1; import os; os._exit(1)").await;
                outcome.expect_err("rolled back");
                known.tell();
            }
            "forks" => {
                let other = session.fork().await.expect("a fork");
                say(&other, NEXT).await;
                other.enable_crash_recovery(&file.with_extension("other")).await.expect("a will of its own");
                say(&other, NEXT).await;
                known.tell();
                std::mem::forget(other);
            }
            "grow" => {
                let code = format!("large = None\nlarge = [blob(n) for n in range({})]", super::megabytes());
                say(&session, &code).await;
                known.tell();
            }
            "sleeps" => long(&session, "time.sleep(600)").await,
            "spins" => long(&session, "while True: pass").await,
            "floods" => long(&session, "while True: print('x' * 1000)").await,
            "parses" => drop(session.analyze("x = 1\nimport json").await),
            // Until it is killed.
            "run" => loop {
                known.next(&session, NEXT).await;
                known.upload(&session).await;
                for _ in 0..LITTLES {
                    known.next(&session, LITTLE).await;
                }
                if known.cells.is_multiple_of(5) {
                    session.write_to(file).await.expect("it sleeps");
                }
            },
            "end" => break,
            other => panic!("{other}"),
        }
    }
}

/// Runs a cell that does not end. Prints when it has begun.
async fn long(session: &Session, code: &str) {
    let (sender, mut events) = mpsc::channel(4);
    let request = Execute { code: format!("{LONG}{code}"), mode: ExecuteMode::Cell, ..Execute::default() };
    let running = async {
        let begun = |event: &Event| matches!(event, Event::Stream { name: StreamName::Stdout, text } if text.starts_with("running"));
        while !begun(&events.recv().await.expect("an event")) {}
        tell("running");
        while events.recv().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(session.execute(request, sender), running);
    panic!("{outcome:?}");
}
