//! Handles SIGINT and SIGTERM.

use brumate_session::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit_status;

/// The signals that ask a process to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Installs handlers. From now on the signals do not end the process by themselves.
    ///
    /// # Errors
    ///
    /// The handlers cannot be installed.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal. Returns its exit status.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => exit_status::INTERRUPTED,
            _ = self.terminate.recv() => exit_status::TERMINATED,
        }
    }

    /// Runs `work` until it ends or a signal comes. A signal ends it with the error `interrupted`, and its exit status is returned too.
    pub(crate) async fn interruptible<T, E>(
        self,
        work: impl Future<Output = Result<T, E>>,
        interrupted: impl FnOnce() -> E,
    ) -> (Result<T, E>, Option<u8>) {
        let cancel = CancellationToken::new();
        let work = async {
            tokio::select! {
                result = work => result,
                () = cancel.cancelled() => Err(interrupted()),
            }
        };
        self.guard(&cancel, work).await
    }

    /// Runs `work` to its end. The first signal cancels `cancel`, and its exit status is returned with the result. The second signal ends
    /// the process at once.
    pub(crate) async fn guard<T>(
        mut self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> (T, Option<u8>) {
        tokio::pin!(work);
        let status = tokio::select! {
            result = &mut work => return (result, None),
            status = self.next() => status,
        };
        cancel.cancel();
        tokio::select! {
            result = work => (result, Some(status)),
            status = self.next() => std::process::exit(status.into()),
        }
    }
}
