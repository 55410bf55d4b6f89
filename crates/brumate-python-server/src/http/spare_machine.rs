//! A machine that is started ahead of the next session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::owned_machine::OwnedMachine;
use super::starting::MachineStarter;
use crate::backoff::Backoff;

/// Time between the start of a session and the start of the next machine: the session has the processor first.
const REFILL_DELAY: Duration = Duration::from_millis(20);

/// At most one machine that no session has yet, with the revision of its program.
#[derive(Debug)]
pub(super) struct SpareMachine {
    starter: MachineStarter,
    machine: Arc<Mutex<Option<(OwnedMachine, u64)>>>,
    /// Set while a machine is being started.
    starting: Arc<AtomicBool>,
    /// Starts that have failed. Meanwhile no machine is started ahead.
    failures: Arc<Mutex<Backoff>>,
}

impl SpareMachine {
    /// Makes a spare machine of the first one.
    pub(super) fn new(first: Connection, starter: MachineStarter, failures: Arc<Mutex<Backoff>>) -> Self {
        let machine = (OwnedMachine::new(first), starter.revision());
        Self { starter, machine: Arc::new(Mutex::new(Some(machine))), starting: Arc::default(), failures }
    }

    /// Takes the machine. `None` if there is none, it has ended, or its program has changed since it was started.
    pub(super) fn take(&self) -> Option<OwnedMachine> {
        let (machine, revision) = self.machine.lock().take()?;
        (machine.connection().is_open() && revision == self.starter.revision()).then_some(machine)
    }

    /// Starts the next machine in the background, unless one is there, is being started, or `stop` is cancelled.
    pub(super) fn refill(&self, tasks: &TaskTracker, stop: CancellationToken) {
        let waits = !self.failures.lock().delay().is_zero();
        if waits || self.machine.lock().is_some() || self.starting.swap(true, Ordering::AcqRel) {
            return;
        }
        let (starter, slot, starting) = (self.starter.clone(), Arc::clone(&self.machine), Arc::clone(&self.starting));
        let failures = Arc::clone(&self.failures);
        tasks.spawn(async move {
            let start = async {
                tokio::time::sleep(REFILL_DELAY).await;
                let revision = starter.revision();
                (starter.start().await, revision)
            };
            let started = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                started = start => started,
            };
            match started {
                (Ok(machine), revision) => {
                    failures.lock().started();
                    *slot.lock() = Some((OwnedMachine::new(machine), revision));
                }
                (Err(error), _) => {
                    failures.lock().start_failed();
                    starter.reports().error("no machine could be started for the next session", &error.to_string());
                }
            }
            starting.store(false, Ordering::Release);
        });
    }

    /// Ends the machine, and waits until it has ended.
    pub(super) async fn stop(&self) {
        let machine = self.machine.lock().take();
        if let Some((machine, _)) = machine {
            machine.connection().stop();
            machine.connection().closed().await;
        }
    }
}
