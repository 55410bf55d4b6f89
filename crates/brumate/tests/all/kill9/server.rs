//! The server that is killed: a process of its own, which moves a session on and puts it to sleep, step by step as told.

use std::path::Path;

use brumate_engine::api::MachineSpec;
use brumate_engine::client::{Error, Sandbox, Session};

use crate::support::played::{self, Played, tell};
use crate::support::sessions::{cell, sandbox, say};

/// What a session is at first.
const BEGIN: &str =
    "import array, random, zlib\nnumber = 0\ndef blob(number): return random.Random(number).randbytes(3 << 20)\n";

/// The next state: memory and files, all of which tell its number.
const NEXT: &str = "number += 1\nnumbers = array.array('q', [number]) * 100_000\ntext = str(number) * 10_000\n\
    held = blob(number)\nwith open('file', 'wb') as file:\n    file.write(blob(-number))\nprint(number)\n";

/// Prints the number of the state, and whether everything agrees with it.
pub(crate) const PROOF: &str = "print(number, numbers == array.array('q', [number]) * 100_000, text == str(number) * 10_000, \
    held == blob(number), open('file', 'rb').read() == blob(-number))";

/// The server as the test sees it. Killed when dropped.
pub(crate) struct Server {
    process: Played,
}

/// How a hibernation ended.
#[derive(Debug)]
pub(crate) enum Said {
    /// The state of this number sleeps.
    Kept(u64),
    Lost,
}

impl Server {
    /// Starts one that goes on with the session in `file`, or with a new one.
    pub(crate) fn start(file: &Path) -> Server {
        let process = Played::start("kill9::a_server_that_is_killed", file);
        Server { process }
    }

    pub(crate) fn id(&self) -> i32 {
        self.process.id()
    }

    /// Lets it hibernate once more; returns the number of the new state when it begins to.
    pub(crate) fn begin(&mut self) -> u64 {
        self.process.tell("");
        let line = self.process.line().expect("it begins");
        line.strip_prefix("begin ").unwrap_or_else(|| panic!("{line}")).parse().expect("a number")
    }

    /// How that went; `None` when the server is no more.
    pub(crate) fn hear(&mut self) -> Option<Said> {
        let line = self.process.line()?;
        Some(match line.split_once(' ') {
            Some(("kept", number)) => Said::Kept(number.parse().expect("a number")),
            None if line == "lost" => Said::Lost,
            _ => panic!("{line}"),
        })
    }

    /// Waits for its end.
    pub(crate) fn bury(&mut self) {
        self.process.bury();
    }
}

/// Is the server.
pub(crate) fn play() {
    played::play(|file| async move { serve(&file).await });
}

async fn serve(file: &Path) {
    let sandbox = sandbox(0).await;
    let mut session = None;
    for _ in std::io::stdin().lines() {
        let mut present = match session.take() {
            Some(session) => session,
            None => wake(&sandbox, file).await,
        };
        // A machine that was killed after its last hibernation shows now.
        let number = loop {
            match cell(&present, NEXT).await {
                (Ok(_), text) => break text,
                (Err(Error::RolledBack { .. } | Error::MachineDied { .. }), _) => present = wake(&sandbox, file).await,
                (Err(error), _) => panic!("{error}"),
            }
        };
        let number = number.trim();
        tell(&format!("begin {number}"));
        match present.hibernate(file).await {
            Ok(_) => {
                tell(&format!("kept {number}"));
                session = Some(present);
            }
            // A checkpoint that took over is the new state, too; here everything goes by the file.
            Err(Error::RolledBack { .. } | Error::MachineDied { .. }) => tell("lost"),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn wake(sandbox: &Sandbox, file: &Path) -> Session {
    if file.exists() {
        sandbox.wake_session(file, MachineSpec::default()).await.expect("old or new, it wakes").0
    } else {
        let session = sandbox.session(MachineSpec::default()).await.expect("a session");
        say(&session, BEGIN).await;
        session
    }
}
