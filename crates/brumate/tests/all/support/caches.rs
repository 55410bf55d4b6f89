//! Copies of the cache that all tests of a build share. Other tests add and remove files of it at the same time.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Copies a directory; files are linked, so none of them may be changed in place.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a new directory");
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o700)).expect("ours");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let copied = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &copied);
        } else if path.extension().is_some_and(|ending| ending == "cwasm" || ending == "image") {
            match std::fs::hard_link(&path, &copied).or_else(|_| std::fs::copy(&path, &copied).map(drop)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                done => done.expect("a copy"),
            }
        }
    }
}

/// The files below a directory that end so, and whose size is wanted.
pub(crate) fn files(directory: &Path, ending: &str, wanted: impl Fn(u64) -> bool + Copy) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        // It may be gone since it was listed.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            found.extend(files(&entry.path(), ending, wanted));
        } else if entry.path().extension().is_some_and(|found| found == ending) && wanted(metadata.len()) {
            found.push(entry.path());
        }
    }
    found
}
