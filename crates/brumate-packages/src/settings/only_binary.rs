//! Packages that are not built from source code.

use std::collections::BTreeSet;

use crate::index::IndexError;
use crate::name::DistributionName;

/// Packages that are taken as wheels only. The default is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnlyBinary {
    all: bool,
    names: BTreeSet<DistributionName>,
}

impl OnlyBinary {
    /// Adds packages as pip names them: names with commas between them, `:all:`, or `:none:`, which takes back what was
    /// added before.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] for a word that is not the name of a package.
    pub fn add(&mut self, text: &str) -> Result<(), IndexError> {
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                ":all:" => self.all = true,
                ":none:" => *self = Self::default(),
                name => {
                    let wrong = || format!("only-binary: `{name}` is not `:all:`, `:none:` or the name of a package");
                    let name = DistributionName::new(name).ok_or_else(|| IndexError::Settings(wrong()))?;
                    self.names.insert(name);
                }
            }
        }
        Ok(())
    }

    /// Adds the packages of `other`.
    pub fn extend(&mut self, other: Self) {
        self.all |= other.all;
        self.names.extend(other.names);
    }

    /// Returns whether `name` is not built.
    pub fn holds_for(&self, name: &DistributionName) -> bool {
        self.all || self.names.contains(name)
    }
}
