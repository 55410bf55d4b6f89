//! Options for packages.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::env_vars;

/// Where packages come from, and which may be used. Without a flag pip's and uv's settings hold.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Packages")]
pub(crate) struct PackageOptions {
    /// Package index, in place of PyPI or what pip and uv are set to
    #[arg(long, alias = "index-url", global = true, env = env_vars::INDEX, value_name = "URL")]
    pub(crate) index: Option<String>,
    /// Further index, asked before the other; may be given several times
    #[arg(long, alias = "extra-index-url", global = true, hide_short_help = true, env = env_vars::EXTRA_INDEX, value_name = "URL", value_delimiter = ' ')]
    pub(crate) extra_index: Vec<String>,
    /// Directory of wheels, or page of links, asked before indexes; may be given several times
    #[arg(long, global = true, env = env_vars::FIND_LINKS, value_name = "DIR|URL", value_delimiter = ',')]
    pub(crate) find_links: Vec<String>,
    /// Directory (URL) of a Pyodide distribution with `pyodide-lock.json`, asked last
    #[arg(long, global = true, hide_short_help = true, env = env_vars::PYODIDE, value_name = "URL")]
    pub(crate) pyodide: Option<String>,
    /// Who is asked for passwords of indexes whose user name is known: `disabled`, or `subprocess` for the command `keyring`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::KEYRING_PROVIDER, value_name = "PROVIDER")]
    pub(crate) keyring_provider: Option<String>,
    /// File with constraints, a requirement a line; may be given several times
    #[arg(long, global = true, hide_short_help = true, env = env_vars::CONSTRAINT, value_name = "FILE", value_delimiter = ',')]
    pub(crate) constraint: Vec<PathBuf>,
    /// Nothing that was uploaded later: a date, a moment, or a span before now such as `30 days`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::EXCLUDE_NEWER, value_name = "DATE")]
    pub(crate) exclude_newer: Option<String>,
    /// No network: what is cached, in the bundle, or in directories
    #[arg(long, global = true, env = env_vars::OFFLINE)]
    pub(crate) offline: bool,
    /// Nothing but the bundle
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ONLY_BUNDLED)]
    pub(crate) only_bundled: bool,
    /// Requirements may name URLs (`name @ https://…`): code then decides what this host connects to
    #[arg(long, global = true, hide_short_help = true, env = env_vars::ALLOW_URLS)]
    pub(crate) allow_urls: bool,
    /// Imported modules that are looked for in packages: `all`, `known` (of packages that are known to have them), or `none`
    #[arg(long, global = true, hide_short_help = true, env = env_vars::INFER, value_enum, default_value_t, value_name = "WHICH")]
    pub(crate) infer: InferChoice,
    /// Package that may be used besides the bundle, such as `rich`, `acme-*` or `urllib3>=2`; then no others; may be given
    /// several times [env: BRUMATE_ALLOW_PACKAGE]
    #[arg(long, global = true, hide_short_help = true, value_name = "PATTERN")]
    pub(crate) allow_package: Vec<String>,
    /// Package that may not be used; may be given several times [env: BRUMATE_DENY_PACKAGE]
    #[arg(long, global = true, hide_short_help = true, value_name = "PATTERN")]
    pub(crate) deny_package: Vec<String>,
    /// Take wheels only whose hash the index, or the lock, states
    #[arg(long, global = true, hide_short_help = true, env = env_vars::REQUIRE_HASHES)]
    pub(crate) require_hashes: bool,
    /// File with rules for packages (TOML)
    #[arg(long, global = true, hide_short_help = true, env = env_vars::PACKAGE_POLICY, value_name = "FILE")]
    pub(crate) package_policy: Option<PathBuf>,
    /// Use exactly the packages of this lock (`brumate lock`, or any pylock.toml)
    #[arg(long, global = true, env = env_vars::LOCKED, value_name = "FILE")]
    pub(crate) locked: Option<PathBuf>,
}

/// Values of `--infer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InferChoice {
    /// Any module; one of no known package in the project of its name.
    #[default]
    All,
    /// Modules of the bundle, of wheels in `--find-links` directories, and of well-known projects.
    Known,
    /// Modules of the bundle.
    None,
}
