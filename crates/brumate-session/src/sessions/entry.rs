//! The entry of a session in this process: its lock, its machine and its record.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use brumate_engine_api::{InterruptHandle, Session};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::error::SessionError;
use super::id::SessionId;
use super::lease::{Lease, LeaseClaim};
use super::limits::MAX_WAITING;
use super::record::{SessionRecord, SessionState};
use super::waiting::WaitingList;
use crate::admission::WhenFull;

/// Machine of a session, protected by the entry's lock.
pub(crate) enum MachineState {
    /// The session is live.
    Live(LiveMachine),
    /// The session has no machine. [`SessionRecord::state`] tells where its state is.
    Absent,
    /// The session was cleared or has expired.
    Removed,
}

/// Machine of a live session.
pub(crate) struct LiveMachine {
    pub(crate) session: Box<dyn Session>,
    /// Place among the live sessions.
    _place: OwnedSemaphorePermit,
}

impl LiveMachine {
    pub(crate) fn new(session: Box<dyn Session>, place: OwnedSemaphorePermit) -> Self {
        Self { session, _place: place }
    }
}

/// Lock on a session: no other call of this server uses it, and no other server has its lease. When the guard is
/// dropped, the lease of a session that is not live is released.
pub(crate) struct SessionLock {
    entry: Arc<SessionEntry>,
    machine: OwnedMutexGuard<MachineState>,
}

impl Deref for SessionLock {
    type Target = MachineState;

    fn deref(&self) -> &MachineState {
        &self.machine
    }
}

impl DerefMut for SessionLock {
    fn deref_mut(&mut self) -> &mut MachineState {
        &mut self.machine
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        if !matches!(*self.machine, MachineState::Live(_)) {
            self.entry.set_lease(None);
        }
    }
}

/// Disk space of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskUsage {
    /// Number of bytes.
    pub(crate) bytes: u64,
    /// Whether the bytes are on disk already; otherwise they are an estimate.
    pub(crate) written: bool,
}

/// Session in this process.
pub(crate) struct SessionEntry {
    record: Mutex<SessionRecord>,
    /// Principal of the record.
    principal: Arc<str>,
    /// Monotonic time of the last use, in milliseconds; negative if it was before the clock began.
    used: AtomicI64,
    /// Lease of this server. While there is one, `record` is authoritative; otherwise it is a copy of the registry's.
    lease: Mutex<Option<Lease>>,
    /// Stored time of the last use, in milliseconds since 1970.
    stored_use: AtomicI64,
    machine: Arc<tokio::sync::Mutex<MachineState>>,
    waiting: AtomicUsize,
    running: Mutex<Option<RunningCell>>,
    /// Whether the last cell was killed because the session was reset or removed.
    discarded: AtomicBool,
    /// Whether the session is being removed by a call that waits for the lock.
    cleared: AtomicBool,
    /// Size of the image that came with the session, in bytes; 0 without one.
    private_image_bytes: AtomicU64,
    /// Whether the session survives a crash of this server. Only of a live session.
    crash_recovery: AtomicBool,
    /// Generation that cannot be stored, with the error.
    not_storable: Mutex<Option<(u64, SessionError)>>,
    /// Claims of other servers.
    claims: WaitingList<LeaseClaim>,
    /// Cells that have not begun to run, with the token that an interrupt cancels.
    upcoming: WaitingList<CancellationToken>,
}

struct RunningCell {
    interrupt_handle: Arc<dyn InterruptHandle>,
    interrupted: bool,
}

impl RunningCell {
    fn interrupt(&mut self) {
        self.interrupted = true;
        self.interrupt_handle.interrupt();
    }
}

impl SessionEntry {
    /// Makes an entry for a session that was last used at the monotonic time `used`.
    pub(crate) fn new(record: SessionRecord, used: Duration) -> Self {
        Self {
            principal: record.principal.as_str().into(),
            used: AtomicI64::new(millis(used)),
            lease: Mutex::new(None),
            stored_use: AtomicI64::new(record.last_used),
            record: Mutex::new(record),
            machine: Arc::new(tokio::sync::Mutex::new(MachineState::Absent)),
            waiting: AtomicUsize::new(0),
            running: Mutex::new(None),
            discarded: AtomicBool::new(false),
            cleared: AtomicBool::new(false),
            private_image_bytes: AtomicU64::new(0),
            crash_recovery: AtomicBool::new(false),
            not_storable: Mutex::new(None),
            claims: WaitingList::default(),
            upcoming: WaitingList::default(),
        }
    }

    /// Makes an entry for a session that at `now` has not been used for `idle`.
    pub(crate) fn with_idle_time(record: SessionRecord, now: Duration, idle: Duration) -> Self {
        let entry = Self::new(record, now);
        entry.used.store(millis(now).saturating_sub(millis(idle)), Ordering::Relaxed);
        entry
    }

