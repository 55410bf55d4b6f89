//! Limits on the number of runs: for the whole server and for each principal.
//!
//! Free places go to the waiting principals in turn, and to the calls of one principal in their order. A principal
//! that sends a thousand calls waits for its own calls; other principals do not.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::allowance::{Allowance, Allowances, OverLimit, Spent};

/// Calls that may wait, for each run that may be under way. A longer queue would only hide that the host is too small:
/// at the default time limit the last call in it would wait for minutes.
const WAITING_PER_RUN: usize = 4;

/// Limit on the runs that are under way. Clones share it.
#[derive(Clone)]
pub struct Admission {
    gate: Arc<Gate>,
}

struct Gate {
    max_running: usize,
    allowances: Allowances,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: usize,
    accounts: HashMap<Arc<str>, Account>,
    /// Principals with waiting calls, the next one first.
    turns: VecDeque<Arc<str>>,
    next: u64,
}

#[derive(Default)]
struct Account {
    running: usize,
    waiting: VecDeque<(u64, Answer)>,
    spent: Spent,
    /// Cancelled to end the principal's runs.
    revoked: CancellationToken,
}

/// Reason why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// All places are taken, and the queue is full.
    Busy { running: usize, waiting: usize },
    /// The principal has used its allowance.
    OverLimit(OverLimit),
    /// The principal's access was revoked.
    Revoked,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.gate.state();
        formatter.debug_struct("Admission").field("running", &state.running).field("waiting", &state.waiting).finish()
    }
}

impl Admission {
    /// Allows `max_running` runs at the same time, and each principal what `allowances` gives it.
    pub fn new(max_running: usize, allowances: Allowances) -> Self {
        let gate = Gate { max_running: max_running.max(1), allowances, state: Mutex::default() };
        Self { gate: Arc::new(gate) }
    }

    /// Returns the number of runs that are under way.
    pub fn running(&self) -> usize {
        self.gate.state().running
    }

    /// Returns the number of calls that wait.
    pub fn waiting(&self) -> usize {
        self.gate.state().waiting
    }

    /// Waits for a place. The place is free again when the permit is dropped.
    pub(crate) async fn enter(&self, principal: &str) -> Result<Permit, Refused> {
        let (receiver, _place) = match self.gate.ask(principal)? {
            Asked::Granted(permit) => return Ok(permit),
            Asked::Waits(receiver, place) => (receiver, place),
        };
        // The sender is dropped only together with the queue.
        receiver.await.unwrap_or(Err(Refused::Busy { running: self.gate.max_running, waiting: 0 }))
    }

    /// Revokes a principal's access: ends its runs and refuses its waiting calls. Later calls are accepted, unless the
    /// principal's allowance is [revoked](crate::Allowance::revoked) as well.
    pub fn revoke(&self, principal: &str) {
        let waiting = {
            let mut state = self.gate.state();
            let state = &mut *state;
            let Some(account) = state.accounts.get_mut(principal) else { return };
            std::mem::take(&mut account.revoked).cancel();
            let waiting = std::mem::take(&mut account.waiting);
            state.waiting -= waiting.len();
            state.turns.retain(|name| **name != *principal);
            waiting
        };
        for (_, sender) in waiting {
            drop(sender.send(Err(Refused::Revoked)));
        }
    }
}

/// Channel that tells a waiting call whether it is admitted.
type Answer = oneshot::Sender<Result<Permit, Refused>>;

enum Asked {
    Granted(Permit),
    Waits(oneshot::Receiver<Result<Permit, Refused>>, Place),
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many runs of one principal may be under way.
    fn runs_each(&self, principal: &str) -> usize {
        (self.allowances.of(principal).runs).unwrap_or(self.max_running).clamp(1, self.max_running)
    }

