//! Arguments of single commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

/// Arguments of `health`.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Port of the server on this machine [default: 3001] [env: BRUMATE_PORT]
    #[arg(id = "server_port", value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Also require that the sandbox is ready to run code without waiting
    #[arg(long)]
    pub(crate) warm: bool,
}

/// Arguments of `pipe`.
#[derive(Debug, Args)]
pub(crate) struct PipeArgs {
    /// Only check the other options
    #[arg(long)]
    pub(crate) check: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print completions for
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory to write the pages to; created if it does not exist
    pub(crate) directory: PathBuf,
}

/// Arguments of `token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Name of the principal that the token is for; sessions and limits belong to it
    pub(crate) name: String,
}

/// Arguments of `lock`.
#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Requirements to lock, in addition to those of `--deps` and `--script`
    #[arg(value_name = "REQUIREMENT")]
    pub(crate) requirements: Vec<String>,
    /// Script with requirements in its inline metadata (PEP 723)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// File to write the lock to; `-` for standard output
    #[arg(long, short, default_value = "pylock.toml", value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Arguments of `warmup`.
#[derive(Debug, Args)]
pub(crate) struct WarmupArgs {
    /// Also compile every wheel in the directories of `--find-links`
    #[arg(long)]
    pub(crate) all: bool,
    /// Build only the image with these modules imported
    #[arg(long, hide = true, value_name = "LIST", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// Only recompile, with optimization, the modules that a run has compiled quickly
    #[arg(long, hide = true)]
    pub(crate) optimize: bool,
}

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    #[command(subcommand)]
    pub(crate) action: BundleAction,
}

/// Actions of `bundle`.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleAction {
    /// Collect wheels for requirements in DIR, and write an index and checksums there
    Build(BundleBuildArgs),
}

/// Arguments of `bundle build`.
#[derive(Debug, Args)]
pub(crate) struct BundleBuildArgs {
    /// Directory to collect wheels in; wheels that are already there stay
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Requirements to collect, in addition to those of `--deps`; with their dependencies, without the packages inside this binary
    #[arg(value_name = "REQUIREMENT")]
    pub(crate) requirements: Vec<String>,
    /// Also collect every wheel in the directories of `--find-links`
    #[arg(long)]
    pub(crate) all: bool,
}

/// Arguments of `sessions`.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) action: SessionsAction,
}

/// Actions of `sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// List the sessions; a server may be using them
    List {
        /// Print one JSON list instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Remove sessions of all principals with their files; a server may be using them, and running code is stopped
    Remove {
        /// Remove all sessions
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Ids of the sessions to remove
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
    },
    /// Copy all sessions and their images to a directory; a server may be using them. A session whose code still runs after a
    /// minute is left out and named
    Backup {
        /// Directory for the backup; must be empty or not exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Copy a backup into a data directory without sessions; no server may be using the directory
    Restore {
        /// Directory of the backup
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Mount a directory of the host in the sandbox; with `:ro` read-only; may be repeated
    #[arg(long, value_name = "HOST:GUEST[:ro]")]
    pub(crate) mount: Vec<OsString>,
    /// Copy the files that the script creates to this directory when it ends; files of the working directory by their relative paths,
    /// other files by their absolute paths
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Script to run, or `-` for standard input; everything after it is passed to the script
    #[arg(value_name = "FILE [ARGUMENTS]", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    script: Vec<OsString>,
}

impl ExecArgs {
    /// Returns the script's path; `-` is standard input.
    pub(crate) fn file(&self) -> &Path {
        // clap requires it.
        self.script.first().map_or(Path::new("-"), Path::new)
    }

    /// Returns the arguments of the script.
    pub(crate) fn arguments(&self) -> &[OsString] {
        self.script.get(1..).unwrap_or_default()
    }
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
