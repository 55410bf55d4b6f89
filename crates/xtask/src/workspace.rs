//! Where things are in the working copy.

use std::path::{Path, PathBuf};

/// The workspace's root directory, fixed when this program was compiled.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/xtask lies two levels below the root")
}

/// The `runtime/` directory: what the binary embeds, and its lock.
pub(crate) fn runtime() -> PathBuf {
    root().join("runtime")
}

/// Cargo's target directory of the workspace, where every generated file goes.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The interpreter's npm package in `runtime/`.
pub(crate) fn interpreter_package() -> anyhow::Result<PathBuf> {
    let directory = runtime();
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            return Ok(path);
        }
    }
    anyhow::bail!("{} holds no npm package", directory.display())
}
