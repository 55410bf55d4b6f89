//! A Python of the host.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// Time in which an interpreter describes itself.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Oldest version whose `socket` and `os` have what the zygote needs.
const OLDEST: (u32, u32) = (3, 9);
/// Program that prints the description.
const DESCRIBE: &str = "import importlib.util, json, sys
find = importlib.util.find_spec
print(json.dumps({'version': sys.version_info[:2], 'executable': sys.executable, 'prefix': sys.prefix,
    'base': sys.base_prefix, 'exec': sys.base_exec_prefix, 'path': [p for p in sys.path if p],
    'ipykernel': find('ipykernel') is not None}))";

/// A Python of the host, and the directories that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program.
    pub program: PathBuf,
    /// Directory of the virtual environment; of the installation, without one.
    pub prefix: PathBuf,
    /// Directories of the interpreter and of its modules.
    pub directories: Vec<PathBuf>,
    /// Version.
    pub version: (u32, u32),
}

/// A Python cannot be used for kernels.
#[derive(Debug, Error)]
pub enum InterpreterError {
    /// There is none at this path.
    #[error("{} is neither a Python interpreter nor the directory of a virtual environment", .0.display())]
    NotFound(PathBuf),
    /// It cannot be started, or says nothing that makes sense.
    #[error("{} cannot be used: {reason}", program.display())]
    Broken {
        /// The program.
        program: PathBuf,
        /// The reason.
        reason: String,
    },
    /// It is too old.
    #[error("{} is Python {}.{}; kernels need {}.{} or later", program.display(), version.0, version.1, OLDEST.0, OLDEST.1)]
    TooOld {
        /// The program.
        program: PathBuf,
        /// Its version.
        version: (u32, u32),
    },
    /// It lacks the module that runs kernels.
    #[error("{0} has no ipykernel; install it there: {0} -m pip install ipykernel", program.display())]
    NoKernel {
        /// The program.
        program: PathBuf,
    },
}

#[derive(Deserialize)]
struct Description {
    version: (u32, u32),
    executable: PathBuf,
    prefix: PathBuf,
    base: PathBuf,
    exec: PathBuf,
    path: Vec<PathBuf>,
    ipykernel: bool,
}

impl Interpreter {
    /// Asks an interpreter about itself. `path` is the program, or the directory of a virtual environment.
    ///
    /// # Errors
    ///
    /// [`InterpreterError`].
    pub async fn find(path: &Path) -> Result<Self, InterpreterError> {
        let program = if path.is_dir() { path.join("bin/python") } else { path.to_owned() };
        if !program.is_file() {
            return Err(InterpreterError::NotFound(path.to_owned()));
        }
        let program = std::path::absolute(&program).unwrap_or(program);
        let broken = |reason: String| InterpreterError::Broken { program: program.clone(), reason };
        let mut command = tokio::process::Command::new(&program);
        command.args(["-I", "-c", DESCRIBE]).env_clear().stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(TIMEOUT, command.output())
            .await
            .map_err(|_| broken(format!("it does not answer within {} s", TIMEOUT.as_secs())))?
            .map_err(|error| broken(error.to_string()))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(broken(message.lines().last().unwrap_or("it failed").to_owned()));
        }
        let found: Description = serde_json::from_slice(&output.stdout).map_err(|error| broken(error.to_string()))?;
        if found.version < OLDEST {
            return Err(InterpreterError::TooOld { program, version: found.version });
        }
        if !found.ipykernel {
            return Err(InterpreterError::NoKernel { program });
        }
        let mut directories = vec![found.prefix.clone(), found.base, found.exec];
        directories.extend(found.path);
        directories.extend(found.executable.parent().map(Path::to_owned));
        // A link out of the virtual environment leads to the program's own installation.
        directories.extend(std::fs::canonicalize(&program).ok().and_then(|real| real.parent().map(Path::to_owned)));
        directories.retain(|directory| directory.components().count() > 2 || directory == Path::new("/usr"));
        directories.sort();
        directories.dedup();
        Ok(Self { program, prefix: found.prefix, directories, version: found.version })
    }
}
