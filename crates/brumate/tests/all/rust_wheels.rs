//! The wheels of the bundle that are written in Rust, at work, without a network.

use std::path::Path;
use std::process::Command;

fn exec(dependencies: &str, script: &Path) -> (bool, String) {
    let cache = brumate_test_support::cache_directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command.env_clear().env("BRUMATE_CACHE_DIR", cache).env("UV_NO_CONFIG", "1").env("PIP_CONFIG_FILE", "/dev/null");
    command.args(["exec", "--offline", "--timeout", "20m", "--cpu-timeout", "20m", "--deps", dependencies]);
    let output = command.arg(script).output().unwrap();
    let all = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&all).into_owned())
}

#[test]
fn each_does_what_it_does_natively() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/rust/work.py");
    let (success, text) = exec("numpy,rpds-py,orjson,tiktoken,safetensors", &script);
    assert!(success, "{text}");
    for check in ["rpds", "panic", "orjson", "tiktoken", "safetensors"] {
        assert!(text.lines().any(|line| line == format!("same {check}")), "{check}: {text}");
    }
}

#[test]
fn a_stack_that_is_too_deep_ends_the_run_with_its_reason() {
    // Natively this is a segmentation fault: the recursion is Rust's, which nobody counts.
    let code = "
import rpds
deep = rpds.List()
for _ in range(100_000):
    deep = rpds.List([deep])
print('made', flush=True)
hash(deep)
";
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("deep.py");
    std::fs::write(&script, code).unwrap();
    let (success, text) = exec("rpds-py", &script);
    assert!(!success, "{text}");
    assert!(text.starts_with("made\n") && text.contains("The Python interpreter crashed"), "{text}");
}
