//! The binary that is handed out: linked statically, so that it runs on every Linux, whatever its C library.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::architecture::Architecture;
use crate::{process, workspace};

/// Native modules whose machine code is in the program beside the interpreter's: the largest of those that numpy and pandas load when
/// they are imported, and of scikit-learn's imports those whose code is smallest, compressed, for the time that compiling them takes.
/// A wheel of 100 MB has no room for more.
const COMPILED: [&str; 11] = [
    "numpy/.libs/libopenblas.so",
    "numpy/_core/_multiarray_umath",
    "pandas/_libs/algos",
    "pandas/_libs/groupby",
    "pandas/_libs/hashtable",
    "pandas/_libs/index",
    "pandas/_libs/join",
    "scipy/linalg/_fblas",
    "scipy/linalg/_flapack",
    "scipy/sparse/_csparsetools",
    "sklearn/_loss/_loss",
];

/// Level of compression of the bundle, the highest: some minutes on two cores.
const LEVEL: &str = "22";

/// Builds it twice: the first program compiles modules of the bundle to machine code, the second has them inside.
///
/// For another architecture cargo wants its settings for that: a linker (`CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER`), and a runner
/// for the first program ([`runner`]).
///
/// # Errors
/// When it does not build; static parts of the C library (Debian's `libc6-dev`) are needed.
pub(super) fn build(architecture: Architecture) -> Result<PathBuf> {
    let target = architecture.target();
    let directory = workspace::target().join("dist-build");
    let compiled = directory.join(format!("compiled-{}", architecture.name()));
    if compiled.exists() {
        std::fs::remove_dir_all(&compiled)?;
    }
    let mut first = cargo("run", &target, &directory)?;
    first.args(["-p", "brumate-engine", "--example", "precompile", "--"]).arg(&compiled).args(COMPILED);
    process::run(first.env("BRUMATE_BUNDLE_LEVEL", "1"))?;
    let mut second = cargo("build", &target, &directory)?;
    second.args(["-p", "brumate"]).env("BRUMATE_BUNDLE_LEVEL", LEVEL).env("BRUMATE_COMPILED_DIR", &compiled);
    // Package indexes bound the size of what they take.
    second.env("BRUMATE_BUNDLE", "compact");
    process::run(&mut second)?;
    Ok(directory.join(target).join("dist/brumate"))
}

/// Returns the command that runs a program. One of another architecture needs an emulator, which cargo's own setting names
/// (`CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER`).
///
/// # Errors
/// When it is not set.
pub(super) fn runner(program: &Path, architecture: Architecture) -> Result<Command> {
    if architecture == Architecture::of_host()? {
        return Ok(Command::new(program));
    }
    let variable = format!("CARGO_TARGET_{}_RUNNER", architecture.target().to_uppercase().replace('-', "_"));
    let setting = std::env::var(&variable);
    let setting =
        setting.with_context(|| format!("set {variable} to an emulator, for example qemu-{}", architecture.name()))?;
    let mut words = setting.split_whitespace();
    let mut command = Command::new(words.next().with_context(|| format!("{variable} is empty"))?);
    command.args(words).arg(program);
    Ok(command)
}

fn cargo(command: &str, target: &str, directory: &Path) -> Result<Command> {
    let mut cargo = Command::new(env!("CARGO"));
    // With an explicit target, build scripts and macros are not linked statically. Paths of this machine stay out of it.
    cargo.args([command, "--profile", "dist", "--locked", "--target", target, "--target-dir"]).arg(directory);
    let root = workspace::root().display();
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))?;
    let flags =
        format!("-C target-feature=+crt-static --remap-path-prefix={root}=/brumate --remap-path-prefix={home}=/cargo");
    cargo.env("RUSTFLAGS", flags).current_dir(workspace::root());
    Ok(cargo)
}

/// Checks that a binary is a program for Linux that needs no loader and no libraries.
///
/// # Errors
/// When it is something else.
pub(super) fn check(bytes: &[u8]) -> Result<()> {
    ensure!(bytes.starts_with(b"\x7fELF\x02\x01"), "it is no program of 64 bits for Linux");
    let number = |at: usize, length: usize| -> Result<u64> {
        let part = bytes.get(at..at + length).context("it is cut off")?;
        Ok(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    // Program headers (elf(5)): where they begin, how long one is, how many there are.
    let (offset, size, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    for header in 0..count {
        const INTERPRETER: u64 = 3;
        if number(offset + header * size, 4)? == INTERPRETER {
            bail!("it is linked dynamically; build it with `-C target-feature=+crt-static`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check(&this).unwrap_err().to_string().contains("dynamically"));
        check(b"#!/bin/sh").unwrap_err();
    }
}
