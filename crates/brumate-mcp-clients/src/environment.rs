//! The directories of a user, and the path of each client's configuration file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Client;

/// The operating system whose directories are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux, and other systems with the XDG base directories.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// Directories of a user, on which the places of configuration files depend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The operating system.
    pub platform: Platform,
    /// The user's home directory: `HOME`, on Windows `USERPROFILE`.
    pub home: PathBuf,
    /// `XDG_CONFIG_HOME`. It is used on Linux, and only if it is absolute. Default: `.config` in `home`.
    pub xdg_config_home: Option<PathBuf>,
    /// `APPDATA`. It is used on Windows. Default: `AppData\Roaming` in `home`.
    pub app_data: Option<PathBuf>,
    /// `LOCALAPPDATA`. It is used on Windows. Default: `AppData\Local` in `home`.
    pub local_app_data: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`: where Claude Code keeps all its files, `.claude.json` too.
    pub claude_config_dir: Option<PathBuf>,
}

/// A client's configuration file has no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// The client has not made its directory.
    #[error(
        "{} seems not to be installed: {} does not exist. Start {} once, or choose another client with --client",
        client.title(), directory.display(), client.title()
    )]
    NotInstalled {
        /// The client.
        client: Client,
        /// The directory that is missing.
        directory: PathBuf,
    },
    /// The process has no home directory.
    #[error("the home directory is unknown: set {variable}")]
    NoHome {
        /// The variable that names it.
        variable: &'static str,
    },
}

impl Environment {
    /// Returns the environment of a home directory, with all variables unset.
    pub fn new(platform: Platform, home: impl Into<PathBuf>) -> Environment {
        Environment {
            platform,
            home: home.into(),
            xdg_config_home: None,
            app_data: None,
            local_app_data: None,
            claude_config_dir: None,
        }
    }

    /// Reads the variables of this process.
    ///
    /// # Errors
    /// `HOME`, or `USERPROFILE` on Windows, is not set.
    pub fn of_process() -> Result<Environment, LocateError> {
        let platform = match std::env::consts::OS {
            "macos" => Platform::MacOs,
            "windows" => Platform::Windows,
            _ => Platform::Linux,
        };
        Environment::of_variables(platform, |name| std::env::var_os(name))
    }

    /// Reads variables through a function. An empty variable counts as unset.
    fn of_variables(
        platform: Platform,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Environment, LocateError> {
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = if platform == Platform::Windows { "USERPROFILE" } else { "HOME" };
        Ok(Environment {
            platform,
            home: path(home).ok_or(LocateError::NoHome { variable: home })?,
            xdg_config_home: path("XDG_CONFIG_HOME"),
            app_data: path("APPDATA"),
            local_app_data: path("LOCALAPPDATA"),
            claude_config_dir: path("CLAUDE_CONFIG_DIR"),
        })
    }

    /// Returns the directory in which applications have their directories.
    fn applications(&self) -> PathBuf {
        match self.platform {
            Platform::Linux => match &self.xdg_config_home {
                Some(directory) if directory.is_absolute() => directory.clone(),
                _ => self.home.join(".config"),
            },
            Platform::MacOs => self.home.join("Library/Application Support"),
            Platform::Windows => self.app_data.clone().unwrap_or_else(|| self.home.join("AppData").join("Roaming")),
        }
    }

    /// Returns Claude Desktop's directory. A package of Windows sees its own copy of `%APPDATA%`.
    fn claude_desktop(&self) -> PathBuf {
        if self.platform == Platform::Windows {
            let local = self.local_app_data.clone().unwrap_or_else(|| self.home.join("AppData").join("Local"));
            let package = local.join("Packages").join("Claude_pzs8sxrjxfjjc");
            let directory = package.join("LocalCache").join("Roaming").join("Claude");
            if directory.is_dir() {
                return directory;
            }
        }
        self.applications().join("Claude")
    }
}

impl Client {
    /// Returns the path of the configuration file. The file itself need not exist.
    ///
    /// Claude Code's file is `.claude.json` in the home directory, or in `CLAUDE_CONFIG_DIR` where that is set. Where an
    /// early version has left `.config.json` in its directory, it reads that one instead.
    ///
    /// # Errors
    /// The client's directory does not exist: the client is not installed, or was never started.
    pub fn config_file(self, environment: &Environment) -> Result<PathBuf, LocateError> {
        let within = |directory: PathBuf, file: &str| {
            if directory.is_dir() {
                Ok(directory.join(file))
            } else {
                Err(LocateError::NotInstalled { client: self, directory })
            }
        };
        match self {
            Client::ClaudeDesktop => within(environment.claude_desktop(), "claude_desktop_config.json"),
            Client::ClaudeCode => claude_code(environment),
            Client::Cursor => within(environment.home.join(".cursor"), "mcp.json"),
            Client::VsCode => within(environment.applications().join("Code").join("User"), "mcp.json"),
        }
    }
}

/// Returns Claude Code's file.
fn claude_code(environment: &Environment) -> Result<PathBuf, LocateError> {
    let usual = environment.home.join(".claude");
    let directory = environment.claude_config_dir.as_deref().unwrap_or(&usual);
    let early = directory.join(".config.json");
    if early.is_file() {
        return Ok(early);
    }
    let parent: &Path = environment.claude_config_dir.as_deref().unwrap_or(&environment.home);
    let file = parent.join(".claude.json");
    // The home directory is there without Claude Code too.
    if directory.is_dir() || file.exists() {
        Ok(file)
    } else {
        Err(LocateError::NotInstalled { client: Client::ClaudeCode, directory: directory.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the file of a client below a home directory in which `directories` exist, relative to that home.
    fn locate(client: Client, platform: Platform, directories: &[&str]) -> Result<String, LocateError> {
        let home = tempfile::tempdir().expect("made");
        for directory in directories {
            std::fs::create_dir_all(home.path().join(directory)).expect("made");
        }
        let mut environment = Environment::new(platform, home.path());
        if directories.contains(&"xdg") {
            environment.xdg_config_home = Some(home.path().join("xdg"));
        }
        if directories.contains(&"profile") {
            environment.claude_config_dir = Some(home.path().join("profile"));
        }
        let file = client.config_file(&environment)?;
        Ok(file.strip_prefix(home.path()).expect("below it").to_str().expect("text").to_owned())
    }

    #[test]
    fn each_client_has_its_place_on_each_platform() {
        use Client::*;
        use Platform::*;
        let cases: &[(Client, Platform, &[&str], &str)] = &[
            (ClaudeDesktop, Linux, &[".config/Claude"], ".config/Claude/claude_desktop_config.json"),
            (ClaudeDesktop, Linux, &["xdg", "xdg/Claude", ".config/Claude"], "xdg/Claude/claude_desktop_config.json"),
            (
                ClaudeDesktop,
                MacOs,
                &["Library/Application Support/Claude"],
                "Library/Application Support/Claude/claude_desktop_config.json",
            ),
            (ClaudeDesktop, Windows, &["AppData/Roaming/Claude"], "AppData/Roaming/Claude/claude_desktop_config.json"),
            (
                ClaudeDesktop,
                Windows,
                &["AppData/Roaming/Claude", "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"],
                "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json",
            ),
            (ClaudeCode, Linux, &[".claude"], ".claude.json"),
            (ClaudeCode, MacOs, &[".claude", "profile"], "profile/.claude.json"),
            (Cursor, Linux, &[".cursor"], ".cursor/mcp.json"),
            (Cursor, Windows, &[".cursor"], ".cursor/mcp.json"),
            (VsCode, Linux, &[".config/Code/User"], ".config/Code/User/mcp.json"),
            (
                VsCode,
                MacOs,
                &["Library/Application Support/Code/User"],
                "Library/Application Support/Code/User/mcp.json",
            ),
            (VsCode, Windows, &["AppData/Roaming/Code/User"], "AppData/Roaming/Code/User/mcp.json"),
        ];
        for (client, platform, directories, file) in cases {
            assert_eq!(locate(*client, *platform, directories).as_deref(), Ok(*file));
        }
    }

    #[test]
    fn the_error_names_the_directory_that_is_missing() {
        for client in Client::ALL {
            let error = locate(client, Platform::Linux, &[]).expect_err("nothing there");
            let LocateError::NotInstalled { client: found, directory } = &error else { panic!("{error}") };
            assert_eq!(*found, client);
            assert!(error.to_string().contains(directory.to_str().expect("text")), "{error}");
            assert!(error.to_string().contains("--client"), "{error}");
        }
    }

    #[test]
    fn claude_codes_early_file_is_found() {
        let home = tempfile::tempdir().expect("made");
        let environment = Environment::new(Platform::Linux, home.path());
        std::fs::write(home.path().join(".claude.json"), "{}").expect("written");
        assert_eq!(Client::ClaudeCode.config_file(&environment), Ok(home.path().join(".claude.json")));
        std::fs::create_dir(home.path().join(".claude")).expect("made");
        std::fs::write(home.path().join(".claude/.config.json"), "{}").expect("written");
        assert_eq!(Client::ClaudeCode.config_file(&environment), Ok(home.path().join(".claude/.config.json")));
    }

    #[test]
    fn variables_that_are_empty_or_relative_do_not_count() {
        let read = |name: &str| match name {
            "HOME" => Some(OsString::from("/home/ada")),
            "XDG_CONFIG_HOME" => Some(OsString::from("relative")),
            "CLAUDE_CONFIG_DIR" => Some(OsString::new()),
            _ => None,
        };
        let environment = Environment::of_variables(Platform::Linux, read).expect("a home");
        assert_eq!(environment.applications(), Path::new("/home/ada/.config"));
        assert_eq!(environment.claude_config_dir, None);
        let error = Environment::of_variables(Platform::Windows, read).expect_err("no profile");
        assert_eq!(error.to_string(), "the home directory is unknown: set USERPROFILE");
    }
}
