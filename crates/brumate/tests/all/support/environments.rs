//! Python environments of the long tier. Each is made once, in the build's directory for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the Python of an environment with these packages, made by the program `base`. `prepare` runs once, with the environment's
/// directory and Python, after the packages are installed.
pub(crate) fn python(name: &str, base: &str, packages: &[&str], prepare: impl FnOnce(&Path, &Path)) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let python = directory.join("bin/python");
    let stamp = directory.join("made");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return python;
    }
    let made = Command::new(base).args(["-m", "venv", "--clear"]).arg(&directory).status().expect(base);
    assert!(made.success(), "{base} makes no virtual environment");
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    assert!(install.status().expect("pip").success(), "the packages of `{name}` cannot be installed");
    prepare(&directory, &python);
    std::fs::write(stamp, wanted).expect("a file");
    python
}
