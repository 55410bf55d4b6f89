//! The real modules: what the runtime bundle ships, and any wheels given in addition.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use zip::ZipArchive;

/// Names a directory of further wheels (searched two levels deep) whose shared objects the tests shall also try.
const MORE_WHEELS: &str = "BRUMATE_TEST_EXTRA_WHEELS";

/// A module and where it comes from.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The main module, out of the npm package in the bundle.
pub(crate) fn main_module() -> Vec<u8> {
    let packages = files(&runtime(), "tgz");
    let package = packages
        .iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pyodide-")))
        .expect("the runtime bundle holds the pyodide package");
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(package).expect("readable")));
    for entry in archive.entries().expect("a tar archive") {
        let mut entry = entry.expect("a tar entry");
        if entry.path().expect("a path").ends_with("pyodide.asm.wasm") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("a complete entry");
            return bytes;
        }
    }
    panic!("{} holds no pyodide.asm.wasm", package.display());
}

/// The shared objects of all wheels, or of those whose file name begins with one of `wheels`.
pub(crate) fn shared_objects(wheels: &[&str]) -> Vec<Named> {
    let mut paths = files(&runtime().join("wheels"), "whl");
    if let Some(more) = std::env::var_os(MORE_WHEELS) {
        let more = PathBuf::from(more);
        paths.extend(files(&more, "whl"));
        for directory in std::fs::read_dir(&more).expect("a directory of wheels") {
            let directory = directory.expect("a directory entry").path();
            if directory.is_dir() {
                paths.extend(files(&directory, "whl"));
            }
        }
    }
    let mut objects = Vec::new();
    for path in paths {
        let wheel = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !wheels.is_empty() && !wheels.iter().any(|name| wheel.starts_with(name)) {
            continue;
        }
        let mut archive = ZipArchive::new(File::open(&path).expect("readable")).expect("a wheel is a zip archive");
        for index in 0..archive.len() {
            let mut file = archive.by_index(index).expect("a zip entry");
            let name = file.name().expect("a readable name").into_owned();
            if name.ends_with(".so") {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).expect("a complete entry");
                objects.push(Named { name: format!("{wheel}: {name}"), bytes });
            }
        }
    }
    assert!(!objects.is_empty(), "no wheel {wheels:?} with shared objects in the runtime bundle");
    objects
}

fn runtime() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime")
}

/// The files with an extension directly in a directory, sorted.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a directory entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}
