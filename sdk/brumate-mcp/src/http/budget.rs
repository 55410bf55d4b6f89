//! Accounts of the requests and bytes that the server holds for its clients: requests under way, bodies that arrive,
//! answers that were not read.
//!
//! Every byte and every request is on the account of a principal. All clients without tokens are one principal. An
//! account that is full refuses further bytes, so a client that does not read holds up only itself.

use crate::principal::Principal;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Bytes that are held for one principal: bodies of requests under way and unread answers. Beyond, answers that are
/// kept for resumption are dropped first; then new requests are refused with 503, and answers are replaced by an error.
const MAX_BYTES_EACH: usize = 64 << 20;
/// Bytes that are held for all principals together.
const MAX_BYTES: usize = 192 << 20;
/// Bytes that a principal may always hold, whatever the others hold.
const GUARANTEED_BYTES: usize = 1 << 20;
/// Requests of one principal that are not answered yet. Beyond, new ones are refused with 503. Clients without tokens
/// share [`MAX_REQUESTS`].
const MAX_REQUESTS_EACH: usize = 2048;
/// Requests of all principals together that are not answered yet.
const MAX_REQUESTS: usize = 8192;
/// Requests that a principal may always have under way, whatever the others have.
const GUARANTEED_REQUESTS: usize = 16;
/// Answered streams of one principal that are kept for resumption. Beyond, the oldest is forgotten.
const MAX_RETAINED_EACH: usize = 4096;

/// The limits of a server's clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetLimits {
    pub(crate) bytes_each: usize,
    pub(crate) bytes: usize,
    pub(crate) requests_each: usize,
    pub(crate) requests: usize,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self { bytes_each: MAX_BYTES_EACH, bytes: MAX_BYTES, requests_each: MAX_REQUESTS_EACH, requests: MAX_REQUESTS }
    }
}

/// Answered streams that may be dropped when room is needed.
pub(crate) trait RetainedStreams: Send + Sync {
    /// Drops a stream, unless a client reads it.
    fn forget(&self, stream: u64);
}

/// The accounts of all principals of one server. Clones share them.
#[derive(Clone)]
pub(crate) struct Budget(Arc<BudgetInner>);

struct BudgetInner {
    limits: BudgetLimits,
    accounts: Mutex<Accounts>,
    freed: Notify,
}

#[derive(Default)]
struct Accounts {
    bytes: usize,
    requests: usize,
    each: HashMap<Option<Principal>, Usage>,
}

#[derive(Default)]
struct Usage {
    bytes: usize,
    requests: usize,
    /// Oldest first.
    retained: VecDeque<(Weak<dyn RetainedStreams>, u64)>,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(BudgetLimits::default())
    }
}

impl Budget {
    pub(crate) fn new(limits: BudgetLimits) -> Self {
        Self(Arc::new(BudgetInner { limits, accounts: Mutex::default(), freed: Notify::new() }))
    }

    pub(crate) fn limits(&self) -> BudgetLimits {
        self.0.limits
    }

    /// Returns the bytes that are held for all principals.
    pub(crate) fn held(&self) -> usize {
        self.lock().bytes
    }

    /// Returns the account of a principal.
    pub(crate) fn account(&self, principal: Option<&Principal>) -> Account {
        Account { budget: self.clone(), principal: principal.cloned() }
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.0.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// Changes the account of a principal. An empty account is dropped.
    fn change<T>(&mut self, principal: &Option<Principal>, change: impl FnOnce(&mut Usage) -> T) -> T {
        let usage = match self.each.get_mut(principal) {
            Some(usage) => usage,
            None => self.each.entry(principal.clone()).or_default(),
        };
        let (bytes, requests) = (usage.bytes, usage.requests);
        let result = change(usage);
        self.bytes = self.bytes - bytes + usage.bytes;
        self.requests = self.requests - requests + usage.requests;
        if usage.bytes == 0 && usage.requests == 0 && usage.retained.is_empty() {
            self.each.remove(principal);
        }
        result
    }

    fn fits(&self, limits: &BudgetLimits, principal: &Option<Principal>, bytes: usize) -> bool {
        let own = self.each.get(principal).map_or(0, |usage| usage.bytes).saturating_add(bytes);
        own <= limits.bytes_each
            && (self.bytes.saturating_add(bytes) <= limits.bytes || own <= GUARANTEED_BYTES.min(limits.bytes_each))
    }
}

/// The account of one principal. Clones are the same account.
#[derive(Clone)]
pub(crate) struct Account {
    budget: Budget,
    principal: Option<Principal>,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// The error when an account has no room. The text is for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BudgetExceeded {
    /// The bytes are more than a principal may ever hold.
    #[error("an answer of {bytes} bytes is more than a client may have unread ({limit} bytes): ask for less at a time")]
    TooLarge { bytes: usize, limit: usize },
    /// The account has no room now.
    #[error("{bytes} bytes of answers and requests are held for you: read what was answered, then try again")]
    Full { bytes: usize },
}

impl Account {
    /// Takes `bytes` from the account if there is room, after answers that are only kept for resumption were dropped.
    ///
    /// # Errors
    ///
    /// Returns [`BudgetExceeded`] if there is no room.
    pub(crate) fn try_charge(&self, bytes: usize) -> Result<Charge, BudgetExceeded> {
        let limits = self.budget.limits();
        if bytes > limits.bytes_each {
            return Err(BudgetExceeded::TooLarge { bytes, limit: limits.bytes_each });
        }
        loop {
            let oldest = {
                let mut accounts = self.budget.lock();
                if accounts.fits(&limits, &self.principal, bytes) {
                    accounts.change(&self.principal, |usage| usage.bytes += bytes);
                    return Ok(Charge { account: self.clone(), bytes });
                }
                accounts.change(&self.principal, |usage| (usage.retained.pop_front(), usage.bytes))
            };
            // Outside of the lock: a dropped stream frees its bytes.
            match oldest {
                (Some((owner, stream)), _) => forget(&owner, stream),
                (None, bytes) => return Err(BudgetExceeded::Full { bytes }),
            }
        }
    }

