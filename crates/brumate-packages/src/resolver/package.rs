//! Packages of the solver: distributions, and extras as packages of their own.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

use crate::name::DistributionName;
use crate::resolver::ranges::{self, Versions};

/// Package of the solver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Package {
    /// The user's requirements.
    Root,
    /// A distribution.
    Base(DistributionName),
    /// `name[extra]` as a requirement writes it. Requires the same version of [`Base`](Self::Base) and
    /// [`Optional`](Self::Optional).
    Extra(DistributionName, DistributionName),
    /// Additions of an extra to a distribution.
    Optional(DistributionName, DistributionName),
}

impl Package {
    /// Returns the name; `None` for the root.
    pub(crate) fn name(&self) -> Option<&DistributionName> {
        match self {
            Self::Root => None,
            Self::Base(name) | Self::Extra(name, _) | Self::Optional(name, _) => Some(name),
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => formatter.write_str("your requirements"),
            Self::Base(name) => write!(formatter, "{name}"),
            Self::Extra(name, extra) | Self::Optional(name, extra) => write!(formatter, "{name}[{extra}]"),
        }
    }
}

/// Priority of a package's decision, the greatest first, as in uv.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DecisionRank {
    /// In the order in which packages were found.
    Met(Reverse<usize>),
    /// Its decision often conflicts with others.
    Culprit(Reverse<usize>),
    /// Decisions of others often conflict with it.
    Affected(Reverse<usize>),
    /// One version only.
    Pinned(Reverse<usize>),
    /// One file only.
    Url(Reverse<usize>),
    /// The user's requirements.
    Root,
}

impl DecisionRank {
    fn position(self) -> Reverse<usize> {
        match self {
            Self::Met(place)
            | Self::Culprit(place)
            | Self::Affected(place)
            | Self::Pinned(place)
            | Self::Url(place) => place,
            Self::Root => Reverse(0),
        }
    }
}

/// Priority: the rank of the name, then the order in which the package was found.
pub(crate) type Priority = (DecisionRank, Reverse<usize>);

/// Ranks of all packages that were found.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    names: HashMap<DistributionName, DecisionRank>,
    packages: HashMap<Package, usize>,
}

impl Priorities {
    /// Registers a requirement for `versions` of `package`.
    pub(crate) fn meet(&mut self, package: &Package, versions: &Versions, is_url: bool) {
        let next = self.packages.len();
        self.packages.entry(package.clone()).or_insert(next);
        let Some(name) = package.name() else { return };
        let known = self.names.get(name).copied();
        let place = known.map_or(Reverse(self.names.len()), DecisionRank::position);
        let rank = if is_url {
            DecisionRank::Url(place)
        } else if ranges::is_pin(versions) {
            DecisionRank::Pinned(place)
        } else {
            DecisionRank::Met(place)
        };
        if known.is_none_or(|known| rank > known) {
            self.names.insert(name.clone(), rank);
        }
    }

    pub(crate) fn get(&self, package: &Package) -> Priority {
        let Some(name) = package.name() else { return (DecisionRank::Root, Reverse(0)) };
        let rank = self.names.get(name).copied().unwrap_or(DecisionRank::Met(Reverse(usize::MAX)));
        (rank, Reverse(self.packages.get(package).copied().unwrap_or(usize::MAX)))
    }

    /// Raises the priority of `package`. Returns whether that is new.
    pub(crate) fn mark_affected(&mut self, package: &Package) -> bool {
        self.mark(package, DecisionRank::Affected, |rank| matches!(rank, DecisionRank::Affected(_)))
    }

    /// Raises the priority of `package`, but below that of affected packages. Returns whether that is new.
    pub(crate) fn mark_culprit(&mut self, package: &Package) -> bool {
        self.mark(package, DecisionRank::Culprit, |rank| {
            matches!(rank, DecisionRank::Culprit(_) | DecisionRank::Affected(_))
        })
    }

    fn mark(
        &mut self,
        package: &Package,
        rank: fn(Reverse<usize>) -> DecisionRank,
        is_so: fn(DecisionRank) -> bool,
    ) -> bool {
        let Some(name) = package.name() else { return false };
        let next = Reverse(self.names.len());
        match self.names.get_mut(name) {
            Some(known) if is_so(*known) => false,
            Some(known) => {
                *known = rank(known.position());
                true
            }
            None => {
                self.names.insert(name.clone(), rank(next));
                true
            }
        }
    }
}
