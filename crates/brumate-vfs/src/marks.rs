//! A set of slots of the arena of inodes.

/// Slots accessed mutably.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
    /// Number of `set` calls.
    times: u64,
}

impl Marks {
    pub(super) fn set(&mut self, index: u32) {
        let word = (index / u64::BITS) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (index % u64::BITS);
        self.times += 1;
    }

    /// Returns all slots below `end`.
    pub(super) fn up_to(end: usize) -> Marks {
        let mut words = vec![u64::MAX; end / u64::BITS as usize];
        words.push((1 << (end % u64::BITS as usize)) - 1);
        Marks { words, times: 0 }
    }

    /// Returns the number of `set` calls.
    pub(super) fn times(&self) -> u64 {
        self.times
    }

    pub(super) fn has(&self, index: u32) -> bool {
        self.words.get((index / u64::BITS) as usize).is_some_and(|word| word >> (index % u64::BITS) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let some = self.words.iter().zip(0u32..).filter(|(word, _)| **word != 0);
        some.flat_map(|(&word, number)| {
            (0..u64::BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| number * u64::BITS + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn marks_are_kept_in_order() {
        let mut marks = Marks::default();
        assert!(marks.is_empty());
        for index in [200, 3, 64, 3, 63] {
            marks.set(index);
        }
        assert!(!marks.is_empty());
        assert_eq!(marks.iter().collect::<Vec<_>>(), [3, 63, 64, 200]);
        assert!(marks.has(64) && !marks.has(65) && !marks.has(1000));
        for end in [0, 1, 63, 64, 65, 130] {
            assert_eq!(Marks::up_to(end).iter().collect::<Vec<_>>(), (0..end as u32).collect::<Vec<_>>());
        }
    }
}
