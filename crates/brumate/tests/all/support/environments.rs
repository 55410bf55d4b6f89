//! Packages of Python and npm that only the long tier needs: below `target/tmp`, installed when a test first uses them.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

/// Returns a Python with `packages`, in the virtual environment `name`, which the program `base` makes: `python3`, or that of a version.
pub(crate) fn python(name: &str, base: &str, packages: &[&str]) -> PathBuf {
    let directory = once(name, packages, |directory| {
        run(Command::new(base).args(["-m", "venv", "--clear"]).arg(directory));
        let mut pip = Command::new(directory.join("bin/python"));
        run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages));
    });
    directory.join("bin/python")
}

/// Returns the `node_modules` with `packages`, in the directory `name`.
pub(crate) fn node_modules(name: &str, packages: &[&str]) -> PathBuf {
    let directory = once(name, packages, |directory| {
        std::fs::create_dir(directory).expect("a new directory");
        // Otherwise npm looks for one in the parent directories.
        std::fs::write(directory.join("package.json"), "{\"private\": true}\n").expect("a file");
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]).args(packages);
        run(npm.current_dir(directory));
    });
    directory.join("node_modules")
}

/// Makes the directory `name`, unless it was made of the same packages before. Other processes wait.
fn once(name: &str, packages: &[&str], make: impl FnOnce(&Path)) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let lock = std::fs::File::create(directory.with_extension("lock")).expect("a file");
    flock(&lock, FlockOperation::LockExclusive).expect("locked");
    let (stamp, packages) = (directory.join("made-from"), packages.join("\n"));
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == packages) {
        return directory;
    }
    if directory.exists() {
        std::fs::remove_dir_all(&directory).expect("an empty place");
    }
    make(&directory);
    std::fs::write(stamp, packages).expect("a file");
    directory
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
