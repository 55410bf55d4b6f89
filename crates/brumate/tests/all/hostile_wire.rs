//! Zygotes and machines that were taken over: what they say to the server is garbage, gigantic, half a message, or nothing.
//!
//! Each ends as a clear error, within its limit, while a real sandbox in the same process goes on answering.

mod role;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brumate_engine::api::Machine as _;
use brumate_engine::api::{Ended, Execute, Limits, MachineSpec, Outcome};
use brumate_engine::client::{EngineError, ExitReason, Machine, Sandbox, SandboxConfig, StartupTimeouts};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;

/// What bounds a failing test; no measurement.
const PATIENCE: Duration = Duration::from_secs(180);

#[test]
#[ignore = "played by the processes that the other tests start"]
fn a_process_that_misbehaves() {
    role::play();
}

/// Limits that a misbehaving machine reaches at once.
fn short() -> Limits {
    Limits { wall: Duration::from_millis(500), grace: Duration::from_millis(300), ..Limits::default() }
}

fn config(program: PathBuf) -> SandboxConfig {
    let cache_dir = brumate_test_support::cache_directory();
    SandboxConfig { cache_dir, program: Some(program), ready: 0, ..SandboxConfig::default() }
}

fn short_timeouts(change: impl FnOnce(&mut StartupTimeouts)) -> StartupTimeouts {
    let mut startup_timeouts = StartupTimeouts::default();
    change(&mut startup_timeouts);
    startup_timeouts
}

async fn execute(machine: &mut Machine, code: &str) -> Result<Outcome, EngineError> {
    let (sender, mut events) = mpsc::channel(4);
    let listening = tokio::spawn(async move { while events.recv().await.is_some() {} });
    let request = Execute { code: code.to_owned(), ..Execute::default() };
    let outcome = machine.execute(request, sender).await;
    listening.await.expect("the events end");
    outcome
}

/// A real sandbox that is used all the time, as long as the value lives.
struct Neighbour {
    stop: Arc<AtomicBool>,
    calls: tokio::task::JoinHandle<u64>,
    sandbox: Sandbox,
}

impl Neighbour {
    async fn start() -> Neighbour {
        let sandbox = Sandbox::start(config(env!("CARGO_BIN_EXE_brumate").into())).await.expect("a real sandbox");
        let stop = Arc::new(AtomicBool::new(false));
        let calls = tokio::spawn({
            let (sandbox, stop) = (sandbox.clone(), stop.clone());
            async move {
                let mut calls = 0;
                while !stop.load(Ordering::Relaxed) {
                    answers(&sandbox).await;
                    calls += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                calls
            }
        });
        Neighbour { stop, calls, sandbox }
    }

    /// Every call was answered, and at least one.
    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        assert!(self.calls.await.expect("the neighbour's calls are answered") > 0);
        answers(&self.sandbox).await;
    }
}

async fn answers(sandbox: &Sandbox) {
    let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
    let outcome = execute(&mut machine, "6 * 7").await.expect("an outcome");
    let Ended::Returned(Some(value)) = outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(value.json, "42");
}

