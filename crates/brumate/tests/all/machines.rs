//! Machines through the engine's own interface: what a guest's end tells, and what its files and stacks look like.

use std::time::Duration;

use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Machine as _;
use brumate_engine::api::{Ended, Event, Execute, Limits, MachineSpec, Mount, Outcome, StopReason};
use brumate_engine::client::{EngineError, ExitReason, Machine, Sandbox, SandboxConfig};
use tokio::sync::mpsc;

async fn sandbox() -> Sandbox {
    let config = SandboxConfig {
        cache_dir: brumate_test_support::cache_directory(),
        program: Some(env!("CARGO_BIN_EXE_brumate").into()),
        ..SandboxConfig::default()
    };
    Sandbox::start(config).await.expect("a sandbox")
}

/// Runs code; the text of its output comes with the outcome.
async fn execute(machine: &mut Machine, code: &str) -> (Result<Outcome, EngineError>, String) {
    let (sender, mut events) = mpsc::channel(16);
    let listening = tokio::spawn(async move {
        let mut output = String::new();
        while let Some(event) = events.recv().await {
            if let Event::Stream { text, .. } = event {
                output.push_str(&text);
            }
        }
        output
    });
    let request = Execute { code: code.to_owned(), ..Execute::default() };
    let outcome = machine.execute(request, sender).await;
    (outcome, listening.await.expect("the events end"))
}

/// The JSON text of what the code returns.
async fn value(machine: &mut Machine, code: &str) -> String {
    let (outcome, output) = execute(machine, code).await;
    match outcome {
        Ok(Outcome { ended: Ended::Returned(Some(value)), .. }) => value.json,
        other => panic!("{code}: {other:?}: {output}"),
    }
}

/// Bytes that the guests below write, and those that are kept.
const WRITTEN: u64 = 10_000_000;
const KEPT: u64 = 1000;

/// Writes that much, a piece at a time.
const FLOOD: &str = "import os\nfor _ in range(1000):\n    os.write(1, b'x' * 10_000)\n";

