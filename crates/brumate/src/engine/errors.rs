//! Converts errors of `brumate-engine` to those of `brumate-engine-api`.

use brumate_engine::client;
use brumate_engine_api::{EngineError, FileError};

/// Converts an error of the engine.
pub(super) fn engine_error(error: client::Error) -> EngineError {
    match error {
        client::Error::MachineDied { reason, output_dropped, peak_memory_bytes } => {
            EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }
        }
        client::Error::RolledBack { reason, output_dropped, peak_memory_bytes } => {
            EngineError::RolledBack { reason, output_dropped, peak_memory_bytes }
        }
        client::Error::File { reason, .. } => EngineError::File(file_error(&reason)),
        client::Error::Image(text) => EngineError::Image(text),
        client::Error::Outdated(text) => EngineError::Outdated(text),
        error @ client::Error::Layer { .. } => EngineError::Layer(error.to_string()),
        error @ client::Error::MissingLayers { .. } => EngineError::Image(error.to_string()),
        client::Error::Compile { name, reason } => EngineError::Compile(format!("{name}: {reason}")),
        client::Error::Io(error) => EngineError::Io(error.to_string()),
        other => EngineError::Unavailable(other.to_string()),
    }
}

/// Parses the reason of a file error: a text of the guest's C library with the error's name in parentheses.
fn file_error(reason: &str) -> FileError {
    let name = reason.rsplit_once('(').and_then(|(_, name)| name.strip_suffix(')'));
    match name.unwrap_or_default() {
        "ENOENT" | "ENOTDIR" => FileError::NotFound,
        "EISDIR" | "EINVAL" => FileError::NotAFile,
        "ENOSPC" | "EDQUOT" | "EFBIG" => FileError::NoSpace,
        _ => FileError::Other(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_files_are_understood() {
        for (reason, error) in [
            ("No such file or directory (ENOENT)", FileError::NotFound),
            ("Is a directory (EISDIR)", FileError::NotAFile),
            ("No space left on device (ENOSPC)", FileError::NoSpace),
            ("the path is too long", FileError::Other("the path is too long".to_owned())),
        ] {
            assert_eq!(file_error(reason), error);
        }
    }
}
