//! The bundle file: the packages of a program that is handed out in two parts.
//!
//! | handed out as | where the file is |
//! |---|---|
//! | archive, Debian package, container, MCP bundle | at the end of the program |
//! | wheel `brumate-bundle`, npm package `@brumate/bundle-linux-…` | beside the program, or where `BRUMATE_BUNDLE_FILE` says |
//!
//! The program knows the file's mark, and the SHA-256 of each frame. It reads a frame into its own memory, checks it there, and
//! decompresses it from there: a file that is changed after the check changes nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::Frame;
use super::mark::{BUNDLE_FILE, MARK_BYTES, Mark};

/// The Python package that has it.
const PYTHON_PACKAGE: &str = "brumate_bundle";

/// Most versions of Python that are looked at in a directory `lib`.
const MAX_PYTHONS: usize = 64;

/// Reason why there is no bundle file.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// There is none.
    #[error(
        "the packages of this program (numpy, pandas and others) are missing: there is no bundle file at {}. {}, or name the file in \
         BRUMATE_BUNDLE_FILE",
        list(looked_at),
        how_to_install()
    )]
    Missing {
        /// Paths that were searched.
        looked_at: Vec<PathBuf>,
    },
    /// The file is another one, it is damaged, or it cannot be read.
    #[error("{}: {reason}. {}", path.display(), how_to_install())]
    Unusable {
        /// Its path.
        path: PathBuf,
        /// Reason why it cannot be used.
        reason: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the name of npm's package for this architecture, without its scope.
fn npm_package() -> String {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    format!("bundle-linux-{arch}")
}

fn how_to_install() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let npm = npm_package();
    format!(
        "Install the one of this version: `pip install brumate-bundle=={version}`, or `npm install @brumate/{npm}@{version}`"
    )
}

/// An open bundle file.
#[derive(Debug)]
pub(super) struct BundleFile {
    file: File,
    path: PathBuf,
    /// Offset of its first frame.
    start: u64,
}

impl BundleFile {
    /// Opens the bundle file at the end of a file, and reads its mark. `None` if there is none at its end.
    fn open(path: &Path) -> io::Result<Option<(Mark, BundleFile)>> {
        // A pipe must not keep this process waiting.
        let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let Some(end) = metadata.len().checked_sub(MARK_BYTES as u64) else { return Ok(None) };
        let mut bytes = [0; MARK_BYTES];
        file.read_exact_at(&mut bytes, end)?;
        let Some(mark) = Mark::from_bytes(&bytes) else { return Ok(None) };
        let Some(start) = end.checked_sub(mark.length) else { return Ok(None) };
        Ok(Some((mark, BundleFile { file, path: path.to_owned(), start })))
    }

    /// Reads a compressed frame.
    ///
    /// # Errors
    /// When it is not the one that this program was built with.
    pub(super) fn frame(&self, frame: &Frame) -> Result<Vec<u8>, BundleError> {
        let mut bytes = vec![0; frame.end - frame.start];
        let read = self.file.read_exact_at(&mut bytes, self.start + frame.start as u64);
        read.map_err(|error| self.unusable(format!("it cannot be read: {error}")))?;
        if Sha256::digest(&bytes)[..] != frame.sha256 {
            return Err(self.unusable("it is damaged".to_owned()));
        }
        Ok(bytes)
    }

    fn unusable(&self, reason: String) -> BundleError {
        BundleError::Unusable { path: self.path.clone(), reason }
    }
}

/// Finds the bundle file with this mark: at the end of this program, else where the user says (`named`), else beside the program.
/// `None` when the program has no bundle file.
///
/// # Errors
/// When there is none.
pub(super) fn find(expected: Option<&Mark>, named: Option<&Path>) -> Result<Option<BundleFile>, BundleError> {
    let Some(expected) = expected else { return Ok(None) };
    // A program that was replaced while it runs has no path any more.
    let program = std::env::current_exe().unwrap_or_default();
    find_from(*expected, Path::new("/proc/self/exe"), &program, named).map(Some)
}

