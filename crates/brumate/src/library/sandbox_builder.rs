//! The builder of a sandbox.

use std::path::PathBuf;
use std::time::Duration;

use brumate_engine_api::{Limits, Mount};
use brumate_packages::Requirement;

use super::error::Error;
use crate::{mounts, ranges};

/// Builder of a [`Sandbox`](crate::Sandbox).
///
/// ```no_run
/// # use std::time::Duration;
/// let sandbox = brumate::Sandbox::builder().timeout(Duration::from_secs(5)).memory_limit(512 << 20).package("rich>=13").build()?;
/// # Ok::<(), brumate::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "`build` makes the sandbox"]
pub struct SandboxBuilder {
    pub(super) limits: Limits,
    pub(super) mounts: Vec<(PathBuf, String, bool)>,
    pub(super) network: Vec<String>,
    pub(super) packages: Vec<String>,
    pub(super) offline: bool,
    pub(super) index: Option<String>,
    pub(super) find_links: Vec<String>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) data_dir: Option<PathBuf>,
    pub(super) session_timeout: SessionTimeout,
    pub(super) max_concurrent: Option<usize>,
    pub(super) require_jail: bool,
    pub(super) program: Option<PathBuf>,
}

/// Idle time after which sessions are removed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum SessionTimeout {
    /// The timeout of [`SessionSettings`](brumate_session::sessions::SessionSettings).
    #[default]
    Default,
    Never,
    After(Duration),
}