    fn ask(self: &Arc<Self>, principal: &str) -> Result<Asked, Refused> {
        let allowance = self.allowances.of(principal);
        let each = self.runs_each(principal);
        let mut state = self.state();
        let state = &mut *state;
        // A principal without an account has used no CPU time. A refused call makes no account.
        let mut nothing = Spent::default();
        let spent = state.accounts.get_mut(principal).map_or(&mut nothing, |account| &mut account.spent);
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
            return Ok(Asked::Granted(Permit::new(self, name, revoked)));
        }
        let limit = each.saturating_mul(WAITING_PER_RUN);
        if account.waiting.len() >= limit {
            let waiting = account.waiting.len();
            return Err(match allowance.runs {
                Some(_) => Refused::OverLimit(OverLimit::Runs { running: account.running, waiting }),
                None => Refused::Busy { running: state.running, waiting },
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
        let place = Place { gate: Arc::clone(self), principal: name, number };
        Ok(Asked::Waits(receiver, place))
    }

    /// Grants free places to the principals whose turn it is.
    fn give(self: &Arc<Self>) {
        let mut given = Vec::new();
        {
            let mut state = self.state();
            let state = &mut *state;
            // Counts the principals in a row that may have no further run.
            let mut passed = 0;
            while state.running < self.max_running && passed < state.turns.len() {
                let Some(name) = state.turns.pop_front() else { break };
                let Some(account) = state.accounts.get_mut(&name) else { continue };
                if account.running >= self.runs_each(&name) {
                    passed += 1;
                    state.turns.push_back(name);
                    continue;
                }
                // Earlier runs may have used up the CPU time. All waiting calls of the principal are refused, as a new
                // one would be.
                if let Some(refused) = refusal(&self.allowances.of(&name), &mut account.spent) {
                    let waiting = std::mem::take(&mut account.waiting);
                    state.waiting -= waiting.len();
                    given.extend(waiting.into_iter().map(|(_, sender)| (sender, Err(refused.clone()))));
                    continue;
                }
                let Some((_, sender)) = account.waiting.pop_front() else { continue };
                account.running += 1;
                state.running += 1;
                state.waiting -= 1;
                passed = 0;
                let revoked = account.revoked.clone();
                if !account.waiting.is_empty() {
                    state.turns.push_back(Arc::clone(&name));
                }
                given.push((sender, Ok(Permit::new(self, name, revoked))));
            }
        }
        // Sent outside of the lock: a permit whose receiver is gone is dropped here, which locks again.
        for (sender, permit) in given {
            drop(sender.send(permit));
        }
    }

    fn leave(self: &Arc<Self>, principal: &Arc<str>, spent: Duration) {
        {
            let mut state = self.state();
            state.running -= 1;
            if let Some(account) = state.accounts.get_mut(principal) {
                account.running -= 1;
                if let Some(limit) = self.allowances.of(principal).cpu_per_hour {
                    account.spent.add(spent, limit, Instant::now());
                }
                if account.running == 0 && account.waiting.is_empty() && account.spent.is_nothing() {
                    state.accounts.remove(principal);
                }
            }
        }
        self.give();
    }
}

/// Returns why a principal may not start a run: its access is revoked, or its CPU time is used up.
fn refusal(allowance: &Allowance, spent: &mut Spent) -> Option<Refused> {
    if allowance.revoked {
        return Some(Refused::Revoked);
    }
    let limit = allowance.cpu_per_hour?;
    let retry_after = spent.exceeds(limit, Instant::now())?;
    Some(Refused::OverLimit(OverLimit::Cpu { limit, retry_after }))
}

/// Waiting call. Dropping it removes the call from the queue.
struct Place {
    gate: Arc<Gate>,
    principal: Arc<str>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.gate.state();
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
pub(crate) struct Permit {
    gate: Arc<Gate>,
    principal: Arc<str>,
    /// Start of the code, and the most CPU time that it may take.
    running: Option<(Instant, Duration)>,
    spent: Duration,
    revoked: CancellationToken,
}

impl Permit {
    fn new(gate: &Arc<Gate>, principal: Arc<str>, revoked: CancellationToken) -> Self {
        Self { gate: Arc::clone(gate), principal, running: None, spent: Duration::ZERO, revoked }
    }

    /// Returns a token that is cancelled when the principal's access is revoked and the run has to end.
    pub(crate) fn revoked(&self) -> &CancellationToken {
        &self.revoked
    }

    /// Notes that code starts and takes at most `cpu`. If its CPU time never becomes known, the elapsed time counts
    /// instead.
    pub(crate) fn begins(&mut self, cpu: Duration) {
        self.running = Some((Instant::now(), cpu));
    }

    /// Notes that the code has taken `cpu`.
    pub(crate) fn took(&mut self, cpu: Duration) {
        self.running = None;
        self.spent = self.spent.saturating_add(cpu);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some((since, most)) = self.running.take() {
            self.took(since.elapsed().min(most));
        }
        self.gate.leave(&self.principal, self.spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn runs_wait_then_are_refused() {
        let gate = Admission::new(1, Allowances::default());
        let running = gate.enter("a").await.unwrap();
        let mut queue: Vec<_> = (0..WAITING_PER_RUN)
            .map(|_| {
                let gate = gate.clone();
                tokio::spawn(async move { gate.enter("a").await.map(drop) })
            })
            .collect();
        while gate.waiting() < WAITING_PER_RUN {
            tokio::task::yield_now().await;
        }
        let busy = Refused::Busy { running: 1, waiting: WAITING_PER_RUN };
        assert_eq!(gate.enter("a").await.err(), Some(busy));

        // A cancelled call makes room for another.
        let gone = queue.pop().unwrap();
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(gate.waiting(), WAITING_PER_RUN - 1);

        drop(running);
        for waiting in queue {
            waiting.await.unwrap().unwrap();
        }
        assert_eq!((gate.waiting(), gate.running()), (0, 0));
        assert!(gate.gate.state().accounts.is_empty());
        assert!(gate.enter("a").await.is_ok());
    }

    #[tokio::test]
    async fn principals_take_turns() {
        let gate = Admission::new(1, Allowances::default());
        let running = gate.enter("a").await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut calls = Vec::new();
        for name in ["a", "a", "a", "b", "c", "b"] {
            let (gate, order) = (gate.clone(), Arc::clone(&order));
            calls.push(tokio::spawn(async move {
                let _permit = gate.enter(name).await.unwrap();
                order.lock().unwrap().push(name);
            }));
            settle().await;
        }
        drop(running);
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "a", "b", "a"]);
    }

    #[tokio::test]
    async fn a_principal_has_its_own_places_and_leaves_the_others_free() {
        let allowances = Allowances::new(|name| Allowance { runs: (name == "a").then_some(1), ..Allowance::default() });
        let gate = Admission::new(2, allowances);
        let first = gate.enter("a").await.unwrap();
        let second = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter("a").await.map(drop) }
        });
        settle().await;
        assert!(!second.is_finished());
        // Other principals pass those that may have no further run.
        drop(gate.enter("b").await.unwrap());
        settle().await;
        assert!(!second.is_finished());
        let queue: Vec<_> = (1..WAITING_PER_RUN).map(|_| gate.gate.ask("a").map(drop)).collect();
        assert!(queue.iter().all(Result::is_ok));
        drop(first);
        second.await.unwrap().unwrap();
        assert_eq!((gate.running(), gate.waiting()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_cpu_time_of_an_hour_comes_back_in_an_hour() {
        let limit = Duration::from_secs(60);
        let allowances = Allowances::new(move |_| Allowance { cpu_per_hour: Some(limit), ..Allowance::default() });
        let gate = Admission::new(2, allowances);
        let mut permit = gate.enter("a").await.unwrap();
        permit.begins(Duration::from_secs(100));
        permit.took(Duration::from_secs(90));
        drop(permit);
        let Some(Refused::OverLimit(OverLimit::Cpu { retry_after, .. })) = gate.enter("a").await.err() else {
            panic!("it is let in")
        };
        // 30 s over the limit, and 60 s come back in an hour.
        assert_eq!(retry_after.as_secs(), 1800);
        assert!(gate.enter("b").await.is_ok());
        tokio::time::advance(Duration::from_secs(1801)).await;
        // Unknown CPU time counts as the elapsed time, at most the limit.
        let mut permit = gate.enter("a").await.unwrap();
        permit.begins(Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(60)).await;
        drop(permit);
        assert!(gate.enter("a").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_asked_again_what_it_has_used() {
        let limit = Duration::from_secs(60);
        let allowances = Allowances::new(move |_| Allowance { cpu_per_hour: Some(limit), ..Allowance::default() });
        let gate = Admission::new(1, allowances);
        let mut running = gate.enter("a").await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..WAITING_PER_RUN {
            let gate = gate.clone();
            waiting.push(tokio::spawn(async move { gate.enter("a").await.map(drop) }));
            settle().await;
        }
        let other = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter("b").await.map(drop) }
        });
        settle().await;
        running.begins(Duration::from_secs(100));
        running.took(Duration::from_secs(90));
        drop(running);
        for call in waiting {
            let refused = call.await.unwrap();
            assert!(matches!(refused, Err(Refused::OverLimit(OverLimit::Cpu { .. }))), "{refused:?}");
        }
        other.await.unwrap().unwrap();
        assert_eq!((gate.running(), gate.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn whose_access_is_revoked_loses_what_runs_and_what_waits() {
        let gate = Admission::new(1, Allowances::default());
        let running = gate.enter("a").await.unwrap();
        let wait = |name: &'static str| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.enter(name).await.map(drop) })
        };
        let (first, second, other) = (wait("a"), wait("a"), wait("b"));
        settle().await;
        assert!(!running.revoked().is_cancelled());
        gate.revoke("a");
        gate.revoke("nobody");
        assert!(running.revoked().is_cancelled());
        for call in [first, second] {
            assert_eq!(call.await.unwrap(), Err(Refused::Revoked));
        }
        assert!(!other.is_finished(), "the run has not ended yet");
        drop(running);
        other.await.unwrap().unwrap();
        // A later call is admitted.
        assert!(!gate.enter("a").await.unwrap().revoked().is_cancelled());
        assert_eq!((gate.running(), gate.waiting()), (0, 0));
        let nobody = Allowances::new(|_| Allowance { revoked: true, ..Allowance::default() });
        assert_eq!(Admission::new(1, nobody).enter("a").await.err(), Some(Refused::Revoked));
    }
}
