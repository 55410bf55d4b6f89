//! Errors of changes to configuration files.

use std::io;
use std::path::{Path, PathBuf};

use crate::entry::MAX_NAME;

/// An entry was not put in or taken out. The file is unchanged. No value of a variable is in any message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A name that an entry cannot have.
    #[error(
        "`{}` is no name for a server: use 1 to {MAX_NAME} characters that can be seen, and no name of JavaScript's objects (--name)",
        name.escape_debug()
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The directory of the file does not exist.
    #[error("{}: its directory does not exist. Start the client once, or make the directory", file.display())]
    NoDirectory {
        /// The file.
        file: PathBuf,
    },
    /// There is something else than a file in its place.
    #[error("{} is {what} and not a file. Move it away, then try again", file.display())]
    NotAFile {
        /// The path.
        file: PathBuf,
        /// Type of the file, such as `a directory`.
        what: &'static str,
    },
    /// Symbolic links that lead to themselves.
    #[error("{}: its symbolic links lead to no file. Remove the link, then try again", file.display())]
    LinkLoop {
        /// The first link.
        file: PathBuf,
    },
    /// Nobody may write the file.
    #[error("{} is read-only. Make it writable, or change the source that it is made from", file.display())]
    ReadOnly {
        /// The file.
        file: PathBuf,
    },
    /// The file is too large to be edited.
    #[error("{} is larger than {} MiB, and is not edited", file.display(), limit >> 20)]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is not UTF-8.
    #[error(
        "{}: line {line}, column {column}: not UTF-8. Save the file as UTF-8, then try again",
        file.display()
    )]
    NotUtf8 {
        /// The file.
        file: PathBuf,
        /// The line of the first wrong byte, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
    },
    /// The file is neither JSON nor JSON with comments.
    #[error(
        "{}: line {line}, column {column}: {reason}. Correct the file, then try again",
        file.display()
    )]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// Reason, for the user.
        reason: String,
    },
    /// The file, or the key of the servers, has another value than an object.
    #[error(
        "{}: line {line}, column {column}: {what} is not an object. Put `{{}}` there, then try again",
        file.display()
    )]
    NotAnObject {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// Name of the value: `the file's value`, or a key.
        what: String,
    },
    /// A key that matters is there twice: which one counts depends on the reader.
    #[error(
        "{}: line {line}, column {column}: `{key}` is there a second time, after line {first}. \
         Remove one of the two, then try again",
        file.display()
    )]
    Duplicate {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// The line of the second one, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
        /// The line of the first one.
        first: usize,
    },
    /// There is no entry with this name.
    #[error("{} has no server `{name}`", file.display())]
    NoEntry {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// The name belongs to an entry that starts something else, or that Brumate has not put there.
    #[error(
        "{}: there is a server `{name}` already, and Brumate has not put it there for this one. It stays as it is: choose another \
         name with --name, or replace it with `--name {name}`",
        file.display()
    )]
    Taken {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// Brumate has put no entry for the server there.
    #[error("{} has no entry that Brumate has made for this server. Name one with --name", file.display())]
    NoServer {
        /// The file.
        file: PathBuf,
    },
    /// Brumate has put several entries for the server there.
    #[error("{} has several entries for this server: {}. Name one with --name", file.display(), names.join(", "))]
    SeveralEntries {
        /// The file.
        file: PathBuf,
        /// Their names.
        names: Vec<String>,
    },
    /// The entry starts another program than Brumate, and Brumate has not put it there.
    #[error(
        "{}: the server `{name}` is not one of Brumate's, and stays. Remove it in {}, or choose another --name",
        file.display(), client
    )]
    NotOurs {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
        /// The client's name.
        client: &'static str,
    },
    /// Another program changed the file each time before it could be replaced.
    #[error(
        "{}: another program changed it {attempts} times meanwhile. Close {client}, then try again",
        file.display()
    )]
    Changed {
        /// The file.
        file: PathBuf,
        /// Number of attempts.
        attempts: usize,
        /// The client's name.
        client: &'static str,
    },
    /// Another Brumate has the lock.
    #[error("another brumate is changing {}. Wait until it has ended, then try again", file.display())]
    Busy {
        /// The file.
        file: PathBuf,
    },
    /// Brumate's record of the file cannot be read.
    #[error("{} is damaged. Remove it, then try again: what `--remove` would have brought back is lost", file.display())]
    Record {
        /// The file with the record.
        file: PathBuf,
    },
    /// The edited text would not have been what was meant. It was not written.
    #[error("{}: the edit would have changed something else, and was not made. This is a fault of Brumate", file.display())]
    Unsafe {
        /// The file.
        file: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Operation that failed, such as `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl InstallError {
    /// Returns a function that makes an error of the system's.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InstallError {
        move |source| InstallError::Io { action, path: path.to_owned(), source }
    }
}
