//! Copying, emptying and removing sessions.

use brumate_engine_api::EngineError;
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::disk::Need;
use super::error::SessionError;
use super::id::SessionId;
use super::record::{Record, SessionState};
use super::registry::{Parts, Sync};
use super::settings::Durability;
use super::slot::{Body, Live, Slot};

impl Sessions {
    /// Another session that goes on from the present state of this one: variables, modules, files. Both are independent. Of one that
    /// another version of Brumate put to sleep and that cannot be woken, it has the files and nothing else.
    ///
    /// # Errors
    ///
    /// Why the session cannot be used, or there can be no more.
    pub async fn fork(&self, principal: &str, id: &str, cancel: &CancellationToken) -> Result<SessionId, SessionError> {
        let parent = self.find(principal, id).await?;
        self.detached(cancel, |sessions, cancel| async move {
            let turn = sessions.turn(&parent, &cancel).await?;
            let record = {
                let parent = parent.record();
                let mut record = Record::new(SessionId::random()?, &parent.principal, sessions.now());
                record.state = parent.state;
                record.generation = parent.generation;
                record.executions = parent.executions;
                record.files.clone_from(&parent.files);
                record.packages.clone_from(&parent.packages);
                record
            };
            let need = Need { written: false, ..parent.need() };
            let copy = async |child: &Slot, body: &mut Body| {
                let copied = sessions.copy(&parent, &turn, child, body).await;
                drop(turn);
                copied
            };
            sessions.add_filled(record, need, copy).await
        })
        .await
    }

    /// Adds a session with the state that `fill` gives it, and returns its id. A session that cannot be filled is removed again.
    pub(super) async fn add_filled(
        &self,
        record: Record,
        need: Need,
        fill: impl AsyncFnOnce(&Slot, &mut Body) -> Result<(), SessionError>,
    ) -> Result<SessionId, SessionError> {
        self.fit(&Slot::newcomer(&record.principal)?, need).await?;
        let id = record.id.clone();
        let slot = self.add(record)?;
        slot.set_estimate(need.bytes);
        // Nobody knows its name yet.
        let mut body = slot.lock_surely().await;
        let filled = fill(&slot, &mut body).await;
        self.make_room();
        if let Err(error) = filled {
            self.forget(&slot, body).await?;
            return Err(error);
        }
        Ok(id)
    }

    async fn copy(&self, parent: &Slot, from: &Body, child: &Slot, to: &mut Body) -> Result<(), SessionError> {
        let (parent_id, state, note, image) = {
            let record = parent.record();
            (record.id.clone(), record.state, record.note.clone(), record.current_image().cloned())
        };
        match (from, state, image) {
            (Body::Gone, ..) => return Err(self.gone(parent)),
            (_, SessionState::Lost, _) => return Err(SessionError::Lost { id: parent_id, reason: note }),
            (_, SessionState::Fresh, _) => {}
            (Body::Away, _, None) => {
                return Err(SessionError::Lost { id: parent_id, reason: "its file is gone".to_owned() });
            }
            // What is in a file already is copied as a file, without a machine.
            (_, _, Some(image)) => {
                let source = self.inner.directory.image(&image.name);
                if matches!(from, Body::Away)
                    && let Err(EngineError::Outdated(_)) = self.inner.engine.can_wake(&source).await
                {
                    return self.copy_files(parent, child, to).await;
                }
                return self.adopt_copy(child, source).await;
            }
            (Body::Live(live), _, None) => {
                // Not waited for: the parent has a place itself, and two who wait for each other's would wait for ever.
                if self.inner.settings.durability == Durability::Shutdown
                    && let Some(place) = self.place_at_once().await
                {
                    let session = live.session.fork().await?;
                    let id = child.record().id.clone();
                    self.enable_crash_recovery(&id, &*session).await;
                    *to = Body::Live(Live::new(session, place));
                } else {
                    let image = self.write_image(child, &*live.session).await?;
                    return self.adopt_image(child, image, SessionState::Asleep).await;
                }
            }
        }
        let record = child.record().clone();
        self.inner.registry.put(record, Parts::All, Sync::Process).await
    }

    /// Makes `child` a session with the files of one that cannot be woken.
    async fn copy_files(&self, parent: &Slot, child: &Slot, to: &mut Body) -> Result<(), SessionError> {
        let place = self.place(&CancellationToken::new()).await?;
        let session = self.recover(parent).await?;
        let record = {
            let mut record = child.record();
            record.state = SessionState::Live;
            record.executions = 0;
            record.packages.clear();
            record.clone()
        };
        self.enable_crash_recovery(&record.id, &*session).await;
        if let Err(error) = self.note_files(child, &*session).await {
            tracing::warn!(%error, "the files of a session cannot be listed");
        }
        let record = Record { files: child.record().files.clone(), ..record };
        match self.inner.settings.durability {
            Durability::Cell => {
                let image = self.write_image(child, &*session).await?;
                self.adopt_image(child, image, SessionState::Live).await?;
            }
            Durability::Shutdown => self.inner.registry.put(record, Parts::All, Sync::Process).await?,
        }
        *to = Body::Live(Live::new(session, place));
        Ok(())
    }

    /// Empties a session: it goes on under its name with a fresh interpreter and without files. A cell that runs is killed.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`], or the registry's.
    pub async fn reset(&self, principal: &str, id: &str) -> Result<(), SessionError> {
        let slot = self.find(principal, id).await?;
        self.detached(&CancellationToken::new(), |sessions, _| async move {
            let mut turn = sessions.sure_turn(&slot).await?;
            if matches!(*turn, Body::Gone) {
                return Err(sessions.gone(&slot));
            }
            let emptied = {
                let record = slot.record();
                let mut emptied = Record::new(record.id.clone(), &record.principal, record.created);
                emptied.generation = record.generation.saturating_add(1);
                emptied.last_used = sessions.now();
                emptied
            };
            // Until the registry has it, the session is as it was.
            sessions.inner.registry.put(emptied.clone(), Parts::All, Sync::Disk).await?;
            *turn = Body::Away;
            let image = std::mem::replace(&mut *slot.record(), emptied).image;
            if let Some(image) = image {
                sessions.inner.directory.remove_image(&image.name);
            }
            sessions.inner.directory.remove_will(&slot.record().id);
            drop(turn);
            sessions.make_room();
            Ok(())
        })
        .await
    }

    /// Removes a session and all its files; false when there is none of that name. A cell that runs is killed.
    ///
    /// # Errors
    ///
    /// The registry's.
    pub async fn clear(&self, principal: &str, id: &str) -> Result<bool, SessionError> {
        let slot = match self.find(principal, id).await {
            Ok(slot) => slot,
            Err(SessionError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.detached(&CancellationToken::new(), |sessions, _| async move {
            // From now on nobody finds it; who waits for it learns that it is gone.
            if slot.set_cleared(true) {
                return Ok(false);
            }
            let cleared = async {
                let turn = sessions.sure_turn(&slot).await?;
                let was_there = !matches!(*turn, Body::Gone);
                sessions.forget(&slot, turn).await?;
                Ok(was_there)
            };
            let cleared = cleared.await;
            if cleared.is_err() {
                slot.set_cleared(false);
            }
            cleared
        })
        .await
    }
}
