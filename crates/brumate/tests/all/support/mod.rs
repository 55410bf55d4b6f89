//! What several tests use.

pub(crate) mod chance;
pub(crate) mod processes;
pub(crate) mod sessions;
pub(crate) mod wheels;