#[tokio::test]
async fn a_machine_that_ends_tells_how_much_output_was_dropped() {
    let sandbox = sandbox().await;
    let limits = Limits { output_bytes: KEPT, ..Limits::default() };
    for (end, expected) in [("os._exit(3)", ExitReason::Exit(3)), ("os.abort()", ExitReason::Abort)] {
        let mut machine = sandbox.machine(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a machine");
        let (outcome, output) = execute(&mut machine, &format!("{FLOOD}{end}")).await;
        match outcome {
            Err(EngineError::MachineExited { reason, output_dropped, .. }) => {
                assert_eq!((reason, output_dropped), (expected, WRITTEN - KEPT));
            }
            other => panic!("{end}: {other:?}"),
        }
        assert_eq!(output.len() as u64, KEPT);
    }
}

#[tokio::test]
async fn what_a_killed_machine_dropped_is_known_within_a_sixteenth() {
    let sandbox = sandbox().await;
    let grace = Duration::from_millis(300);
    let limits = Limits { output_bytes: KEPT, wall: Duration::from_secs(5), grace, ..Limits::default() };
    let mut machine = sandbox.machine(MachineSpec { limits, ..MachineSpec::default() }).await.expect("a machine");
    let swallow = "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass\n";
    let (outcome, _) = execute(&mut machine, &format!("{FLOOD}{swallow}")).await;
    let Err(EngineError::MachineExited { reason: ExitReason::TimeLimit, output_dropped, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    let dropped = WRITTEN - KEPT;
    assert!((dropped - dropped / 16..=dropped).contains(&output_dropped), "{output_dropped} of {dropped}");
}

#[tokio::test]
async fn a_killed_machine_is_reported_with_its_peak() {
    let sandbox = sandbox().await;
    let (cpu, grace) = (Duration::from_secs(1), Duration::from_millis(300));
    let limits = Limits { cpu, grace, wall: Duration::from_secs(600), ..Limits::default() };
    let spec = || MachineSpec { limits, ..MachineSpec::default() };
    // The block is given back before the end.
    let code = "block = bytearray(b'x') * (200 << 20)\ndel block\nwhile True:\n    try:\n        while True: pass\n    \
        except KeyboardInterrupt: pass\n";
    let expected = 200 << 20..700 << 20;
    let mut machine = sandbox.machine(spec()).await.expect("a machine");
    let (outcome, _) = execute(&mut machine, code).await;
    let Err(EngineError::MachineExited { reason: ExitReason::CpuLimit, peak_memory_bytes: Some(peak), .. }) = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(expected.contains(&peak), "{peak}");
    // A session's, and after it one that needs little: a checkpoint begins anew.
    let session = sandbox.session(spec()).await.expect("a session");
    let (outcome, _) = crate::support::sessions::cell(&session, code).await;
    let Err(EngineError::RolledBack { reason: ExitReason::CpuLimit, peak_memory_bytes: Some(peak), .. }) = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(expected.contains(&peak), "{peak}");
    let (outcome, _) = crate::support::sessions::cell(&session, &code.replace("200", "1")).await;
    let Err(EngineError::RolledBack { reason: ExitReason::CpuLimit, peak_memory_bytes: Some(peak), .. }) = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!((1..200 << 20).contains(&peak), "{peak}");
}

#[tokio::test]
async fn an_interrupt_is_for_one_execution() {
    let sandbox = sandbox().await;
    let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
    for _ in 0..3 {
        machine.interrupt_handle().interrupt();
        let (outcome, _) = execute(&mut machine, "while True: pass").await;
        let outcome = outcome.expect("an outcome");
        assert_eq!(outcome.stopped, Some(StopReason::Cancelled));
        assert!(matches!(&outcome.ended, Ended::Raised { ename, .. } if ename == "KeyboardInterrupt"));
        assert_eq!(value(&mut machine, "6 * 7").await, "42");
    }
}

#[tokio::test]
async fn the_driver_is_not_in_printed_stacks() {
    let sandbox = sandbox().await;
    let mut machine = sandbox.machine(MachineSpec::default()).await.expect("a machine");
    for code in [
        "import traceback\ndef f(): traceback.print_stack()\nf()\n",
        "import traceback\nasync def f(): traceback.print_stack()\nawait f()\n",
    ] {
        let (outcome, output) = execute(&mut machine, code).await;
        assert_eq!(outcome.expect("an outcome").ended, Ended::Returned(None));
        let files: Vec<_> = output.lines().filter(|line| line.starts_with("  File ")).collect();
        let expected = ["  File \"main.py\", line 3, in <module>", "  File \"main.py\", line 2, in f"];
        assert_eq!(files, expected, "{output}");
    }
}

#[tokio::test]
async fn times_of_open_granted_files_can_be_set() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "text").unwrap();
    std::fs::write(directory.path().join("renamed"), "text").unwrap();
    let sandbox = sandbox().await;
    let mount = |read_only| Mount { host: directory.path().to_owned(), guest: "/data".to_owned(), read_only };
    let spec = MachineSpec { mounts: vec![mount(false)], ..MachineSpec::default() };
    let mut machine = sandbox.machine(spec).await.expect("a machine");
    let code = "import os\n\
        with open('/data/file', 'r+') as file:\n    os.utime(file.fileno(), ns=(1_000_000_001, 2_000_000_002))\n\
        found = os.stat('/data/file')\n[found.st_atime_ns, found.st_mtime_ns]";
    let times: Vec<i64> = serde_json::from_str(&value(&mut machine, code).await).unwrap();
    assert_eq!(times, [1_000_000_001, 2_000_000_002]);

    // A file that took the name is not touched.
    let code = "refused = []\nfile = open('/data/file', 'r+')\nos.rename('/data/renamed', '/data/file')\ntry:\n    \
        os.utime(file.fileno(), (3, 3))\nexcept PermissionError: refused.append('other')\nos.remove('/data/file')\ntry:\n    \
        os.utime(file.fileno(), (3, 3))\nexcept PermissionError: refused.append('none')\nrefused";
    let code = format!("import os\n{code}");
    let refused: Vec<String> = serde_json::from_str(&value(&mut machine, &code).await).unwrap();
    assert_eq!(refused, ["other", "none"]);

    std::fs::write(directory.path().join("file"), "text").unwrap();
    let spec = MachineSpec { mounts: vec![mount(true)], ..MachineSpec::default() };
    let mut machine = sandbox.machine(spec).await.expect("a machine");
    let code = "import os\nfile = open('/data/file')\ntry:\n    os.utime(file.fileno(), (3, 3))\nexcept OSError as error:\n    \
        name = error.strerror\nname";
    assert_eq!(value(&mut machine, code).await, "\"Read-only file system\"");
}

/// Waits for its input as an event loop does, without reading before something is there.
const READER: &str = "
import asyncio, os, select
print(select.select([0], [], [], 0.05)[0])
pieces = asyncio.Queue()
asyncio.get_running_loop().add_reader(0, lambda: pieces.put_nowait(os.read(0, 100)))
print('ready', flush=True)
print(await pieces.get())
print(await pieces.get())
";

#[tokio::test]
async fn input_that_comes_late_is_waited_for() {
    let sandbox = sandbox().await;
    let (input, mut writer) = std::io::pipe().unwrap();
    let spec = MachineSpec { stdin: Some(input.into()), ..MachineSpec::default() };
    let mut machine = sandbox.machine(spec).await.expect("a machine");
    let (sender, mut events) = mpsc::channel(16);
    let typing = tokio::spawn(async move {
        let mut output = String::new();
        while let Some(event) = events.recv().await {
            let Event::Stream { text, .. } = event else { continue };
            output.push_str(&text);
            if output.ends_with("ready\n") {
                tokio::time::sleep(Duration::from_millis(100)).await;
                std::io::Write::write_all(&mut writer, b"hello").unwrap();
            }
            if output.ends_with("hello'\n") {
                // The end of the input.
                writer = std::io::pipe().unwrap().1;
            }
        }
        output
    });
    let outcome = machine.execute(Execute { code: READER.to_owned(), ..Execute::default() }, sender).await;
    let output = typing.await.unwrap();
    assert!(matches!(outcome, Ok(Outcome { ended: Ended::Returned(_), .. })), "{outcome:?} {output}");
    assert_eq!(output, "[]\nready\nb'hello'\nb''\n");
}

#[tokio::test]
async fn a_wait_for_input_ends_at_the_time_limit() {
    let sandbox = sandbox().await;
    let (input, _writer) = std::io::pipe().unwrap();
    let limits = Limits { wall: Duration::from_millis(300), ..Limits::default() };
    let spec = MachineSpec { stdin: Some(input.into()), limits, ..MachineSpec::default() };
    let mut machine = sandbox.machine(spec).await.expect("a machine");
    let (outcome, _) = execute(&mut machine, "import select\nselect.select([0], [], [])").await;
    assert_eq!(outcome.expect("it can raise").stopped, Some(StopReason::TimeLimit));
}
