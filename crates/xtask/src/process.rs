//! Runs child processes. Errors contain the command line.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};

/// Runs `command` with inherited output. An unsuccessful exit is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("+ {}", line(command));
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", line(command));
    }
    Ok(())
}

/// Runs `command` and returns its standard output. An unsuccessful exit is an error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{}`", line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", line(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed something that is no UTF-8", line(command)))
}

/// Returns whether `command` starts and exits successfully. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}
