//! Copying, emptying and removing sessions.

use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::directory::DataDir;
use super::error::SessionError;
use super::id::SessionId;
use super::record::{ImageFile, Record, SessionState};
use super::registry::{Parts, Sync};
use super::settings::Durability;
use super::slot::{Body, Live, Slot};

impl Sessions {
    /// Another session that goes on from the present state of this one: variables, modules, files. Both are independent.
    ///
    /// # Errors
    ///
    /// Why the session cannot be used, or there can be no more.
    pub async fn fork(&self, principal: &str, id: &str, cancel: &CancellationToken) -> Result<SessionId, SessionError> {
        let parent = self.find(principal, id).await?;
        self.detached(cancel, |sessions, cancel| async move {
            let turn = parent.turn(&cancel).await?;
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
            let child = sessions.add(record)?;
            // Nobody knows its name yet.
            let mut body = child.sure_turn().await;
            let copied = sessions.copy(&parent, &turn, &child, &mut body).await;
            drop(turn);
            sessions.make_room();
            let id = child.record().id.clone();
            match copied {
                Ok(()) => Ok(id),
                Err(error) => {
                    sessions.forget(&child, body).await?;
                    Err(error)
                }
            }
        })
        .await
    }

    async fn copy(&self, parent: &Slot, from: &Body, child: &Slot, to: &mut Body) -> Result<(), SessionError> {
        let (parent_id, state, note, image) = {
            let record = parent.record();
            (record.id.clone(), record.state, record.note.clone(), record.current_image().cloned())
        };
        let (id, generation) = {
            let record = child.record();
            (record.id.clone(), record.generation)
        };
        let name = DataDir::image_name(&id, generation);
        let path = self.inner.directory.image(&name);
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
                let target = path.clone();
                let copied = tokio::task::spawn_blocking(move || copy_file(&source, &target)).await;
                let copied = copied.unwrap_or_else(|error| Err(std::io::Error::other(error)));
                let bytes = copied.map_err(|error| SessionError::Storage(error.to_string()))?;
                return self.adopt_image(child, ImageFile { name, bytes, generation }, SessionState::Asleep).await;
            }
            (Body::Live(live), _, None) => {
                // Not waited for: the parent has a place itself, and two who wait for each other's would wait for ever.
                if self.inner.settings.durability == Durability::Shutdown
                    && let Some(place) = self.place_at_once().await
                {
                    let session = live.session.fork().await?;
                    self.leave_will(&id, &*session).await;
                    *to = Body::Live(Live::new(session, place));
                } else {
                    let bytes = live.session.hibernate(&path).await?;
                    let image = ImageFile { name, bytes, generation };
                    return self.adopt_image(child, image, SessionState::Asleep).await;
                }
            }
        }
        let record = child.record().clone();
        self.inner.registry.put(record, Parts::All, Sync::Process).await
    }

    /// Empties a session: it goes on under its name with a fresh interpreter and without files. A cell that runs is killed.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`], or the registry's.
    pub async fn reset(&self, principal: &str, id: &str) -> Result<(), SessionError> {
        let slot = self.find(principal, id).await?;
        self.detached(&CancellationToken::new(), |sessions, _| async move {
            slot.kill();
            let mut turn = slot.sure_turn().await;
            if matches!(*turn, Body::Gone) {
                return Err(sessions.gone(&slot));
            }
            *turn = Body::Away;
            let (record, image) = {
                let mut record = slot.record();
                record.state = SessionState::Fresh;
                record.note.clear();
                record.generation = record.generation.saturating_add(1);
                record.executions = 0;
                record.files.clear();
                record.packages.clear();
                record.last_used = sessions.now();
                let image = record.image.take();
                (record.clone(), image)
            };
            sessions.inner.registry.put(record, Parts::All, Sync::Disk).await?;
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
            slot.set_cleared();
            sessions.slots().remove(&slot.record().id);
            slot.kill();
            let turn = slot.sure_turn().await;
            let was_there = !matches!(*turn, Body::Gone);
            sessions.forget(&slot, turn).await?;
            Ok(was_there)
        })
        .await
    }
}

/// Copies a sleeping session's file; the copy is durable when this returns.
fn copy_file(from: &std::path::Path, to: &std::path::Path) -> std::io::Result<u64> {
    let bytes = std::fs::copy(from, to)?;
    std::fs::File::open(to)?.sync_all()?;
    if let Some(directory) = to.parent() {
        std::fs::File::open(directory)?.sync_all()?;
    }
    Ok(bytes)
}
