//! Settings of the sessions of one server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use brumate_engine_api::{Image, Limits};

use super::inputs::InputDirs;
use super::limits::SWEEP_EVERY;
use crate::admission::{Admission, WhenFull};
use crate::allowance::Allowances;
use crate::grants::Grants;
use crate::packages::Packages;

/// Time at which sessions are written to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When they are hibernated and at a regular shutdown; before an answer only if the session has no crash recovery, or if
    /// its estimated size exceeds a limit of the disk. An answered change survives a killed server by its crash snapshot, but no
    /// crash of the host.
    #[default]
    Shutdown,
    /// Before each answer, synced to disk: an answered change survives a crash of the host.
    Cell,
}

/// Returns the free bytes on the disk of a directory; `None` if they are not known.
pub type FreeSpace = Arc<dyn Fn(&Path) -> Option<u64> + Send + Sync>;

/// Settings of [`Sessions`](super::Sessions).
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionSettings {
    /// Data directory. Several servers of one user can share it.
    pub data_dir: PathBuf,
    /// Limits of each session: time and output per cell, memory and files in all.
    pub limits: Limits,
    /// Directories of the host that every session gets.
    pub grants: Grants,
    /// Image that new sessions are forked from.
    pub image: Image,
    /// Most live sessions; others are hibernated.
    pub max_live: usize,
    /// Most sessions.
    pub max_sessions: usize,
    /// Most bytes of sessions on disk. Live sessions count with the estimated size of their file.
    pub max_disk_bytes: u64,
    /// Most cells at the same time.
    pub max_concurrent: usize,
    /// Treatment of further calls, and of calls that wait for one session or for a place among the live ones. Default: few may
    /// wait.
    pub when_full: WhenFull,
    /// Idle time after which a session is hibernated; `None` hibernates only to free places.
    pub hibernate_after: Option<Duration>,
    /// Time without use after which a session is removed; `None` never removes it.
    pub timeout: Option<Duration>,
    /// Input directories: directories of the host from which files may be uploaded by name.
    pub inputs: InputDirs,
    /// Time at which sessions are written to disk.
    pub durability: Durability,
    /// Whether cells are kept with their outputs, for notebooks.
    pub history: bool,
    /// Package service; `None` limits code to the packages of its image.
    pub packages: Option<Packages>,
    /// Requirements that every session starts with.
    pub dependencies: Vec<String>,
    /// Admission that is shared with other runs; `None` makes one for `max_concurrent` cells.
    pub admission: Option<Admission>,
    /// Allowances of the principals.
    pub allowances: Allowances,
    /// Time of day, for ages across restarts. Replaced in tests.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Time since the machine started, which is monotonic and counts suspension, for ages in a running server.
    /// Replaced in tests.
    pub elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// Free bytes on the disk of a directory. Replaced in tests.
    pub free_space: FreeSpace,
}

impl SessionSettings {
    /// Returns the documented defaults, with sessions in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            data_dir: data_dir.into(),
            limits: Limits::default(),
            grants: Grants::default(),
            image: session_image(),
            max_live: 50,
            max_sessions: 1000,
            max_disk_bytes: 10 << 30,
            max_concurrent: processors * 4,
            when_full: WhenFull::default(),
            hibernate_after: Some(Duration::from_secs(60)),
            timeout: Some(Duration::from_secs(30 * 60)),
            inputs: InputDirs::default(),
            durability: Durability::default(),
            history: true,
            packages: None,
            dependencies: Vec::new(),
            admission: None,
            allowances: Allowances::default(),
            now: Arc::new(SystemTime::now),
            elapsed: Arc::new(since_boot),
            free_space: Arc::new(free_space),
        }
    }

    /// Returns the time between two sweeps.
    pub(crate) fn sweep_every(&self) -> Duration {
        let shortest = [self.hibernate_after, self.timeout].into_iter().flatten().min().unwrap_or(SWEEP_EVERY);
        (shortest / 6).clamp(Duration::from_millis(500), SWEEP_EVERY)
    }
}

/// Returns the bytes that are free for this user on the disk of a directory; `None` if the system does not say.
fn free_space(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the image of new sessions, which has the packages of notebooks imported.
pub fn session_image() -> Image {
    Image::notebook()
}

impl std::fmt::Debug for SessionSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("SessionSettings");
        debug.field("data_dir", &self.data_dir).field("durability", &self.durability).finish_non_exhaustive()
    }
}
