//! Waking sessions, putting them to sleep, and who must sleep for another to wake.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use brumate_engine_api::{EngineError, MachineSpec, Session};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::directory::DataDir;
use super::error::SessionError;
use super::id::SessionId;
use super::record::SessionState;
use super::settings::WAITING_PER_LIVE;
use super::slot::{Body, Live, Slot};
use super::{Sessions, Waiting};

/// Whether a file is written that does not fit beside those of other sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// No: the session stays awake.
    Checked,
    /// Yes: the server ends.
    Taken,
}

/// Who waits for a place looks this often whether there will be one.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Sessions {
    /// The session's machine; wakes or makes it if need be.
    pub(super) async fn awake<'a>(
        &self,
        slot: &Slot,
        body: &'a mut Body,
        cancel: &CancellationToken,
    ) -> Result<&'a dyn Session, SessionError> {
        if slot.is_cleared() {
            return Err(self.gone(slot));
        }
        if matches!(body, Body::Away) {
            *body = Body::Live(self.wake(slot, cancel).await?);
        }
        match body {
            Body::Live(live) => Ok(&*live.session),
            Body::Away | Body::Gone => Err(self.gone(slot)),
        }
    }

    async fn wake(&self, slot: &Slot, cancel: &CancellationToken) -> Result<Live, SessionError> {
        let (id, state, note, image) = {
            let record = slot.record();
            (record.id.clone(), record.state, record.note.clone(), record.current_image().cloned())
        };
        let image = match (state, image) {
            (SessionState::Lost, _) => return Err(SessionError::Lost { id, reason: note }),
            (SessionState::Fresh, _) => None,
            (_, Some(image)) => Some(image),
            (_, None) => return Err(SessionError::Lost { id, reason: "its file is gone".to_owned() }),
        };
        let place = self.place(cancel).await?;
        let engine = &self.inner.engine;
        let session = match image {
            None => {
                let layers = self.first_layers(cancel).await?;
                let session = engine.session(MachineSpec { layers, ..self.spec(slot) }).await?;
                slot.record().packages = self.known_layers(&*session, &[]);
                session
            }
            Some(image) => {
                let path = self.inner.directory.image(&image.name);
                let known = slot.record().packages.clone();
                let woken = async {
                    let layers = self.layers_of(&path, &known).await?;
                    engine.wake(&path, MachineSpec { layers, ..self.spec(slot) }).await
                };
                let woken = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(SessionError::Cancelled),
                    woken = woken => woken,
                };
                match woken {
                    Ok(session) => session,
                    Err(EngineError::Outdated(reason)) => return Err(SessionError::Outdated { id, reason }),
                    Err(EngineError::Image(reason) | EngineError::Io(reason)) => {
                        return Err(SessionError::Unwakeable { id, reason });
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if state != SessionState::Fresh {
            slot.record().state = SessionState::Live;
        }
        self.enable_crash_recovery(&id, &*session).await;
        Ok(Live::new(session, place))
    }

    /// As [`Sessions::awake`], to look at files only: of a session that cannot be woken, another one with its files is given, which
    /// ends with the answer.
    pub(super) async fn awake_or_recovered<'a>(
        &self,
        slot: &Slot,
        body: &'a mut Body,
        recovered: &'a mut Option<Live>,
        cancel: &CancellationToken,
    ) -> Result<&'a dyn Session, SessionError> {
        match self.awake(slot, body, cancel).await {
            // Its place is given back, and another one taken.
            Err(SessionError::Outdated { .. }) => {
                let place = self.place(cancel).await?;
                let session = self.recover(slot).await?;
                Ok(&*recovered.insert(Live::new(session, place)).session)
            }
            Err(error) => Err(error),
            Ok(_) => match body {
                Body::Live(live) => Ok(&*live.session),
                Body::Away | Body::Gone => Err(self.gone(slot)),
            },
        }
    }

    /// A new session with the files of one that cannot be woken.
    pub(super) async fn recover(&self, slot: &Slot) -> Result<Box<dyn Session>, SessionError> {
        let (id, image) = {
            let record = slot.record();
            (record.id.clone(), record.current_image().cloned())
        };
        let Some(image) = image else {
            return Err(SessionError::Lost { id, reason: "its file is gone".to_owned() });
        };
        let path = self.inner.directory.image(&image.name);
        match self.inner.engine.recover(&path, self.spec(slot)).await {
            Ok(session) => Ok(session),
            Err(EngineError::Outdated(reason) | EngineError::Image(reason) | EngineError::Io(reason)) => {
                Err(SessionError::Unwakeable { id, reason })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a session outlive this server. One that cannot is told of in the log: it is used all the same.
    pub(super) async fn enable_crash_recovery(&self, id: &SessionId, session: &dyn Session) {
        let path = self.inner.directory.image(&DataDir::will_name(id));
        if let Err(error) = session.enable_crash_recovery(&path).await {
            tracing::warn!(session = ?id, %error, "a session would not survive the death of this server");
        }
    }

    /// A place among the live sessions. When there is none, the least recently used idle session is put to sleep.
    pub(super) async fn place(&self, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit, SessionError> {
        let places = Arc::clone(&self.inner.places);
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            return Ok(place);
        }
        let limit = self.inner.settings.max_live;
        let waiting = &self.inner.waiting_for_place;
        let _waiting = Waiting::begin(waiting, limit.saturating_mul(WAITING_PER_LIVE))
            .ok_or(SessionError::TooManyLive { limit })?;
        let next = places.acquire_owned();
        tokio::pin!(next);
        loop {
            // Whoever ends a cell from now on makes room as well. That there will never be any is found out here.
            self.evict_one().await?;
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SessionError::Cancelled),
                // The semaphore is never closed.
                place = &mut next => return place.map_err(|_| SessionError::ShuttingDown),
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// A place, if one is free or can be made so at once.
    pub(super) async fn place_at_once(&self) -> Option<OwnedSemaphorePermit> {
        let places = &self.inner.places;
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Some(place);
        }
        self.evict_one().await.ok()?;
        Arc::clone(places).try_acquire_owned().ok()
    }

    /// Makes room if somebody waits for it; called whenever a session has become idle.
    pub(super) fn make_room(&self) {
        if self.inner.waiting_for_place.load(Ordering::SeqCst) > 0 {
            let sessions = self.clone();
            tokio::spawn(async move {
                if let Err(error) = sessions.evict_one().await {
                    tracing::debug!(%error, "no session could be put to sleep for another");
                }
            });
        }
    }

    /// Puts the least recently used idle session to sleep. That they are busy is no error: some time they will be idle.
    async fn evict_one(&self) -> Result<(), SessionError> {
        let mut slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        let now = (self.inner.settings.elapsed)();
        // The last one is taken first.
        slots.sort_by_cached_key(|slot| slot.idle(now));
        let mut stuck = 0;
        let mut why = None;
        while let Some(slot) = slots.pop() {
            let Some(mut turn) = slot.has_lease().then(|| slot.try_lock()).flatten() else { continue };
            if !matches!(*turn, Body::Live(_)) {
                continue;
            }
            let error = match slot.unkeepable() {
                Some(error) => error,
                None => match self.hibernate(&slot, &mut turn, Room::Checked).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
            };
            if matches!(*turn, Body::Live(_)) {
                stuck += 1;
                why = Some(error);
            }
        }
        match why {
            Some(error) if stuck >= self.inner.settings.max_live => Err(match error {
                SessionError::DiskFull { .. } | SessionError::NoSpace { .. } | SessionError::OverLimit(_) => error,
                error => SessionError::NoneSleeps { limit: stuck, reason: error.to_string() },
            }),
            _ => Ok(()),
        }
    }

    /// Puts a session to sleep: its state is in a file and in the registry before its machine ends.
    ///
    /// # Errors
    ///
    /// Those of [`Sessions::write_fitting`]; the session stays awake, unless its machine is gone.
    pub(super) async fn hibernate(&self, slot: &Slot, body: &mut Body, room: Room) -> Result<(), SessionError> {
        let Body::Live(live) = &*body else { return Ok(()) };
        // What has not changed since it woke is in its file already; what has never run needs none.
        let changed = {
            let record = slot.record();
            record.state != SessionState::Fresh && record.current_image().is_none()
        };
        if changed {
            let written = match room {
                Room::Checked => self.write_fitting(slot, &*live.session).await,
                Room::Taken => self.write_image(slot, &*live.session).await,
            };
            let image = match written {
                Ok(image) => image,
                Err(error) => {
                    // Space may be free the next time.
                    if let SessionError::Unkeepable { .. } = &error {
                        slot.set_unkeepable(error.clone());
                    }
                    if let SessionError::Engine(EngineError::MachineExited { reason, .. }) = &error {
                        self.lose_machine(slot, &format!("{reason:?}"));
                        *body = Body::Away;
                        self.record_unchanged(slot).await;
                    }
                    return Err(error);
                }
            };
            self.adopt_image(slot, image, SessionState::Asleep).await?;
        } else {
            let mut record = slot.record();
            if record.state == SessionState::Live {
                record.state = SessionState::Asleep;
            }
        }
        *body = Body::Away;
        Ok(())
    }

    /// Why a session is not there.
    pub(super) fn gone(&self, slot: &Slot) -> SessionError {
        SessionError::NotFound { id: slot.record().id.to_string(), timeout: self.inner.settings.timeout }
    }
}
