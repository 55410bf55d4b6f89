//! Files that code made or wrote to: which of them a report names, and how they are copied out before the machine
//! ends.

use std::fmt::Debug;
use std::io;

use brumate_engine_api::{FileInfo, MAX_FILE_CHUNK, Machine, Outcome};
use brumate_setting::Setting;

use crate::units::format_size;

/// Length of the random part of names that Python's `tempfile` makes.
const TEMPORARY_NAME_CHARS: usize = 8;

/// Directory in which libraries keep what they can make again.
const CACHES: &str = "/var/cache/";

/// Files that code made or wrote to, as absolute paths in the sandbox. Temporary files with the names that Python's
/// `tempfile` gives, and caches, are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewFiles {
    /// Paths, sorted.
    pub paths: Vec<String>,
    /// Number of further files.
    pub left_out: u64,
}

impl NewFiles {
    /// Lists the files of an outcome, at most `max` of them by name.
    pub(crate) fn of(outcome: &Outcome, max: usize) -> Self {
        Self::named(reported(outcome).map(|file| file.path.clone()).collect(), outcome.more_new_files, max)
    }

    /// Lists the files of an outcome that are not below `directories`, each with a slash at its end.
    pub(crate) fn beyond(outcome: &Outcome, directories: &[String], max: usize) -> Self {
        let is_inside =
            |file: &&FileInfo| directories.iter().any(|directory| file.path.starts_with(directory.as_str()));
        let paths: Vec<String> =
            reported(outcome).filter(|file| !is_inside(file)).map(|file| file.path.clone()).collect();
        // Nothing is known about the files beyond the list: they count if the others do.
        let more = if paths.is_empty() { 0 } else { outcome.more_new_files };
        Self::named(paths, more, max)
    }

    /// Lists at most `max` of the paths. There are `more` files besides them.
    fn named(mut paths: Vec<String>, more: u64, max: usize) -> Self {
        let beyond = paths.len().saturating_sub(max) as u64;
        paths.truncate(max);
        Self { paths, left_out: more.saturating_add(beyond) }
    }

    /// Returns whether there are no such files.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.left_out == 0
    }
}

/// Destination for copies of files, one after the other.
pub trait FileSink: Debug + Send {
    /// Begins the copy of the file at an absolute path in the sandbox. The path has no `.`, `..` or empty part.
    ///
    /// # Errors
    ///
    /// An I/O error when the copy cannot be written.
    fn begin(&mut self, path: &str) -> io::Result<()>;

    /// Appends to the copy.
    ///
    /// # Errors
    ///
    /// An I/O error when the copy cannot be written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Completes the copy. An incomplete copy must leave nothing behind.
    ///
    /// # Errors
    ///
    /// An I/O error when the copy cannot be written.
    fn finish(&mut self) -> io::Result<()>;
}

/// Files that were copied to a [`FileSink`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Files that were copied completely, as absolute paths in the sandbox.
    pub paths: Vec<String>,
    /// Reason why copying ended before all files were copied.
    pub error: Option<String>,
}

/// Copies the files of `outcome` to `sink`, at most `max_bytes` in total. A guest can make a file look much larger
/// than it is stored.
pub(crate) async fn copy_out(
    machine: &mut dyn Machine,
    outcome: &Outcome,
    sink: &mut dyn FileSink,
    max_bytes: u64,
) -> CopyReport {
    let mut copied = CopyReport::default();
    let mut room = max_bytes;
    for file in reported(outcome) {
        match copy_one(machine, file, sink, &mut room).await {
            Ok(()) => copied.paths.push(file.path.clone()),
            Err(reason) => {
                copied.error = Some(format!("{}: {reason}", file.path.escape_debug()));
                return copied;
            }
        }
    }
    if outcome.more_new_files > 0 {
        copied.error = Some(format!("{} more files are too many to be copied", outcome.more_new_files));
    }
    copied
}

async fn copy_one(
    machine: &mut dyn Machine,
    file: &FileInfo,
    sink: &mut dyn FileSink,
    room: &mut u64,
) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    sink.begin(&file.path).map_err(text)?;
    let mut offset = 0;
    while offset < file.size {
        let chunk = machine.read_file(&file.path, offset, MAX_FILE_CHUNK).await.map_err(|error| error.to_string())?;
        let length = chunk.bytes.len() as u64;
        *room = room.checked_sub(length).ok_or_else(|| {
            let (most, setting) = (format_size(*room + offset), Setting::MountLimit.brief());
            format!("the files are larger than {most} together (set by {setting})")
        })?;
        sink.write(&chunk.bytes).map_err(text)?;
        offset += length;
        if length == 0 {
            break;
        }
    }
    sink.finish().map_err(text)
}

fn reported(outcome: &Outcome) -> impl Iterator<Item = &FileInfo> {
    outcome.new_files.iter().filter(|file| !is_temporary(&file.path) && !file.path.starts_with(CACHES))
}

/// Returns whether a path is in `/tmp` with a name as `tempfile` makes them.
fn is_temporary(path: &str) -> bool {
    let Some(random) = path.strip_prefix("/tmp/tmp") else { return false };
    let random = random.split(['/', '.']).next().unwrap_or_default();
    random.len() == TEMPORARY_NAME_CHARS
        && random.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use brumate_engine_api::Ended;

    use super::*;

    #[test]
    fn directories_of_temporary_files_are_left_out() {
        let file = |path: &&str| FileInfo { path: (*path).to_owned(), size: 1, modified: 0, stamp: 0 };
        let paths = [
            "/home/user/a.py",
            "/home/user/b.py",
            "/tmp/b.txt",
            "/tmp/pytest-of-user/pytest-0/x",
            "/tmpfile",
            "/var/cache/x/y",
            "/own/tmp/c",
        ];
        let mut outcome = crate::testing::outcome(Ended::Returned(None), None);
        outcome.new_files = paths.iter().map(file).collect();
        let found = |outcome: &Outcome| NewFiles::beyond(outcome, &["/tmp/".to_owned(), "/own/tmp/".to_owned()], 2);
        let expected = ["/home/user/a.py".to_owned(), "/home/user/b.py".to_owned()];
        assert_eq!(found(&outcome), NewFiles { paths: expected.to_vec(), left_out: 1 });
        assert!(NewFiles::of(&outcome, 9).paths.contains(&"/tmp/b.txt".to_owned()));
        outcome.new_files.retain(|file| file.path.starts_with("/tmp/"));
        outcome.more_new_files = 7;
        assert!(found(&outcome).is_empty());
    }

    #[test]
    fn temporary_files_are_told_by_their_names() {
        for path in ["/tmp/tmpab12_z9x", "/tmp/tmpab12_z9x/inner.csv", "/tmp/tmpab12_z9x.csv"] {
            assert!(is_temporary(path), "{path}");
        }
        for path in ["/tmp/out.csv", "/tmp/tmpfile", "/tmp/tmpAB12_z9x", "/home/user/tmpab12_z9x", "/tmp/tmp"] {
            assert!(!is_temporary(path), "{path}");
        }
    }
}
