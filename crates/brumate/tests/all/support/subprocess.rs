//! A process for a part of a test: this program again, which runs one ignored test, and exchanges lines with the test.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Variable with the path of the process's file.
const FILE: &str = "BRUMATE_TEST_FILE";

/// Prefix of its lines. The test harness prints lines as well.
const MARK: &str = "server: ";

/// The test's handle of the process. The process is killed when it is dropped.
pub(crate) struct Subprocess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Subprocess {
    /// Starts the ignored test of that name, for `file`.
    pub(crate) fn start(test: &str, file: &Path) -> Subprocess {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(FILE, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Subprocess { child, output }
    }

    pub(crate) fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// Sends a line.
    pub(crate) fn tell(&mut self, line: &str) {
        self.child.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).expect("it listens");
    }

    /// Waits for its next line. Returns `None` when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            match self.output.read_line(&mut line) {
                // A line without a newline is incomplete.
                Ok(length) if length > 0 && line.ends_with('\n') => {}
                _ => return None,
            }
            if let Some((_, said)) = line.trim_end().split_once(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it lives");
    }

    /// Waits for its end.
    pub(crate) fn bury(&mut self) {
        self.child.wait().expect("it ends");
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the process that plays: its part, with the file that it was started for.
pub(crate) fn play<T: Future<Output = ()>>(part: impl FnOnce(PathBuf) -> T) {
    let file = std::env::var_os(FILE).expect("started by the test");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(part(file.into()));
}

/// In the process that plays: says a line to the test.
pub(crate) fn tell(text: &str) {
    let mut output = std::io::stdout();
    writeln!(output, "{MARK}{text}").and_then(|()| output.flush()).expect("the test listens");
}
