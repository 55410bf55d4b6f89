//! Limits and names that all sessions share.

use std::time::Duration;

pub use brumate_engine_api::WORKSPACE;

/// Principal of sessions that were made over standard input and output.
pub const LOCAL_PRINCIPAL: &str = "local";
/// Calls that may wait for one session, in addition to the running one.
pub(crate) const MAX_WAITING: usize = 16;
/// Calls that may wait for a place among the live sessions, for each place.
pub(crate) const WAITING_PER_LIVE: usize = 4;
/// Longest time between two sweeps for expired sessions. A call on an expired session fails at once in any case.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(5 * 60);
/// Files of a session that are listed and reported; further ones exist only in the sandbox.
pub(crate) const MAX_KNOWN_FILES: usize = 1000;
/// Files that one cell reports; its last line has the number of further ones.
pub(crate) const MAX_REPORTED_FILES: usize = 50;
/// Files outside of the working directory that one cell reports.
pub(crate) const MAX_FILES_ELSEWHERE: usize = 10;
/// Pictures of one cell that are kept as files.
pub(crate) const MAX_FIGURES: usize = 50;
/// Most bytes of one picture.
pub(crate) const MAX_FIGURE_BYTES: usize = 16 << 20;
/// Bytes of a cell's text in its answer; longer text is a resource.
pub(crate) const ANSWER_BYTES: usize = 32 << 10;
/// Texts of earlier cells that are kept as resources.
pub(crate) const MAX_KEPT_OUTPUTS: usize = 20;
/// Bytes that are read from a file, or written to one, at once.
pub(crate) const CHUNK_BYTES: u64 = 1 << 20;
/// Largest file that is returned whole, in bytes.
pub const MAX_RESOURCE_BYTES: u64 = 32 << 20;
