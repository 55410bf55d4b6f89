//! Zygotes of a sandbox, one for each image: started on demand, replaced, and ended when unused.

use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::compiler::Urgency;
use super::images::Verified;
use super::pool::Pool;
use super::prepare;
use super::zygote::{Ingredients, Zygote};
use super::{PoolEntry, PoolKey, SandboxShared};
use crate::api::{EngineError, Image};

impl SandboxShared {
    /// Takes no more machines from `pool`. Machines that are in use continue.
    pub(super) async fn retire(&self, image: &PoolKey, pool: &Arc<Pool>) {
        let entry = self.pools.lock().get(image).cloned();
        if let Some(entry) = entry {
            entry.lock().await.take_if(|current| Arc::ptr_eq(current, pool));
        }
    }

    /// Replaces the zygotes. Machines that are in use continue, and runs are served by the old zygotes until the new
    /// ones have started.
    pub(super) async fn replace_zygotes(&self) {
        let entries: Vec<(PoolKey, PoolEntry)> = {
            let pools = self.pools.lock();
            // The plain image is included: it has the modules that the driver loads.
            pools.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect()
        };
        for (image, entry) in entries {
            if entry.lock().await.is_none() {
                continue;
            }
            match self.start_pool(&image, Urgency::Ahead).await {
                Ok(pool) => {
                    let old = entry.lock().await.replace(pool.clone());
                    self.watch(&entry, &pool);
                    if let Some(old) = old {
                        old.retire();
                    }
                }
                Err(error) => tracing::warn!(image = %image.0, %error, "a zygote is not replaced"),
            }
        }
    }

    /// Returns the pool of an image that this version makes. A dead zygote is replaced.
    pub(crate) async fn pool(&self, image: &Image, urgency: Urgency) -> Result<Arc<Pool>, EngineError> {
        self.pool_of(&(image.clone(), None), urgency).await
    }

    /// As [`SandboxShared::pool`], also for images that other versions have made.
    pub(super) async fn pool_of(&self, wanted: &PoolKey, urgency: Urgency) -> Result<Arc<Pool>, EngineError> {
        let entry = {
            let mut pools = self.pools.lock();
            if !pools.contains_key(wanted) && pools.len() >= MAX_IMAGES {
                // Entries without a zygote, which nobody uses at present.
                pools.retain(|_, entry| {
                    Arc::strong_count(entry) > 1 || entry.try_lock().is_ok_and(|pool| pool.is_some())
                });
                if pools.len() >= MAX_IMAGES {
                    return Err(EngineError::Unavailable(format!("{MAX_IMAGES} images are in use")));
                }
            }
            pools.entry(wanted.clone()).or_default().clone()
        };
        let mut current = entry.lock().await;
        if let Some(pool) = current.as_ref()
            && pool.zygote().is_alive()
        {
            return Ok(pool.clone());
        }
        // Its ready machines are unusable as well.
        *current = None;
        let pool = self.start_pool(wanted, urgency).await?;
        *current = Some(pool.clone());
        self.watch(&entry, &pool);
        Ok(pool)
    }

    /// Starts the zygote of an image; builds the image if it is not there.
    async fn start_pool(&self, (image, made_by_another): &PoolKey, urgency: Urgency) -> Result<Arc<Pool>, EngineError> {
        let (main, trampoline) = prepare::prelude(self).await?;
        let ingredients = self.ingredients((&main, &trampoline), image, urgency);
        let verified = match made_by_another {
            None => prepare::image(self, ingredients, image).await?,
            Some(id) => prepare::find_by_id(self, *id).await?.ok_or_else(|| EngineError::Outdated(GONE.to_owned()))?,
        };
        self.pool_from(ingredients, image, verified, self.ready).await
    }

    /// Starts a zygote of an image that came with one session. It is in no list: it ends with the last machine of that
    /// session, and no other session gets a machine of it.
    pub(super) async fn private_pool(&self, image: &Image, verified: Verified) -> Result<Arc<Pool>, EngineError> {
        let (main, trampoline) = prepare::prelude(self).await?;
        let ingredients = self.ingredients((&main, &trampoline), image, Urgency::Needed);
        self.pool_from(Ingredients { brief: true, ..ingredients }, image, verified, 0).await
    }

    fn ingredients<'a>(
        &'a self,
        (main, trampoline): (&'a File, &'a File),
        image: &'a Image,
        urgency: Urgency,
    ) -> Ingredients<'a> {
        Ingredients {
            program: &self.program,
            main,
            trampoline,
            require_jail: self.require_jail,
            brief: self.brief.load(Ordering::Relaxed),
            startup_timeouts: self.startup_timeouts,
            compilers: &self.compilers,
            urgency,
            layers: image.layers(),
        }
    }

    /// Starts a zygote of a verified image, with so many ready machines.
    async fn pool_from(
        &self,
        ingredients: Ingredients<'_>,
        image: &Image,
        verified: Verified,
        ready: usize,
    ) -> Result<Arc<Pool>, EngineError> {
        let zygote = Zygote::start(ingredients, &verified.file).await;
        self.compilers.rest();
        let zygote = zygote?;
        self.report_missing_walls(&zygote);
        Ok(Pool::new(zygote, image.clone(), verified.header, ready))
    }

    /// Logs the walls that are missing around machines, once for each sandbox.
    fn report_missing_walls(&self, zygote: &Zygote) {
        if self.walls_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        for wall in zygote.missing_walls() {
            tracing::warn!(wall, "a wall of the sandbox is missing; see `brumate doctor`");
        }
    }

    /// Starts the task that retires an unused pool.
    fn watch(&self, entry: &PoolEntry, pool: &Arc<Pool>) {
        if let Some(idle) = self.idle {
            tokio::spawn(retire_idle(Arc::downgrade(pool), entry.clone(), idle));
        }
    }
}

/// Time that brief zygotes serve after a quick start.
const QUICK: Duration = Duration::from_secs(1);

/// Replaces the zygotes of a quick start by ones that fork fast.
pub(super) async fn replace_brief(shared: Weak<SandboxShared>) {
    tokio::time::sleep(QUICK).await;
    if let Some(shared) = shared.upgrade() {
        shared.brief.store(false, Ordering::Relaxed);
        shared.replace_zygotes().await;
    }
}

/// Retires a pool if no machine of it was taken for `idle`. Machines that are in use continue, and so does their
/// zygote.
async fn retire_idle(pool: Weak<Pool>, entry: PoolEntry, idle: Duration) {
    while let Some(used) = pool.upgrade() {
        let left = idle.saturating_sub(used.unused_for());
        if left.is_zero() {
            entry.lock().await.take_if(|current| Arc::ptr_eq(current, &used));
            used.retire();
            tracing::debug!(image = %used.image(), "nobody uses an image: its zygote ends");
            return;
        }
        drop(used);
        tokio::time::sleep(left).await;
    }
}

/// The text of the error for an image that is not in the cache any more.
pub(super) const GONE: &str = "the image that it began with is not in the cache any more";

/// Images, and with them zygotes, that one sandbox uses.
const MAX_IMAGES: usize = 32;
