//! How long jailed processes may take before they count as stuck.

use std::time::Duration;

/// Limits for waiting for processes that do not run guest code yet. A healthy system stays far below them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartupTimeouts {
    /// For a zygote to boot and import what it preloads.
    pub boot: Duration,
    /// For a machine to be forked and to send its hello. A zygote that exceeds it is replaced.
    pub hello: Duration,
    /// For a machine to parse a source text; the grace time comes on top.
    pub parse: Duration,
}

impl Default for StartupTimeouts {
    fn default() -> StartupTimeouts {
        StartupTimeouts {
            boot: Duration::from_secs(120),
            hello: Duration::from_secs(20),
            parse: Duration::from_secs(10),
        }
    }
}
