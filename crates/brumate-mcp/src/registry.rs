//! What a server offers, in the order in which it was registered, page by page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// Items by name.
#[derive(Debug)]
pub(crate) struct Registry<T>(RwLock<Items<T>>);

#[derive(Debug)]
struct Items<T> {
    next: u64,
    by_name: HashMap<String, u64>,
    by_place: BTreeMap<u64, Arc<T>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self(RwLock::new(Items { next: 0, by_name: HashMap::new(), by_place: BTreeMap::new() }))
    }
}

impl<T> Registry<T> {
    /// Adds `item`, in the place of one with the same name if there is one: then returns true.
    pub(crate) fn insert(&self, name: String, item: T) -> bool {
        let mut items = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = items.next;
        let place = *items.by_name.entry(name).or_insert(next);
        if place == next {
            items.next += 1;
        }
        items.by_place.insert(place, Arc::new(item)).is_some()
    }

    /// Whether there was one.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let mut items = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match items.by_name.remove(name) {
            Some(place) => items.by_place.remove(&place).is_some(),
            None => false,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<T>> {
        let items = self.0.read().unwrap_or_else(PoisonError::into_inner);
        items.by_name.get(name).and_then(|place| items.by_place.get(place)).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).by_place.is_empty()
    }

    /// The first item that `pick` makes something of.
    pub(crate) fn find<R>(&self, mut pick: impl FnMut(&Arc<T>) -> Option<R>) -> Option<R> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).by_place.values().find_map(&mut pick)
    }

    /// Up to `size` items of those that `choose` makes something of, after `cursor`, and the next page's cursor.
    ///
    /// # Errors
    ///
    /// The cursor is none of ours.
    pub(crate) fn page<R>(
        &self,
        cursor: Option<&str>,
        size: usize,
        mut choose: impl FnMut(&T) -> Option<R>,
    ) -> Result<(Vec<R>, Option<String>), String> {
        let after = match cursor {
            Some(cursor) => Some(decode(cursor).ok_or_else(|| "unknown cursor: begin without one".to_owned())?),
            None => None,
        };
        let items = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let from = after.map_or(0, |after| after.saturating_add(1));
        let mut page = Vec::new();
        let mut last = None;
        for (place, item) in items.by_place.range(from..) {
            let Some(chosen) = choose(item) else { continue };
            if page.len() == size {
                return Ok((page, last.map(encode)));
            }
            page.push(chosen);
            last = Some(*place);
        }
        Ok((page, None))
    }
}

/// Places only grow, so a cursor stays right when something is added or removed meanwhile.
fn encode(place: u64) -> String {
    URL_SAFE_NO_PAD.encode(place.to_be_bytes())
}

fn decode(cursor: &str) -> Option<u64> {
    let bytes: [u8; 8] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
    Some(u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_though_items_come_and_go() {
        let registry = Registry::default();
        for name in ["a", "b", "c", "d", "e"] {
            assert!(!registry.insert(name.to_owned(), name));
        }
        let (page, cursor) = registry.page(None, 2, |item| Some(*item)).expect("a page");
        assert_eq!(page, ["a", "b"]);
        assert!(registry.remove("b") && registry.remove("c"));
        assert!(registry.insert("d".to_owned(), "D"));
        registry.insert("f".to_owned(), "f");
        let (page, cursor) = registry.page(cursor.as_deref(), 2, |item| Some(*item)).expect("a page");
        assert_eq!(page, ["D", "e"]);
        let (page, cursor) = registry.page(cursor.as_deref(), 2, |item| Some(*item)).expect("a page");
        assert_eq!((page, cursor), (vec!["f"], None));
    }

    #[test]
    fn a_last_full_page_has_no_cursor_and_a_foreign_one_is_refused() {
        let registry = Registry::default();
        registry.insert("a".to_owned(), 1);
        registry.insert("b".to_owned(), 2);
        assert_eq!(registry.page(None, 2, |item| Some(*item)), Ok((vec![1, 2], None)));
        assert!(registry.page(Some("x"), 2, |item| Some(*item)).is_err());
    }
}
