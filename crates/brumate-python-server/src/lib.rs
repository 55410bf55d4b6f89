//! MCP servers that are written in Python and run in machines of the sandbox. The host has their clients, and trusts the servers in
//! nothing: it bounds what they send, checks each message, and restarts a machine that has died.
//!
//! The crate knows no engine. A [`Launcher`] starts a machine and gives the host's ends of its pipes; tests start CPython instead.
//!
//! | module | subject |
//! |---|---|
//! | `machine` | what a launcher gives: pipes, control, the end |
//! | `announcement`, `start` | the first line of a machine: what it serves |
//! | `backoff`, `reports` | a server that dies again and again: how long a start waits, and what the log says |
//! | `stdio` | a client over lines: requests with limits, restarts |
//! | `http` | an ASGI application over frames |

mod announcement;
mod backoff;
pub mod http;
mod machine;
mod reports;
mod start;
pub mod stdio;

pub use announcement::{Announcement, AnnouncementError};
pub use backoff::{CRASH_WINDOW, FIRST_RESTART_DELAY, MAX_FAILED_STARTS, MAX_RESTART_DELAY};
pub use machine::{LaunchError, Launcher, Machine, MachineControl, MachineEnd, MachinePipes};
pub use start::{StartError, StartedMachine};
