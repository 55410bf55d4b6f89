//! Errors of data directories.

use std::path::PathBuf;

use brumate_setting::Setting;
use thiserror::Error;

/// Error when a data directory cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataDirError {
    /// Other processes use the directory, and this one needs it exclusively, or the reverse.
    #[error(
        "the data directory {} is in use by {}; stop it first, or choose another directory with {}",
        path.display(),
        name_processes(processes),
        Setting::DataDir.brief()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The other processes, as far as they are known.
        processes: Vec<u32>,
    },
    /// Other users may change the directory.
    #[error("the data directory {} belongs to somebody else, or others may write to it", path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
    },
    /// The registry in the directory cannot be used.
    #[error("the registry of sessions in {} cannot be used: {reason}", path.display())]
    Registry {
        /// The directory.
        path: PathBuf,
        /// Reason, for the user.
        reason: String,
    },
    /// The directory has no registry of sessions.
    #[error("there is no registry of sessions in {}", path.display())]
    Nothing {
        /// The directory.
        path: PathBuf,
    },
    /// The directory must be empty, and is not.
    #[error("{} is not empty; choose a directory that is", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// An I/O error.
    #[error("the data directory {} cannot be used: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Names processes in a sentence.
fn name_processes(processes: &[u32]) -> String {
    match processes {
        [] => "another Brumate".to_owned(),
        [one] => format!("another Brumate (process {one})"),
        all => {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            format!("other Brumates (processes {})", all.join(", "))
        }
    }
}
