//! The upstream test suites of numpy and pandas, for runs inside the sandbox and under Node.
//!
//! The wheels of the bundle have the compiled test modules but not the `tests` directories. Those
//! are pure Python and come from the same pinned source archives; with pytest they make one zip laid
//! out like `site-packages`, to be mounted (or unpacked) over it.

use super::environment::once;
use crate::{process, workspace};
use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Source archives whose `tests` directories are taken.
const SDISTS: &[&str] = &["numpy-2.4.6.tar.gz", "pandas-3.0.2.tar.gz"];

/// Makes the zip below `base`; returns its path.
pub(super) fn prepare(base: &Path) -> Result<PathBuf> {
    let directory = base.join("upstream");
    let recipes = workspace::runtime().join("recipes");
    let sources = recipes.join("sources.sha256");
    let wheels = recipes.join("tests/wheels.sha256");
    let archive = directory.join("upstream-tests.zip");
    let made_from =
        [&sources, &wheels].map(|list| std::fs::read_to_string(list).with_context(|| list.display().to_string()));
    let [sources_text, wheels_text] = made_from;
    once(&directory, &format!("{}{}", sources_text?, wheels_text?), || {
        let downloads = directory.join("downloads");
        for (list, only) in [(&sources, SDISTS), (&wheels, &[][..])] {
            let mut fetch = Command::new("python3");
            fetch.arg(recipes.join("fetch.py")).arg(list).arg(&downloads).args(only);
            process::run(&mut fetch)?;
        }
        let mut members = BTreeMap::new();
        for entry in std::fs::read_dir(&downloads)? {
            let path = entry?.path();
            collect(&path, &mut members).with_context(|| path.display().to_string())?;
        }
        write(&archive, &members)
    })?;
    Ok(archive)
}

/// Adds a wheel's files, or the `tests` directories of a source archive.
fn collect(path: &Path, members: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "whl") {
        members.extend(crate::runtime::read_zip(path)?);
        return Ok(());
    }
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
    for member in archive.entries()? {
        let mut member = member?;
        let name = member.path()?.to_string_lossy().into_owned();
        if !member.header().entry_type().is_file() {
            continue;
        }
        if let Some(name) = site_packages_name(&name) {
            let mut data = Vec::new();
            member.read_to_end(&mut data)?;
            members.insert(name.to_owned(), data);
        }
    }
    Ok(())
}

/// Where a test file of a source archive lies in `site-packages`: its path below the archive's own
/// top directory, for files in the package's `tests` directories.
fn site_packages_name(path: &str) -> Option<&str> {
    let (top, name) = path.split_once('/')?;
    let (project, _) = top.rsplit_once('-')?;
    let (package, rest) = name.split_once('/')?;
    let directories = rest.rsplit_once('/')?.0;
    let in_tests = directories.split('/').any(|directory| directory == "tests");
    (package == project && in_tests).then_some(name)
}

fn write(path: &Path, members: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut archive = ZipWriter::new(File::create(path)?);
    for (name, data) in members {
        archive.start_file(name.as_str(), SimpleFileOptions::default())?;
        archive.write_all(data)?;
    }
    archive.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::site_packages_name;

    #[test]
    fn only_test_files_of_the_package_are_taken() {
        let cases = [
            ("numpy-2.4.6/numpy/_core/tests/test_umath.py", Some("numpy/_core/tests/test_umath.py")),
            ("numpy-2.4.6/numpy/_core/tests/data/a.csv", Some("numpy/_core/tests/data/a.csv")),
            ("pandas-3.0.2/pandas/tests/__init__.py", Some("pandas/tests/__init__.py")),
            ("numpy-2.4.6/numpy/_core/umath.py", None),
            ("numpy-2.4.6/vendored-meson/meson/tests/a.py", None),
            ("numpy-2.4.6/numpy/tests", None),
            ("pandas-3.0.2/setup.py", None),
        ];
        for (path, expected) in cases {
            assert_eq!(site_packages_name(path), expected, "{path}");
        }
    }
}
