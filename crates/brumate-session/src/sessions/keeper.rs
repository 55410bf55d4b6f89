//! What happens to sessions while nobody calls: they sleep, expire, outlive the server.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::directory::{DataDir, DataDirError};
use super::error::SessionError;
use super::live::Room;
use super::record::{ImageFile, SessionState};
use super::registry::{Parts, Sync};
use super::slot::{Body, Slot, Turn};
use super::{Inner, Sessions};

/// Sessions that are written at the same time when the server ends.
const CLOSED_AT_ONCE: usize = 4;
/// How often a server looks whether somebody makes a backup.
const LOOK_FOR_REQUESTS: Duration = Duration::from_secs(1);
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
                SessionState::Live | SessionState::Asleep if directory.has_will(&record.id) => {
                    let (name, generation) = (DataDir::will_name(&record.id), record.generation);
                    record.image = Some(ImageFile { name, bytes: directory.will_bytes(&record.id), generation });
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
            // Clocks that were set back make sessions look used, not old; one that was set forward cannot be told from time.
            let idle = Duration::from_millis(u64::try_from(self.now().saturating_sub(record.last_used)).unwrap_or(0));
            let slot = Slot::aged(record, (self.inner.settings.elapsed)(), idle);
            let id = slot.record().id.clone();
            self.slots().insert(id, Arc::new(slot));
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
            let mut since_sweep = Duration::ZERO;
            loop {
                let pause = every.min(LOOK_FOR_REQUESTS);
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                since_sweep += pause;
                let Some(inner) = weak.upgrade() else { return };
                let sessions = Sessions { inner };
                sessions.flush_if_asked().await;
                if since_sweep >= every {
                    since_sweep = Duration::ZERO;
                    sessions.sweep().await;
                }
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
            let idle = self.idle_time(&slot);
            let due = self.inner.settings.hibernate_after.is_some_and(|after| idle >= after);
            if due
                && matches!(*turn, Body::Live(_))
                && slot.unkeepable().is_none()
                && let Err(error) = self.hibernate(&slot, &mut turn, Room::Checked).await
            {
                tracing::warn!(session = ?slot.record().id, %error, "a session stays awake");
            }
        }
    }

    /// Removes a session and everything of it.
    ///
    /// # Errors
    ///
    /// The registry's; the session stays then.
    pub(super) async fn forget(&self, slot: &Slot, mut turn: Turn) -> Result<(), SessionError> {
        let (id, image) = {
            let record = slot.record();
            (record.id.clone(), record.image.clone())
        };
        self.inner.registry.remove(vec![id.clone()]).await?;
        *turn = Body::Gone;
        self.slots().remove(&id);
        drop(turn);
        self.inner.directory.remove_will(&id);
        if let Some(image) = image {
            self.inner.directory.remove_image(&image.name);
        }
        self.make_room();
        Ok(())
    }

    /// Puts every session to sleep, whatever they may take of the disk. Nothing can be begun any more; cells that run are stopped.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        let mut closing = JoinSet::new();
        let mut refused = Vec::new();
        for slot in slots {
            if closing.len() >= CLOSED_AT_ONCE {
                refused.extend(closing.join_next().await.and_then(Result::ok).flatten());
            }
            slot.interrupt();
            let sessions = self.clone();
            closing.spawn(async move { sessions.close_one(&slot, Attempt::First).await.is_err().then_some(slot) });
        }
        while let Some(closed) = closing.join_next().await {
            refused.extend(closed.ok().flatten());
        }
        // What others do not need any more may be room enough.
        for slot in refused {
            if let Err(error) = self.close_one(&slot, Attempt::Last).await {
                tracing::debug!(%error, "a session is lost");
            }
        }
    }

    /// Puts a session to sleep for good.
    ///
    /// # Errors
    ///
    /// What the disk says in the first attempt. Whatever fails in the last one, the session is lost, and its record says why.
    async fn close_one(&self, slot: &Slot, attempt: Attempt) -> Result<(), SessionError> {
        let patience = self.inner.settings.limits.grace.saturating_add(CLOSING_MARGIN);
        let id = slot.record().id.clone();
        let Ok(mut turn) = timeout(patience, slot.sure_turn()).await else {
            tracing::error!(session = ?id, "a session is busy to the end; what its last cells did is lost");
            return Ok(());
        };
        match self.hibernate(slot, &mut turn, Room::Taken).await {
            Err(error @ SessionError::Storage(_)) if attempt == Attempt::First => return Err(error),
            Err(error) => {
                tracing::error!(session = ?id, %error, "a session could not be put to sleep and is lost");
                slot.record().lose(&error.to_string());
            }
            Ok(()) => {}
        }
        if matches!(*turn, Body::Gone) {
            return Ok(());
        }
        // When it was used last, above all.
        let record = slot.record().clone();
        if record.state != SessionState::Fresh
            && let Err(error) = self.inner.registry.put(record, Parts::WithoutFiles, Sync::Process).await
        {
            tracing::error!(session = ?id, %error, "the registry could not be written");
        }
        Ok(())
    }
}

/// Which attempt to write a session it is when the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// Others may make room.
    First,
    /// There is no other.
    Last,
}
