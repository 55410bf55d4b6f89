//! Limits on the number of runs: for the whole server and for each principal.
//!
//! Free places go to the waiting principals in turn, and to the calls of one principal in their order. A principal
//! that sends a thousand calls waits for its own calls; other principals do not.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::allowance::{Allowance, Allowances, CpuUsage, OverLimit};

/// Calls that may wait, for each run that may be under way. A longer queue would only hide that the host is too small:
/// at the default time limit the last call in it would wait for minutes.
const WAITING_PER_RUN: usize = 4;

/// Treatment of a call when all places are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// A few calls wait for each place, and further ones are refused: a server cannot stop its clients from calling.
    #[default]
    Refuse,
    /// All calls wait. A program that has the sandbox as a library bounds its calls itself: each is its own thread, task or future.
    Wait,
}

impl WhenFull {
    /// Returns how many calls may wait where a server lets `few` wait.
    pub(crate) fn waiting(self, few: usize) -> usize {
        match self {
            Self::Refuse => few,
            Self::Wait => usize::MAX,
        }
    }
}

/// Limit on the runs that are under way. Clones share it.
#[derive(Clone)]
pub struct Admission {
    queue: Arc<AdmissionQueue>,
}

struct AdmissionQueue {
    max_running: usize,
    allowances: Allowances,
    when_full: WhenFull,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    running: usize,
    waiting: usize,
    accounts: HashMap<Arc<str>, PrincipalAccount>,
    /// Principals with waiting calls, the next one first.
    turns: VecDeque<Arc<str>>,
    next: u64,
}

#[derive(Default)]
struct PrincipalAccount {
    running: usize,
    waiting: VecDeque<(u64, AdmissionSender)>,
    cpu: CpuUsage,
    /// Cancelled to end the principal's runs.
    revoked: CancellationToken,
}

/// Reason why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AdmissionError {
    /// All places are taken, and the queue is full.
    Busy { running: usize, waiting: usize },
    /// The principal has used its allowance.
    OverLimit(OverLimit),
    /// The principal's access was revoked.
    Revoked,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.queue.state();
        formatter.debug_struct("Admission").field("running", &state.running).field("waiting", &state.waiting).finish()
    }
}

impl Admission {
    /// Allows `max_running` runs at the same time, and each principal what `allowances` gives it.
    pub fn new(max_running: usize, allowances: Allowances, when_full: WhenFull) -> Self {
        let queue = AdmissionQueue { max_running: max_running.max(1), allowances, when_full, state: Mutex::default() };
        Self { queue: Arc::new(queue) }
    }

    /// Returns the number of runs that are under way.
    pub fn running(&self) -> usize {
        self.queue.state().running
    }

    /// Returns the number of calls that wait.
    pub fn waiting(&self) -> usize {
        self.queue.state().waiting
    }

    /// Waits for a place. The place is free again when the permit is dropped.
    pub(crate) async fn enter(&self, principal: &str) -> Result<RunPermit, AdmissionError> {
        let (receiver, _place) = match self.queue.request_place(principal)? {
            Entry::Granted(permit) => return Ok(permit),
            Entry::Queued(receiver, place) => (receiver, place),
        };
        // The sender is dropped only together with the queue.
        receiver.await.unwrap_or(Err(AdmissionError::Busy { running: self.queue.max_running, waiting: 0 }))
    }

    /// Revokes a principal's access: ends its runs and refuses its waiting calls. Later calls are accepted, unless the
    /// principal's allowance is [revoked](crate::Allowance::revoked) as well.
    pub fn revoke(&self, principal: &str) {
        let waiting = {
            let mut state = self.queue.state();
            let state = &mut *state;
            let Some(account) = state.accounts.get_mut(principal) else { return };
            std::mem::take(&mut account.revoked).cancel();
            let waiting = std::mem::take(&mut account.waiting);
            state.waiting -= waiting.len();
            state.turns.retain(|name| **name != *principal);
            waiting
        };
        for (_, sender) in waiting {
            drop(sender.send(Err(AdmissionError::Revoked)));
        }
    }
}

/// Channel that tells a waiting call whether it is admitted.
type AdmissionSender = oneshot::Sender<Result<RunPermit, AdmissionError>>;

enum Entry {
    Granted(RunPermit),
    Queued(oneshot::Receiver<Result<RunPermit, AdmissionError>>, QueuedCall),
}