/// Runs all `roles` at the same time beside a neighbour; `end` gives the error of one.
async fn all<F>(roles: &'static [(&'static str, &'static str)], end: impl Fn(PathBuf) -> F)
where
    F: Future<Output = String> + Send + 'static,
{
    let neighbour = Neighbour::start().await;
    let directory = tempfile::tempdir().unwrap();
    let tasks: Vec<_> = roles
        .iter()
        .map(|&(role, part)| (role, part, tokio::spawn(end(role::program(directory.path(), role)))))
        .collect();
    let mut faults = Vec::new();
    for (role, part, task) in tasks {
        match tokio::time::timeout(PATIENCE, task).await {
            Ok(Ok(text)) if text.contains(part) => {}
            Ok(Ok(text)) => faults.push(format!("{role}: {part:?} is missing in {text:?}")),
            Ok(Err(error)) => faults.push(format!("{role}: {error}")),
            Err(_) => faults.push(format!("{role}: no end within {PATIENCE:?}")),
        }
    }
    neighbour.end().await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn booting_ends_as_an_error() {
    const ROLES: &[(&str, &str)] = &[
        ("dies-at-once", "ended while it started"),
        ("dies-in-boot", "ended while it started"),
        ("fails", "no interpreter today"),
        ("fails-to-fork-in-boot", "broke the protocol while it started"),
        ("boot-garbage", "ended while it started"),
        ("boot-gigantic", "larger than allowed"),
        ("boot-descriptors", "larger than allowed"),
        ("boot-empty", "does not decode"),
        ("boot-undecodable", "does not decode"),
        ("boot-trailing", "1 bytes too many"),
        ("boot-half", "connection was closed"),
        ("boot-walls", "does not decode"),
        ("boot-silent", "the zygote does not start"),
        ("boot-modules", "the zygote does not start"),
        ("boot-modules-read", "the zygote does not start"),
    ];
    all(ROLES, |program| async {
        let startup_timeouts = short_timeouts(|startup_timeouts| startup_timeouts.boot = Duration::from_secs(5));
        match Sandbox::start(SandboxConfig { startup_timeouts, ..config(program) }).await {
            Err(error @ EngineError::Unavailable(_)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forking_ends_as_an_error() {
    const ROLES: &[(&str, &str)] = &[
        ("dies-when-asked", "the sandbox is not available"),
        ("leaves-when-asked", "the sandbox is not available"),
        ("refuses", "the sandbox is not available"),
        ("refuses-for-ever", "the sandbox is not available"),
        ("no-reports", "the sandbox is not available"),
        ("nonsense-reports", "the sandbox is not available"),
        ("after-garbage", "the sandbox is not available"),
        ("after-gigantic", "the sandbox is not available"),
        ("after-undecodable", "the sandbox is not available"),
        ("after-half", "the sandbox is not available"),
        ("never-forks", "did not answer"),
        ("floods", "did not answer"),
        ("machine-hello-silent", "did not answer"),
        ("machine-hello-half", "the sandbox is not available"),
        ("machine-hello-event", "did not say hello"),
        ("machine-hello-ends", "a new machine ended"),
        ("machine-hello-garbage", "the sandbox is not available"),
        ("machine-hello-gigantic", "larger than allowed"),
        ("machine-hello-undecodable", "does not decode"),
    ];
    all(ROLES, |program| async {
        let startup_timeouts = short_timeouts(|startup_timeouts| startup_timeouts.hello = Duration::from_secs(3));
        let config = SandboxConfig { startup_timeouts, ..config(program) };
        let sandbox = Sandbox::start(config).await.expect("it boots");
        match sandbox.machine(MachineSpec::default()).await {
            Err(error @ EngineError::Unavailable(_)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executions_end_as_an_error() {
    const ROLES: &[(&str, &str)] = &[
        ("machine-silent", "TimeLimit"),
        ("machine-busy", "TimeLimit"),
        ("machine-half", "TimeLimit"),
        ("machine-header", "TimeLimit"),
        ("machine-announced", "TimeLimit"),
        ("machine-events", "TimeLimit"),
        ("machine-large-events", "TimeLimit"),
        ("machine-questions", "TimeLimit"),
        ("machine-question-again", "Protocol("),
        ("machine-modules", "TimeLimit"),
        ("machine-own-modules", "TimeLimit"),
        ("machine-mounts", "TimeLimit"),
        ("machine-ends", "Protocol(\"it closed its connection\")"),
        ("machine-half-and-ends", "Protocol(\"it closed its connection\")"),
        ("machine-garbage", "Protocol"),
        ("machine-gigantic", "Protocol(\"a frame of 4294967295 bytes is larger than allowed\")"),
        ("machine-descriptors", "Protocol(\"a frame of 4294967295 bytes is larger than allowed\")"),
        ("machine-empty", "Protocol"),
        ("machine-undecodable", "Protocol"),
        ("machine-trailing", "Protocol(\"a frame has 1 bytes too many\")"),
        ("machine-names", "Protocol(\"a frame does not decode"),
        ("machine-bundle", "Protocol(\"a frame does not decode"),
        ("machine-again-hello", "Protocol(\"an answer to another request\")"),
        ("machine-other-answer", "Protocol(\"an answer to another request\")"),
        ("machine-ended", "Trap(\"xxx"),
    ];
    all(ROLES, |program| async {
        let sandbox = Sandbox::start(config(program)).await.expect("it boots");
        let mut machine =
            sandbox.machine(MachineSpec { limits: short(), ..MachineSpec::default() }).await.expect("a machine");
        match execute(&mut machine, "1").await {
            Err(EngineError::MachineExited { reason, .. }) => format!("{reason:?}"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parsing_ends_as_an_error_of_its_own() {
    const ROLES: &[(&str, &str)] = &[
        ("machine-silent", "ParseLimit(1s)"),
        ("machine-busy", "ParseLimit(1s)"),
        ("machine-ends", "Protocol(\"it closed its connection\")"),
        ("machine-names", "Protocol(\"a frame does not decode"),
    ];
    all(ROLES, |program| async {
        let startup_timeouts = short_timeouts(|startup_timeouts| startup_timeouts.parse = Duration::from_secs(1));
        let sandbox = Sandbox::start(SandboxConfig { startup_timeouts, ..config(program) }).await.expect("it boots");
        let mut machine =
            sandbox.machine(MachineSpec { limits: short(), ..MachineSpec::default() }).await.expect("a machine");
        match machine.analyze("1").await {
            Err(EngineError::MachineExited { reason, .. }) => format!("{reason:?}"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listings_that_cannot_be_end_as_an_error() {
    const ROLES: &[(&str, &str)] = &[
        ("machine-files-above", "files that cannot be"),
        ("machine-files-inside", "files that cannot be"),
        ("machine-files-absolute", "files that cannot be"),
        ("machine-files-nameless", "files that cannot be"),
        ("machine-files-null", "files that cannot be"),
        ("machine-files-disorder", "files that cannot be"),
        ("machine-files-twice", "files that cannot be"),
        ("machine-files-long", "files that cannot be"),
        ("machine-files-many", "a frame does not decode"),
        ("machine-files-large", "an answer to another request"),
        ("machine-files-done", "an answer to another request"),
        ("machine-other-answer", "an answer to another request"),
        ("machine-garbage", "Protocol"),
        ("machine-gigantic", "larger than allowed"),
        ("machine-undecodable", "Protocol"),
        ("machine-ends", "it closed its connection"),
        ("machine-files-refused", "cut to 4096"),
    ];
    all(ROLES, |program| async {
        let sandbox = Sandbox::start(config(program)).await.expect("it boots");
        let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
        match machine.list_files("/home").await {
            Err(EngineError::MachineExited { reason, .. }) => format!("{reason:?}"),
            Err(EngineError::File(error)) => format!("cut to {}", error.to_string().len()),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pieces_of_files_that_cannot_be_end_as_an_error() {
    const ROLES: &[(&str, &str)] = &[
        ("machine-files-large", "a file that cannot be"),
        ("machine-files-more", "a file that cannot be"),
        ("machine-files-above", "an answer to another request"),
        ("machine-files-done", "an answer to another request"),
    ];
    all(ROLES, |program| async {
        let sandbox = Sandbox::start(config(program)).await.expect("it boots");
        let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
        match machine.read_file("/f", 0, usize::MAX).await {
            Err(EngineError::MachineExited { reason, .. }) => format!("{reason:?}"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptors_of_a_machine_are_never_taken() {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(config(role::program(directory.path(), "machine-descriptors-sent"))).await.unwrap();
    let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
    let sockets = || {
        let links =
            std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        links.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    };
    let before = sockets();
    let outcome = execute(&mut machine, "1").await.expect("the answer of the machine");
    assert_eq!(outcome.ended, Ended::Returned(None));
    // 500 messages with 8 sockets each; other tests of this process may open a few meanwhile.
    assert!(sockets() < before + 1000, "{before} sockets before, {} after", sockets());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_machine_reaches_its_limit_alone() {
    let sandbox = Sandbox::start(config(env!("CARGO_BIN_EXE_brumate").into())).await.expect("a real sandbox");
    let limits = Limits { wall: Duration::from_secs(3), ..short() };
    let (mut machine, pid) = machine_and_process(&sandbox, limits).await;
    // The guest tells that it runs; then its process is stopped.
    let (sender, mut events) = mpsc::channel(4);
    let request = Execute { code: "print('running', flush=True)\nwhile True: pass".to_owned(), ..Execute::default() };
    let stopping = async {
        events.recv().await.expect("an event");
        kill_process(pid, Signal::STOP).expect("stop it");
        // While it stands still the others go on.
        for _ in 0..5 {
            answers(&sandbox).await;
        }
        while events.recv().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(machine.execute(request, sender), stopping);
    match outcome {
        Err(EngineError::MachineExited { reason: ExitReason::TimeLimit, .. }) => {}
        other => panic!("{other:?}"),
    }
    answers(&sandbox).await;
    gone(pid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_end_with_their_jail_and_the_next_has_another() {
    let sandbox = Sandbox::start(config(env!("CARGO_BIN_EXE_brumate").into())).await.expect("a real sandbox");
    let (mut machine, pid) = machine_and_process(&sandbox, Limits::default()).await;
    let init = parent(pid);
    let (sender, mut events) = mpsc::channel(4);
    let request = Execute { code: "print('running', flush=True)\nwhile True: pass".to_owned(), ..Execute::default() };
    let killing = async {
        events.recv().await.expect("an event");
        kill_process(init, Signal::KILL).expect("kill it");
        while events.recv().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(machine.execute(request, sender), killing);
    match outcome {
        Err(EngineError::MachineExited { reason: ExitReason::Signal(9), .. }) => {}
        other => panic!("{other:?}"),
    }
    gone(pid).await;
    answers(&sandbox).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_zygote_is_replaced_and_its_machines_live_on() {
    let startup_timeouts = short_timeouts(|startup_timeouts| startup_timeouts.hello = Duration::from_secs(5));
    let config = SandboxConfig { startup_timeouts, ..config(env!("CARGO_BIN_EXE_brumate").into()) };
    let sandbox = Sandbox::start(config).await.expect("a real sandbox");
    let (mut machine, pid) = machine_and_process(&sandbox, Limits::default()).await;
    let zygote = zygote_beside(pid);
    kill_process(zygote, Signal::STOP).expect("stop it");
    answers(&sandbox).await;
    let outcome = execute(&mut machine, "6 * 7").await.expect("the old machine works");
    assert!(matches!(outcome.ended, Ended::Returned(Some(_))), "{:?}", outcome.ended);
    drop(machine);
    gone(zygote).await;
    answers(&sandbox).await;
}

/// A machine and its process.
async fn machine_and_process(sandbox: &Sandbox, limits: Limits) -> (Machine, Pid) {
    let before = crate::support::processes::descendants();
    let machine = sandbox.machine(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a machine");
    let new: Vec<_> = crate::support::processes::descendants().difference(&before).copied().collect();
    let &[pid] = &new[..] else { panic!("a machine is one process: {new:?}") };
    (machine, Pid::from_raw(pid).expect("a process"))
}

fn parent(pid: Pid) -> Pid {
    let parent = crate::support::processes::parent_of(pid.as_raw_pid()).expect("it lives");
    Pid::from_raw(parent).expect("a process")
}

/// The zygote of a machine: the first child of their parent.
fn zygote_beside(machine: Pid) -> Pid {
    let init = parent(machine).as_raw_pid();
    Pid::from_raw(crate::support::processes::first_child(init).expect("a zygote")).expect("a process")
}

/// Waits until a process has ended.
async fn gone(pid: Pid) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(tokio::time::Instant::now() < deadline, "the process was not killed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
