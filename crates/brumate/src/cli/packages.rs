//! Options of packages.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::env_vars;

/// Options for sources of packages, and rules for them. Defaults are the settings of pip and uv.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Packages")]
pub(crate) struct PackageOptions {
    /// URL of the package index [default: that of pip's or uv's settings, or PyPI]
    #[arg(long, alias = "index-url", global = true, env = env_vars::INDEX, value_name = "URL")]
    pub(crate) index: Option<String>,
    /// URL of a further package index, searched before `--index`; may be repeated
    #[arg(long, alias = "extra-index-url", global = true, hide_short_help = true, env = env_vars::EXTRA_INDEX, value_name = "URL", value_delimiter = ' ')]
    pub(crate) extra_index: Vec<String>,
    /// Directory of wheels, or URL of a page with links, searched before indexes; may be repeated
    #[arg(long, global = true, env = env_vars::FIND_LINKS, value_name = "DIR|URL", value_delimiter = ',')]
    pub(crate) find_links: Vec<String>,
    /// Base URL of a Pyodide distribution with `pyodide-lock.json`, searched last
    #[arg(long, global = true, hide_short_help = true, env = env_vars::PYODIDE, value_name = "URL")]
    pub(crate) pyodide: Option<String>,
    /// Source of passwords for indexes with a user name: `disabled`, or `subprocess` for the command `keyring`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::KEYRING_PROVIDER, value_name = "PROVIDER")]
    pub(crate) keyring_provider: Option<String>,
    /// File with version constraints, one requirement per line; may be repeated
    #[arg(long, global = true, hide_short_help = true, env = env_vars::CONSTRAINT, value_name = "FILE", value_delimiter = ',')]
    pub(crate) constraint: Vec<PathBuf>,
    /// Ignore files that were uploaded later: a date, a time, or a duration before now such as `30 days`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::EXCLUDE_NEWER, value_name = "DATE")]
    pub(crate) exclude_newer: Option<String>,
    /// Do not build these packages from source code: names, or `:all:`; may be repeated
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ONLY_BINARY, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only_binary: Vec<String>,
    /// Use no network: only packages in the cache, in the binary and in local directories
    #[arg(long, global = true, env = env_vars::OFFLINE)]
    pub(crate) offline: bool,
    /// Use only the packages inside the binary
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ONLY_BUNDLED)]
    pub(crate) only_bundled: bool,
    /// Allow requirements with URLs (`name @ https://…`); code can then choose hosts that the server connects to
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ALLOW_URLS)]
    pub(crate) allow_urls: bool,
    /// Modules for which an import installs a package: `all`, `known` (modules of known packages), or `none`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INFER, value_enum, default_value_t, value_name = "WHICH")]
    pub(crate) infer: InferArg,
    /// Allow this package in addition to those inside the binary, and no others: `rich`, `acme-*`, `urllib3>=2`; may be repeated
    /// [env: BRUMATE_ALLOW_PACKAGE]
    #[arg(long, global = true, hide_short_help = true, value_name = "PATTERN")]
    pub(crate) allow_package: Vec<String>,
    /// Deny this package; may be repeated [env: BRUMATE_DENY_PACKAGE]
    #[arg(long, global = true, hide_short_help = true, value_name = "PATTERN")]
    pub(crate) deny_package: Vec<String>,
    /// Require a hash in the index or in the lock for each wheel
    #[arg(long, global = true, hide_short_help = true, env = env_vars::REQUIRE_HASHES)]
    pub(crate) require_hashes: bool,
    /// File with rules for packages (TOML)
    #[arg(long, global = true, hide_short_help = true, env = env_vars::PACKAGE_POLICY, value_name = "FILE")]
    pub(crate) package_policy: Option<PathBuf>,
    /// Use exactly the packages of this lock file (from `brumate lock`, or any pylock.toml)
    #[arg(long, global = true, env = env_vars::LOCKED, value_name = "FILE")]
    pub(crate) locked: Option<PathBuf>,
}

/// Values of `--infer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InferArg {
    /// Any module. For a module of no known package, the project of that name.
    #[default]
    All,
    /// Modules of the bundle, of wheels in `--find-links` directories, and of well-known projects.
    Known,
    /// Modules of the bundle.
    None,
}
