//! Sources of settings: environment variables, and the files of pip and uv.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::index::IndexError;
use crate::settings::files::{self, UvSettings};

/// Largest configuration file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Environment variables and system files.
pub struct Environment {
    variables: HashMap<String, String>,
    /// Directory in front of `/etc`; empty except in tests.
    root: PathBuf,
    pub(super) now: Timestamp,
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values can be secrets.
        write!(formatter, "Environment of {} variables", self.variables.len())
    }
}

impl Environment {
    /// Returns the environment of this process.
    pub fn of_process() -> Self {
        let variables =
            std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        Self { variables: variables.collect(), root: PathBuf::from("/"), now: Timestamp::now() }
    }

    /// Makes an environment of these variables, with files below `root` instead of `/etc`.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>, root: &Path, now: Timestamp) -> Self {
        let variables = variables.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Self { variables, root: root.to_owned(), now }
    }

    /// Returns a variable. An empty one counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    fn configuration(&self) -> Option<PathBuf> {
        self.get("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(self.home()?.join(".config")))
    }

    /// Reads pip's settings, from variables and files.
    pub(super) fn pip(&self) -> Result<PipSettings<'_>, IndexError> {
        let mut files = vec![self.root.join("etc/xdg/pip/pip.conf"), self.root.join("etc/pip.conf")];
        files.extend(self.home().map(|home| home.join(".pip/pip.conf")));
        files.extend(self.configuration().map(|directory| directory.join("pip/pip.conf")));
        files.extend(self.get("VIRTUAL_ENV").map(|directory| Path::new(directory).join("pip.conf")));
        match self.get("PIP_CONFIG_FILE") {
            Some("/dev/null") => files.clear(),
            Some(path) => files.push(PathBuf::from(path)),
            None => {}
        }
        let mut keys = HashMap::new();
        for file in files {
            if let Some(text) = read(&file)? {
                keys.extend(files::pip(&text));
            }
        }
        Ok(PipSettings { environment: self, keys })
    }

    pub(super) fn uv(&self) -> Result<UvSettings, IndexError> {
        if self.get("UV_NO_CONFIG").is_some_and(truth) {
            return Ok(UvSettings::default());
        }
        let named = self.get("UV_CONFIG_FILE").map(PathBuf::from);
        let user = self.configuration().map(|directory| directory.join("uv/uv.toml"));
        let files = match named {
            Some(file) => vec![file],
            None => user.into_iter().chain([self.root.join("etc/uv/uv.toml")]).collect(),
        };
        for file in files {
            if let Some(text) = read(&file)? {
                let wrong = |error| IndexError::Settings(format!("{}: {error}", file.display()));
                return UvSettings::parse(&text).map_err(wrong);
            }
        }
        Ok(UvSettings::default())
    }
}

/// Settings of pip: `PIP_INDEX_URL` before `index-url` of its files.
pub(super) struct PipSettings<'a> {
    environment: &'a Environment,
    keys: HashMap<String, String>,
}

impl PipSettings<'_> {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let variable = format!("PIP_{}", key.replace('-', "_").to_ascii_uppercase());
        let value = self.environment.get(&variable).or_else(|| self.keys.get(key).map(String::as_str));
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn list(&self, key: &str) -> Vec<String> {
        self.get(key).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }
}

pub(super) fn truth(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on" | "t" | "y")
}

/// Reads a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, IndexError> {
    read_up_to(path, MAX_FILE_BYTES)
}

#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub(super) fn read_up_to(path: &Path, limit: u64) -> Result<Option<String>, IndexError> {
    let wrong = |reason: String| IndexError::File { path: path.display().to_string(), reason };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(wrong(error.to_string())),
    };
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > limit {
        return Err(wrong(format!("it is larger than {limit} bytes")));
    }
    Ok(Some(text))
}
