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
        let path = |name: &str| format!("/proc/{pid}/{name}");
        let status = std::fs::read_to_string(path("status")).expect("it lives");
        let kilobytes =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        let memory = kilobytes.map(|kilobytes: u64| kilobytes * 1024).expect("VmRSS");
        // Of a jailed process only root may see these.
        let descriptors = std::fs::read_dir(path("fd")).map_or(0, Iterator::count);
        let mappings = std::fs::read_to_string(path("maps")).map_or(0, |maps| maps.lines().count());
        Usage { pid, memory, descriptors, mappings }
    }
}

impl Footprint {
    fn now() -> Footprint {
        let this = std::process::id() as i32;
        let below = processes::descendants();
        let zygotes = processes::zygotes(this);
        Footprint {
            server: Usage::of(this),
            zygotes: zygotes.into_iter().map(Usage::of).collect(),
            processes: below.len(),
        }
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
