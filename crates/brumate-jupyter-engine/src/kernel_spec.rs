//! Kernels that are installed on the host.

use std::path::{Path, PathBuf};

use brumate_jail::native::HOME;
use serde::Deserialize;
use thiserror::Error;

/// Longest `kernel.json`, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Directories of kernels below Jupyter's data directories.
const KERNELS: &str = "kernels";

/// How a kernel is interrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterruptMode {
    /// By SIGINT.
    #[default]
    Signal,
    /// By a message on its control channel.
    Message,
}

/// An installed kernel (source: "Kernel specs" of Jupyter's documentation).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KernelSpec {
    /// Name of its directory.
    #[serde(skip)]
    pub name: String,
    /// Its directory.
    #[serde(skip)]
    pub directory: PathBuf,
    /// Command line; `{connection_file}` stands for the connection file.
    pub argv: Vec<String>,
    /// Name for people.
    #[serde(default)]
    pub display_name: String,
    /// Its language.
    #[serde(default)]
    pub language: String,
    /// How it is interrupted.
    #[serde(default)]
    pub interrupt_mode: InterruptMode,
    /// Environment variables.
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
}

/// A kernel cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KernelSpecError {
    /// No directory has it.
    #[error(
        "no kernel {name:?} is installed; `jupyter kernelspec list` names those that are. Looked in: {}",
        places(looked)
    )]
    NotFound {
        /// Its name.
        name: String,
        /// Directories that were searched.
        looked: Vec<PathBuf>,
    },
    /// Its `kernel.json` is wrong.
    #[error("{} cannot be used: {reason}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
}

fn places(places: &[PathBuf]) -> String {
    places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl KernelSpec {
    /// Finds a kernel: below the prefix `python`, if there is one, below `$JUPYTER_PATH`, the user's data directory, and the system's.
    ///
    /// # Errors
    ///
    /// [`KernelSpecError`].
    pub fn find(name: &str, python: Option<&Path>) -> Result<Self, KernelSpecError> {
        let looked = directories(python);
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let found =
            looked.iter().map(|place| place.join(name)).find(|place| is_name && place.join("kernel.json").is_file());
        match found {
            Some(directory) => Self::read(name, directory),
            None => Err(KernelSpecError::NotFound { name: name.to_owned(), looked }),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "at most `MAX_BYTES`")]
    fn read(name: &str, directory: PathBuf) -> Result<Self, KernelSpecError> {
        use std::io::Read as _;
        let file = directory.join("kernel.json");
        let invalid = |reason: String| KernelSpecError::Invalid { file: file.clone(), reason };
        let mut text = Vec::new();
        std::fs::File::open(&file)
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text))
            .map_err(|error| invalid(error.to_string()))?;
        let spec: Self = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
        if spec.argv.is_empty() {
            return Err(invalid("its argv is empty".to_owned()));
        }
        if !spec.argv.iter().any(|argument| argument.contains("{connection_file}")) {
            return Err(invalid("its argv does not name {connection_file}".to_owned()));
        }
        Ok(Self { name: name.to_owned(), directory, ..spec })
    }

    /// Returns the command line with this connection file. A program without a directory is searched in `path`.
    pub(crate) fn command(&self, connection_file: &str, path: &[PathBuf]) -> Result<Vec<String>, KernelSpecError> {
        let resources = self.directory.display().to_string();
        let replaced = |argument: &String| {
            argument
                .replace("{connection_file}", connection_file)
                .replace("{resource_dir}", &resources)
                .replace("{prefix}", "/usr")
        };
        let mut command: Vec<String> = self.argv.iter().map(replaced).collect();
        if let Some(program) = command.first_mut()
            && !program.starts_with('/')
        {
            let found = path.iter().map(|place| place.join(&*program)).find(|file| file.is_file());
            let Some(found) = found else {
                let reason = format!("its program {program:?} is in no directory of {}", places(path));
                return Err(KernelSpecError::Invalid { file: self.directory.join("kernel.json"), reason });
            };
            *program = found.display().to_string();
        }
        Ok(command)
    }
}

/// Lists the directories of kernels, in the order in which Jupyter searches them.
fn directories(python: Option<&Path>) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(path) = variable("JUPYTER_PATH") {
        places.extend(std::env::split_paths(&path));
    }
    places.extend(python.map(|prefix| prefix.join("share/jupyter")));
    if let Some(data) = variable("JUPYTER_DATA_DIR") {
        places.push(data.into());
    } else if let Some(data) = variable("XDG_DATA_HOME") {
        places.push(PathBuf::from(data).join("jupyter"));
    } else if let Some(home) = variable("HOME") {
        places.push(PathBuf::from(home).join(".local/share/jupyter"));
    }
    places.extend(["/usr/local/share/jupyter".into(), "/usr/share/jupyter".into()]);
    places.into_iter().map(|place| place.join(KERNELS)).collect()
}

/// Returns the environment of a kernel: nothing of the server's.
pub(crate) fn environment(
    path: &[PathBuf],
    extra: impl IntoIterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let path = path.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(":");
    let fixed = [
        ("PATH", path.as_str()),
        ("HOME", HOME),
        ("USER", brumate_jail::native::USER),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("OUTPUT_DIR", brumate_jail::native::WORKSPACE),
    ];
    fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).chain(extra).collect()
}
