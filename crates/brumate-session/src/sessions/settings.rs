//! Settings of the sessions of one server, and what bounds them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use brumate_engine_api::{Image, Limits};

use super::disk::free_space;
use super::inputs::InputDirs;
use crate::admission::Admission;
use crate::allowance::Allowances;
use crate::packages::Packages;

/// Where a session's code works and its files lie, in the guest.
pub const WORKSPACE: &str = "/workspace";
/// Whom sessions belong to that were made over standard input and output.
pub const LOCAL_PRINCIPAL: &str = "local";
/// Calls that may wait for one session, beside the one that it runs.
pub(crate) const MAX_WAITING: usize = 16;
/// Sessions that may wait until one of those that are awake is put to sleep, for each that may be awake.
pub(crate) const WAITING_PER_LIVE: usize = 4;
/// Expired sessions are looked for at least this often; whoever uses one is told at once in any case.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(5 * 60);
/// Files of a session that are known by name. More are there, but neither listed nor reported.
pub(crate) const MAX_KNOWN_FILES: usize = 1000;
/// Files that one cell reports; the others are listed, and the last line says how many.
pub(crate) const MAX_REPORTED_FILES: usize = 50;
/// Files outside of the working directory that one cell reports.
pub(crate) const MAX_FILES_ELSEWHERE: usize = 10;
/// Pictures that one cell keeps as files.
pub(crate) const MAX_FIGURES: usize = 50;
/// Bytes of one picture.
pub(crate) const MAX_FIGURE_BYTES: usize = 16 << 20;
/// Text of a cell that is part of the answer; all of it is a resource when it is longer.
pub(crate) const ANSWER_BYTES: usize = 32 << 10;
/// Texts of past cells that are kept as resources.
pub(crate) const MAX_KEPT_OUTPUTS: usize = 20;
/// Bytes that are read of a file, or written to one, at once.
pub(crate) const CHUNK_BYTES: u64 = 1 << 20;
/// Largest file that is handed out whole.
pub const MAX_RESOURCE_BYTES: u64 = 32 << 20;

/// What survives what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Sessions are written when they are put to sleep and when the server ends in order.
    #[default]
    Shutdown,
    /// Sessions are written, and the disk has them, before each answer: what was answered survives the end of the host.
    Cell,
}

/// Says how many bytes are free on the disk of a directory, if that is known.
pub type FreeSpace = Arc<dyn Fn(&Path) -> Option<u64> + Send + Sync>;

/// Settings of [`Sessions`](super::Sessions).
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionSettings {
    /// Where sessions are kept; one server at a time uses it.
    pub data_dir: PathBuf,
    /// Limits of each session: time and output per cell, memory and files in all.
    pub limits: Limits,
    /// Image that sessions begin with.
    pub image: Image,
    /// Sessions that are awake at the same time; others sleep.
    pub max_live: usize,
    /// Sessions in all.
    pub max_sessions: usize,
    /// Bytes that sessions may take on disk. Those that are awake count with what they would take.
    pub max_disk_bytes: u64,
    /// Cells that run at the same time; four times as many may wait.
    pub max_concurrent: usize,
    /// Idle sessions sleep after this time; `None`: only when others need their place.
    pub hibernate_after: Option<Duration>,
    /// Sessions are removed after this time without use; `None`: never.
    pub timeout: Option<Duration>,
    /// Directories of the host from which files may be uploaded by name.
    pub inputs: InputDirs,
    /// What survives what.
    pub durability: Durability,
    /// Where packages come from; without it code in sessions has what its image has.
    pub packages: Option<Packages>,
    /// Requirements that every session begins with.
    pub dependencies: Vec<String>,
    /// The gate that cells go through, shared with other runs; without it there is one of their own, for `max_concurrent`.
    pub admission: Option<Admission>,
    /// What each principal may use.
    pub allowances: Allowances,
    /// The time of day, which may be set; another one in tests. Ages across restarts are taken from it.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// The time since the machine started, which never jumps and goes on while it is suspended; another one in tests. Ages in a
    /// running server are taken from it.
    pub elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// The bytes that are free on the disk of a directory, if that is known; others in tests.
    pub free_space: FreeSpace,
}

impl SessionSettings {
    /// The documented defaults, with sessions kept in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            data_dir: data_dir.into(),
            limits: Limits::default(),
            image: session_image(),
            max_live: 50,
            max_sessions: 1000,
            max_disk_bytes: 10 << 30,
            max_concurrent: processors * 4,
            hibernate_after: Some(Duration::from_secs(60)),
            timeout: Some(Duration::from_secs(30 * 60)),
            inputs: InputDirs::default(),
            durability: Durability::default(),
            packages: None,
            dependencies: Vec::new(),
            admission: None,
            allowances: Allowances::default(),
            now: Arc::new(SystemTime::now),
            elapsed: Arc::new(since_boot),
            free_space: Arc::new(free_space),
        }
    }

    /// How often the sessions are looked through.
    pub(crate) fn sweep_every(&self) -> Duration {
        let shortest = [self.hibernate_after, self.timeout].into_iter().flatten().min().unwrap_or(SWEEP_EVERY);
        (shortest / 6).clamp(Duration::from_millis(500), SWEEP_EVERY)
    }
}

fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What sessions begin with: what analysts use is imported already.
pub fn session_image() -> Image {
    Image::notebook()
}

impl std::fmt::Debug for SessionSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("SessionSettings");
        debug.field("data_dir", &self.data_dir).field("durability", &self.durability).finish_non_exhaustive()
    }
}
