//! A server over lines of JSON-RPC: one client, one machine at a time.
//!
//! | what happens | what the host does |
//! |---|---|
//! | a request reaches its time limit | it answers the client, cancels the request, and interrupts a tool that keeps the loop busy; a server that does not go on is killed |
//! | the machine dies, or breaks the protocol | it answers all open requests; the next request of the client starts a new machine, after a wait if it died often |
//! | the machine cannot be started again, three times one after the other | the server ends |
//! | the server's file has changed (`dev`) | it starts a new machine, and tells the client that lists have changed |
//! | the client closes its end | open requests have five seconds to end; then the server's input is closed, so that its lifespan can end |
//!
//! A new machine gets the client's `initialize` and `notifications/initialized` again.

mod answers;
mod client;
mod envelope;
mod event;
mod lines;
mod live;
mod request_id;
mod requests;
mod supervisor;

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::machine::{Launcher, MachineEnd};
use crate::start::StartedMachine;
use supervisor::Supervisor;

/// Settings of [`serve_stdio`].
#[derive(Debug)]
pub struct StdioOptions {
    /// Time limit of a request, from its delivery to its answer. Default: 60 seconds.
    pub request_timeout: Duration,
    /// How long a server may take to react: to an interrupt, and to the end of its input. Then it is killed. Default: 2 seconds.
    pub grace: Duration,
    /// Each message restarts the server.
    pub reload: Option<mpsc::Receiver<()>>,
}

impl Default for StdioOptions {
    fn default() -> Self {
        Self { request_timeout: Duration::from_secs(60), grace: Duration::from_secs(2), reload: None }
    }
}

/// Serves one client over two streams, until the client closes its end, the server ends by itself, or `shutdown` is cancelled. Returns
/// the end of the last machine.
///
/// `first` is the first machine; `launcher` starts the next ones.
///
/// # Errors
///
/// The system's error when the client's input cannot be read.
pub async fn serve_stdio(
    launcher: &dyn Launcher,
    first: StartedMachine,
    client: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    options: StdioOptions,
    shutdown: CancellationToken,
) -> std::io::Result<MachineEnd> {
    Supervisor::new(launcher, first, client, options).run(shutdown).await
}

/// A function for the fuzz targets: what a line reaches. Not part of the interface.
#[doc(hidden)]
pub mod fuzzing {
    use super::envelope;

    /// Returns the messages of a line, as they would be passed on.
    pub fn messages(line: &[u8]) -> Vec<&[u8]> {
        let messages = envelope::split(line).unwrap_or_default();
        messages.into_iter().filter(|message| envelope::parse(message).is_ok()).collect()
    }
}
