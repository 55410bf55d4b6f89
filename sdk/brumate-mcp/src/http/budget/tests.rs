//! Accounts: what they hold, and who makes room.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn budget(bytes_each: usize, bytes: usize) -> Budget {
    Budget::new(BudgetLimits { bytes_each, bytes, requests_each: 2, requests: 3 })
}

fn account(budget: &Budget, name: &'static str) -> Account {
    budget.account(Some(&Principal::new(name)))
}

#[test]
fn an_account_is_bounded_and_leaves_others_their_share() {
    let budget = budget(4 << 20, 6 << 20);
    let (a, b, c) = (account(&budget, "a"), account(&budget, "b"), account(&budget, "c"));
    let too_large = BudgetExceeded::TooLarge { bytes: (4 << 20) + 1, limit: 4 << 20 };
    assert_eq!(a.try_charge((4 << 20) + 1).err(), Some(too_large));
    let first = a.try_charge(3 << 20).expect("room");
    assert_eq!(a.try_charge(2 << 20).err(), Some(BudgetExceeded::Full { bytes: 3 << 20 }));
    let second = b.try_charge(3 << 20).expect("room");
    // All of it is taken, apart from the guaranteed share.
    assert!(c.try_charge((1 << 20) + 1).is_err());
    assert!(c.try_charge(1 << 20).is_ok());
    assert!(a.try_charge(1).is_err());
    drop(second);
    assert!(a.try_charge(1 << 20).is_ok());
    drop(first);
    assert!(budget.lock().each.is_empty(), "nothing stays of accounts without anything");
    assert_eq!(budget.lock().bytes, 0);
}

#[test]
fn a_charge_grows_and_shrinks() {
    let budget = budget(100, 100);
    let account = account(&budget, "a");
    let mut charge = account.try_charge(10).expect("room");
    charge.try_grow(50).expect("room");
    assert!(charge.try_grow(50).is_err());
    charge.resize(90);
    assert_eq!(budget.lock().bytes, 90);
    charge.resize(200);
    assert_eq!(budget.lock().bytes, 200);
    charge.resize(5);
    assert_eq!(budget.lock().bytes, 5);
    drop(charge);
    assert_eq!(budget.lock().bytes, 0);
}

#[test]
fn requests_are_counted_until_they_end() {
    let budget = budget(100, 100);
    let (a, b) = (account(&budget, "a"), account(&budget, "b"));
    let first = a.begin_request().expect("room");
    let _second = a.begin_request().expect("room");
    assert!(a.begin_request().is_none());
    assert!(b.begin_request().is_some());
    drop(first);
    assert!(a.begin_request().is_some());
    let unknown = Budget::new(budget.limits()).account(None);
    let all = [0; 3].map(|_| unknown.begin_request());
    assert!(all.iter().all(Option::is_some) && unknown.begin_request().is_none());
}

/// Holds 10 bytes for each stream.
struct Streams {
    held: Mutex<HashMap<u64, Charge>>,
    last: AtomicU64,
}

impl RetainedStreams for Streams {
    fn forget(&self, stream: u64) {
        self.held.lock().expect("no panic").remove(&stream);
        self.last.store(stream, Ordering::Relaxed);
    }
}

#[test]
fn what_is_kept_for_resumption_goes_first_and_the_oldest_of_it() {
    let budget = budget(100, 100);
    let account = account(&budget, "a");
    let streams = Arc::new(Streams { held: Mutex::default(), last: AtomicU64::new(0) });
    let weak: Weak<dyn RetainedStreams> = Arc::downgrade(&(streams.clone() as Arc<dyn RetainedStreams>));
    for stream in 1..=10 {
        let charge = account.try_charge(10).expect("room");
        streams.held.lock().expect("no panic").insert(stream, charge);
        account.retain(weak.clone(), stream);
    }
    let charge = account.try_charge(25).expect("three of them go");
    assert_eq!((streams.held.lock().expect("no panic").len(), streams.last.load(Ordering::Relaxed)), (7, 3));
    drop(streams);
    // Streams that are gone are passed over.
    assert!(account.try_charge(75).is_ok());
    assert!(account.try_charge(76).is_err());
    drop(charge);
    assert!(budget.lock().each.is_empty());
}

#[test]
fn retained_streams_are_bounded_in_number() {
    let budget = budget(100, 100);
    let account = account(&budget, "a");
    let streams = Arc::new(Streams { held: Mutex::default(), last: AtomicU64::new(0) });
    let weak: Weak<dyn RetainedStreams> = Arc::downgrade(&(streams.clone() as Arc<dyn RetainedStreams>));
    for stream in 1..=(MAX_RETAINED_EACH as u64 + 2) {
        account.retain(weak.clone(), stream);
    }
    assert_eq!(streams.last.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_waits_for_room_and_not_for_ever() {
    let budget = budget(100, 100);
    let account = account(&budget, "a");
    let charge = account.try_charge(60).expect("room");
    let waiting = tokio::spawn({
        let account = account.clone();
        async move { account.reserve(60, Duration::from_secs(10)).await.map(drop) }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(charge);
    assert_eq!(waiting.await.expect("no panic"), Ok(()));
    let _charge = account.try_charge(60).expect("room");
    let full = BudgetExceeded::Full { bytes: 60 };
    assert_eq!(account.reserve(60, Duration::from_secs(10)).await.err(), Some(full));
    assert!(matches!(account.reserve(101, Duration::MAX / 4).await, Err(BudgetExceeded::TooLarge { .. })));
}
