//! The kernel's count of processes that its out-of-memory killer has ended in this server's control group.
//!
//! A machine that is gone by `SIGKILL` may have been ended by that killer, or by somebody else. The signal alone does not
//! say which.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::api::ExitReason;

/// Most bytes that are read of a file of the kernel.
const MAX_KERNEL_FILE: u64 = 16 << 10;

/// Time for which a growth of the count explains ends: the killer may end several machines at once.
const EXPLAINS_FOR: Duration = Duration::from_secs(2);

/// The count, as it was last read.
#[derive(Debug, Default)]
pub(crate) struct OomKills {
    /// File with a line `oom_kill NUMBER`; `None` if there is none.
    file: Option<PathBuf>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    count: u64,
    /// When it was seen to have grown.
    grown: Option<Instant>,
}

impl OomKills {
    /// Finds the count of this process's control group.
    pub(crate) fn of_this_process() -> OomKills {
        let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
        OomKills::at(candidates(&groups).into_iter().find(|file| count(file).is_some()))
    }

    fn at(file: Option<PathBuf>) -> OomKills {
        let count = file.as_deref().and_then(count).unwrap_or(0);
        OomKills { file, seen: Mutex::new(Seen { count, grown: None }) }
    }

    /// Returns whether the killer has ended a process lately: since the last call, or within [`EXPLAINS_FOR`]. It is called
    /// at the end of each machine, so that later ends are not explained by this one.
    pub(crate) fn has_grown(&self) -> bool {
        self.has_grown_at(Instant::now())
    }

    fn has_grown_at(&self, now: Instant) -> bool {
        let Some(count) = self.file.as_deref().and_then(count) else { return false };
        let mut seen = self.seen.lock();
        if std::mem::replace(&mut seen.count, count) < count {
            seen.grown = Some(now);
        }
        seen.grown.is_some_and(|grown| now.saturating_duration_since(grown) < EXPLAINS_FOR)
    }
}

/// A machine whose memory was within this part of its limit was killed at the limit.
const NEAR_LIMIT: u64 = 8;

/// Returns why a machine ended by a `SIGKILL` that this server has not sent. `peak` and `limit`: its memory, in bytes;
/// `has_grown`: what [`OomKills::has_grown`] said.
pub(super) fn reason(peak: Option<u64>, limit: u64, has_grown: bool) -> ExitReason {
    match peak {
        Some(peak) if peak >= limit - limit / NEAR_LIMIT => ExitReason::MemoryLimit,
        _ if has_grown => ExitReason::HostMemory,
        _ => ExitReason::Signal(libc::SIGKILL),
    }
}

/// Returns where the count may be, by the lines of `/proc/self/cgroup`. In a container the path may be the host's.
fn candidates(groups: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.events"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.oom_control")
            }
            _ => continue,
        };
        let root = Path::new(root);
        found.extend([root.join(path.trim_start_matches('/')).join(name), root.join(name)]);
    }
    found
}

/// Reads the count.
fn count(file: &Path) -> Option<u64> {
    read(file)?.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

fn read(file: &Path) -> Option<String> {
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "at most `MAX_KERNEL_FILE`")]
    std::fs::File::open(file).ok()?.take(MAX_KERNEL_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_from_the_last_look() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("memory.events");
        std::fs::write(&file, "low 0\nhigh 7\noom 2\noom_kill 2\noom_group_kill 0\n").unwrap();
        let kills = OomKills::at(Some(file.clone()));
        let now = Instant::now();
        assert!(!kills.has_grown_at(now));
        std::fs::write(&file, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n").unwrap();
        assert!(kills.has_grown_at(now));
        assert!(kills.has_grown_at(now + EXPLAINS_FOR / 2), "it may have ended several");
        assert!(!kills.has_grown_at(now + EXPLAINS_FOR));
        std::fs::remove_file(&file).unwrap();
        assert!(!kills.has_grown() && !OomKills::default().has_grown());
    }

    #[test]
    fn a_kill_from_outside_is_no_limit() {
        for (peak, has_grown, expected) in [
            (Some(1000), false, ExitReason::MemoryLimit),
            (Some(900), true, ExitReason::MemoryLimit),
            (Some(100), true, ExitReason::HostMemory),
            (None, true, ExitReason::HostMemory),
            (Some(100), false, ExitReason::Signal(9)),
            (None, false, ExitReason::Signal(9)),
        ] {
            assert_eq!(reason(peak, 1000, has_grown), expected, "{peak:?} {has_grown}");
        }
    }

    #[test]
    fn the_count_is_looked_for_in_both_hierarchies() {
        let found = candidates("4:memory:/a/b\n3:cpuset:/\n0::/c\n");
        let found: Vec<_> = found.iter().map(|path| path.to_str().unwrap()).collect();
        let expected = [
            "/sys/fs/cgroup/memory/a/b/memory.oom_control",
            "/sys/fs/cgroup/memory/memory.oom_control",
            "/sys/fs/cgroup/c/memory.events",
            "/sys/fs/cgroup/memory.events",
        ];
        assert_eq!(found, expected);
    }
}
