//! The server process that is killed. It runs cells and hibernates the session, step by step as it is told.

use std::path::Path;

use brumate_engine::api::MachineSpec;
use brumate_engine::api::Session as _;
use brumate_engine::client::{EngineError, Sandbox, Session};

use crate::support::sessions::{cell, sandbox, say};
use crate::support::subprocess::{self, Subprocess, tell};

/// Code that makes the first state of a session.
const BEGIN: &str =
    "import array, random, zlib\nnumber = 0\ndef blob(number): return random.Random(number).randbytes(3 << 20)\n";

/// Code that makes the next state: memory and files, all of which contain its number.
const NEXT: &str = "number += 1\nnumbers = array.array('q', [number]) * 100_000\ntext = str(number) * 10_000\n\
    held = blob(number)\nwith open('file', 'wb') as file:\n    file.write(blob(-number))\nprint(number)\n";

/// Code that prints the number of the state, and whether all parts agree.
pub(crate) const PROOF: &str = "print(number, numbers == array.array('q', [number]) * 100_000, text == str(number) * 10_000, \
    held == blob(number), open('file', 'rb').read() == blob(-number))";

/// The test's handle of the server. The server is killed when it is dropped.
pub(crate) struct Server {
    process: Subprocess,
}

/// The result of a hibernation.
#[derive(Debug)]
pub(crate) enum HibernationResult {
    /// The state with this number is in the file.
    Written(u64),
    /// Hibernation failed.
    Failed,
}

impl Server {
    /// Starts a server that resumes the session in `file`, or makes a new one.
    pub(crate) fn start(file: &Path) -> Server {
        let process = Subprocess::start("kill9::a_server_that_is_killed", file);
        Server { process }
    }

    pub(crate) fn id(&self) -> i32 {
        self.process.id()
    }

    /// Tells it to hibernate. Returns the number of the new state when it begins to.
    pub(crate) fn begin(&mut self) -> u64 {
        self.process.tell("");
        let line = self.process.line().expect("it begins");
        line.strip_prefix("begin ").unwrap_or_else(|| panic!("{line}")).parse().expect("a number")
    }

    /// Returns the result of the hibernation. Returns `None` when the server has ended.
    pub(crate) fn hear(&mut self) -> Option<HibernationResult> {
        let line = self.process.line()?;
        Some(match line.split_once(' ') {
            Some(("kept", number)) => HibernationResult::Written(number.parse().expect("a number")),
            None if line == "lost" => HibernationResult::Failed,
            _ => panic!("{line}"),
        })
    }

    /// Waits for its end.
    pub(crate) fn bury(&mut self) {
        self.process.bury();
    }
}

/// Runs as the server.
pub(crate) fn play() {
    subprocess::play(|file| async move { serve(&file).await });
}

async fn serve(file: &Path) {
    let sandbox = sandbox(0).await;
    let mut session = None;
    for _ in std::io::stdin().lines() {
        let mut present = match session.take() {
            Some(session) => session,
            None => resume(&sandbox, file).await,
        };
        // A machine that was killed after its last hibernation shows now.
        let number = loop {
            match cell(&present, NEXT).await {
                (Ok(_), text) => break text,
                (Err(EngineError::RolledBack { .. } | EngineError::MachineExited { .. }), _) => {
                    present = resume(&sandbox, file).await
                }
                (Err(error), _) => panic!("{error}"),
            }
        };
        let number = number.trim();
        tell(&format!("begin {number}"));
        match present.write_to(file).await {
            Ok(_) => {
                tell(&format!("kept {number}"));
                session = Some(present);
            }
            // A checkpoint that took over is the new state, too; here everything goes by the file.
            Err(EngineError::RolledBack { .. } | EngineError::MachineExited { .. }) => tell("lost"),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn resume(sandbox: &Sandbox, file: &Path) -> Session {
    if file.exists() {
        sandbox.resume_session(file, MachineSpec::default()).await.expect("old or new, it resumes").0
    } else {
        let session = sandbox.session(MachineSpec::default()).await.expect("a session");
        say(&session, BEGIN).await;
        session
    }
}