/// Finds the file from the program that can be opened as `own`, and whose path is `program`.
fn find_from(expected: Mark, own: &Path, program: &Path, named: Option<&Path>) -> Result<BundleFile, BundleError> {
    if let Ok(Some((mark, file))) = BundleFile::open(own)
        && mark == expected
    {
        return Ok(file);
    }
    let looked_at = named.map_or_else(|| places(program), |named| vec![named.to_owned()]);
    let mut unusable = None;
    for path in &looked_at {
        let reason = match BundleFile::open(path) {
            Ok(Some((mark, file))) if mark == expected => return Ok(file),
            Ok(Some(_)) => "it is the bundle file of another version".to_owned(),
            Ok(None) => "it is no bundle file, or it is cut off".to_owned(),
            Err(error) if named.is_none() && is_absence(&error) => continue,
            Err(error) => format!("it cannot be read: {error}"),
        };
        unusable.get_or_insert(BundleError::Unusable { path: path.clone(), reason });
    }
    Err(unusable.unwrap_or(BundleError::Missing { looked_at }))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the paths of the file when package managers have installed both parts.
fn places(program: &Path) -> Vec<PathBuf> {
    let Some(directory) = program.parent() else { return Vec::new() };
    let mut places = vec![directory.join(BUNDLE_FILE)];
    let Some(root) = directory.parent() else { return places };
    // `pip install --target DIR`: DIR/bin/brumate.
    places.push(root.join(PYTHON_PACKAGE).join(BUNDLE_FILE));
    // npm: node_modules/@brumate/linux-x64/brumate.
    places.push(root.join(npm_package()).join(BUNDLE_FILE));
    // An environment of Python: bin/brumate.
    for lib in ["lib", "lib64"] {
        let entries = std::fs::read_dir(root.join(lib)).into_iter().flatten().filter_map(Result::ok);
        let is_python =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"));
        let mut pythons: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_python).take(MAX_PYTHONS).collect();
        pythons.sort();
        for python in pythons {
            let packages = ["site-packages", "dist-packages"].map(|name| python.join(name).join(PYTHON_PACKAGE));
            // The error lists all places: not each Python without the package.
            places.extend(
                packages.into_iter().filter(|package| package.is_dir()).map(|package| package.join(BUNDLE_FILE)),
            );
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a bundle file of one frame, behind `before`; returns its mark and the frame.
    fn written(path: &Path, before: &[u8], content: &[u8]) -> (Mark, Frame) {
        let mark = Mark { sha256: Sha256::digest(content).into(), length: content.len() as u64 };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, [before, content, &mark.to_bytes()].concat()).unwrap();
        let frame = Frame { is_apart: true, start: 0, end: content.len(), length: 0, sha256: mark.sha256 };
        (mark, frame)
    }

    fn error(found: Result<BundleFile, BundleError>) -> String {
        found.unwrap_err().to_string()
    }

    #[test]
    fn the_file_is_found_where_package_managers_put_it() {
        let root = tempfile::tempdir().unwrap();
        let npm = format!("../{}/{BUNDLE_FILE}", npm_package());
        let nowhere = Path::new("/nowhere");
        for place in [
            BUNDLE_FILE,
            "../brumate_bundle/brumate.bundle",
            &npm,
            "../lib/python3.14/site-packages/brumate_bundle/brumate.bundle",
            "../lib64/python3.9/site-packages/brumate_bundle/brumate.bundle",
            "../lib/python3/dist-packages/brumate_bundle/brumate.bundle",
        ] {
            let bin = root.path().join("bin");
            let _ = std::fs::remove_dir_all(root.path().join("lib64"));
            let _ = std::fs::remove_dir_all(root.path().join("lib"));
            std::fs::create_dir_all(&bin).unwrap();
            let (mark, frame) = written(&bin.join(place), b"", b"frames");
            let found = find_from(mark, nowhere, &bin.join("brumate"), None).unwrap();
            assert_eq!(found.frame(&frame).unwrap(), b"frames", "{place}");
            std::fs::remove_file(bin.join(place)).unwrap();
        }
    }

    #[test]
    fn the_end_of_the_program_is_looked_at_first_and_a_named_file_before_others() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let (mark, frame) = written(&path("whole/brumate"), b"\x7fELF, a program", b"frames");
        let found = find_from(mark, &path("whole/brumate"), &path("whole/brumate"), Some(&path("none"))).unwrap();
        assert_eq!((found.start, found.frame(&frame).unwrap()), (15, b"frames".to_vec()));
        std::fs::create_dir(path("bin")).unwrap();
        std::fs::write(path("bin/brumate"), "a program").unwrap();
        let program = path("bin/brumate");
        written(&path("bin/brumate.bundle"), b"", b"frames");
        let found = find_from(mark, &program, &program, Some(&path("whole/brumate"))).unwrap();
        assert_eq!(found.path, path("whole/brumate"));
        let text = error(find_from(mark, &program, &program, Some(&path("none"))));
        assert!(text.contains("none: it cannot be read"), "a named file that is not there is an error: {text}");
    }

    #[test]
    fn a_missing_file_is_named_with_the_way_to_install_it() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("bin/brumate");
        let mark = Mark { sha256: [1; 32], length: 5 };
        let text = error(find_from(mark, &program, &program, None));
        let install = format!("`pip install brumate-bundle=={}`", env!("CARGO_PKG_VERSION"));
        for part in
            ["are missing", "bin/brumate.bundle", &install, "npm install @brumate/bundle-linux-", "BRUMATE_BUNDLE_FILE"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn another_version_and_damage_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let (program, path) = (root.path().join("brumate"), root.path().join(BUNDLE_FILE));
        let (mark, frame) = written(&path, b"", b"frames");
        let foreign = Mark { sha256: [1; 32], ..mark };
        let text = error(find_from(foreign, &program, &program, None));
        assert!(
            text.contains("brumate.bundle: it is the bundle file of another version") && text.contains("pip"),
            "{text}"
        );

        // Frames that are not those of the mark, or not as long.
        let found = find_from(mark, &program, &program, None).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[2] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let text = found.frame(&frame).unwrap_err().to_string();
        assert!(text.contains("it is damaged"), "a file that changes after it was opened: {text}");
        std::fs::write(&path, &bytes[..3]).unwrap();
        assert!(found.frame(&frame).unwrap_err().to_string().contains("it cannot be read"));

        // What is no bundle file.
        let long = Mark { length: u64::MAX, ..mark };
        for content in [&b""[..], &bytes[..bytes.len() - 1], &long.to_bytes(), &bytes[bytes.len() - MARK_BYTES..]] {
            std::fs::write(&path, content).unwrap();
            assert!(
                error(find_from(mark, &program, &program, None)).contains("it is no bundle file, or it is cut off")
            );
        }
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(error(find_from(mark, &program, &program, None)).contains("it is no bundle file"), "and nobody waits");
    }
}
