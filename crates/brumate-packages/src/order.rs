//! Order of installation.

use std::collections::{BTreeMap, BTreeSet};

/// Sorts depth first: each item after the items that it requires by `edges` (except in cycles), otherwise in the order
/// of `roots`.
pub(crate) fn requirements_first<'a, T: Ord>(
    roots: impl IntoIterator<Item = &'a T>,
    edges: &BTreeMap<&'a T, Vec<&'a T>>,
) -> Vec<&'a T> {
    let mut ordered = Vec::new();
    let mut seen = BTreeSet::new();
    // Pairs of an item and the index of its next requirement. The stack is explicit, so that deep graphs cannot
    // overflow the thread's stack.
    let mut stack: Vec<(&T, usize)> = Vec::new();
    for root in roots {
        if seen.insert(root) {
            stack.push((root, 0));
        }
        while let Some((item, next)) = stack.pop() {
            match edges.get(item).and_then(|required| required.get(next)) {
                Some(&child) => {
                    stack.push((item, next + 1));
                    if seen.insert(child) {
                        stack.push((child, 0));
                    }
                }
                None => ordered.push(item),
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_and_long_chains_have_an_order() {
        let edges = BTreeMap::from([(&'a', vec![&'b']), (&'b', vec![&'c', &'a']), (&'d', vec![&'c'])]);
        assert_eq!(requirements_first(['d', 'a'].iter(), &edges), [&'c', &'d', &'b', &'a']);
        let numbers: Vec<u32> = (0..200_000).collect();
        let chain = numbers.windows(2).map(|pair| (&pair[0], vec![&pair[1]])).collect();
        assert!(requirements_first(&numbers, &chain).into_iter().eq(numbers.iter().rev()));
    }
}
