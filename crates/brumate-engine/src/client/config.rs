//! Settings of a sandbox.

use std::path::PathBuf;
use std::time::Duration;

use super::progress::ProgressFn;
use super::startup_timeouts::StartupTimeouts;
use super::tiers::Tiers;

/// Machines kept ready per image.
pub const DEFAULT_READY: usize = 2;

/// How to start a [`Sandbox`](super::Sandbox).
#[derive(Clone)]
pub struct SandboxConfig {
    /// Directory of compiled modules and images. It is made with mode 0700 if it does not exist.
    pub cache_dir: PathBuf,
    /// Bundle file of a program that is handed out without its packages. `None`: it is searched for at the end of the program and
    /// beside it.
    pub bundle_file: Option<PathBuf>,
    /// Refuse to run if a wall of the jail is not available. Otherwise missing walls are logged.
    pub require_jail: bool,
    /// Called for progress of compiling.
    pub progress: Option<ProgressFn>,
    /// The binary that serves `internal zygote`; `None` is this process's own.
    pub program: Option<PathBuf>,
    /// Machines kept ready per image, forked before they are asked for.
    pub ready: usize,
    /// A zygote ends, with its ready machines, if none was taken for this time; `None`: never. The next machine starts
    /// another one.
    pub idle: Option<Duration>,
    /// How zygotes start.
    pub start: StartMode,
    /// Start no zygote before a machine needs it. Otherwise that of the plain image starts with the sandbox.
    pub lazy: bool,
    /// Tiers of compiled code.
    pub tiers: Tiers,
    /// How long processes may take to start.
    pub startup_timeouts: StartupTimeouts,
}

/// How a sandbox starts its zygotes: an earlier first run costs slower forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartMode {
    /// Zygotes take longer to start, and fork fast.
    #[default]
    Full,
    /// Zygotes start soon, and fork slower. For few machines.
    Brief,
    /// Zygotes start as with [`StartMode::Brief`]. A second later others replace them, which start as with [`StartMode::Full`].
    Quick,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        SandboxConfig {
            cache_dir: PathBuf::new(),
            bundle_file: None,
            require_jail: false,
            progress: None,
            program: None,
            ready: DEFAULT_READY,
            idle: None,
            start: StartMode::default(),
            lazy: false,
            tiers: Tiers::default(),
            startup_timeouts: StartupTimeouts::default(),
        }
    }
}

impl std::fmt::Debug for SandboxConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxConfig").field("cache_dir", &self.cache_dir).finish_non_exhaustive()
    }
}
