//! The binary that is handed out: linked statically, so that it runs on every Linux, whatever its C library.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::architecture::Architecture;
use super::mark::{MARK_BYTES, Mark};
use crate::{process, workspace};

/// Native modules whose machine code is in the program beside the interpreter's: the largest of those that numpy and pandas load when
/// they are imported, and of scikit-learn's imports those whose code is smallest, compressed, for the time that compiling them takes.
/// The bundle file's wheel has room for some more.
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

/// Builds it twice: the first program compiles modules of the bundle to machine code. The second is built with a bundle file, which
/// gets that code; both together are the whole binary.
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
    let bundle = directory.join(format!("bundle-{}", architecture.name()));
    let mut second = cargo("build", &target, &directory)?;
    second.args(["-p", "brumate"]).env("BRUMATE_BUNDLE_LEVEL", LEVEL).env("BRUMATE_COMPILED_DIR", &compiled);
    second.env("BRUMATE_BUNDLE_OUT", &bundle);
    // Package indexes bound the size of what they take.
    second.env("BRUMATE_BUNDLE", "compact");
    process::run(&mut second)?;
    let mut whole = std::fs::read(directory.join(target).join("dist/brumate"))?;
    let missing = || format!("{} is missing: remove {} and start again", bundle.display(), directory.display());
    whole.extend(std::fs::read(&bundle).with_context(missing)?);
    let path = directory.join(format!("whole-{}", architecture.name()));
    std::fs::write(&path, &whole)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Finds the offset of the bundle file in a whole binary. Checks that the bundle file is whole, and belongs to the program before it.
///
/// # Errors
/// When there is none at its end, or another one.
pub(super) fn bundle_start(whole: &[u8]) -> Result<usize> {
    let none = "it has no bundle file at its end: take a binary that `cargo xtask dist` has made";
    let end = whole.len().checked_sub(MARK_BYTES).context(none)?;
    let mark = Mark::from_bytes(&whole[end..]).context(none)?;
    let start = usize::try_from(mark.length).ok().and_then(|length| end.checked_sub(length)).context(none)?;
    let (program, frames) = (&whole[..start], &whole[start..end]);
    ensure!(Sha256::digest(frames)[..] == mark.sha256, "the bundle file at its end is damaged");
    let knows_it = program.windows(mark.sha256.len()).any(|bytes| bytes == mark.sha256);
    ensure!(
        knows_it,
        "the bundle file at its end is another one than the program was built with: remove target/dist-build"
    );
    Ok(start)
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
    fn a_whole_binary_is_a_program_and_its_bundle_file() {
        let mark = Mark { sha256: Sha256::digest(b"frames").into(), length: 6 };
        let program = [b"a program that knows ", &mark.sha256[..]].concat();
        let whole = |program: &[u8], frames: &[u8], mark: Mark| {
            bundle_start(&[program, frames, &mark.to_bytes()].concat()).map_err(|error| error.to_string())
        };
        assert_eq!(whole(&program, b"frames", mark), Ok(program.len()));
        assert!(whole(&program, b"flames", mark).unwrap_err().contains("damaged"));
        assert!(whole(b"another program", b"frames", mark).unwrap_err().contains("another one"));
        for long in [1000, u64::MAX] {
            assert!(whole(&program, b"frames", Mark { length: long, ..mark }).unwrap_err().contains("no bundle file"));
        }
        for none in [&b""[..], &program, &[b'x'; MARK_BYTES]] {
            assert!(bundle_start(none).unwrap_err().to_string().contains("no bundle file"));
        }
    }

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check(&this).unwrap_err().to_string().contains("dynamically"));
        check(b"#!/bin/sh").unwrap_err();
    }
}
