//! Arguments of single commands.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
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

/// Arguments of `kernel`.
#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    pub(crate) action: KernelAction,
}

/// Actions of `kernel`.
#[derive(Debug, Subcommand)]
pub(crate) enum KernelAction {
    /// Add the sandbox to Jupyter's list of kernels; packages, mounts and limits given here are those of the kernel
    Install(KernelInstallArgs),
    /// Remove a kernel from Jupyter's list
    Remove {
        /// Name of the kernel
        #[arg(default_value = "brumate", value_name = "NAME")]
        name: String,
    },
    /// List the kernels that `install` has added
    List,
    /// Serve a kernel; Jupyter starts this command
    Run(KernelRunArgs),
}

/// Arguments of `kernel install`.
#[derive(Debug, Args)]
pub(crate) struct KernelInstallArgs {
    /// Name of the kernel
    #[arg(long, default_value = "brumate", value_name = "NAME")]
    pub(crate) name: String,
    /// Name that Jupyter shows
    #[arg(long, default_value = "Python (Brumate sandbox)", value_name = "TEXT")]
    pub(crate) display_name: String,
    /// Install for the current user, the default
    #[arg(long, conflicts_with_all = ["prefix", "sys_prefix"])]
    pub(crate) user: bool,
    /// Install below this prefix, such as a virtual environment
    #[arg(long, conflicts_with = "sys_prefix", value_name = "DIR")]
    pub(crate) prefix: Option<PathBuf>,
    /// Install below the active virtual or conda environment
    #[arg(long)]
    pub(crate) sys_prefix: bool,
    /// Session that the kernel continues; it stays when the kernel ends
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Let outputs run in the client: scripts, widgets, HTML as it is; only for code that you trust as much as the client's page
    #[arg(long)]
    pub(crate) active_output: bool,
}

/// Arguments of `kernel run`.
#[derive(Debug, Args)]
pub(crate) struct KernelRunArgs {
    /// Connection file, which Jupyter writes
    #[arg(long, short = 'f', value_name = "FILE")]
    pub(crate) connection_file: PathBuf,
    /// Session that the kernel continues; it stays when the kernel ends
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) session: Option<String>,
    /// Let outputs run in the client: scripts, widgets, HTML as it is; only for code that you trust as much as the client's page
    #[arg(long)]
    pub(crate) active_output: bool,
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
    /// Write a session as a Jupyter notebook: its cells with their outputs, as far as they are kept; a server may be using it
    Export(SessionsExportArgs),
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

/// Arguments of `sessions export`.
#[derive(Debug, Args)]
pub(crate) struct SessionsExportArgs {
    /// Id of the session
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    pub(crate) id: String,
    /// File for the notebook; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) notebook: PathBuf,
    /// Keep outputs that run in a client: scripts, HTML as it is; only for code that you trust as much as the client's page
    #[arg(long)]
    pub(crate) active_output: bool,
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Environment variable of the program; without `=VALUE` it has the value that it has here, if any; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Copy the files that the script creates to this directory when it ends; files of the working directory by their relative paths,
    /// other files by their absolute paths
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) notebook: NotebookArgs,
    /// Run a module as `python -m` does, in place of a file; everything after its name is passed to it
    #[arg(short, value_name = "MODULE [ARGUMENTS]", num_args = 1.., allow_hyphen_values = true, conflicts_with = "code")]
    module: Vec<OsString>,
    /// Run this code as `python -c` does, in place of a file; everything after it is passed to it
    #[arg(short, value_name = "CODE [ARGUMENTS]", num_args = 1.., allow_hyphen_values = true)]
    code: Vec<OsString>,
    /// Script to run, or `-` for standard input; everything after it is passed to the script. A file with the ending `.ipynb` is a
    /// notebook: its cells run in order, and options may follow it
    #[arg(value_name = "FILE [ARGUMENTS]", required_unless_present_any = ["module", "code", "notebook_file"], trailing_var_arg = true, allow_hyphen_values = true)]
    script: Vec<OsString>,
}

