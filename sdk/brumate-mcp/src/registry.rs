//! Registered items in the order of their registration, page by page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// The error for a cursor that no answer has given out.
pub(crate) const UNKNOWN_CURSOR: &str = "unknown cursor: list from the beginning, without one";

/// Registered items by name.
#[derive(Debug)]
pub(crate) struct Registry<T>(RwLock<Items<T>>);

/// Items by their position, and positions by name.
#[derive(Debug)]
struct Items<T> {
    next: u64,
    by_name: HashMap<String, u64>,
    by_position: BTreeMap<u64, Arc<T>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self(RwLock::new(Items { next: 0, by_name: HashMap::new(), by_position: BTreeMap::new() }))
    }
}

impl<T> Registry<T> {
    /// Adds an item, or replaces the one of the same name. Returns whether there was one.
    pub(crate) fn insert(&self, name: String, item: T) -> bool {
        let mut items = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = items.next;
        let position = *items.by_name.entry(name).or_insert(next);
        if position == next {
            items.next += 1;
        }
        items.by_position.insert(position, Arc::new(item)).is_some()
    }

    /// Removes an item. Returns whether there was one.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let mut items = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match items.by_name.remove(name) {
            Some(position) => items.by_position.remove(&position).is_some(),
            None => false,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<T>> {
        let items = self.0.read().unwrap_or_else(PoisonError::into_inner);
        items.by_name.get(name).and_then(|position| items.by_position.get(position)).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).by_position.is_empty()
    }

    /// Returns the first value that `pick` returns for an item.
    pub(crate) fn find<R>(&self, mut pick: impl FnMut(&Arc<T>) -> Option<R>) -> Option<R> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).by_position.values().find_map(&mut pick)
    }

    /// Returns up to `size` items after `cursor`, as `choose` describes them, and the cursor of the next page. Items
    /// for which `choose` returns `None` are left out.
    ///
    /// # Errors
    ///
    /// Returns a text if the cursor is not from this server.
    pub(crate) fn page<R>(
        &self,
        cursor: Option<&str>,
        size: usize,
        mut choose: impl FnMut(&T) -> Option<R>,
    ) -> Result<(Vec<R>, Option<String>), String> {
        let after = match cursor {
            Some(cursor) => Some(decode(cursor).ok_or_else(unknown)?),
            None => None,
        };
        let items = self.0.read().unwrap_or_else(PoisonError::into_inner);
        // No item was ever at a position that comes next.
        if after.is_some_and(|after| after >= items.next) {
            return Err(unknown());
        }
        let from = after.map_or(0, |after| after.saturating_add(1));
        let mut page = Vec::new();
        let mut last = None;
        for (position, item) in items.by_position.range(from..) {
            let Some(chosen) = choose(item) else { continue };
            if page.len() == size {
                return Ok((page, last.map(encode)));
            }
            page.push(chosen);
            last = Some(*position);
        }
        Ok((page, None))
    }
}

fn unknown() -> String {
    UNKNOWN_CURSOR.to_owned()
}

/// Makes a cursor. Positions only grow, so a cursor stays valid when items are added or removed.
fn encode(position: u64) -> String {
    URL_SAFE_NO_PAD.encode(position.to_be_bytes())
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
        // The second one has bits behind its end that no cursor has.
        for cursor in ["", "x", "AAAAAAAAAAF", "AAAAAAAAAAA=", &encode(2), &encode(u64::MAX)] {
            assert!(registry.page(Some(cursor), 2, |item| Some(*item)).is_err(), "{cursor}");
        }
        assert_eq!(registry.page(Some(&encode(0)), 2, |item| Some(*item)), Ok((vec![2], None)));
    }
}