    /// Takes `bytes` from the account whether there is room or not, for bytes that are held already.
    pub(crate) fn charge(&self, bytes: usize) -> Charge {
        self.budget.lock().change(&self.principal, |usage| usage.bytes += bytes);
        Charge { account: self.clone(), bytes }
    }

    /// Waits up to `timeout` for room.
    ///
    /// # Errors
    ///
    /// Returns [`BudgetExceeded`] if there is no room by then.
    pub(crate) async fn reserve(&self, bytes: usize, timeout: Duration) -> Result<Charge, BudgetExceeded> {
        let deadline = Instant::now() + timeout;
        loop {
            // Enabled before the attempt, so that bytes that are freed in between are not missed.
            let freed = self.budget.0.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            match self.try_charge(bytes) {
                Err(full @ BudgetExceeded::Full { .. }) => {
                    if timeout_at(deadline, freed).await.is_err() {
                        return Err(full);
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Begins a request. `None` if the principal, or all principals together, have as many under way as they may.
    pub(crate) fn begin_request(&self) -> Option<RequestCharge> {
        let limits = self.budget.limits();
        let mut accounts = self.budget.lock();
        let own = accounts.each.get(&self.principal).map_or(0, |usage| usage.requests);
        // Clients without a principal share all requests.
        let each = if self.principal.is_some() { limits.requests_each } else { limits.requests };
        let room = own < each && (accounts.requests < limits.requests || own < GUARANTEED_REQUESTS.min(each));
        room.then(|| {
            accounts.change(&self.principal, |usage| usage.requests += 1);
            RequestCharge(self.clone())
        })
    }

    /// Notes that a stream is answered and only kept for clients that reconnect. It is dropped first when room is
    /// needed.
    pub(crate) fn retain(&self, owner: Weak<dyn RetainedStreams>, stream: u64) {
        let oldest = self.budget.lock().change(&self.principal, |usage| {
            usage.retained.push_back((owner, stream));
            (usage.retained.len() > MAX_RETAINED_EACH).then(|| usage.retained.pop_front()).flatten()
        });
        if let Some((owner, stream)) = oldest {
            forget(&owner, stream);
        }
    }

    fn free(&self, bytes: usize) {
        self.budget.lock().change(&self.principal, |usage| usage.bytes = usage.bytes.saturating_sub(bytes));
        self.budget.0.freed.notify_waiters();
    }
}

fn forget(owner: &Weak<dyn RetainedStreams>, stream: u64) {
    if let Some(owner) = owner.upgrade() {
        owner.forget(stream);
    }
}

/// Bytes on an account, until it is dropped.
pub(crate) struct Charge {
    account: Account,
    bytes: usize,
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Charge").field(&self.bytes).finish()
    }
}

impl Charge {
    /// Changes the charge to `bytes`, whether there is room or not.
    pub(crate) fn resize(&mut self, bytes: usize) {
        let was = std::mem::replace(&mut self.bytes, bytes);
        match bytes.checked_sub(was) {
            Some(more) => self.account.charge(more).keep(),
            None => self.account.free(was - bytes),
        }
    }

    /// Adds `bytes` if there is room.
    ///
    /// # Errors
    ///
    /// Returns [`BudgetExceeded`] if there is no room.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.account.try_charge(bytes)?.keep();
        self.bytes += bytes;
        Ok(())
    }

    /// Leaves the bytes on the account, for another charge to free.
    fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.account.free(self.bytes);
        }
    }
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestCharge(Account);

impl Drop for RequestCharge {
    fn drop(&mut self) {
        let Account { budget, principal } = &self.0;
        budget.lock().change(principal, |usage| usage.requests = usage.requests.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests;
