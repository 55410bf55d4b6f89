//! What the server and its zygotes use.

use std::time::{Duration, Instant};

use crate::support::processes;

/// How long what was dropped may take to be gone. No measurement: it bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) pid: i32,
    /// Resident memory, in bytes.
    pub(crate) memory: u64,
    pub(crate) descriptors: usize,
    pub(crate) mappings: usize,
}

/// This process, which is the server, and those it has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) server: Usage,
    pub(crate) zygotes: Vec<Usage>,
    /// Processes below this one, zombies included.
    pub(crate) processes: usize,
}

impl Usage {
    fn of(pid: i32) -> Usage {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("it lives and is ours");
        let status = read("status");
        let kilobytes =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        let memory = kilobytes.map(|kilobytes: u64| kilobytes * 1024).expect("VmRSS");
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it is ours").count();
        Usage { pid, memory, descriptors, mappings: read("maps").lines().count() }
    }
}

impl Footprint {
    fn now() -> Footprint {
        let this = std::process::id() as i32;
        let below = processes::descendants();
        let zygotes = below.iter().copied().filter(|&pid| processes::parent_of(pid) == Some(this));
        Footprint { server: Usage::of(this), zygotes: zygotes.map(Usage::of).collect(), processes: below.len() }
    }

    /// The footprint once nothing moves any more, and, when there is an expected one, no more processes and descriptors are
    /// left than there; or when patience ends.
    pub(crate) async fn settled(expected: Option<&Footprint>) -> Footprint {
        let deadline = Instant::now() + PATIENCE;
        let mut before = Footprint::now();
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = Footprint::now();
            let counts = |footprint: &Footprint| (footprint.processes, footprint.server.descriptors);
            let quiet = counts(&now) == counts(&before);
            let good = expected.is_none_or(|expected| {
                now.processes <= expected.processes && now.server.descriptors <= expected.server.descriptors
            });
            if quiet && good || Instant::now() >= deadline {
                return now;
            }
            before = now;
        }
    }
}
