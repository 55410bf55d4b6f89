//! The upstream test suites of numpy and pandas, for runs inside the sandbox and under Node.
//!
//! The wheels of the bundle have the compiled test modules but not the `tests` directories. Those
//! are pure Python and come from the same pinned source archives; with pytest they make one zip laid
//! out like `site-packages`, to be mounted (or unpacked) over it. `runtime/recipes/patches/tests` has
//! what the sandbox's numbers change in them.

use super::environment::once;
use crate::{process, workspace};
use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Source archives whose `tests` directories are taken. Each has a patch of these in `patches/tests`.
const SDISTS: &[&str] = &["numpy-2.4.6.tar.gz", "pandas-3.0.2.tar.gz"];

type Members = BTreeMap<String, Vec<u8>>;

/// Makes the zip below `base`; returns its path.
pub(super) fn prepare(base: &Path) -> Result<PathBuf> {
    let directory = base.join("upstream");
    let recipes = workspace::runtime().join("recipes");
    let sources = recipes.join("sources.sha256");
    let wheels = recipes.join("tests/wheels.sha256");
    let archive = directory.join("upstream-tests.zip");
    let patches: Vec<_> =
        SDISTS.iter().map(|sdist| recipes.join("patches/tests").join(sdist.replace(".tar.gz", ".patch"))).collect();
    let mut made_from = String::new();
    for file in [&sources, &wheels].into_iter().chain(&patches) {
        made_from += &std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    }
    once(&directory, &made_from, || {
        let downloads = directory.join("downloads");
        for (list, only) in [(&sources, SDISTS), (&wheels, &[][..])] {
            let mut fetch = Command::new("python3");
            fetch.arg(recipes.join("fetch.py")).arg(list).arg(&downloads).args(only);
            process::run(&mut fetch)?;
        }
        let mut members = Members::new();
        for entry in std::fs::read_dir(&downloads)? {
            let path = entry?.path();
            collect(&path, &mut members).with_context(|| path.display().to_string())?;
        }
        for patch in &patches {
            apply(patch, &mut members, &directory.join("patched")).with_context(|| patch.display().to_string())?;
        }
        write(&archive, &members)
    })?;
    Ok(archive)
}

/// Adds a wheel's files, or the `tests` directories of a source archive.
fn collect(path: &Path, members: &mut Members) -> Result<()> {
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

/// Applies a patch to the members that it names. `scratch` is a directory that this makes and removes.
///
/// # Errors
/// When the patch names a file that is no member, or a part of it does not fit; the members stay as they are.
fn apply(patch: &Path, members: &mut Members, scratch: &Path) -> Result<()> {
    let patch = std::path::absolute(patch)?;
    let text = std::fs::read_to_string(&patch)?;
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
    if names.is_empty() {
        bail!("names no file");
    }
    for name in &names {
        let data = members.get(*name).with_context(|| format!("no test file is `{name}`"))?;
        let path = scratch.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(scratch))?;
        std::fs::write(path, data)?;
    }
    // Below a repository git would take the paths for the repository's.
    let mut git = Command::new("git");
    git.arg("apply").arg(&patch).current_dir(scratch).env("GIT_DIR", scratch.join("none"));
    process::run(&mut git)?;
    for name in &names {
        members.insert((*name).to_owned(), std::fs::read(scratch.join(name))?);
    }
    std::fs::remove_dir_all(scratch)?;
    Ok(())
}

/// Returns the path in `site-packages` of a test file of a source archive: its path below the archive's
/// top directory, for files in the package's `tests` directories.
fn site_packages_name(path: &str) -> Option<&str> {
    let (top, name) = path.split_once('/')?;
    let (project, _) = top.rsplit_once('-')?;
    let (package, rest) = name.split_once('/')?;
    let directories = rest.rsplit_once('/')?.0;
    let in_tests = directories.split('/').any(|directory| directory == "tests");
    (package == project && in_tests).then_some(name)
}

fn write(path: &Path, members: &Members) -> Result<()> {
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
    use super::{Members, apply, site_packages_name};

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

    const PATCH: &str = "Why.\n\n--- a/numpy/tests/test_a.py\n+++ b/numpy/tests/test_a.py\n\
        @@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

    fn patched(text: &str) -> (anyhow::Result<()>, String) {
        let base = tempfile::tempdir().expect("temporary directory");
        let patch = base.path().join("numpy.patch");
        std::fs::write(&patch, PATCH).expect("written");
        let other = ("numpy/tests/test_b.py".to_owned(), b"two\n".to_vec());
        let mut members = Members::from([("numpy/tests/test_a.py".to_owned(), text.into()), other.clone()]);
        let result = apply(&patch, &mut members, &base.path().join("scratch"));
        assert_eq!(members.get(&other.0), Some(&other.1));
        (result, String::from_utf8(members["numpy/tests/test_a.py"].clone()).expect("text"))
    }

    #[test]
    fn a_patch_changes_the_files_that_it_names() {
        let (result, text) = patched("one\ntwo\nthree\n");
        result.expect("applied");
        assert_eq!(text, "one\n2\nthree\n");
    }

    #[test]
    fn a_patch_that_does_not_fit_is_an_error() {
        let (result, text) = patched("one\nTWO\nthree\n");
        result.expect_err("another line");
        assert_eq!(text, "one\nTWO\nthree\n");
    }

    #[test]
    fn a_patch_of_a_file_that_is_no_test_is_an_error() {
        let base = tempfile::tempdir().expect("temporary directory");
        let patch = base.path().join("numpy.patch");
        std::fs::write(&patch, PATCH).expect("written");
        let error = apply(&patch, &mut Members::new(), &base.path().join("scratch")).expect_err("no such file");
        assert!(error.to_string().contains("numpy/tests/test_a.py"), "{error}");
    }
}
