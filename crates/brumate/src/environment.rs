//! Variables of the environment that settings are made of.

use std::path::PathBuf;

use crate::env_vars;

/// Environment variables that clap does not read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) xdg_cache_home: Option<PathBuf>,
    pub(crate) xdg_data_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) bundle_file: Option<PathBuf>,
    pub(crate) allow_package: Option<String>,
    pub(crate) deny_package: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
}

impl Environment {
    /// Reads the environment of this process. Relative paths are ignored (XDG Base Directory Specification).
    pub(crate) fn of_this_process() -> Self {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Self {
            xdg_cache_home: absolute(env_vars::XDG_CACHE_HOME),
            xdg_data_home: absolute(env_vars::XDG_DATA_HOME),
            home: absolute(env_vars::HOME),
            bundle_file: std::env::var_os(env_vars::BUNDLE_FILE).filter(|path| !path.is_empty()).map(PathBuf::from),
            allow_package: std::env::var(env_vars::ALLOW_PACKAGE).ok(),
            deny_package: std::env::var(env_vars::DENY_PACKAGE).ok(),
            host: std::env::var(env_vars::HOST).ok().filter(|host| !host.is_empty()),
            port: std::env::var(env_vars::PORT).ok().filter(|port| !port.is_empty()),
        }
    }
}
