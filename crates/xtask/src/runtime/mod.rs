//! The `runtime/` directory: its lock, its verification, its recipes.

mod bundle;
mod lock;
mod lock_file;
mod pyc;
mod verify;
mod wheel;

pub(crate) use bundle::read_zip;
pub(crate) use lock_file::{Entry, FileKind, Lock, Registry};

use crate::{process, workspace};
use anyhow::Result;
use clap::Subcommand;
use std::path::Path;
use std::process::Command;
use wheel::Wheel;

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Check every file against the lock, and every wheel against its own metadata
    Verify,
    /// Regenerate the lock from the files; hand-set licences and origins are kept
    Lock,
    /// Remake the two archives of bytecode (node)
    Bytecode,
    /// Rebuild the binary wheels and the bytecode from sources (root on Debian; node)
    Build,
}

/// Runs one of the `runtime` tasks.
pub(crate) fn run(task: &Task) -> Result<()> {
    match task {
        Task::Verify => verify::run(&workspace::runtime()),
        Task::Lock => lock::run(&workspace::runtime()),
        Task::Bytecode => bytecode(&workspace::runtime()),
        Task::Build => build(&workspace::runtime()),
    }
}

/// Runs the recipes below the target directory and takes over what they made.
fn build(runtime: &Path) -> Result<()> {
    let work = workspace::target().join("recipes");
    let script = runtime.join("recipes/build-all.sh");
    process::run(Command::new("bash").arg(script).arg(&work))?;
    let out = work.join("out");
    for old in std::fs::read_dir(runtime.join("wheels"))? {
        std::fs::remove_file(old?.path())?;
    }
    for directory in ["", "wheels"] {
        for new in std::fs::read_dir(out.join(directory))? {
            let new = new?;
            if new.file_type()?.is_file() {
                std::fs::copy(new.path(), runtime.join(directory).join(new.file_name()))?;
            }
        }
    }
    std::fs::copy(work.join("toolchain.txt"), runtime.join("recipes/toolchain.txt"))?;
    lock::run(runtime)?;
    verify::run(runtime)
}

/// Remakes the bytecode of the standard library and of the wheels that have none inside, with the interpreter itself.
fn bytecode(runtime: &Path) -> Result<()> {
    let work = workspace::target().join("bytecode");
    if work.exists() {
        std::fs::remove_dir_all(&work)?;
    }
    std::fs::create_dir_all(work.join("dl"))?;
    std::fs::create_dir_all(work.join("pyodide"))?;
    let mut unpack = Command::new("tar");
    unpack.arg("xzf").arg(workspace::interpreter_package()?);
    process::run(unpack.args(["--strip-components=1", "-C"]).arg(work.join("pyodide")))?;
    for wheel in std::fs::read_dir(runtime.join("wheels"))? {
        let wheel = wheel?;
        if !Wheel::open(&wheel.path())?.has_bytecode() {
            std::fs::copy(wheel.path(), work.join("dl").join(wheel.file_name()))?;
        }
    }
    let script = runtime.join("recipes/bytecode.sh");
    process::run(Command::new("bash").arg(script).arg(&work))?;
    for archive in ["python_stdlib.zip", "pycache-site.zip"] {
        std::fs::copy(work.join("out").join(archive), runtime.join(archive))?;
    }
    lock::run(runtime)?;
    verify::run(runtime)
}
