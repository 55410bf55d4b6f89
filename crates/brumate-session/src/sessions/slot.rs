//! One session in this process: whose turn it is, and where its state is.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brumate_engine_api::{Interrupter, Session};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::disk::Need;
use super::error::SessionError;
use super::id::SessionId;
use super::lease::Lease;
use super::record::{Record, SessionState};
use super::settings::MAX_WAITING;

/// Where the state of a session is, for whoever's turn it is.
pub(crate) enum Body {
    /// In a machine.
    Live(Live),
    /// In a file, or nowhere yet: [`Record::state`] tells.
    Away,
    /// The session was cleared or has expired.
    Gone,
}

/// A session that is awake.
pub(crate) struct Live {
    pub(crate) session: Box<dyn Session>,
    /// Its place among the sessions that may be awake.
    _place: OwnedSemaphorePermit,
}

impl Live {
    pub(crate) fn new(session: Box<dyn Session>, place: OwnedSemaphorePermit) -> Self {
        Self { session, _place: place }
    }
}

/// The exclusive use of a session: no other call of this server uses it, and no other server has its lease. When it ends, a
/// session that is awake keeps the lease; of others it is given back.
pub(crate) struct Turn {
    slot: Arc<Slot>,
    body: OwnedMutexGuard<Body>,
}

impl Deref for Turn {
    type Target = Body;

    fn deref(&self) -> &Body {
        &self.body
    }
}

impl DerefMut for Turn {
    fn deref_mut(&mut self) -> &mut Body {
        &mut self.body
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !matches!(*self.body, Body::Live(_)) {
            self.slot.set_lease(None);
        }
    }
}

/// A session.
pub(crate) struct Slot {
    record: Mutex<Record>,
    /// Whom it belongs to, as in the record.
    principal: Arc<str>,
    /// When it was used last, in milliseconds of a clock that does not jump; negative before that began.
    used: AtomicI64,
    /// This server's right to change it. While there is one the record is right, otherwise a copy of the registry's.
    lease: Mutex<Option<Lease>>,
    /// When it was used last, as the registry has it: milliseconds since 1970.
    stored_use: AtomicI64,
    body: Arc<tokio::sync::Mutex<Body>>,
    waiting: AtomicUsize,
    running: Mutex<Option<Running>>,
    /// The last cell that began was ended because somebody emptied or removed the session.
    killed: AtomicBool,
    /// Somebody has removed it, and waits for his turn to do so.
    cleared: AtomicBool,
    /// The generation that cannot be put to sleep, and why.
    unkeepable: Mutex<Option<(u64, SessionError)>>,
}

struct Running {
    interrupter: Arc<dyn Interrupter>,
    interrupted: bool,
}

impl Slot {
    /// A session that was used last at `used`, by the clock that does not jump.
    pub(crate) fn new(record: Record, used: Duration) -> Self {
        Self {
            principal: record.principal.as_str().into(),
            used: AtomicI64::new(millis(used)),
            lease: Mutex::new(None),
            stored_use: AtomicI64::new(record.last_used),
            record: Mutex::new(record),
            body: Arc::new(tokio::sync::Mutex::new(Body::Away)),
            waiting: AtomicUsize::new(0),
            running: Mutex::new(None),
            killed: AtomicBool::new(false),
            cleared: AtomicBool::new(false),
            unkeepable: Mutex::new(None),
        }
    }

    /// A session that at `now` has not been used for `idle`.
    pub(crate) fn aged(record: Record, now: Duration, idle: Duration) -> Self {
        let slot = Self::new(record, now);
        slot.used.store(millis(now).saturating_sub(millis(idle)), Ordering::Relaxed);
        slot
    }

