//! Anonymous memory of a process, as the kernel counts it.

use rustix::process::Pid;

/// Returns the anonymous memory of `pid`, resident or swapped out, in bytes, including what it shares with forks.
/// `None` if the kernel does not report it, as with `hidepid` in `/proc`.
///
/// The caller makes sure that `pid` was still the same process afterwards.
#[expect(clippy::disallowed_methods, reason = "the kernel's file is short")]
pub(super) fn anonymous_bytes(pid: Pid) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    parse(&status)
}

fn parse(status: &str) -> Option<u64> {
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes = line.trim().strip_suffix(" kB")?;
        kilobytes.parse::<u64>().ok()?.checked_mul(1024)
    };
    // A kernel without swap has no such line.
    Some(field("RssAnon:")?.saturating_add(field("VmSwap:").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_counts() {
        let own = rustix::process::getpid();
        let before = anonymous_bytes(own).expect("one's own");
        let memory = vec![1u8; 32 << 20];
        let after = anonymous_bytes(own).expect("one's own");
        assert!(after >= before + (30 << 20), "{before} {after} {}", memory[1 << 20]);
    }

    #[test]
    fn lines_that_are_missing_or_odd_are_no_numbers() {
        assert_eq!(parse("VmRSS:\t 10 kB\nRssAnon:\t     3 kB\nVmSwap:\t 1 kB\n"), Some(4096));
        assert_eq!(parse("RssAnon:\t     3 kB\n"), Some(3072));
        assert_eq!(parse("VmRSS:\t 10 kB\n"), None);
        assert_eq!(parse("RssAnon:\tmany kB\n"), None);
    }
}
