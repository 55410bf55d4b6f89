//! Resuming and hibernating sessions, within the limit on live sessions.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use brumate_engine_api::{EngineError, MachineSpec, Session};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::directory::DataDir;
use super::entry::{LiveMachine, MachineState, SessionEntry};
use super::error::SessionError;
use super::limits::WAITING_PER_LIVE;
use super::record::SessionState;
use super::{Sessions, WaitCounter};

/// Check of disk space before a session is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskCheck {
    /// A session that does not fit stays live.
    Enforced,
    /// The session is written in any case: the server ends.
    Skipped,
}

/// Reason for a session that its server and its processes could not write.
const UNWRITTEN: &str =
    "neither its file nor a whole crash snapshot is there; when its server ended, the disk may have been full";

/// Time between checks whether a place can become free.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl Sessions {
    /// Returns the session's machine. Resumes the session or makes a machine if it has none.
    pub(super) async fn ensure_live<'a>(
        &self,
        entry: &SessionEntry,
        machine: &'a mut MachineState,
        cancel: &CancellationToken,
    ) -> Result<&'a dyn Session, SessionError> {
        if entry.is_cleared() {
            return Err(self.not_found(entry));
        }
        if matches!(machine, MachineState::Absent) {
            *machine = MachineState::Live(self.resume(entry, cancel).await?);
        } else if let MachineState::Live(live) = machine
            && !entry.has_crash_recovery()
        {
            // The disk was full when the session was resumed.
            self.enable_crash_recovery(entry, &*live.session).await;
        }
        match machine {
            MachineState::Live(live) => Ok(&*live.session),
            MachineState::Absent | MachineState::Removed => Err(self.not_found(entry)),
        }
    }

    async fn resume(&self, entry: &SessionEntry, cancel: &CancellationToken) -> Result<LiveMachine, SessionError> {
        let (id, state, note, file) = {
            let record = entry.record();
            (record.id.clone(), record.state, record.note.clone(), record.current_file().cloned())
        };
        let file = match (state, file) {
            (SessionState::Lost, _) => return Err(SessionError::Lost { id, reason: note }),
            (SessionState::Fresh, _) => None,
            (_, Some(file)) => Some(file),
            (_, None) => return Err(SessionError::Lost { id, reason: "its file is gone".to_owned() }),
        };
        let place = self.live_place(cancel).await?;
        let engine = &self.inner.engine;
        let session = match file {
            None => {
                let layers = self.first_layers(cancel).await?;
                let session = engine.session(MachineSpec { layers, ..self.spec(entry)? }).await?;
                entry.record().packages = self.known_layers(&*session, &[]);
                session
            }
            Some(file) => {
                let path = self.fetch_file(&file.name).await?;
                let known = entry.record().packages.clone();
                let resumed = async {
                    let layers = self.layers_of(&path, &known).await?;
                    engine.resume(&path, MachineSpec { layers, ..self.spec(entry)? }).await
                };
                let resumed = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(SessionError::Cancelled),
                    resumed = resumed => resumed,
                };
                match resumed {
                    Ok(session) => session,
                    Err(EngineError::Outdated(reason)) => return Err(SessionError::Outdated { id, reason }),
                    Err(EngineError::Image(reason)) => return Err(SessionError::NotResumable { id, reason }),
                    Err(EngineError::Io(error)) => {
                        let reason = match error.kind() {
                            std::io::ErrorKind::NotFound => UNWRITTEN.to_owned(),
                            _ => error.to_string(),
                        };
                        return Err(SessionError::NotResumable { id, reason });
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if state != SessionState::Fresh {
            entry.record().state = SessionState::Live;
        }
        self.enable_crash_recovery(entry, &*session).await;
        Ok(LiveMachine::new(session, place))
    }

    /// Returns a machine with the session's files, for reading. For a session that cannot be resumed this is a
    /// temporary session with its files, in `recovered`.
    pub(super) async fn ensure_readable<'a>(
        &self,
        entry: &SessionEntry,
        machine: &'a mut MachineState,
        recovered: &'a mut Option<LiveMachine>,
        cancel: &CancellationToken,
    ) -> Result<&'a dyn Session, SessionError> {
        match self.ensure_live(entry, machine, cancel).await {
            // The place of the failed attempt is free again.
            Err(SessionError::Outdated { .. }) => {
                let place = self.live_place(cancel).await?;
                let session = self.recover_files(entry).await?;
                Ok(&*recovered.insert(LiveMachine::new(session, place)).session)
            }
            Err(error) => Err(error),
            Ok(_) => match machine {
                MachineState::Live(live) => Ok(&*live.session),
                MachineState::Absent | MachineState::Removed => Err(self.not_found(entry)),
            },
        }
    }

    /// Makes a session with the files of one that cannot be resumed.
    pub(super) async fn recover_files(&self, entry: &SessionEntry) -> Result<Box<dyn Session>, SessionError> {
        let (id, file) = {
            let record = entry.record();
            (record.id.clone(), record.current_file().cloned())
        };
        let Some(file) = file else {
            return Err(SessionError::Lost { id, reason: "its file is gone".to_owned() });
        };
        let path = self.fetch_file(&file.name).await?;
        match self.inner.engine.recover(&path, self.spec(entry)?).await {
            Ok(session) => Ok(session),
            Err(EngineError::Outdated(reason) | EngineError::Image(reason)) => {
                Err(SessionError::NotResumable { id, reason })
            }
            Err(EngineError::Io(error)) => Err(SessionError::NotResumable { id, reason: error.to_string() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a session survive a crash of this server. Not in a transaction. When it fails, the session can still be used: each
    /// change is written to its file before the answer, and the next call tries again.
    pub(super) async fn enable_crash_recovery(&self, entry: &SessionEntry, session: &dyn Session) {
        let id = entry.record().id.clone();
        let path = self.inner.directory.file(&DataDir::crash_snapshot_name(&id));
        let enabled = session.enable_crash_recovery(&path).await;
        entry.set_crash_recovery(enabled.is_ok());
        if let Err(error) = enabled {
            tracing::warn!(session = ?id, %error, "a session has no crash snapshot; its changes are written at once");
        }
    }

    /// Waits for a place among the live sessions. If there is none, hibernates the least recently used idle session.
    pub(super) async fn live_place(&self, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit, SessionError> {
        let places = Arc::clone(&self.inner.places);
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            return Ok(place);
        }
        let limit = self.inner.settings.max_live;
        let waiting = &self.inner.waiting_for_place;
        let few = limit.saturating_mul(WAITING_PER_LIVE);
        let _waiting = WaitCounter::new(waiting, self.inner.settings.when_full.waiting(few))
            .ok_or(SessionError::TooManyLive { limit })?;
        let next = places.acquire_owned();
        tokio::pin!(next);
        loop {
            // Calls that end a cell free a place, too. This call fails if no place can ever become free.
            self.hibernate_one().await?;
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SessionError::Cancelled),
                // The semaphore is never closed.
                place = &mut next => return place.map_err(|_| SessionError::ShuttingDown),
                () = tokio::time::sleep(RETRY_INTERVAL) => {}
            }
        }
    }

    /// Returns a place if one is free, or can be freed without waiting.
    pub(super) async fn try_live_place(&self) -> Option<OwnedSemaphorePermit> {
        let places = &self.inner.places;
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Some(place);
        }
        self.hibernate_one().await.ok()?;
        Arc::clone(places).try_acquire_owned().ok()
    }

    /// Frees a place if a call waits for one. Called whenever a session becomes idle.
    pub(super) fn free_place_for_waiting(&self) {
        if self.inner.waiting_for_place.load(Ordering::SeqCst) > 0 {
            let sessions = self.clone();
            tokio::spawn(async move {
                if let Err(error) = sessions.hibernate_one().await {
                    tracing::debug!(%error, "no session could be hibernated for another");
                }
            });
        }
    }

    /// Hibernates the least recently used idle session. Does nothing if all are busy.
    async fn hibernate_one(&self) -> Result<(), SessionError> {
        let mut entries: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        let now = (self.inner.settings.elapsed)();
        // The loop takes the last one first.
        entries.sort_by_cached_key(|entry| entry.idle(now));
        let mut stuck = 0;
        let mut last_error = None;
        while let Some(entry) = entries.pop() {
            let Some(mut guard) = entry.has_lease().then(|| entry.try_lock()).flatten() else { continue };
            if !matches!(*guard, MachineState::Live(_)) {
                continue;
            }
            let error = match entry.not_storable() {
                Some(error) => error,
                None => match self.hibernate(&entry, &mut guard, DiskCheck::Enforced).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
            };
            if matches!(*guard, MachineState::Live(_)) {
                stuck += 1;
                last_error = Some(error);
            }
        }
        match last_error {
            Some(error) if stuck >= self.inner.settings.max_live => Err(match error {
                SessionError::DiskFull { .. } | SessionError::NoSpace { .. } | SessionError::OverLimit(_) => error,
                error => SessionError::NoneCanHibernate { limit: stuck, reason: error.to_string() },
            }),
            _ => Ok(()),
        }
    }

    /// Hibernates a session: its state is in a file and in the registry before its machine ends.
    ///
    /// # Errors
    ///
    /// The errors of [`Sessions::write_if_it_fits`]; the session stays live, unless its machine has ended.
    pub(super) async fn hibernate(
        &self,
        entry: &SessionEntry,
        machine: &mut MachineState,
        check: DiskCheck,
    ) -> Result<(), SessionError> {
        let MachineState::Live(live) = &*machine else { return Ok(()) };
        if !self.inner.engine.stores_sessions() && entry.record().state != SessionState::Fresh {
            let reason = "its engine keeps sessions in processes only".to_owned();
            return Err(SessionError::NotStorable { reason });
        }
        // An unchanged state is in its file already. A session that never ran needs no file.
        let changed = {
            let record = entry.record();
            record.state != SessionState::Fresh && record.current_file().is_none()
        };
        if changed {
            let written = match check {
                DiskCheck::Enforced => self.write_if_it_fits(entry, &*live.session).await,
                DiskCheck::Skipped => self.write_file(entry, &*live.session).await,
            };
            let file = match written {
                Ok(file) => file,
                Err(error) => {
                    // Disk space may be free the next time.
                    if let SessionError::NotStorable { .. } = &error {
                        entry.set_not_storable(error.clone());
                    }
                    if let SessionError::Engine(EngineError::MachineExited { reason, .. }) = &error {
                        self.note_machine_loss(entry, &reason.to_string());
                        *machine = MachineState::Absent;
                        self.record_unchanged(entry).await;
                    }
                    return Err(error);
                }
            };
            self.adopt_file(entry, file, SessionState::Hibernated).await?;
        } else {
            let mut record = entry.record();
            if record.state == SessionState::Live {
                record.state = SessionState::Hibernated;
            }
        }
        *machine = MachineState::Absent;
        Ok(())
    }

    /// Returns the error for a session that does not exist any more.
    pub(super) fn not_found(&self, entry: &SessionEntry) -> SessionError {
        SessionError::NotFound { id: entry.record().id.to_string(), timeout: self.inner.settings.timeout }
    }
}