    /// Makes an entry for a session that is not in any list.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the system has no random numbers.
    pub(crate) fn unlisted(principal: &str) -> Result<Self, SessionError> {
        Ok(Self::new(SessionRecord::new(SessionId::random()?, principal, 0), Duration::ZERO))
    }

    /// Returns whether the live session survives a crash of this server.
    pub(crate) fn has_crash_recovery(&self) -> bool {
        self.crash_recovery.load(Ordering::Relaxed)
    }

    pub(crate) fn set_crash_recovery(&self, enabled: bool) {
        self.crash_recovery.store(enabled, Ordering::Relaxed);
    }

    /// Returns the principal that the session belongs to.
    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }

    /// Returns how long the session has not been used at `now`.
    pub(crate) fn idle(&self, now: Duration) -> Duration {
        let idle = millis(now).saturating_sub(self.used.load(Ordering::Relaxed));
        Duration::from_millis(u64::try_from(idle).unwrap_or(0))
    }

    /// Notes that the session is used at `now`.
    pub(crate) fn set_used(&self, now: Duration) {
        self.used.store(millis(now), Ordering::Relaxed);
    }

    /// Sets the estimated bytes of a file of the present state.
    pub(crate) fn set_estimate(&self, bytes: u64) {
        self.record().estimated_bytes = bytes;
    }

    /// Returns the disk space that the session uses, or would use if it were hibernated now.
    pub(crate) fn disk_usage(&self) -> DiskUsage {
        let record = self.record();
        let file = record.file.as_ref().map_or(0, |file| file.bytes);
        let usage = match record.state {
            SessionState::Live if record.current_file().is_none() => {
                DiskUsage { bytes: record.estimated_bytes.max(file), written: false }
            }
            _ => DiskUsage { bytes: file, written: true },
        };
        let private_image = self.private_image_bytes.load(Ordering::Relaxed);
        DiskUsage { bytes: usage.bytes.saturating_add(private_image).saturating_add(record.history_bytes), ..usage }
    }

    /// Sets the size of the image that came with the session.
    pub(crate) fn set_private_image_bytes(&self, bytes: u64) {
        self.private_image_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Sets the size of an image that was just given to the session. An estimate that was copied with it has these
    /// bytes already.
    pub(crate) fn note_private_image(&self, bytes: u64) {
        self.set_private_image_bytes(bytes);
        let mut record = self.record();
        record.estimated_bytes = record.estimated_bytes.saturating_sub(bytes);
    }

    /// Returns the size of the image that came with the session, in bytes; 0 without one.
    pub(crate) fn private_image_bytes(&self) -> u64 {
        self.private_image_bytes.load(Ordering::Relaxed)
    }

    /// Returns the record. Do not hold the guard across an await.
    pub(crate) fn record(&self) -> MutexGuard<'_, SessionRecord> {
        self.record.lock()
    }

    /// Sets or releases this server's lease of the session.
    pub(crate) fn set_lease(&self, lease: Option<Lease>) {
        // The old lease is dropped outside of the lock.
        let _before = std::mem::replace(&mut *self.lease.lock(), lease);
    }

    /// Reserves the session for the server whose turn is next. It gets the lease when this server releases it.
    pub(crate) fn reserve_for_next(&self) {
        if let Some(lease) = self.lease.lock().as_mut()
            && let Some(next) = self.claims.next_server()
        {
            lease.reserve(next);
        }
    }

    /// Returns the claims of other servers.
    pub(crate) fn claims(&self) -> &WaitingList<LeaseClaim> {
        &self.claims
    }

    /// Returns the cells that have not begun to run. An interrupt cancels their tokens.
    pub(crate) fn upcoming(&self) -> &WaitingList<CancellationToken> {
        &self.upcoming
    }

    /// Returns whether this server has the lease of the session.
    pub(crate) fn has_lease(&self) -> bool {
        self.lease.lock().is_some()
    }

    /// Replaces the record of a session that this server does not own by the registry's.
    pub(crate) fn set_record(&self, record: SessionRecord, now: Duration, idle: Duration) {
        let used = millis(now).saturating_sub(millis(idle));
        self.used.fetch_max(used, Ordering::Relaxed);
        self.stored_use.store(record.last_used, Ordering::Relaxed);
        let mut known = self.record();
        let last_used = record.last_used.max(known.last_used);
        *known = SessionRecord { last_used, ..record };
    }

    /// Returns whether the stored time of the last use is more than `step` milliseconds old. The caller has to store
    /// the present one then.
    pub(crate) fn claim_last_used_update(&self, step: i64) -> bool {
        let used = self.record().last_used;
        let stored = self.stored_use.load(Ordering::Relaxed);
        stored.saturating_add(step) < used && self.stored_use.swap(used, Ordering::Relaxed) < used
    }

    /// Locks the session in this server; calls wait in order.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] when too many calls wait, [`SessionError::Cancelled`].
    pub(crate) async fn lock(
        self: &Arc<Self>,
        cancel: &CancellationToken,
        when_full: WhenFull,
    ) -> Result<SessionLock, SessionError> {
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        if let Some(guard) = self.try_lock() {
            return Ok(guard);
        }
        let place = QueuePosition(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= when_full.waiting(MAX_WAITING) {
            drop(place);
            return Err(SessionError::Busy { id: self.record().id.clone(), waiting: MAX_WAITING });
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(SessionError::Cancelled),
            machine = Arc::clone(&self.machine).lock_owned() => Ok(SessionLock { entry: Arc::clone(self), machine }),
        }
    }

    /// Locks the session in this server if it is free.
    pub(crate) fn try_lock(self: &Arc<Self>) -> Option<SessionLock> {
        let machine = Arc::clone(&self.machine).try_lock_owned().ok()?;
        Some(SessionLock { entry: Arc::clone(self), machine })
    }

    /// Locks the session in this server without a limit on waiting calls.
    pub(crate) async fn lock_unbounded(self: &Arc<Self>) -> SessionLock {
        SessionLock { entry: Arc::clone(self), machine: Arc::clone(&self.machine).lock_owned().await }
    }

    /// Sets whether calls on this session, also waiting ones, fail because it is being removed. Returns the earlier
    /// value.
    pub(crate) fn set_cleared(&self, cleared: bool) -> bool {
        self.cleared.swap(cleared, Ordering::SeqCst)
    }

    pub(crate) fn is_cleared(&self) -> bool {
        self.cleared.load(Ordering::SeqCst)
    }

    /// Registers the running cell: until [`SessionEntry::cell_ended`], interrupts go to it. Returns false if the cell was
    /// interrupted before; it must not run then.
    pub(crate) fn cell_started(
        &self,
        interrupt_handle: Arc<dyn InterruptHandle>,
        interrupt: &CancellationToken,
    ) -> bool {
        let mut running = self.running();
        if interrupt.is_cancelled() {
            return false;
        }
        self.discarded.store(false, Ordering::SeqCst);
        *running = Some(RunningCell { interrupt_handle, interrupted: false });
        true
    }

    /// Unregisters the cell. An interrupt that came too late is withdrawn, unless it has `stopped` the cell.
    pub(crate) fn cell_ended(&self, stopped: bool) {
        if let Some(running) = self.running().take()
            && running.interrupted
            && !stopped
        {
            running.interrupt_handle.clear();
        }
    }

    /// Interrupts the running cell, or else the first cell that has not begun to run; false if there is none.
    pub(crate) fn interrupt(&self) -> bool {
        // While it is locked, no cell begins to run.
        let mut running = self.running();
        running.as_mut().map(RunningCell::interrupt).is_some() || self.upcoming.cancel_first()
    }

    /// Interrupts the running cell, if there is one.
    pub(crate) fn interrupt_running(&self) {
        self.running().as_mut().map(RunningCell::interrupt);
    }

    /// Kills the running cell. The session is rolled back.
    pub(crate) fn kill_cell(&self) {
        if let Some(running) = self.running().as_ref() {
            running.interrupt_handle.kill();
        }
    }

    /// Returns whether a cell runs.
    #[cfg(test)]
    pub(crate) fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Returns whether the session's state is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.record().state == SessionState::Lost
    }

    /// Kills the running cell because the session is reset or removed.
    pub(crate) fn discard_cell(&self) {
        if let Some(running) = self.running().as_ref() {
            self.discarded.store(true, Ordering::SeqCst);
            running.interrupt_handle.kill();
        }
    }

    /// Returns whether the last cell was ended by [`SessionEntry::discard_cell`].
    pub(crate) fn was_discarded(&self) -> bool {
        self.discarded.load(Ordering::SeqCst)
    }

    fn running(&self) -> MutexGuard<'_, Option<RunningCell>> {
        self.running.lock()
    }

    /// Notes that the present state cannot be stored.
    pub(crate) fn set_not_storable(&self, error: SessionError) {
        let generation = self.record().generation;
        *self.not_storable.lock() = Some((generation, error));
    }

    /// Forgets that a state cannot be stored, after a change to an earlier one.
    pub(crate) fn clear_not_storable(&self) {
        *self.not_storable.lock() = None;
    }

    /// Returns why the present state cannot be stored, if that is known.
    pub(crate) fn not_storable(&self) -> Option<SessionError> {
        let generation = self.record().generation;
        let known = self.not_storable.lock();
        known.as_ref().filter(|(of, _)| *of == generation).map(|(_, error)| error.clone())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Position in the queue.
struct QueuePosition<'a>(&'a AtomicUsize);

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
