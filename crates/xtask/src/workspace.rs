//! Paths of the working copy.

use std::path::{Path, PathBuf};

/// Returns the workspace's root directory, a constant of this program.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/xtask lies two levels below the root")
}

/// Returns the directory `runtime/`.
pub(crate) fn runtime() -> PathBuf {
    root().join("runtime")
}

/// Returns cargo's target directory, which all generated files go to.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the interpreter's npm package in `runtime/`.
pub(crate) fn interpreter_package() -> anyhow::Result<PathBuf> {
    let directory = runtime();
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            return Ok(path);
        }
    }
    anyhow::bail!("{} has no npm package", directory.display())
}
