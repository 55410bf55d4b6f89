//! One machine for all clients. When it has ended, the next request starts a new one.

use std::sync::Arc;

use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::starting::MachineStarter;
use crate::backoff::Backoff;
use crate::reports::elide_middle;

/// Most requests that wait for the machine to start. Further ones are refused.
const MAX_WAITING: usize = 1024;
/// Longest reason of the last start that failed, in bytes.
const MAX_LAST_WORDS: usize = 16 << 10;

/// The progress of the machine: running, ended, or given up.
#[derive(Debug, Clone)]
enum MachineProgress {
    Running(Connection),
    /// It has ended, or could not be started. `attempts` is the number of starts until now.
    Ended {
        attempts: u64,
    },
    /// The service gives up.
    GivenUp,
}

/// A request gets no machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMachine {
    /// Too many requests wait for it.
    TooManyWaiting,
    /// It could not be started.
    NotStarted,
}

/// The machine of all clients.
#[derive(Debug)]
pub(super) struct SharedMachine {
    progress: watch::Receiver<MachineProgress>,
    /// Starts a machine when there is none.
    wanted: Arc<Notify>,
    waiting: Semaphore,
}

impl SharedMachine {
    /// Takes the first machine. What it returns as well keeps a machine until `stop` is cancelled, and returns the reason when it
    /// gives up.
    pub(super) fn new(
        first: Connection,
        starter: MachineStarter,
        stop: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), String>>) {
        let (sender, progress) = watch::channel(MachineProgress::Running(first.clone()));
        let wanted = Arc::new(Notify::new());
        let kept = keep(first, starter, stop, sender, Arc::clone(&wanted));
        (Self { progress, wanted, waiting: Semaphore::new(MAX_WAITING) }, kept)
    }

    /// Returns the machine; waits until it is started.
    ///
    /// # Errors
    ///
    /// [`NoMachine`].
    pub(super) async fn connection(&self) -> Result<Connection, NoMachine> {
        let mut progress = self.progress.clone();
        if let MachineProgress::Running(connection) = &*progress.borrow_and_update()
            && connection.is_open()
        {
            return Ok(connection.clone());
        }
        let _place = self.waiting.try_acquire().map_err(|_| NoMachine::TooManyWaiting)?;
        let mut before = None;
        loop {
            match &*progress.borrow_and_update() {
                MachineProgress::Running(connection) if connection.is_open() => return Ok(connection.clone()),
                // It is about to be noted that it has ended.
                MachineProgress::Running(_) => {}
                MachineProgress::Ended { attempts } => match before {
                    None => {
                        before = Some(*attempts);
                        self.wanted.notify_one();
                    }
                    Some(before) if before == *attempts => {}
                    Some(_) => return Err(NoMachine::NotStarted),
                },
                MachineProgress::GivenUp => return Err(NoMachine::NotStarted),
            }
            progress.changed().await.map_err(|_| NoMachine::NotStarted)?;
        }
    }
}

/// Keeps a machine until `stop` is cancelled. Then the machine has ended when this returns. After crashes the next start waits.
///
/// # Errors
///
/// The reason of the last start, when too many have failed one after the other.
async fn keep(
    first: Connection,
    starter: MachineStarter,
    stop: CancellationToken,
    progress: watch::Sender<MachineProgress>,
    wanted: Arc<Notify>,
) -> Result<(), String> {
    let mut connection = Some(first);
    let mut backoff = Backoff::default();
    for attempts in 1.. {
        let (what, reason, is_last) = match connection.take() {
            Some(connection) => {
                progress.send_replace(MachineProgress::Running(connection.clone()));
                tokio::select! {
                    () = connection.closed() => {}
                    () = stop.cancelled() => {
                        connection.stop();
                        connection.closed().await;
                        return Ok(());
                    }
                }
                backoff.crashed();
                ("the server has ended, and the next request starts it again", connection.closed_because(), false)
            }
            None => {
                let start = async {
                    tokio::time::sleep(backoff.delay()).await;
                    starter.start().await
                };
                tokio::select! {
                    started = start => match started {
                        Ok(started) => {
                            backoff.started();
                            connection = Some(started);
                            continue;
                        }
                        Err(error) => ("the server cannot be started again", error.to_string(), backoff.start_failed()),
                    },
                    () = stop.cancelled() => return Ok(()),
                }
            }
        };
        if is_last {
            progress.send_replace(MachineProgress::GivenUp);
            return Err(elide_middle(reason.trim_end(), MAX_LAST_WORDS));
        }
        starter.reports().error(what, &reason);
        progress.send_replace(MachineProgress::Ended { attempts });
        tokio::select! {
            () = wanted.notified() => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
    Ok(())
}