impl SandboxBuilder {
    /// Sets the wall-clock time limit of a run: 50 milliseconds to a day. Default: 60 seconds.
    /// [`RunBuilder::timeout`](crate::RunBuilder::timeout) sets that of one run.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.limits.wall = time;
        self
    }

    /// Sets the CPU time limit of a run: 50 milliseconds to a day. Default: 60 seconds.
    pub fn cpu_timeout(mut self, time: Duration) -> Self {
        self.limits.cpu = time;
        self
    }

    /// Sets the memory limit of an interpreter, in bytes: 64 MiB to 4 GiB. Default: 1 GiB.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.limits.memory_bytes = bytes;
        self
    }

    /// Sets the size limit of files in the sandbox, in bytes: at most 64 GiB. Default: 256 MiB.
    pub fn file_limit(mut self, bytes: u64) -> Self {
        self.limits.file_bytes = bytes;
        self
    }

    /// Sets the output limit of a run, in bytes: 1 KiB to 64 MiB. Default: 1 MiB. Further output is dropped and counted.
    pub fn output_limit(mut self, bytes: u64) -> Self {
        self.limits.output_bytes = bytes;
        self
    }

    /// Mounts a directory of the host at `guest`, an absolute path in the sandbox, such as `/work`. All runs and sessions have it, and may
    /// change its files. Each may write a gibibyte.
    pub fn mount(mut self, host: impl Into<PathBuf>, guest: impl Into<String>) -> Self {
        self.mounts.push((host.into(), guest.into(), false));
        self
    }

    /// Mounts a directory of the host for reading only; see [`SandboxBuilder::mount`].
    pub fn mount_read_only(mut self, host: impl Into<PathBuf>, guest: impl Into<String>) -> Self {
        self.mounts.push((host.into(), guest.into(), true));
        self
    }

    /// Lets code connect to a host: `api.example.com` (port 443), `*.example.com:8080`, `10.1.2.3:5432`, `10.0.0.0/8:5432`. All runs and sessions may.
    /// `host.brumate.internal` is this machine.
    pub fn allow_net(mut self, host: impl Into<String>) -> Self {
        self.network.push(host.into());
        self
    }

    /// Adds a requirement (PEP 508) for every run and session. Packages that code imports are found without it.
    pub fn package(mut self, requirement: impl Into<String>) -> Self {
        self.packages.push(requirement.into());
        self
    }

    /// Disables downloads of packages. Packages come from the binary, the cache and `find_links`. Code itself never has a network.
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    /// Sets the URL of the package index. Default: the one in pip's settings, or PyPI.
    pub fn index(mut self, url: impl Into<String>) -> Self {
        self.index = Some(url.into());
        self
    }

    /// Adds a directory of wheels, or the URL of a page with links to wheels.
    pub fn find_links(mut self, location: impl Into<String>) -> Self {
        self.find_links.push(location.into());
        self
    }

    /// Sets the directory for compiled code and wheels. Default: `brumate` in the user's cache directory. Programs can share it.
    pub fn cache_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(directory.into());
        self
    }

    /// Sets the directory for sessions. Default: `brumate` in the user's data directory. Programs can share it.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// Sets the idle time after which sessions are removed: a second to ten years. Default: 30 minutes. `None`: never.
    pub fn session_timeout(mut self, time: Option<Duration>) -> Self {
        self.session_timeout = time.map_or(SessionTimeout::Never, SessionTimeout::After);
        self
    }

    /// Sets the maximum number of concurrent runs, up to 4096. Default: 4 per processor. Others wait in order.
    pub fn max_concurrent(mut self, runs: usize) -> Self {
        self.max_concurrent = Some(runs);
        self
    }

    /// Fails on a host without support for one of the jail's parts (namespaces, seccomp, …). Default: run with the parts that there
    /// are.
    pub fn require_jail(mut self) -> Self {
        self.require_jail = true;
        self
    }

    /// Sets the program to start as jailed processes: an installed `brumate` of the same version. Default: this program, which must
    /// call [`init`](crate::init).
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Checks the values.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`], which names the method and what is possible.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.out_of_range().map_err(Error::Settings)?;
        for package in &self.packages {
            package.parse::<Requirement>().map_err(|error| Error::Settings(format!("`package`: {error}")))?;
        }
        Ok(())
    }

    /// Returns the mounts.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`], which names the wrong directory.
    pub(super) fn checked_mounts(&self) -> Result<Vec<Mount>, Error> {
        let made = self.mounts.iter().map(|(host, guest, read_only)| mounts::mount(host, guest, *read_only));
        let checked = made.collect::<Result<Vec<Mount>, String>>().and_then(|made| {
            mounts::check_principals(&made, false)?;
            mounts::check_apart(&made)?;
            Ok(made)
        });
        checked.map_err(|reason| Error::Settings(format!("`mount`: {reason}")))
    }

    /// Returns the first value that is out of its range as an error.
    fn out_of_range(&self) -> Result<(), String> {
        ranges::check_time("timeout", self.limits.wall)?;
        ranges::check_time("cpu_timeout", self.limits.cpu)?;
        ranges::check_memory("memory_limit", self.limits.memory_bytes)?;
        ranges::check_files("file_limit", self.limits.file_bytes)?;
        ranges::check_output("output_limit", self.limits.output_bytes)?;
        self.max_concurrent.map_or(Ok(0), |runs| ranges::check_concurrent("max_concurrent", runs))?;
        if let SessionTimeout::After(time) = self.session_timeout {
            ranges::check_idle("session_timeout", time)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_are_named_by_their_methods() {
        let builder = SandboxBuilder::default;
        assert!(builder().check().is_ok());
        assert!(
            builder()
                .session_timeout(None)
                .max_concurrent(4096)
                .package("rich>=13; python_version>'3'")
                .check()
                .is_ok()
        );
        let (zero, day) = (Duration::ZERO, Duration::from_secs(86_401));
        for (wrong, text) in [
            (builder().timeout(zero), "`timeout` must be from 0.05 s to 86400 s, not 0 s"),
            (builder().cpu_timeout(day), "`cpu_timeout` must be from 0.05 s to 86400 s, not 86401 s"),
            (builder().memory_limit(1), "`memory_limit` must be from 64 MiB to 4 GiB, not 1 byte"),
            (builder().file_limit(u64::MAX), "`file_limit` must be"),
            (builder().output_limit(0), "`output_limit` must be from 1 KiB to 64 MiB"),
            (builder().max_concurrent(0), "`max_concurrent` must be from 1 to 4096, not 0"),
            (builder().session_timeout(Some(zero)), "`session_timeout` must be from 1 s"),
            (builder().package("rich=>13"), "`package`: "),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        let missing = builder().mount_read_only("/nowhere/at/all", "/data").checked_mounts().unwrap_err();
        assert!(missing.to_string().contains("`mount`: cannot use /nowhere/at/all"), "{missing}");
        let reserved = builder().mount("/", "/usr/share").checked_mounts().unwrap_err().to_string();
        assert!(reserved.contains("/usr belongs to the interpreter"), "{reserved}");
    }
}
