//! Other clients against our authorization server and the server that it protects: the Python SDK's, and the
//! Inspector's.
//!
//! They find the authorization server, register, send the person to the page, and call. `tests/python/person.py` is the
//! person.

use crate::clients::examples;
use crate::conformance::Running;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python")
}

fn variable(name: &str) -> PathBuf {
    std::env::var_os(name).map(PathBuf::from).unwrap_or_else(|| panic!("{name} is not set; `cargo xtask test` sets it"))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn python(name: &str, era: &str) {
    let output = Command::new(variable(name))
        .arg(scripts().join("sdk_oauth.py"))
        .arg(examples())
        .arg(era)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn mcp1() {
    python("BRUMATE_TEST_PYTHON_MCP1", "legacy");
}

#[test]
fn mcp2() {
    python("BRUMATE_TEST_PYTHON_MCP2", "auto");
}

#[test]
fn mcp2_legacy() {
    python("BRUMATE_TEST_PYTHON_MCP2", "legacy");
}

/// The command line of the Inspector, which keeps its state below `home`.
pub(crate) fn inspector_command(home: &Path) -> Command {
    let modules = variable("BRUMATE_TEST_INSPECTOR");
    let mut command = Command::new(modules.join("node/bin/node"));
    command
        .arg(modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js"))
        .arg("--cli")
        .env("HOME", home)
        .env("MCP_INSPECTOR_SECRET_STORE", "memory")
        .stdin(Stdio::null());
    command
}

#[test]
fn inspector() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = Command::new(examples().join("authorization"));
    let server = server.arg("127.0.0.1:0").arg(directory.path().join("auth")).stderr(Stdio::piped()).spawn();
    let mut server = Running(server.expect("the example starts"));
    let mut url = String::new();
    BufReader::new(server.0.stderr.take().expect("standard error")).read_line(&mut url).expect("a line");
    // The Inspector opens `$BROWSER`, one program.
    let browser = directory.path().join("browser");
    let script = format!("#!/bin/sh\nexec python3 -B '{}' \"$@\"\n", scripts().join("person.py").display());
    std::fs::write(&browser, script).expect("a script");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("a mode");
    let output = inspector_command(directory.path())
        .arg(format!("{}/mcp", url.trim()))
        .args(["--transport", "http", "--format", "json"])
        .args(["--callback-url", "http://127.0.0.1:0/oauth/callback", "--method", "tools/call", "--tool-name", "who"])
        .env("BROWSER", &browser)
        .env("MCP_AUTO_OPEN_ENABLED", "true")
        .output()
        .expect("the Inspector runs");
    let text = text(&output);
    assert!(output.status.success() && text.contains("the owner with the scopes notes"), "{text}");
}
