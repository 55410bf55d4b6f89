//! Wheels as published for the interpreter's platform, unpacked as an installer would.
//!
//! They are not in the bundle: tests show with them that what others have built loads unchanged. What nobody publishes is in
//! the bundle, as cffi, or in `tests/compat/built`, as an extension module that cffi made.

use super::environment::once;
use crate::{process, workspace};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the directory below `base`, laid out like `site-packages`; returns its path.
pub(super) fn prepare(base: &Path) -> Result<PathBuf> {
    let tests = workspace::root().join("tests/compat");
    let list = tests.join("wheels.sha256");
    let made_from = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let directory = base.join("wheels");
    let site_packages = directory.join("site-packages");
    once(&directory, &made_from, || {
        let downloads = directory.join("downloads");
        std::fs::create_dir_all(&downloads)?;
        // What is there is checked, not fetched.
        let places = [tests.join("built"), workspace::runtime().join("wheels")];
        for name in made_from.lines().filter_map(|line| line.split_whitespace().last()) {
            if let Some(wheel) = places.iter().map(|place| place.join(name)).find(|wheel| wheel.exists()) {
                std::fs::copy(wheel, downloads.join(name))?;
            }
        }
        let mut fetch = Command::new("python3");
        process::run(fetch.arg(workspace::runtime().join("recipes/fetch.py")).arg(&list).arg(&downloads))?;
        for entry in std::fs::read_dir(&downloads)? {
            for (name, data) in crate::runtime::read_zip(&entry?.path())? {
                let path = site_packages.join(name);
                std::fs::create_dir_all(path.parent().unwrap_or(&site_packages))?;
                std::fs::write(path, data)?;
            }
        }
        Ok(())
    })?;
    Ok(site_packages)
}
