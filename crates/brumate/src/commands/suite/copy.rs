//! A copy of a project's directory, which the tests may change.

use std::fs::{self, File, FileTimes};
use std::path::Path;

use anyhow::{Context as _, bail};
use brumate_session::units::format_size;
use tempfile::TempDir;

/// Most files and directories of a project that are copied.
const MAX_COPIED_FILES: usize = 200_000;
/// Most bytes of a project that are copied.
const MAX_COPIED_BYTES: u64 = 2 << 30;
/// Names that are not copied: caches, which tools make again, and the data of version control. In a Git worktree,
/// `.git` is a file that contains a path of the host.
const LEFT_OUT: [&str; 11] = [
    ".git",
    ".hg",
    ".svn",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    "__pycache__",
    "node_modules",
];
/// A directory with this file is a virtual environment, which is not copied.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Copies a directory. Symbolic links stay links. In the sandbox, a link cannot lead to a file outside of the sandbox.
/// Pipes, sockets and devices are left out.
///
/// # Errors
///
/// Fails if a file cannot be read or written, or if the project has too many files or bytes.
pub(super) fn copy_of(project: &Path) -> anyhow::Result<TempDir> {
    let copy =
        tempfile::Builder::new().prefix("brumate-test").tempdir().context("cannot make a directory for a copy")?;
    let (mut files, mut bytes) = (0, 0);
    let mut todo = vec![(project.to_owned(), copy.path().to_owned())];
    while let Some((from, to)) = todo.pop() {
        let entries = from.read_dir().with_context(|| format!("cannot read {}", from.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
            if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let failed = || format!("cannot copy {}", from.display());
            let metadata = entry.metadata().with_context(failed)?;
            files += 1;
            if metadata.is_dir() {
                if from.join(VIRTUAL_ENVIRONMENT).is_file() {
                    continue;
                }
                fs::create_dir(&to).with_context(failed)?;
                todo.push((from, to));
            } else if metadata.is_symlink() {
                let target = fs::read_link(&from).with_context(failed)?;
                std::os::unix::fs::symlink(target, &to).with_context(failed)?;
            } else if metadata.is_file() {
                bytes += metadata.len();
                if bytes <= MAX_COPIED_BYTES {
                    copy_file(&from, &to, &metadata).with_context(failed)?;
                }
            }
            if files > MAX_COPIED_FILES || bytes > MAX_COPIED_BYTES {
                bail!(
                    "{} has more than {MAX_COPIED_FILES} files or {}. This is too much for a copy; with \
                     `--write` the tests use the directory itself",
                    project.display(),
                    format_size(MAX_COPIED_BYTES)
                );
            }
        }
    }
    Ok(copy)
}

fn copy_file(from: &Path, to: &Path, metadata: &fs::Metadata) -> std::io::Result<()> {
    fs::copy(from, to)?;
    let times = FileTimes::new().set_modified(metadata.modified()?);
    // The copy may be read-only. A descriptor for reading is enough to set its times.
    File::open(to)?.set_times(times)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_copy_has_what_tests_need() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        for name in [
            "a.py",
            "tests/data/x.bin",
            ".git/config",
            "part/.git",
            ".venv/pyvenv.cfg",
            ".venv/lib/y.py",
            "tests/__pycache__/a.pyc",
            "venv/a.py",
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        fs::set_permissions(root.join("a.py"), fs::Permissions::from_mode(0o555)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let copy = copy_of(root).unwrap();
        let copied = copy.path();
        assert_eq!(fs::read_to_string(copied.join("tests/data/x.bin")).unwrap(), "tests/data/x.bin");
        assert_eq!(fs::read_link(copied.join("link")).unwrap(), Path::new("/etc/passwd"));
        for name in [".git", "part/.git", ".venv", "tests/__pycache__"] {
            assert!(!copied.join(name).exists(), "{name}");
        }
        assert!(copied.join("venv/a.py").exists(), "a directory of that name may be a module");
        let times = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(times(&copied.join("a.py")), times(&root.join("a.py")));
        assert_eq!(fs::metadata(copied.join("a.py")).unwrap().permissions().mode() & 0o777, 0o555);
        let large = File::create(root.join("large")).unwrap();
        large.set_len(MAX_COPIED_BYTES + 1).unwrap();
        let error = format!("{:#}", copy_of(root).unwrap_err());
        assert!(error.contains("too much for a copy") && error.contains("--write"), "{error}");
    }
}
