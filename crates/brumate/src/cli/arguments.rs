//! Arguments of single modes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

/// Arguments of `health`.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// The server's port [default: 3001] [env: BRUMATE_PORT]
    #[arg(id = "server_port", value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Ask whether code would not have to wait for the sandbox, either
    #[arg(long)]
    pub(crate) warm: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory; it is made when it is not there
    pub(crate) directory: PathBuf,
}

/// Arguments of `token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Name of whom it is for: sessions and limits belong to it
    pub(crate) name: String,
}

/// Arguments of `lock`.
#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Requirements, besides those of `--deps` and `--script`
    #[arg(value_name = "REQUIREMENT")]
    pub(crate) requirements: Vec<String>,
    /// Script whose inline metadata (PEP 723) states requirements
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(long, short, default_value = "pylock.toml", value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Arguments of `warmup`.
#[derive(Debug, Args)]
pub(crate) struct WarmupArgs {
    /// Also every wheel in the directories of `--find-links`
    #[arg(long)]
    pub(crate) all: bool,
    /// Only build the image that has imported these modules
    #[arg(long, hide = true, value_name = "LIST", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// Only compile again, to faster code, what a run has compiled in a hurry
    #[arg(long, hide = true)]
    pub(crate) optimize: bool,
}

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    #[command(subcommand)]
    pub(crate) action: BundleAction,
}

/// What to do with a directory of wheels.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleAction {
    /// Put into DIR the wheels that requirements become, and write its index and checksums
    Build(BundleBuildArgs),
}

/// Arguments of `bundle build`.
#[derive(Debug, Args)]
pub(crate) struct BundleBuildArgs {
    /// The directory; wheels that it has stay
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Requirements, besides those of `--deps`; with everything they require, except what this binary has itself
    #[arg(value_name = "REQUIREMENT")]
    pub(crate) requirements: Vec<String>,
    /// Every wheel in the directories of `--find-links`
    #[arg(long)]
    pub(crate) all: bool,
}

/// Arguments of `sessions`.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) action: SessionsAction,
}

/// What to do with the sessions in a data directory.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// List them, also while a server uses them
    List {
        /// Print one JSON list instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Remove them with all their files; no server may be using the directory
    Remove {
        /// All of them
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Which
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
    },
    /// Copy them to a directory with the images that they need, also while a server uses them; one that is running code is
    /// copied without its state
    Backup {
        /// A directory that is not there yet, or empty
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Copy a backup into a data directory that has no sessions; no server may be using it
    Restore {
        /// The directory that `backup` wrote
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Grant a directory of the host to the script; may be given several times
    #[arg(long, value_name = "HOST:GUEST[:ro]")]
    pub(crate) mount: Vec<OsString>,
    /// Copy the files that the script makes to a directory when it has ended; those of the script's working directory by their
    /// relative paths, others by their absolute ones
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// The script, or `-` for standard input, and the script's arguments: everything after it is its own
    #[arg(value_name = "FILE [ARGUMENTS]", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    script: Vec<OsString>,
}

impl ExecArgs {
    /// The script; `-` is standard input.
    pub(crate) fn file(&self) -> &Path {
        // The command line has been refused when there is none.
        self.script.first().map_or(Path::new("-"), Path::new)
    }

    /// Arguments of the script.
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