    /// A session of a principal that is in no list.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub(crate) fn newcomer(principal: &str) -> Result<Self, SessionError> {
        Ok(Self::new(Record::new(SessionId::random()?, principal, 0), Duration::ZERO))
    }

    /// Whom it belongs to.
    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }

    /// How long at `now` it has not been used.
    pub(crate) fn idle(&self, now: Duration) -> Duration {
        let idle = millis(now).saturating_sub(self.used.load(Ordering::Relaxed));
        Duration::from_millis(u64::try_from(idle).unwrap_or(0))
    }

    /// It is used at `now`.
    pub(crate) fn set_used(&self, now: Duration) {
        self.used.store(millis(now), Ordering::Relaxed);
    }

    /// A file of its present state would have so many bytes.
    pub(crate) fn set_estimate(&self, bytes: u64) {
        self.record().estimated_bytes = bytes;
    }

    /// Disk space that it takes, or would take if it were put to sleep now.
    pub(crate) fn need(&self) -> Need {
        let record = self.record();
        let file = record.image.as_ref().map_or(0, |image| image.bytes);
        match record.state {
            SessionState::Live if record.current_image().is_none() => {
                Need { bytes: record.estimated_bytes.max(file), written: false }
            }
            _ => Need { bytes: file, written: true },
        }
    }

    /// The record. Never held while something is awaited.
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that this server has the lease of the session, or has it no more.
    pub(crate) fn set_lease(&self, lease: Option<Lease>) {
        // The one before ends outside of the lock.
        let _before = std::mem::replace(&mut *self.lease.lock().unwrap_or_else(PoisonError::into_inner), lease);
    }

    /// Whether this server has the lease of the session.
    pub(crate) fn has_lease(&self) -> bool {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Puts what the registry says in the place of what was known of a session that this server does not have.
    pub(crate) fn set_record(&self, record: Record, now: Duration, idle: Duration) {
        let used = millis(now).saturating_sub(millis(idle));
        self.used.fetch_max(used, Ordering::Relaxed);
        self.stored_use.store(record.last_used, Ordering::Relaxed);
        let mut known = self.record();
        let last_used = record.last_used.max(known.last_used);
        *known = Record { last_used, ..record };
    }

    /// Returns true when the registry has a time of the last use that is more than `step` milliseconds earlier. The caller
    /// stores the present one then.
    pub(crate) fn begin_store_use(&self, step: i64) -> bool {
        let used = self.record().last_used;
        let stored = self.stored_use.load(Ordering::Relaxed);
        stored.saturating_add(step) < used && self.stored_use.swap(used, Ordering::Relaxed) < used
    }

    /// Takes the session for one thing to do in this server; first come, first served.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] when too many wait, [`SessionError::Cancelled`].
    pub(crate) async fn lock(self: &Arc<Self>, cancel: &CancellationToken) -> Result<Turn, SessionError> {
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        if let Some(turn) = self.try_lock() {
            return Ok(turn);
        }
        let place = Place(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= MAX_WAITING {
            drop(place);
            return Err(SessionError::Busy { id: self.record().id.clone(), waiting: MAX_WAITING });
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(SessionError::Cancelled),
            body = Arc::clone(&self.body).lock_owned() => Ok(Turn { slot: Arc::clone(self), body }),
        }
    }

    /// Takes the session in this server if nobody has it and nobody waits for it.
    pub(crate) fn try_lock(self: &Arc<Self>) -> Option<Turn> {
        let body = Arc::clone(&self.body).try_lock_owned().ok()?;
        Some(Turn { slot: Arc::clone(self), body })
    }

    /// Takes the session in this server however many wait: for what must be done.
    pub(crate) async fn lock_surely(self: &Arc<Self>) -> Turn {
        Turn { slot: Arc::clone(self), body: Arc::clone(&self.body).lock_owned().await }
    }

    /// From now on nothing begins in this session, however long it has waited; `false` takes that back. Returns what was the case
    /// before.
    pub(crate) fn set_cleared(&self, cleared: bool) -> bool {
        self.cleared.swap(cleared, Ordering::SeqCst)
    }

    pub(crate) fn is_cleared(&self) -> bool {
        self.cleared.load(Ordering::SeqCst)
    }

    /// From now on until [`Slot::ended`], interrupts mean this cell.
    pub(crate) fn begun(&self, interrupter: Arc<dyn Interrupter>) {
        self.killed.store(false, Ordering::SeqCst);
        *self.running() = Some(Running { interrupter, interrupted: false });
    }

    /// The cell has ended; `stopped` when an interrupt was the reason. One that came too late is taken back.
    pub(crate) fn ended(&self, stopped: bool) {
        if let Some(running) = self.running().take()
            && running.interrupted
            && !stopped
        {
            running.interrupter.withdraw();
        }
    }

    /// Stops the cell that is running; false when none is.
    pub(crate) fn interrupt(&self) -> bool {
        match self.running().as_mut() {
            Some(running) => {
                running.interrupted = true;
                running.interrupter.interrupt();
                true
            }
            None => false,
        }
    }

    /// Ends the cell that is running without asking it; the session goes on as it was before.
    pub(crate) fn end(&self) {
        if let Some(running) = self.running().as_ref() {
            running.interrupter.kill();
        }
    }

    /// Whether its state is nowhere any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.record().state == SessionState::Lost
    }

    /// Ends the cell that is running without asking it, because the session is emptied or removed.
    pub(crate) fn kill(&self) {
        if let Some(running) = self.running().as_ref() {
            self.killed.store(true, Ordering::SeqCst);
            running.interrupter.kill();
        }
    }

    /// Whether [`Slot::kill`] was meant for the last cell that began.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the present state cannot be put to sleep.
    pub(crate) fn set_unkeepable(&self, error: SessionError) {
        let generation = self.record().generation;
        *self.unkeepable.lock().unwrap_or_else(PoisonError::into_inner) = Some((generation, error));
    }

    /// The present state is an earlier one again, of which nothing is known.
    pub(crate) fn forget_unkeepable(&self) {
        *self.unkeepable.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why the present state cannot be put to sleep, if that is known.
    pub(crate) fn unkeepable(&self) -> Option<SessionError> {
        let generation = self.record().generation;
        let known = self.unkeepable.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(of, _)| *of == generation).map(|(_, error)| error.clone())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// A place in the queue.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
