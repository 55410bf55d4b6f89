//! The caches that may keep the answers of a server.

/// Who may cache an answer (`cacheScope`, since 2026-07-28).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Every cache between server and client, for every client.
    Public,
    /// The client, for the user of the request.
    Private,
}
