//! One zygote and its ready machines.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::unassigned::UnassignedMachine;
use super::zygote::Zygote;
use crate::api::{EngineError, Image};
use crate::image::file::Header;

/// Delay between taking a machine and forking the next one.
const REFILL_DELAY: Duration = Duration::from_millis(3);

/// A zygote with machines that wait for their first request.
#[derive(Debug)]
pub(crate) struct Pool {
    zygote: Arc<Zygote>,
    image: Image,
    /// Header of the image's file.
    base: Header,
    ready: Mutex<VecDeque<UnassignedMachine>>,
    /// Number of ready machines.
    target: usize,
    filling: AtomicBool,
    /// When a machine was taken last.
    used: Mutex<Instant>,
    /// Set when no ready machines are forked any more.
    retired: AtomicBool,
    /// Anonymous memory that a machine has when it is forked, in bytes.
    footprint: OnceLock<u64>,
}

impl Pool {
    pub(crate) fn new(zygote: Zygote, image: Image, base: Header, target: usize) -> Arc<Pool> {
        let pool = Pool {
            zygote: Arc::new(zygote),
            image,
            base,
            ready: Mutex::new(VecDeque::new()),
            target,
            filling: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            retired: AtomicBool::new(false),
            footprint: OnceLock::new(),
        };
        let pool = Arc::new(pool);
        pool.refill();
        pool
    }

    pub(crate) fn zygote(&self) -> &Arc<Zygote> {
        &self.zygote
    }

    /// Returns the image that its machines are forked from.
    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// Header of the image's file.
    pub(crate) fn base(&self) -> &Header {
        &self.base
    }

    /// Returns the anonymous memory of its machines when they are forked, in bytes; 0 if the kernel does not report it.
    pub(crate) fn footprint(&self) -> u64 {
        self.footprint.get().copied().unwrap_or(0)
    }

    /// Returns the time since a machine was taken last.
    pub(crate) fn unused_for(&self) -> Duration {
        self.used.lock().elapsed()
    }

    /// Ends the ready machines, and makes no others. Requested machines are forked as before.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.ready.lock().clear();
    }

    /// Returns a ready machine, or forks a new one.
    ///
    /// # Errors
    /// When none can be forked.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<UnassignedMachine, EngineError> {
        *self.used.lock() = Instant::now();
        let unassigned = self.take_any().await?;
        // All are forks of the same zygote, so one measurement is enough.
        self.footprint.get_or_init(|| unassigned.process.anonymous_bytes().unwrap_or(0));
        Ok(unassigned)
    }

    async fn take_any(self: &Arc<Self>) -> Result<UnassignedMachine, EngineError> {
        loop {
            let ready = self.ready.lock().pop_front();
            match ready {
                Some(unassigned) if unassigned.is_alive() => {
                    self.refill();
                    return Ok(unassigned);
                }
                Some(_) => {}
                None => break,
            }
        }
        self.refill();
        UnassignedMachine::fork(&self.zygote).await
    }

    fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Forks the missing ready machines in the background.
    fn refill(self: &Arc<Self>) {
        if self.target == 0 || self.is_retired() || self.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let pool = Arc::downgrade(self);
        tokio::spawn(async move {
            // The caller that took the last one is about to use it; forking now would compete for the CPU.
            tokio::time::sleep(REFILL_DELAY).await;
            while let Some(pool) = pool.upgrade() {
                let missing = {
                    let ready = pool.ready.lock();
                    ready.len() < pool.target && !pool.is_retired() && pool.zygote.is_alive()
                };
                if !missing {
                    pool.filling.store(false, Ordering::Release);
                    return;
                }
                match UnassignedMachine::fork(&pool.zygote).await {
                    Ok(unassigned) => {
                        let mut ready = pool.ready.lock();
                        // Under the lock: a caller that retires the pool has cleared the list before, or clears it
                        // afterwards.
                        if !pool.is_retired() {
                            ready.push_back(unassigned);
                        }
                    }
                    Err(error) => {
                        tracing::debug!(%error, "no machine could be made ready");
                        pool.filling.store(false, Ordering::Release);
                        return;
                    }
                }
            }
        });
    }
}
