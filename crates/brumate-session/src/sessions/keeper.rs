//! What happens to sessions while nobody calls: they sleep, expire, outlive the server.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::directory::{DataDir, DataDirError};
use super::error::SessionError;
use super::record::{ImageFile, SessionState};
use super::registry::{Parts, Sync};
use super::slot::{Body, Slot, Turn};
use super::{Inner, Sessions};

/// Sessions that are written at the same time when the server ends.
const CLOSED_AT_ONCE: usize = 4;
/// How much longer than its grace time a cell that was stopped may hold up the end of the server.
const CLOSING_MARGIN: Duration = Duration::from_secs(5);

impl Sessions {
    /// Takes over what the registry knows.
    pub(super) async fn restore(&self) -> Result<(), DataDirError> {
        let directory = &self.inner.directory;
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let records = self.inner.registry.all().await.map_err(|error| failed(error.to_string()))?;
        let mut changed = Vec::new();
        for mut record in records {
            let has_file = record.current_image().is_some_and(|image| directory.image(&image.name).is_file());
            match record.state {
                SessionState::Fresh | SessionState::Lost => {}
                SessionState::Live | SessionState::Asleep if has_file => record.state = SessionState::Asleep,
                // The registry still says that it lives, until it is used: its will is as good as a file.
                SessionState::Live if directory.has_will(&record.id) => {
                    let (name, generation) = (DataDir::will_name(&record.id), record.generation);
                    record.image = Some(ImageFile { name, bytes: 0, generation });
                    record.state = SessionState::Asleep;
                }
                SessionState::Live => {
                    record.lose("the server ended without putting it to sleep");
                    changed.push(record.clone());
                }
                SessionState::Asleep => {
                    record.lose("its file is gone");
                    changed.push(record.clone());
                }
            }
            self.slots().insert(record.id.clone(), Arc::new(Slot::new(record)));
        }
        for record in changed {
            let id = record.id.clone();
            tracing::warn!(session = ?id, reason = record.note, "a session is lost");
            let written = self.inner.registry.put(record, Parts::WithoutFiles, Sync::Process).await;
            written.map_err(|error| failed(error.to_string()))?;
        }
        let known: std::collections::HashSet<String> = {
            let slots = self.slots();
            slots.values().filter_map(|slot| slot.record().image.as_ref().map(|image| image.name.clone())).collect()
        };
        // A will lies beside the name that it will have.
        let wanted = |name: &str| {
            let beside = name.split_once(".session.").map(|(id, _)| format!("{id}.session"));
            known.contains(name) || beside.is_some_and(|name| known.contains(&name))
        };
        directory.clean(wanted).map_err(|error| failed(error.to_string()))?;
        self.sweep().await;
        Ok(())
    }

    /// Looks after the sessions as long as there are any owners of them.
    pub(super) fn keep(&self) {
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let (closing, every) = (self.inner.closing.clone(), self.inner.settings.sweep_every());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                let Some(inner) = weak.upgrade() else { return };
                Sessions { inner }.sweep().await;
            }
        });
    }

    /// Removes the sessions that have expired and puts those to sleep that have been idle long enough.
    pub async fn sweep(&self) {
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        for slot in slots {
            // Who is busy is not idle.
            let Some(mut turn) = slot.try_turn() else { continue };
            if self.has_expired(&slot) {
                if let Err(error) = self.forget(&slot, turn).await {
                    tracing::warn!(%error, "an expired session could not be removed");
                }
                continue;
            }
            let idle = self.idle_time(&slot.record());
            let due = self.inner.settings.hibernate_after.is_some_and(|after| idle >= after);
            if due
                && matches!(*turn, Body::Live(_))
                && slot.unkeepable().is_none()
                && let Err(error) = self.hibernate(&slot, &mut turn).await
            {
                tracing::warn!(session = ?slot.record().id, %error, "a session stays awake");
            }
        }
    }

    /// Removes a session and everything of it.
    pub(super) async fn forget(&self, slot: &Slot, mut turn: Turn) -> Result<(), SessionError> {
        *turn = Body::Gone;
        let (id, image) = {
            let record = slot.record();
            (record.id.clone(), record.image.clone())
        };
        self.slots().remove(&id);
        drop(turn);
        let removed = self.inner.registry.remove(vec![id.clone()]).await;
        self.inner.directory.remove_will(&id);
        if let Some(image) = image {
            self.inner.directory.remove_image(&image.name);
        }
        self.make_room();
        removed
    }

    /// Puts every session to sleep. Nothing can be begun any more; cells that run are stopped.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        let mut closing = JoinSet::new();
        for slot in slots {
            if closing.len() >= CLOSED_AT_ONCE {
                closing.join_next().await;
            }
            slot.interrupt();
            let sessions = self.clone();
            closing.spawn(async move { sessions.close_one(&slot).await });
        }
        while closing.join_next().await.is_some() {}
    }

    async fn close_one(&self, slot: &Slot) {
        let patience = self.inner.settings.limits.grace.saturating_add(CLOSING_MARGIN);
        let id = slot.record().id.clone();
        let Ok(mut turn) = timeout(patience, slot.sure_turn()).await else {
            tracing::error!(session = ?id, "a session is busy to the end; what its last cells did is lost");
            return;
        };
        if let Err(error) = self.hibernate(slot, &mut turn).await {
            tracing::error!(session = ?id, %error, "a session could not be put to sleep and is lost");
            slot.record().lose(&error.to_string());
        }
        if matches!(*turn, Body::Gone) {
            return;
        }
        // When it was used last, above all.
        let record = slot.record().clone();
        if record.state != SessionState::Fresh
            && let Err(error) = self.inner.registry.put(record, Parts::WithoutFiles, Sync::Process).await
        {
            tracing::error!(session = ?id, %error, "the registry could not be written");
        }
    }
}
