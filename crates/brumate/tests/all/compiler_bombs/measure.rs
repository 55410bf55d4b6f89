//! Memory and confinement of compiler processes, read from `/proc`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::processes::{compilers, descendants};

/// Returns the bytes of a process's memory that are not of a file on disk.
pub(crate) fn own_memory_of(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (field("RssAnon:").unwrap_or(0) + field("RssShmem:").unwrap_or(0)) << 10
}

/// Measures the memory of the processes below this one.
pub(crate) struct MemoryWatch {
    stop: Arc<AtomicBool>,
    /// The most that all compilers together had, in bytes.
    compilers: Arc<AtomicU64>,
    /// The most that all processes together had, in bytes.
    all: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl MemoryWatch {
    /// Starts a thread that reads the memory of the processes every 5 ms.
    pub(crate) fn start() -> MemoryWatch {
        let (stop, most, all) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (ends, compiling, every) = (stop.clone(), most.clone(), all.clone());
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let sum = |pids: BTreeSet<i32>| pids.into_iter().map(own_memory_of).sum::<u64>();
                compiling.fetch_max(sum(compilers()), Ordering::Relaxed);
                every.fetch_max(sum(descendants()), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        MemoryWatch { stop, compilers: most, all, thread: Some(thread) }
    }

    /// Ends the thread. Returns the most that all compilers had, and the most that all processes had, in bytes.
    pub(crate) fn end(mut self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it only looks");
        }
        (self.compilers.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}

/// Returns the number of threads, the allowed processors and the `nice` value of a compiler in its jail. Returns `None` before it
/// has entered the jail.
pub(crate) fn confinement(pid: i32) -> Option<(String, String, i32)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    if field("Seccomp:")? != "2" {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let nice = stat.rsplit(')').next()?.split_whitespace().nth(16)?.parse().ok()?;
    Some((field("Threads:")?, field("Cpus_allowed_list:")?, nice))
}
