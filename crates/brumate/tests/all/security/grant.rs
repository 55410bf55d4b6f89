//! A directory of the host to grant, full of ways out of it.
//!
//! ```text
//! outside/            secret.txt: what must stay secret; writable.txt; directory/inside.txt
//! granted/            the grant: file.txt, directory/nested.txt, executable (mode 0755), locked.txt (mode 0400)
//!   absolute          → .../outside/secret.txt        parent       → ../outside/secret.txt
//!   absolute-dir      → .../outside/directory         parent-dir   → ../outside/directory
//!   root              → /                             proc         → /proc/self
//!   loop              → loop                          dangling     → ../outside/new.txt
//!   inner             → file.txt                      inner-dir    → directory
//!   hardlink          = file.txt                      pipe, socket: special files
//! ```

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::case::Access;

/// Content of the files outside the grant; no guest may show it.
pub(crate) const SECRET: &str = "brumate-canary-of-the-host";

/// The directories; removed when dropped.
#[derive(Debug)]
pub(crate) struct Grant {
    directory: TempDir,
    access: Access,
    _socket: UnixListener,
}

impl Grant {
    /// Makes the directories.
    pub(crate) fn new(access: Access) -> Grant {
        let directory = tempfile::Builder::new().prefix("brumate-grant").tempdir().unwrap();
        let (granted, outside) = (directory.path().join("granted"), directory.path().join("outside"));
        for path in [granted.join("directory"), outside.join("directory")] {
            std::fs::create_dir_all(path).unwrap();
        }
        for (path, mode) in
            [("executable", 0o755), ("file.txt", 0o644), ("directory/nested.txt", 0o644), ("locked.txt", 0o400)]
        {
            let path = granted.join(path);
            std::fs::write(&path, "granted\n").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        for path in outside_files(&outside) {
            std::fs::write(path, SECRET).unwrap();
        }
        for (name, target) in [
            ("absolute", outside.join("secret.txt")),
            ("absolute-dir", outside.join("directory")),
            ("parent", "../outside/secret.txt".into()),
            ("parent-dir", "../outside/directory".into()),
            ("dangling", "../outside/new.txt".into()),
            ("root", "/".into()),
            ("proc", "/proc/self".into()),
            ("loop", "loop".into()),
            ("inner", "file.txt".into()),
            ("inner-dir", "directory".into()),
        ] {
            symlink(target, granted.join(name)).unwrap();
        }
        std::fs::hard_link(granted.join("file.txt"), granted.join("hardlink")).unwrap();
        let made = Command::new("mkfifo").arg(granted.join("pipe")).status().unwrap();
        assert!(made.success(), "mkfifo failed");
        let socket = UnixListener::bind(granted.join("socket")).unwrap();
        Grant { directory, access, _socket: socket }
    }

    /// The value of `--mount`.
    pub(crate) fn option(&self) -> OsString {
        let mut option = self.granted().into_os_string();
        option.push(match self.access {
            Access::ReadOnly => ":/data:ro",
            Access::ReadWrite => ":/data",
        });
        option
    }

    /// The directory that is granted.
    pub(crate) fn granted(&self) -> PathBuf {
        self.directory.path().join("granted")
    }

    /// The directory beside it.
    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    /// Whether everything outside the grant is as it was, and of a read-only one everything inside.
    ///
    /// # Errors
    /// What has changed.
    pub(crate) fn is_untouched_outside(&self) -> Result<(), String> {
        let outside = self.outside();
        for path in outside_files(&outside) {
            match std::fs::read_to_string(&path) {
                Ok(text) if text == SECRET => {}
                other => return Err(format!("{} was changed: {other:?}", path.display())),
            }
        }
        expect_names(&outside, &["directory", "secret.txt", "writable.txt"])?;
        expect_names(&outside.join("directory"), &["inside.txt"])?;
        expect_names(self.directory.path(), &["granted", "outside"])?;
        if self.access == Access::ReadOnly {
            self.is_untouched_inside()?;
        }
        Ok(())
    }

    fn is_untouched_inside(&self) -> Result<(), String> {
        let granted = self.granted();
        for (path, mode) in
            [("executable", 0o755), ("file.txt", 0o644), ("directory/nested.txt", 0o644), ("locked.txt", 0o400)]
        {
            let path = granted.join(path);
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let found = std::fs::metadata(&path).map_err(|error| error.to_string())?.permissions().mode() & 0o7777;
            if text != "granted\n" || found != mode {
                return Err(format!("{} was changed", path.display()));
            }
        }
        expect_names(&granted.join("directory"), &["nested.txt"])?;
        expect_names(
            &granted,
            &[
                "absolute",
                "absolute-dir",
                "dangling",
                "directory",
                "executable",
                "file.txt",
                "hardlink",
                "inner",
                "inner-dir",
                "locked.txt",
                "loop",
                "parent",
                "parent-dir",
                "pipe",
                "proc",
                "root",
                "socket",
            ],
        )
    }
}

fn outside_files(outside: &Path) -> [PathBuf; 3] {
    ["secret.txt", "writable.txt", "directory/inside.txt"].map(|name| outside.join(name))
}

fn expect_names(directory: &Path, expected: &[&str]) -> Result<(), String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    if names == expected { Ok(()) } else { Err(format!("{} holds {names:?} now", directory.display())) }
}
