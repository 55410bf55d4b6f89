//! Running one case with `brumate exec` and judging what came of it.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::case::{Case, Run};
use super::grant::{Grant, SECRET};

/// A variable of the server's environment with a value no guest may ever see.
pub(crate) const CANARY: &str = "SECRET_CANARY";

/// Written by a guest, this text shows that it saw [`CANARY`]: in the binary it stands nowhere.
pub(crate) const CANARY_VALUE: &str = "brumate-canary-5f3a9c1e77d2";

/// What no output may show, whatever the guest does, and what it would mean.
const FORBIDDEN: &[(&str, &str)] = &[
    (CANARY_VALUE, "the server's environment"),
    (SECRET, "a file outside the grant"),
    (env!("CARGO_MANIFEST_DIR"), "a path of the host"),
    (env!("CARGO_TARGET_TMPDIR"), "a path of the host"),
    ("panicked at", "a panic of the server"),
    ("makes no sense", "a machine that broke the protocol or panicked"),
    ("(SIGSEGV)", "a fault outside WebAssembly"),
    ("(SIGBUS)", "a fault outside WebAssembly"),
    ("(SIGILL)", "a fault outside WebAssembly"),
    ("(SIGABRT)", "an abort of the machine itself"),
    ("(SIGSYS)", "a system call the jail forbids"),
];

/// Most of an output that is shown when a run failed, in bytes.
const SHOWN: usize = 2000;

/// The binary with no environment but the cache that all tests of a build share, and the canary.
pub(crate) fn brumate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command
        .env_clear()
        .env("BRUMATE_CACHE_DIR", cache())
        .env(CANARY, CANARY_VALUE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The cache that all tests of a build share.
pub(crate) fn cache() -> PathBuf {
    brumate_test_support::cache_directory()
}

/// Compiles what every run needs, once.
pub(crate) fn warm_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let output = brumate().arg("warmup").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
}

/// Runs `run` of `case`; an error text when something is not as expected.
pub(crate) fn check(case: &Case, run: &Run) -> Result<(), String> {
    let grant = case.grant.map(Grant::new);
    let mut command = brumate();
    command.args(&run.flags).arg("exec");
    if let Some(grant) = &grant {
        command.arg("--mount").arg(grant.option());
    }
    command.arg(&case.program).args(&run.arguments);
    let output = output_within(command, run.max_time)?;
    let mut faults = judge(run, &output);
    if let Some(Err(fault)) = grant.as_ref().map(Grant::is_untouched_outside) {
        faults.push(fault);
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} {}:\n  {}\n--- stdout\n{}\n--- stderr\n{}\n",
        case.name,
        run.arguments.join(" "),
        faults.join("\n  "),
        tail(&output.stdout),
        tail(&output.stderr)
    ))
}

fn judge(run: &Run, output: &Output) -> Vec<String> {
    let mut faults = Vec::new();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(status) if run.exit.contains(&status) => {}
        _ => faults.push(format!("ended with {}, expected {:?}", output.status, run.exit)),
    }
    if run.stdout.as_ref().is_some_and(|expected| *expected != stdout) {
        faults.push(format!("stdout is not {:?}", run.stdout.as_deref().unwrap_or_default()));
    }
    for (name, text, parts) in [("stdout", &stdout, &run.stdout_contains), ("stderr", &stderr, &run.stderr_contains)] {
        for part in parts.iter().filter(|part| !text.contains(part.as_str())) {
            faults.push(format!("{part:?} is missing in {name}"));
        }
        if text.len() > run.max_output_bytes {
            faults.push(format!("{name} has {} bytes, more than {}", text.len(), run.max_output_bytes));
        }
        for (secret, what) in FORBIDDEN {
            if text.contains(secret) {
                faults.push(format!("{secret:?} ({what}) shows in {name}"));
            }
        }
    }
    faults
}

/// The output of `command`, which is killed when it takes longer than `limit`.
pub(crate) fn output_within(mut command: Command, limit: Duration) -> Result<Output, String> {
    let mut child = command.spawn().map_err(|error| format!("cannot start the binary: {error}"))?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status = wait_until(&mut child, Instant::now() + limit);
    let text = |reader: Option<JoinHandle<Vec<u8>>>| reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    match status {
        Some(status) => Ok(Output { status, stdout, stderr }),
        None => Err(format!("{command:?} did not end within {limit:?}\n--- stderr\n{}", tail(&stderr))),
    }
}

/// Waits for the end of `child`; kills it at `deadline` and returns `None`.
fn wait_until(child: &mut Child, deadline: Instant) -> Option<std::process::ExitStatus> {
    const PAUSE: Duration = Duration::from_millis(20);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN)..]).into_owned()
}
