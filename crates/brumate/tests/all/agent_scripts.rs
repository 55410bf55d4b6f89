//! Scripts as agents write them give what they give natively, but for what `tests/compat/agent_scripts/differences.toml` lists.
//!
//! What they give natively is stored beside them. A tenth of them is run; the long tier (`BRUMATE_TEST_LONG`) runs all.

use std::path::{Path, PathBuf};
use std::process::Command;

use brumate_test_support::{cache_directory, count};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/agent_scripts")
}

fn compare(arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("python3");
    command.env("BRUMATE_CACHE_DIR", cache_directory()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(directory().join("compare.py")).args(arguments);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn scripts_give_what_they_give_natively() {
    let step = count(10, 1);
    let (success, text) = compare(&["--brumate", env!("CARGO_BIN_EXE_brumate"), "--part", &format!("1/{step}")]);
    assert!(success && text.contains(", 0 otherwise"), "{text}");
}

/// A sandbox that prints something else is found out.
#[test]
fn another_output_is_found() {
    let place = tempfile::tempdir().unwrap();
    let other = place.path().join("brumate");
    std::fs::write(&other, "#!/bin/sh\necho something else\n").unwrap();
    std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (success, text) = compare(&["--brumate", other.to_str().unwrap(), "--only", "stdlib/sales_by_region"]);
    assert!(!success && text.contains("+something else") && text.contains("1 otherwise"), "{text}");
}
