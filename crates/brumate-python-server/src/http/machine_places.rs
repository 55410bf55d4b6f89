//! Places for machines: their number is bounded, in all and for each principal.

use std::collections::HashMap;
use std::sync::Arc;

use brumate_mcp::Principal;
use parking_lot::Mutex;

/// Places for machines. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct MachinePlaces {
    all: usize,
    each: usize,
    taken: Arc<Mutex<TakenPlaces>>,
}

#[derive(Debug, Default)]
struct TakenPlaces {
    all: usize,
    each: HashMap<Principal, usize>,
}

impl MachinePlaces {
    /// Makes `all` places, of which a principal may take `each`.
    pub(super) fn new(all: usize, each: usize) -> Self {
        Self { all, each, taken: Arc::default() }
    }

    /// Returns whether not all places are taken.
    pub(super) fn has_room(&self) -> bool {
        self.taken.lock().all < self.all
    }

    /// Takes a place; `None` if there is none for this principal.
    pub(super) fn take(&self, principal: Option<&Principal>) -> Option<MachinePlace> {
        let mut taken = self.taken.lock();
        if taken.all >= self.all {
            return None;
        }
        if let Some(principal) = principal {
            let own = taken.each.get(principal).copied().unwrap_or_default();
            if own >= self.each {
                return None;
            }
            taken.each.insert(principal.clone(), own + 1);
        }
        taken.all += 1;
        Some(MachinePlace { places: self.clone(), principal: principal.cloned() })
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct MachinePlace {
    places: MachinePlaces,
    principal: Option<Principal>,
}

impl Drop for MachinePlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        taken.all -= 1;
        if let Some(principal) = &self.principal
            && let Some(own) = taken.each.get_mut(principal)
        {
            *own -= 1;
            if *own == 0 {
                taken.each.remove(principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_in_all_and_for_each_principal() {
        let places = MachinePlaces::new(3, 2);
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let first = places.take(Some(&ada));
        let second = places.take(Some(&ada));
        assert!(first.is_some() && second.is_some());
        assert!(places.take(Some(&ada)).is_none(), "ada has two");
        let third = places.take(Some(&bob));
        assert!(third.is_some());
        assert!(places.take(Some(&bob)).is_none() && places.take(None).is_none(), "there are three");
        drop(first);
        let anybody = places.take(None);
        assert!(anybody.is_some());
        drop((second, third, anybody));
        assert!(places.taken.lock().each.is_empty() && places.taken.lock().all == 0);
    }
}
