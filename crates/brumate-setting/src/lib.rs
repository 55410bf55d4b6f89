//! Names of settings in texts for users.
//!
//! A text names a [`Setting`]. The program sets once, with [`set_writer`], how its users write settings: as flags and
//! variables, as arguments of a function, or as methods of a builder. Without that a setting is written as its
//! [key](Setting::key).

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// Declares the settings with their keys.
macro_rules! settings {
    ($($(#[$comment:meta])* $setting:ident = $key:literal;)*) => {
        /// Setting that a text can name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Setting { $($(#[$comment])* $setting,)* }

        impl Setting {
            /// All settings.
            pub const ALL: &[Self] = &[$(Self::$setting,)*];

            /// Returns its name: words of lower-case letters with `_` between them.
            pub fn key(self) -> &'static str {
                match self { $(Self::$setting => $key,)* }
            }
        }
    };
}

settings! {
    /// Hosts that code may connect to.
    AllowNet = "allow_net";
    /// Directory of the cache.
    CacheDir = "cache_dir";
    /// CPU time of a run.
    CpuTimeout = "cpu_timeout";
    /// Directory of sessions and of other data.
    DataDir = "data_dir";
    /// Requirements of all code.
    Deps = "deps";
    /// Bytes of files that code may write.
    Files = "files";
    /// Places of wheels beside the package indexes.
    FindLinks = "find_links";
    /// Time between `KeyboardInterrupt` and SIGKILL.
    Grace = "grace";
    /// Imports for which packages are found.
    Infer = "infer";
    /// Directory of the host from which sessions may copy files.
    InputDir = "input_dir";
    /// Time to wait for an answer to an input request.
    InputTimeout = "input_timeout";
    /// Lock file with the packages to use.
    Locked = "locked";
    /// Runs at the same time.
    MaxConcurrent = "max_concurrent";
    /// Sessions that are awake at the same time.
    MaxLiveSessions = "max_live_sessions";
    /// Sessions in all.
    MaxSessions = "max_sessions";
    /// Memory of a machine.
    Memory = "memory";
    /// Directory of the host that code may use.
    Mount = "mount";
    /// Bytes that code may write to mounted directories.
    MountLimit = "mount_limit";
    /// Whether package indexes are left alone.
    Offline = "offline";
    /// Packages that are not built from source distributions.
    OnlyBinary = "only_binary";
    /// Bytes of output that are kept.
    OutputLimit = "output_limit";
    /// Distribution of Pyodide with further wheels.
    Pyodide = "pyodide";
    /// Bytes of hibernated sessions on disk.
    SessionsDisk = "sessions_disk";
    /// Wall-clock time of a run.
    Timeout = "timeout";
}

/// A setting as its user writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenSetting {
    /// Text that the user writes: `--timeout`, or `timeout`.
    text: Cow<'static, str>,
    /// Another way to set it, an environment variable.
    alternative: Option<String>,
    /// Whether sentences quote it.
    is_quoted: bool,
}

impl WrittenSetting {
    /// Writes a flag, and the variable that sets the same. Sentences do not quote it.
    pub fn flag(text: impl Into<Cow<'static, str>>, variable: Option<String>) -> Self {
        Self { text: text.into(), alternative: variable, is_quoted: false }
    }

    /// Writes a piece of code. Sentences quote it.
    pub fn code(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), alternative: None, is_quoted: true }
    }

    /// Writes words of a sentence.
    pub fn words(text: impl Into<Cow<'static, str>>) -> Self {
        Self::flag(text, None)
    }
}

/// Writes a setting with a value; an empty value names the setting alone.
pub type Writer = fn(Setting, &str) -> WrittenSetting;

static WRITER: OnceLock<Writer> = OnceLock::new();

/// Sets how texts of this process write settings. Only the first call counts.
pub fn set_writer(writer: Writer) {
    let _ = WRITER.set(writer);
}

/// Writes keys, with a value as an assignment.
fn write_key(setting: Setting, value: &str) -> WrittenSetting {
    match value {
        "" => WrittenSetting::code(setting.key()),
        value => WrittenSetting::code(format!("{} = {value}", setting.key())),
    }
}

impl Setting {
    fn written(self, value: &str) -> WrittenSetting {
        WRITER.get().copied().unwrap_or(write_key)(self, value)
    }

    /// Returns its name in a sentence, without another way to set it.
    pub fn brief(self) -> String {
        let WrittenSetting { text, is_quoted, .. } = self.written("");
        if is_quoted { format!("`{text}`") } else { text.into_owned() }
    }

    /// Returns its name in a sentence, quoted.
    pub fn quoted(self) -> String {
        self.with("")
    }

    /// Returns, quoted, how a user sets it to `value`.
    pub fn with(self, value: &str) -> String {
        format!("`{}`", self.written(value).text)
    }
}

/// Writes all ways to set it: `--timeout or BRUMATE_TIMEOUT`.
impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.brief())?;
        match self.written("").alternative {
            Some(alternative) => write!(formatter, " or {alternative}"),
            None => Ok(()),
        }
    }
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
