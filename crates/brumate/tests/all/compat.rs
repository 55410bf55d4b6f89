//! What Python programs find in the sandbox: the standard library, the bundle's packages, Linux's behaviour.
//!
//! The checks are the `test_*` functions of the files in `tests/compat/`; `run.py` there runs one file's.
//! `docs/compatibility.md` describes what differs from CPython on Linux.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names a directory like `site-packages` with wheels that are not in the bundle; `cargo xtask test` makes it.
const WHEELS: &str = "BRUMATE_TEST_WHEELS";

/// Lines of `randomness.py`, one for each source.
const RANDOM_SOURCES: usize = 12;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat")
}

/// The binary with a clean environment, the cache that all tests of a build share, and time for a busy host.
fn brumate(command: &str) -> Command {
    let cache = brumate_test_support::cache_directory();
    let mut brumate = Command::new(env!("CARGO_BIN_EXE_brumate"));
    brumate.env_clear().env("BRUMATE_CACHE_DIR", cache).arg(command);
    brumate.args(["--timeout", "10m", "--cpu-timeout", "10m"]);
    brumate
}

/// `HOST:GUEST:ro` for `--mount`.
fn mount(host: &Path, guest: &str) -> String {
    format!("{}:{guest}:ro", host.to_str().unwrap())
}

/// Runs the checks of `file` in the sandbox; every one that it defines must have run and passed.
fn check(file: &str, mounts: &[String]) {
    check_by(brumate("exec"), file, mounts);
}

/// Runs the checks of `file` with this command.
fn check_by(mut command: Command, file: &str, mounts: &[String]) {
    for mount in mounts.iter().chain([&mount(&scripts(), "/compat")]) {
        command.args(["--mount", mount]);
    }
    let output = command.arg(scripts().join("run.py")).arg(format!("/compat/{file}")).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file}:\n{stdout}{stderr}");
    let source = std::fs::read_to_string(scripts().join(file)).unwrap();
    let defined = source.lines().filter(|line| line.starts_with("def test_")).count();
    assert_eq!(stdout.lines().last(), Some(format!("{defined} passed").as_str()), "{file}:\n{stdout}{stderr}");
}

/// One Rust test for each file.
macro_rules! files {
    ($($name:ident),+ $(,)?) => {
        /// The files that need nothing but the sandbox.
        const FILES: &[&str] = &[$(stringify!($name)),+];
        $(#[test]
        fn $name() {
            check(concat!(stringify!($name), ".py"), &[]);
        })+
    };
}

files!(
    absent,
    cpp_work,
    data_files,
    figures,
    files,
    foreign_calls,
    markup,
    numpy_work,
    pandas_work,
    operating_system,
    sockets,
    stdlib,
    tasks,
    threads,
    time_and_place,
);

/// The mount of the packages that the bundle does not have.
fn wheels() -> String {
    let Some(wheels) = std::env::var_os(WHEELS) else {
        panic!("{WHEELS} is not set: it names a directory with unpacked wheels; `cargo xtask test` sets it");
    };
    mount(Path::new(&wheels), "/wheels")
}

#[test]
fn published_wheels() {
    check("wheels.py", &[wheels()]);
}

mod long_tier {
    #[test]
    #[ignore = "long tier"]
    fn published_wheels_that_use_numpy() {
        super::check("numpy_wheels.py", &[super::wheels()]);
    }
}

#[test]
fn published_wheels_that_want_scikit_learn() {
    let mut command = brumate("exec");
    command.env("UV_NO_CONFIG", "1").env("PIP_CONFIG_FILE", "/dev/null");
    command.args(["--offline", "--deps", "scikit-learn"]);
    check_by(command, "learning_wheels.py", &[wheels()]);
}

#[test]
fn cffi() {
    check("cffi_work.py", &[wheels()]);
}

/// Probes of the standard library's edges: numbers, limits, dates, names of the platform.
#[test]
fn answers_differ_from_native_python_where_listed_only() {
    let probes = scripts().join("same_platform");
    let mut command = brumate("exec");
    command.args(["--mount", &mount(&probes, "/same_platform")]).arg(probes.join("compare.py")).arg("/same_platform");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && text.contains(", 0 wrong"), "{text}");
}

#[test]
fn every_file_of_checks_is_run() {
    let known: BTreeSet<String> = FILES
        .iter()
        .chain(&["wheels", "numpy_wheels", "learning_wheels", "cffi_work"])
        .map(|name| format!("{name}.py"))
        .collect();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(scripts()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "py")
            && std::fs::read_to_string(&path).unwrap().contains("\ndef test_")
        {
            found.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(found, known);
}

/// Calls of one server are forks of one interpreter that has already booted: none may repeat another's random numbers.
#[test]
fn random_values_of_two_calls_differ() {
    let code = std::fs::read_to_string(scripts().join("randomness.py")).unwrap();
    let mut server = brumate("stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut send = |message: serde_json::Value| writeln!(input, "{message}").unwrap();
    let mut answer = |id: u64| loop {
        let line = answers.next().expect("an answer").unwrap();
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        if message["id"] == id {
            break message;
        }
    };
    send(serde_json::json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        },
    }));
    answer(0);
    send(serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let mut run = |id: u64| {
        send(serde_json::json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "run_python_code", "arguments": {"python_code": code}},
        }));
        let result = answer(id);
        let text = result["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
        let output = text.split("<output>\n").nth(1).and_then(|rest| rest.split("\n</output>").next());
        let lines: BTreeSet<String> =
            output.unwrap_or_else(|| panic!("{text}")).lines().map(ToOwned::to_owned).collect();
        assert_eq!(lines.len(), RANDOM_SOURCES, "{text}");
        lines
    };
    let (first, second) = (run(1), run(2));
    assert!(first.is_disjoint(&second), "{:?}", first.intersection(&second));
    drop(input);
    assert!(server.wait().unwrap().success());
}
