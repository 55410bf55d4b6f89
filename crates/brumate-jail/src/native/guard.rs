//! The first process of a jail: it reaps, measures and waits for the end.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

/// Time between two measurements of memory.
const MEASURE_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Longest status file of a process, in bytes; the kernel's have about 1500.
const STATUS_BYTES: usize = 8 << 10;

/// Exit status of a jail whose processes had more memory than they may.
pub const MEMORY_EXIT_STATUS: i32 = 77;

/// Reason for the end of a jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardEnd {
    /// The server has hung up.
    Hangup,
    /// The program has ended: with this exit status, or with this signal.
    Ended {
        /// Exit status.
        status: Option<i32>,
        /// Signal.
        signal: Option<i32>,
    },
    /// The processes together had more memory than they may, in bytes.
    Memory(u64),
}

/// Reaps what processes leave behind, and measures their memory. Returns when the jail has to end: with this process all others end.
pub(super) fn guard(control: BorrowedFd<'_>, program: Option<Pid>, memory_bytes: u64) -> GuardEnd {
    loop {
        let mut entry = [PollFd::new(&control, PollFlags::empty())];
        let hung_up = match rustix::event::poll(&mut entry, Some(&MEASURE_EVERY)) {
            Ok(_) => entry[0].revents().intersects(PollFlags::HUP | PollFlags::ERR),
            Err(Errno::INTR) => false,
            Err(_) => true,
        };
        if hung_up {
            return GuardEnd::Hangup;
        }
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if Some(pid) == program {
                return GuardEnd::Ended { status: status.exit_status(), signal: status.terminating_signal() };
            }
        }
        // The exact numbers take longer.
        if memory_of_all("status", &["RssAnon:", "RssShmem:", "VmSwap:"]) > memory_bytes {
            let used = memory_of_all("smaps_rollup", &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]);
            if used > memory_bytes {
                return GuardEnd::Memory(used);
            }
        }
    }
}

/// Returns the memory of all processes that no file backs, in bytes: the sum of these lines of a file of `/proc`. Zero where `/proc`
/// cannot be read.
fn memory_of_all(file: &str, lines: &[&str]) -> u64 {
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    let is_process = |name: &str| name.parse::<u32>().is_ok_and(|pid| pid != 1);
    names
        .filter_map(|name| name.to_str().filter(|name| is_process(name)).and_then(|pid| memory_of(pid, file, lines)))
        .sum()
}

#[expect(clippy::disallowed_methods, reason = "at most `STATUS_BYTES`")]
fn memory_of(pid: &str, file: &str, counted: &[&str]) -> Option<u64> {
    use std::io::Read as _;
    let file = std::fs::File::open(format!("/proc/{pid}/{file}")).ok()?;
    let mut text = String::new();
    file.take(STATUS_BYTES as u64).read_to_string(&mut text).ok()?;
    let kilobytes = |line: &str| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok();
    let lines = text.lines().filter(|line| counted.iter().any(|name| line.starts_with(name)));
    Some(lines.filter_map(kilobytes).sum::<u64>() * 1024)
}
