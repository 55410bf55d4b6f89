//! Machines of sessions: which session has which machine. One more is kept ready for the next session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use brumate_mcp::Principal;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::machine_places::MachinePlaces;
use super::owned_machine::{OwnedMachine, hold_place};
use super::spare_machine::SpareMachine;
use super::starting::MachineStarter;
use crate::backoff::Backoff;

/// Longest id of a session, in bytes. A response with a longer one begins no session.
const MAX_SESSION_ID_BYTES: usize = 256;

/// A machine cannot be had.
#[derive(Debug)]
pub(super) enum NoSessionMachine {
    /// All places are taken, or those of the principal.
    NoPlace,
    /// It could not be started.
    NotStarted,
}

/// A session, and its machine.
#[derive(Debug, Clone)]
struct Session {
    principal: Option<Principal>,
    machine: Arc<OwnedMachine>,
}

/// The machine of a principal's requests that belong to no session.
type PrincipalMachine = Arc<tokio::sync::Mutex<Option<OwnedMachine>>>;

/// All sessions and their machines.
#[derive(Debug)]
pub(super) struct Sessions {
    starter: MachineStarter,
    places: MachinePlaces,
    spare: SpareMachine,
    /// Starts that have failed. Meanwhile no machine is started.
    failures: Arc<Mutex<Backoff>>,
    /// Crashes of each principal's machines. The next start of the principal waits.
    crashes: Arc<Mutex<HashMap<Option<Principal>, Backoff>>>,
    by_id: Arc<Mutex<HashMap<String, Session>>>,
    by_principal: Arc<Mutex<HashMap<Option<Principal>, PrincipalMachine>>>,
    stop: CancellationToken,
    machines: TaskTracker,
}

impl Sessions {
    /// Makes a table whose first session gets the machine `first`.
    pub(super) fn new(first: Connection, starter: MachineStarter) -> Self {
        let limits = starter.limits();
        let failures = Arc::default();
        Self {
            places: MachinePlaces::new(limits.max_machines, limits.max_machines_each),
            spare: SpareMachine::new(first, starter.clone(), Arc::clone(&failures)),
            starter,
            failures,
            crashes: Arc::default(),
            by_id: Arc::default(),
            by_principal: Arc::default(),
            stop: CancellationToken::new(),
            machines: TaskTracker::new(),
        }
    }

    /// Starts a machine for a principal.
    ///
    /// # Errors
    ///
    /// [`NoSessionMachine`].
    pub(super) async fn start(&self, principal: Option<&Principal>) -> Result<OwnedMachine, NoSessionMachine> {
        let delay = self.crashes.lock().get(&principal.cloned()).map_or(Duration::ZERO, Backoff::delay);
        tokio::time::sleep(delay).await;
        let place = self.places.take(principal).ok_or(NoSessionMachine::NoPlace)?;
        let machine = match self.spare.take() {
            Some(machine) => machine,
            None if !self.failures.lock().delay().is_zero() => return Err(NoSessionMachine::NotStarted),
            None => match self.starter.start().await {
                Ok(started) => {
                    self.failures.lock().started();
                    OwnedMachine::new(started)
                }
                Err(error) => {
                    self.failures.lock().start_failed();
                    self.starter.reports().error("a machine for a session could not be started", &error.to_string());
                    return Err(NoSessionMachine::NotStarted);
                }
            },
        };
        if self.places.has_room() {
            self.spare.refill(&self.machines, self.stop.clone());
        }
        let (connection, idle) = (machine.connection().clone(), self.starter.limits().session_idle);
        let (stop, by_id, by_principal) = (self.stop.clone(), Arc::clone(&self.by_id), Arc::clone(&self.by_principal));
        let (starter, crashes, principal) = (self.starter.clone(), Arc::clone(&self.crashes), principal.cloned());
        self.machines.spawn(async move {
            let stopping = connection.clone();
            let held = hold_place(connection.clone(), place, idle);
            tokio::pin!(held);
            tokio::select! {
                () = &mut held => {}
                () = stop.cancelled() => {
                    stopping.stop();
                    held.await;
                }
            }
            if connection.has_crashed() {
                starter.reports().error("the machine of a session has ended", &connection.closed_because());
                let mut crashes = crashes.lock();
                crashes.retain(|_, backoff| !backoff.is_over());
                crashes.entry(principal).or_default().crashed();
            }
            by_id.lock().retain(|_, session| session.machine.connection().is_open());
            // A machine that is being started is locked, and stays.
            by_principal.lock().retain(|_, machine| {
                machine
                    .try_lock()
                    .map_or(true, |machine| machine.as_ref().is_some_and(|machine| machine.connection().is_open()))
            });
        });
        Ok(machine)
    }

    /// Binds the id of a session to a machine and a principal. Returns the machine if the id cannot be bound: it is bound already, or
    /// is not valid.
    pub(super) fn bind(
        &self,
        id: &str,
        principal: Option<&Principal>,
        machine: OwnedMachine,
    ) -> Result<(), OwnedMachine> {
        let mut by_id = self.by_id.lock();
        if id.is_empty() || id.len() > MAX_SESSION_ID_BYTES || by_id.contains_key(id) {
            return Err(machine);
        }
        let session = Session { principal: principal.cloned(), machine: Arc::new(machine) };
        by_id.insert(id.to_owned(), session);
        Ok(())
    }

    /// Returns the machine of a session. Sessions of other principals are not found.
    pub(super) fn find(&self, id: &str, principal: Option<&Principal>) -> Option<Connection> {
        let by_id = self.by_id.lock();
        let session = by_id.get(id).filter(|session| session.principal.as_ref() == principal)?;
        Some(session.machine.connection().clone()).filter(Connection::is_open)
    }

    /// Ends a session and its machine.
    pub(super) fn end(&self, id: &str) {
        let ended = self.by_id.lock().remove(id);
        drop(ended);
    }

    /// Returns the machine of a principal's requests that belong to no session; starts it if there is none.
    ///
    /// # Errors
    ///
    /// [`NoSessionMachine`].
    pub(super) async fn of_principal(&self, principal: Option<&Principal>) -> Result<Connection, NoSessionMachine> {
        let machine = Arc::clone(self.by_principal.lock().entry(principal.cloned()).or_default());
        let mut machine = machine.lock().await;
        if let Some(running) = machine.as_ref().filter(|machine| machine.connection().is_open()) {
            return Ok(running.connection().clone());
        }
        let started = self.start(principal).await?;
        Ok(machine.insert(started).connection().clone())
    }

    /// Asks all machines to end, and waits until they have.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.machines.close();
        tokio::join!(self.spare.stop(), self.machines.wait());
        // One whose start had just succeeded.
        self.spare.stop().await;
    }
}