impl AdmissionQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// Returns how many runs of one principal may be under way.
    fn runs_each(&self, principal: &str) -> usize {
        (self.allowances.of(principal).runs).unwrap_or(self.max_running).clamp(1, self.max_running)
    }

    fn request_place(self: &Arc<Self>, principal: &str) -> Result<Entry, AdmissionError> {
        let allowance = self.allowances.of(principal);
        let each = self.runs_each(principal);
        let mut state = self.state();
        let state = &mut *state;
        // A principal without an account has used no CPU time. A refused call makes no account.
        let mut nothing = CpuUsage::default();
        let spent = state.accounts.get_mut(principal).map_or(&mut nothing, |account| &mut account.cpu);
        if let Some(refused) = refusal(&allowance, spent) {
            return Err(refused);
        }
        let name: Arc<str> = match state.accounts.get_key_value(principal) {
            Some((name, _)) => Arc::clone(name),
            None => principal.into(),
        };
        let account = state.accounts.entry(Arc::clone(&name)).or_default();
        // No call of another principal waits while a place is free: free places are granted at once.
        if state.running < self.max_running && account.running < each && account.waiting.is_empty() {
            state.running += 1;
            account.running += 1;
            let revoked = account.revoked.clone();
            return Ok(Entry::Granted(RunPermit::new(self, name, revoked)));
        }
        let limit = self.when_full.waiting(each.saturating_mul(WAITING_PER_RUN));
        if account.waiting.len() >= limit {
            let waiting = account.waiting.len();
            return Err(match allowance.runs {
                Some(_) => AdmissionError::OverLimit(OverLimit::Runs { running: account.running, waiting }),
                None => AdmissionError::Busy { running: state.running, waiting },
            });
        }
        let (sender, receiver) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        if account.waiting.is_empty() {
            state.turns.push_back(Arc::clone(&name));
        }
        account.waiting.push_back((number, sender));
        state.waiting += 1;
        let place = QueuedCall { queue: Arc::clone(self), principal: name, number };
        Ok(Entry::Queued(receiver, place))
    }

    /// Grants free places to the principals whose turn it is.
    fn grant_free_places(self: &Arc<Self>) {
        let mut granted = Vec::new();
        {
            let mut state = self.state();
            let state = &mut *state;
            // Counts the principals in a row that may have no further run.
            let mut skipped = 0;
            while state.running < self.max_running && skipped < state.turns.len() {
                let Some(name) = state.turns.pop_front() else { break };
                let Some(account) = state.accounts.get_mut(&name) else { continue };
                if account.running >= self.runs_each(&name) {
                    skipped += 1;
                    state.turns.push_back(name);
                    continue;
                }
                // Earlier runs may have used up the CPU time. All waiting calls of the principal are refused, as a new
                // one would be.
                if let Some(refused) = refusal(&self.allowances.of(&name), &mut account.cpu) {
                    let waiting = std::mem::take(&mut account.waiting);
                    state.waiting -= waiting.len();
                    granted.extend(waiting.into_iter().map(|(_, sender)| (sender, Err(refused.clone()))));
                    continue;
                }
                let Some((_, sender)) = account.waiting.pop_front() else { continue };
                account.running += 1;
                state.running += 1;
                state.waiting -= 1;
                skipped = 0;
                let revoked = account.revoked.clone();
                if !account.waiting.is_empty() {
                    state.turns.push_back(Arc::clone(&name));
                }
                granted.push((sender, Ok(RunPermit::new(self, name, revoked))));
            }
        }
        // Sent outside of the lock: a permit whose receiver is gone is dropped here, which locks again.
        for (sender, permit) in granted {
            drop(sender.send(permit));
        }
    }

    fn release(self: &Arc<Self>, principal: &Arc<str>, spent: Duration) {
        {
            let mut state = self.state();
            state.running -= 1;
            if let Some(account) = state.accounts.get_mut(principal) {
                account.running -= 1;
                if let Some(limit) = self.allowances.of(principal).cpu_per_hour {
                    account.cpu.add(spent, limit, Instant::now());
                }
                if account.running == 0 && account.waiting.is_empty() && account.cpu.is_zero() {
                    state.accounts.remove(principal);
                }
            }
        }
        self.grant_free_places();
    }
}

/// Returns why a principal may not start a run: its access is revoked, or its CPU time is used up.
fn refusal(allowance: &Allowance, spent: &mut CpuUsage) -> Option<AdmissionError> {
    if allowance.revoked {
        return Some(AdmissionError::Revoked);
    }
    let limit = allowance.cpu_per_hour?;
    let retry_after = spent.retry_after(limit, Instant::now())?;
    Some(AdmissionError::OverLimit(OverLimit::Cpu { limit, retry_after }))
}

/// Waiting call. Dropping it removes the call from the queue.
struct QueuedCall {
    queue: Arc<AdmissionQueue>,
    principal: Arc<str>,
    number: u64,
}

impl Drop for QueuedCall {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let state = &mut *state;
        let Some(account) = state.accounts.get_mut(&self.principal) else { return };
        let Some(index) = account.waiting.iter().position(|(number, _)| *number == self.number) else { return };
        account.waiting.remove(index);
        state.waiting -= 1;
        if account.waiting.is_empty() {
            state.turns.retain(|name| *name != self.principal);
        }
    }
}

/// Right to one run. Dropping it frees the place.
pub(crate) struct RunPermit {
    queue: Arc<AdmissionQueue>,
    principal: Arc<str>,
    /// Start of the code, and the most CPU time that it may take.
    running: Option<(Instant, Duration)>,
    spent: Duration,
    revoked: CancellationToken,
}

impl RunPermit {
    fn new(queue: &Arc<AdmissionQueue>, principal: Arc<str>, revoked: CancellationToken) -> Self {
        Self { queue: Arc::clone(queue), principal, running: None, spent: Duration::ZERO, revoked }
    }

    /// Returns a token that is cancelled when the principal's access is revoked and the run has to end.
    pub(crate) fn revoked(&self) -> &CancellationToken {
        &self.revoked
    }

    /// Notes that code starts and takes at most `cpu`. If its CPU time never becomes known, the elapsed time counts
    /// instead.
    pub(crate) fn start(&mut self, cpu: Duration) {
        self.running = Some((Instant::now(), cpu));
    }

    /// Notes that the code has taken `cpu`.
    pub(crate) fn record_cpu(&mut self, cpu: Duration) {
        self.running = None;
        self.spent = self.spent.saturating_add(cpu);
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        if let Some((since, most)) = self.running.take() {
            self.record_cpu(since.elapsed().min(most));
        }
        self.queue.release(&self.principal, self.spent);
    }
}

#[cfg(test)]
mod tests;
