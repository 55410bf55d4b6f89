//! Settings of a sandbox.

use std::path::PathBuf;
use std::time::Duration;

use brumate_engine_api::Limits;

/// Settings of a [`Sandbox`](crate::Sandbox), which [`Builder::build`] makes.
///
/// ```no_run
/// # use std::time::Duration;
/// let sandbox = brumate::Sandbox::builder().timeout(Duration::from_secs(5)).memory(512 << 20).package("rich>=13").build()?;
/// # Ok::<(), brumate::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "`build` makes the sandbox"]
pub struct Builder {
    pub(super) limits: Limits,
    pub(super) packages: Vec<String>,
    pub(super) offline: bool,
    pub(super) index: Option<String>,
    pub(super) find_links: Vec<String>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) data_dir: Option<PathBuf>,
    pub(super) session_timeout: Option<Option<Duration>>,
    pub(super) max_concurrent: Option<usize>,
    pub(super) require_jail: bool,
    pub(super) program: Option<PathBuf>,
}

impl Builder {
    /// Sets the wall-clock time of a run; 60 seconds by default.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.limits.wall = time;
        self
    }

    /// Sets the CPU time of a run; 60 seconds by default.
    pub fn cpu_timeout(mut self, time: Duration) -> Self {
        self.limits.cpu = time;
        self
    }

    /// Sets the memory of an interpreter, in bytes; 1 GiB by default.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory_bytes = bytes;
        self
    }

    /// Sets the bytes that code may keep in files; 256 MiB by default.
    pub fn files(mut self, bytes: u64) -> Self {
        self.limits.file_bytes = bytes;
        self
    }

    /// Sets the bytes of output that are kept of a run; 1 MiB by default. The rest is counted and dropped.
    pub fn output_limit(mut self, bytes: u64) -> Self {
        self.limits.output_bytes = bytes;
        self
    }

    /// Adds a requirement (PEP 508) that every run and session has. What code imports is found without it.
    pub fn package(mut self, requirement: impl Into<String>) -> Self {
        self.packages.push(requirement.into());
        self
    }

    /// Uses no network, not even for packages: what is built in, in the cache, or in `find_links`.
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    /// Sets the URL of the package index; what pip is set to by default.
    pub fn index(mut self, url: impl Into<String>) -> Self {
        self.index = Some(url.into());
        self
    }

    /// Adds a directory of wheels, or a page with links to some.
    pub fn find_links(mut self, place: impl Into<String>) -> Self {
        self.find_links.push(place.into());
        self
    }

    /// Sets the directory of compiled code and wheels; `brumate` in the user's cache by default. Programs share it.
    pub fn cache_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(directory.into());
        self
    }

    /// Sets the directory of the sessions; `brumate` in the user's data directory by default. Programs share it.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// Sets the time without use after which sessions are removed; 30 minutes by default, `None`: never.
    pub fn session_timeout(mut self, time: Option<Duration>) -> Self {
        self.session_timeout = Some(time);
        self
    }

    /// Sets how many runs there are at the same time; four for each processor by default. Four times as many wait.
    pub fn max_concurrent(mut self, runs: usize) -> Self {
        self.max_concurrent = Some(runs);
        self
    }

    /// Refuses to run code on a host that lacks one of the walls around it.
    pub fn require_jail(mut self) -> Self {
        self.require_jail = true;
        self
    }

    /// Names an installed `brumate` of the same version to start as jailed processes, in place of this program; [`init`](crate::init)
    /// is not needed then.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }
}
