//! What the server asks of a jail. Plain data: it crosses the process border.

use std::os::fd::RawFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::JailError;

/// Descriptor of the control socket in every jailed process; its peer is the server.
pub const CONTROL_FD: RawFd = 3;

/// Most descriptors a jail may be told to keep.
pub const MAX_KEPT_DESCRIPTORS: usize = 1024;

/// How long a zygote stays for its machines' crash snapshots after its server has vanished.
pub const CRASH_SNAPSHOT_TIME: Duration = Duration::from_secs(30);

/// What the supervisor gives the zygote to end by itself after that.
const SUPERVISOR_MARGIN: Duration = Duration::from_secs(5);

/// Longest time a dead server's machines may take over their crash snapshot.
pub const MAX_CRASH_SNAPSHOT_TIME: Duration = Duration::from_secs(600);

/// Which process is to be jailed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A zygote and the machines it forks: plain `fork` and `wait`, no threads.
    Zygote,
    /// Compiling WebAssembly: threads, no `fork`.
    Compile,
    /// Connecting machines to other hosts: sockets of the Internet protocols in the host's network, one thread, no `fork`.
    Gateway,
    /// A program of the host and the processes that it starts ([`super::native`]).
    Native,
}

/// What a missing wall means. The mandatory walls ([`super::Wall::is_mandatory`]) are fatal under both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Require {
    /// Any missing wall is an error.
    All,
    /// Missing walls are reported and the jail is entered without them.
    #[default]
    Best,
}

/// Kernel limits of the jailed process, inherited by everything it forks. Soft and hard limit are set alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JailLimits {
    /// `RLIMIT_NOFILE`: one more than the highest descriptor.
    pub open_files: u64,
    /// `RLIMIT_NPROC`: processes and threads of this jail's user together.
    pub processes: u64,
    /// `RLIMIT_FSIZE`, bytes: how far a given descriptor may be written.
    pub file_bytes: u64,
    /// `RLIMIT_DATA`, bytes of private writable memory per process; `None` is unlimited. There is no `RLIMIT_AS`:
    /// linear memories reserve address space they never use.
    pub data_bytes: Option<u64>,
    /// `RLIMIT_CPU`, seconds per process; `None` is unlimited. Machines get theirs from
    /// [`super::MachineLimits`].
    pub cpu_seconds: Option<u64>,
    /// Niceness added to the server's, 0 to 19.
    pub nice: i32,
}

impl Default for JailLimits {
    fn default() -> Self {
        JailLimits::of(Profile::Zygote)
    }
}

impl JailLimits {
    /// The limits a profile starts from.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::Zygote => JailLimits {
                open_files: 512,
                processes: 1024,
                file_bytes: 8 << 30,
                data_bytes: None,
                cpu_seconds: None,
                nice: 0,
            },
            Profile::Native => JailLimits {
                open_files: 1024,
                processes: 256,
                file_bytes: 1 << 30,
                data_bytes: None,
                cpu_seconds: None,
                nice: 0,
            },
            Profile::Gateway => JailLimits {
                open_files: 65_536,
                processes: 16,
                file_bytes: 0,
                data_bytes: Some(4 << 30),
                cpu_seconds: None,
                nice: 0,
            },
            Profile::Compile => JailLimits {
                open_files: 64,
                processes: 64,
                file_bytes: 4 << 30,
                data_bytes: None,
                // One compiler serves many jobs: its whole life has no fixed length.
                cpu_seconds: None,
                nice: 0,
            },
        }
    }
}

/// How to enter a jail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JailConfig {
    /// What a missing wall means.
    pub require: Require,
    /// The control socket. A unix socket whose peer was made by the server.
    pub control: RawFd,
    /// Descriptors to keep besides 0, 1, 2 and `control`. Everything else is closed.
    pub keep: Vec<RawFd>,
    /// User and group id to take when started as root; `None` derives one from the process id, so that no two
    /// jails of a host share it.
    pub host_id: Option<u32>,
    /// Kernel limits.
    pub limits: JailLimits,
    /// How long the jail may live on when the server has vanished: machines write their images then.
    pub crash_snapshot_time: Duration,
    /// Try each wall by itself before the next one hides it, and report what was found (`doctor`, tests).
    pub self_check: bool,
}

impl Default for JailConfig {
    fn default() -> Self {
        JailConfig::of(Profile::Zygote)
    }
}

impl JailConfig {
    /// The configuration a profile starts from.
    pub fn of(profile: Profile) -> Self {
        JailConfig {
            require: Require::Best,
            control: CONTROL_FD,
            keep: Vec::new(),
            host_id: None,
            limits: JailLimits::of(profile),
            crash_snapshot_time: match profile {
                Profile::Zygote => CRASH_SNAPSHOT_TIME + SUPERVISOR_MARGIN,
                Profile::Compile | Profile::Gateway | Profile::Native => Duration::ZERO,
            },
            self_check: false,
        }
    }

    /// Refuses what could not be kept anyway.
    pub(super) fn validate(&self) -> Result<(), JailError> {
        let bad = |what: &'static str| Err(JailError::Config(what));
        if self.control < 3 {
            return bad("the control socket must not be a standard stream");
        }
        if self.keep.len() > MAX_KEPT_DESCRIPTORS {
            return bad("too many descriptors to keep");
        }
        let highest = self.keep.iter().copied().fold(self.control, RawFd::max);
        if self.keep.iter().any(|&fd| fd < 0) {
            return bad("a descriptor to keep is negative");
        }
        if highest as u64 >= self.limits.open_files {
            return bad("a descriptor to keep lies beyond the limit of open files");
        }
        if self.host_id.is_some_and(|id| id == 0 || id >= u32::MAX - 1) {
            return bad("the jail's user id must be neither root nor reserved");
        }
        if !(0..=19).contains(&self.limits.nice) {
            return bad("niceness lies outside 0..=19");
        }
        if self.crash_snapshot_time > MAX_CRASH_SNAPSHOT_TIME {
            return bad("the crash snapshot takes too long");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        for profile in [Profile::Zygote, Profile::Compile, Profile::Gateway, Profile::Native] {
            assert!(JailConfig::of(profile).validate().is_ok());
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let cases: [fn(&mut JailConfig); 6] = [
            |c| c.control = 2,
            |c| c.keep = vec![-1],
            |c| c.keep = vec![c.limits.open_files as RawFd],
            |c| c.host_id = Some(0),
            |c| c.limits.nice = -1,
            |c| c.crash_snapshot_time = MAX_CRASH_SNAPSHOT_TIME + Duration::from_secs(1),
        ];
        for (index, change) in cases.iter().enumerate() {
            let mut config = JailConfig::default();
            change(&mut config);
            assert!(config.validate().is_err(), "case {index}");
        }
    }

    #[test]
    fn survives_the_process_border() {
        let config = JailConfig { keep: vec![4, 9], ..JailConfig::of(Profile::Compile) };
        let text = serde_json::to_string(&config).expect("plain data");
        assert_eq!(serde_json::from_str::<JailConfig>(&text).expect("own text"), config);
    }
}
