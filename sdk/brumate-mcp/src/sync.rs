//! Mutexes that a panic does not poison.

pub(crate) use brumate_mcp_oauth::internal::lock;
