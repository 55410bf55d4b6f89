//! Connections of machines to other hosts.

use std::fmt;
use std::os::fd::OwnedFd;

use async_trait::async_trait;

/// Gives a machine its way to the hosts that are allowed.
#[async_trait]
pub trait NetworkAccess: fmt::Debug + Send + Sync {
    /// Returns a socket to the gateway, which speaks the protocol of `brumate-network`. A machine asks for it when its guest first needs it, and
    /// again when the gateway has died.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    async fn open(&self) -> Result<OwnedFd, String>;
}
