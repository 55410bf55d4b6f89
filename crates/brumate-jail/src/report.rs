//! Which walls stand.

use serde::{Deserialize, Serialize};

use super::{JailError, Profile, Require};

/// One wall of the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wall {
    /// A user namespace, a user id of its own on the host, or both.
    Identity,
    /// A mount namespace.
    MountNamespace,
    /// An empty root directory that nothing can be added to.
    EmptyRoot,
    /// A process namespace: no other process can be named, and the kernel ends all of them together.
    PidNamespace,
    /// A network namespace without a usable interface.
    NetNamespace,
    /// A namespace for System V and POSIX message queues.
    IpcNamespace,
    /// A namespace for the host name.
    UtsNamespace,
    /// A namespace for control group paths.
    CgroupNamespace,
    /// Landlock: no file may be opened, made or removed.
    LandlockFiles,
    /// Landlock: no TCP port may be bound or connected to.
    LandlockTcp,
    /// Landlock: no signal and no abstract socket leaves the jail.
    LandlockScopes,
    /// The allow-list of system calls.
    Seccomp,
    /// `no_new_privs`: no program gains rights by being executed.
    NoNewPrivs,
    /// No capability, in any set.
    Capabilities,
    /// An empty capability bounding set.
    BoundingSet,
    /// Kernel limits on files, memory locks, priorities, core dumps.
    Rlimits,
    /// A limit on the number of processes that binds this jail alone.
    ProcessLimit,
    /// No core dump, no debugger, no `/proc` access by other processes of the same user.
    NotDumpable,
    /// First to go when memory runs out.
    OomScore,
    /// No environment variables.
    Environment,
    /// Only the descriptors that were asked for.
    Descriptors,
    /// Nothing outlives the server by more than the crash snapshot.
    DiesWithServer,
}

impl Wall {
    /// Every wall, in the order in which they are put up.
    pub const ALL: [Wall; 22] = [
        Wall::Environment,
        Wall::Descriptors,
        Wall::DiesWithServer,
        Wall::Identity,
        Wall::MountNamespace,
        Wall::PidNamespace,
        Wall::NetNamespace,
        Wall::IpcNamespace,
        Wall::UtsNamespace,
        Wall::CgroupNamespace,
        Wall::OomScore,
        Wall::EmptyRoot,
        Wall::BoundingSet,
        Wall::Capabilities,
        Wall::NoNewPrivs,
        Wall::Rlimits,
        Wall::ProcessLimit,
        Wall::NotDumpable,
        Wall::LandlockFiles,
        Wall::LandlockTcp,
        Wall::LandlockScopes,
        Wall::Seccomp,
    ];

    /// Whether no guest may ever run without this wall. These need no right that an ordinary user lacks.
    pub fn is_mandatory(self) -> bool {
        matches!(
            self,
            Wall::Seccomp
                | Wall::NoNewPrivs
                | Wall::Capabilities
                | Wall::Rlimits
                | Wall::Environment
                | Wall::Descriptors
        )
    }
}

/// Whether a wall stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum WallState {
    /// It stands.
    Active,
    /// It does not.
    Missing {
        /// Why, in words for an administrator.
        reason: String,
    },
}

/// One wall and whether it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallReport {
    /// The wall.
    pub wall: Wall,
    /// Whether it stands.
    #[serde(flatten)]
    pub state: WallState,
    /// How it was built; may be empty.
    pub detail: String,
}

/// What one attempt to get through a wall came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// What was tried.
    pub name: String,
    /// The wall it was tried on.
    pub wall: Wall,
    /// Whether the wall held.
    pub passed: bool,
    /// What happened.
    pub detail: String,
}

/// What [`super::enter`] achieved. Every wall appears exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Which process this is.
    pub profile: Profile,
    /// The walls, in the order in which they were put up.
    pub walls: Vec<WallReport>,
    /// The walls tried one by one, when [`super::JailConfig::self_check`] asked for it.
    pub checks: Vec<ProbeResult>,
    /// User id as the jailed process sees it.
    pub uid: u32,
    /// Every descriptor left open.
    pub descriptors: Vec<i32>,
}

impl Report {
    pub(super) fn new(profile: Profile) -> Self {
        Report {
            profile,
            walls: Vec::with_capacity(Wall::ALL.len()),
            checks: Vec::new(),
            uid: 0,
            descriptors: Vec::new(),
        }
    }

    pub(super) fn active(&mut self, wall: Wall, detail: impl Into<String>) {
        self.set(wall, WallState::Active, detail.into());
    }

    pub(super) fn missing(&mut self, wall: Wall, reason: impl Into<String>) {
        let reason = reason.into();
        self.set(wall, WallState::Missing { reason }, String::new());
    }

    fn set(&mut self, wall: Wall, state: WallState, detail: String) {
        let entry = WallReport { wall, state, detail };
        match self.walls.iter_mut().find(|known| known.wall == wall) {
            Some(known) => *known = entry,
            None => self.walls.push(entry),
        }
    }

    /// Whether `wall` stands.
    pub fn is_active(&self, wall: Wall) -> bool {
        self.walls.iter().any(|entry| entry.wall == wall && entry.state == WallState::Active)
    }

    /// The walls that do not stand, with their reasons.
    pub fn missing_walls(&self) -> impl Iterator<Item = (Wall, &str)> {
        self.walls.iter().filter_map(|entry| match &entry.state {
            WallState::Active => None,
            WallState::Missing { reason } => Some((entry.wall, reason.as_str())),
        })
    }

    /// Applies the policy: an error names every wall whose absence is fatal.
    pub(super) fn judge(&self, require: Require) -> Result<(), JailError> {
        let fatal: Vec<String> = Wall::ALL
            .iter()
            .filter(|wall| require == Require::All || wall.is_mandatory())
            .filter(|wall| !self.is_active(**wall))
            .map(|wall| match self.missing_walls().find(|(w, _)| w == wall) {
                Some((_, reason)) => format!("{wall:?}: {reason}"),
                None => format!("{wall:?}: never put up"),
            })
            .collect();
        if fatal.is_empty() { Ok(()) } else { Err(JailError::WallsMissing(fatal)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Report {
        let mut report = Report::new(Profile::Zygote);
        for wall in Wall::ALL {
            report.active(wall, "");
        }
        report
    }

    #[test]
    fn every_wall_once() {
        let mut walls = Wall::ALL.to_vec();
        walls.sort();
        walls.dedup();
        assert_eq!(walls.len(), Wall::ALL.len());
        assert!(complete().judge(Require::All).is_ok());
    }

    #[test]
    fn a_forgotten_wall_is_a_missing_wall() {
        let mut report = complete();
        report.walls.retain(|entry| entry.wall != Wall::Seccomp);
        assert!(report.judge(Require::Best).is_err());
        report = complete();
        report.walls.retain(|entry| entry.wall != Wall::NetNamespace);
        assert!(report.judge(Require::Best).is_ok());
        assert!(report.judge(Require::All).is_err());
    }

    #[test]
    fn only_mandatory_walls_are_fatal_at_best_effort() {
        for wall in Wall::ALL {
            let mut report = complete();
            report.missing(wall, "because");
            assert_eq!(report.judge(Require::Best).is_err(), wall.is_mandatory());
            assert!(report.judge(Require::All).is_err());
        }
    }
}
