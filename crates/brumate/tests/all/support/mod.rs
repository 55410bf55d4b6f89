//! What several tests use.

pub(crate) mod bombs;
pub(crate) mod mcp_client;
pub(crate) mod modules;
pub(crate) mod played;
pub(crate) mod processes;
pub(crate) mod sessions;
pub(crate) mod wheels;