/// Options of `exec` for notebooks. The short ones are papermill's.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Notebooks")]
pub(crate) struct NotebookArgs {
    /// Write the notebook with its outputs to this file, which may be the notebook itself; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Set a parameter; a value that looks like an integer, a float, `True`, `False` or `None` is one; may be repeated
    #[arg(short, long, num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    pub(crate) parameters: Vec<String>,
    /// Set a parameter to a string; may be repeated
    #[arg(short = 'r', long, alias = "parameters_raw", num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    pub(crate) parameters_raw: Vec<String>,
    /// Set the parameters of a mapping in YAML or JSON; may be repeated
    #[arg(short = 'y', long, alias = "parameters_yaml", value_name = "YAML", allow_hyphen_values = true)]
    pub(crate) parameters_yaml: Vec<String>,
    /// Set the parameters of a file with a mapping in YAML or JSON; may be repeated
    #[arg(short = 'f', long, alias = "parameters_file", value_name = "FILE")]
    pub(crate) parameters_file: Vec<PathBuf>,
    /// Go on after cells that fail
    #[arg(long)]
    pub(crate) allow_errors: bool,
    /// Keep outputs that run in a client: scripts, widgets, HTML as it is; only for code that you trust as much as the client's page
    #[arg(long)]
    pub(crate) active_output: bool,
    /// The notebook; [`notebook_line`](super::notebook_line) adds this option
    #[arg(id = "notebook_file", long = "notebook-file", hide = true, value_name = "FILE", allow_hyphen_values = true, conflicts_with_all = ["module", "code"])]
    pub(crate) file: Option<PathBuf>,
}

impl NotebookArgs {
    /// Returns an option that was given, if there is one.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            (self.output.is_some(), "--output"),
            (!self.parameters.is_empty(), "--parameters"),
            (!self.parameters_raw.is_empty(), "--parameters-raw"),
            (!self.parameters_yaml.is_empty(), "--parameters-yaml"),
            (!self.parameters_file.is_empty(), "--parameters-file"),
            (self.allow_errors, "--allow-errors"),
            (self.active_output, "--active-output"),
        ];
        all.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

/// A program of `exec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program<'a> {
    /// A file.
    File(&'a Path),
    /// Standard input.
    Stdin,
    /// The module of this name.
    Module(&'a OsStr),
    /// This code.
    Code(&'a OsStr),
}

impl ExecArgs {
    /// Returns the notebook, and a word that is no option of it, if there is one.
    pub(crate) fn notebook(&self) -> Option<(&Path, Option<&OsStr>)> {
        Some((self.notebook.file.as_deref()?, self.script.first().map(OsString::as_os_str)))
    }

    /// Returns the program and its arguments.
    pub(crate) fn program(&self) -> (Program<'_>, Vec<&OsStr>) {
        let behind = self.script.iter().map(OsString::as_os_str);
        if let Some((name, words)) = self.module.split_first() {
            (Program::Module(name), words.iter().map(OsString::as_os_str).chain(behind).collect())
        } else if let Some((code, words)) = self.code.split_first() {
            (Program::Code(code), words.iter().map(OsString::as_os_str).chain(behind).collect())
        } else {
            let file = self.script.first().map_or(OsStr::new("-"), OsString::as_os_str);
            // clap takes `-mMODULE` and `-cCODE` for a file.
            let attached = |option: &[u8]| {
                let value = file.as_bytes().strip_prefix(option).filter(|value| !value.is_empty());
                value.map(OsStr::from_bytes)
            };
            let program = if let Some(name) = attached(b"-m") {
                Program::Module(name)
            } else if let Some(code) = attached(b"-c") {
                Program::Code(code)
            } else if file == "-" {
                Program::Stdin
            } else {
                Program::File(Path::new(file))
            };
            (program, behind.skip(1).collect())
        }
    }
}

/// Arguments of `test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Also install this extra of the project (`optional-dependencies`); may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) extra: Vec<String>,
    /// Also install all extras of the project
    #[arg(long)]
    pub(crate) all_extras: bool,
    /// Also install this group of the project (`dependency-groups`); may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Vec<String>,
    /// Also install the requirements of this file; may be repeated
    #[arg(short, long, value_name = "FILE")]
    pub(crate) requirement: Vec<PathBuf>,
    /// Write the results to this file, as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Keep what the tests write to the project's directory; without it they get a copy, which is thrown away
    #[arg(long)]
    pub(crate) write: bool,
    /// Environment variable of the program; without `=VALUE` it has the value that it has here, if any; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Directory of the project; or a file or a directory in it, to run the tests there
    #[arg(id = "project", value_name = "PATH", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Arguments of pytest, after `--`
    #[arg(value_name = "ARGUMENTS", last = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
