//! The end of a program is Python's: what is in its files, what it prints and its exit status are those of native CPython.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use brumate_engine::api::Machine as _;
use brumate_engine::api::{Ended, Event, Execute, ExecuteMode, MachineSpec, Mount, StreamName};
use brumate_engine::client::{EngineError, ExitReason, Sandbox};

use crate::support::sessions::sandbox;

const NATIVE: &str = "BRUMATE_TEST_PYTHON_NUMBERS";

fn native<T: serde::de::DeserializeOwned>(arguments: &[&str]) -> T {
    let python = std::env::var(NATIVE).expect("`cargo xtask test` sets it");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/endings/endings.py");
    let output = Command::new(python).arg(script).args(arguments).output().expect("a native Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Runs a program in a machine of its own with `directory` at /out. Returns its exit status and what it printed on stdout.
async fn ending(sandbox: &Sandbox, code: &str, mode: ExecuteMode, directory: &Path) -> (i32, String) {
    let mounts = vec![Mount { host: directory.to_owned(), guest: "/out".to_owned(), read_only: false }];
    let spec = MachineSpec { mounts, ..MachineSpec::default() };
    let mut machine = sandbox.machine(spec).await.expect("a machine");
    let (sender, mut events) = tokio::sync::mpsc::channel(16);
    let listening = tokio::spawn(async move {
        let mut printed = String::new();
        while let Some(event) = events.recv().await {
            if let Event::Stream { name: StreamName::Stdout, text } = event {
                printed.push_str(&text);
            }
        }
        printed
    });
    let code = format!("__import__('os').chdir('/out')\n{code}");
    let request = Execute { code, mode, ends_program: true, ..Execute::default() };
    let status = match machine.execute(request, sender).await {
        Ok(outcome) => match outcome.ended {
            Ended::Returned(_) => 0,
            Ended::Exited { code, .. } => code,
            Ended::Raised { .. } => 1,
        },
        Err(EngineError::MachineExited { reason: ExitReason::Exit(code), .. }) => code,
        Err(error) => panic!("{error}"),
    };
    (status, listening.await.expect("the events end"))
}

#[tokio::test]
async fn programs_end_as_natively() {
    let root = tempfile::tempdir().expect("a directory");
    let places = ["native", "script", "snippet"].map(|name| root.path().join(name));
    for place in &places {
        std::fs::create_dir(place).expect("a directory");
    }
    let shown = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let programs: BTreeMap<String, String> = native(&["list"]);
    let expected: BTreeMap<String, (i32, String)> = native(&["run", &shown(&places[0])]);
    let contents = |place: &Path| -> BTreeMap<String, serde_json::Value> { native(&["files", &shown(place)]) };
    let files = contents(&places[0]);
    let sandbox = sandbox(1).await;
    for (mode, place) in [(ExecuteMode::Script, &places[1]), (ExecuteMode::Snippet, &places[2])] {
        let mut found = BTreeMap::new();
        for (name, code) in &programs {
            let directory = place.join(name);
            std::fs::create_dir(&directory).expect("a directory");
            found.insert(name.clone(), ending(&sandbox, code, mode, &directory).await);
        }
        assert_eq!(found, expected, "{mode:?}");
        assert_eq!(contents(place), files, "{mode:?}");
    }
}
