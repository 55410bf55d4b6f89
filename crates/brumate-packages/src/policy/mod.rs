//! Policy: what the operator allows, whatever a script, a lock file or a package requests.
//!
//! A policy has layers: a file, the environment, the command line. Each layer refuses on its own, so a later one can
//! only narrow an earlier one: allow lists intersect, deny lists add up, the smallest limit counts.
//!
//! ```
//! use brumate_packages::DistributionName;
//! use brumate_packages::policy::{Candidate, RuleOrigin, Policy, PolicyLayer, Provenance, RequestReason};
//!
//! let file = PolicyLayer::from_toml("deny = ['evil-*', 'urllib3<2']", RuleOrigin::File("/etc/brumate/policy.toml".into()))?;
//! let policy = Policy::new([file]);
//! let (name, version) = (DistributionName::new("urllib3").unwrap(), "1.26.18".parse().unwrap());
//! let candidate = Candidate::new(&name, Provenance::Index("https://example.org/simple/"), RequestReason::RequiredBy("requests"))
//!     .version(&version);
//! let refusal = policy.check(&candidate).unwrap_err();
//! assert_eq!(
//!     refusal.to_string(),
//!     "`urllib3 1.26.18` (required by `requests`) is not allowed: `deny` has `urllib3<2` (/etc/brumate/policy.toml). \
//!      Use another version or package, or ask whoever runs this Brumate to change that rule."
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Policy::check`] checks every request. Wheels that ship inside Brumate are part of the program: only deny lists
//! and the number of packages apply to them.

mod pattern;
mod refusal;
mod table;
#[cfg(test)]
mod tests;

use pep440_rs::Version;

use crate::name::DistributionName;
pub use pattern::{PackagePattern, PatternError};
pub use refusal::{Refusal, RefusalReason};
pub use table::{ByteSize, PolicyError, PolicyLayer, PolicyTable, RuleOrigin};

/// Source of a package, for the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance<'a> {
    /// The bundle inside Brumate.
    Bundle,
    /// An index, or a directory or page of wheels that is configured like one, with its URL.
    Index(&'a str),
    /// A configured source that is not known yet.
    AnyIndex,
    /// A direct reference with its URL or path.
    Url(&'a str),
}

/// Reason why a package is requested. It is part of messages and never changes the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestReason<'a> {
    /// The user, the script or a setting names the package.
    Requested,
    /// The package was inferred from an import.
    Imported(&'a str),
    /// Another package requires it.
    RequiredBy(&'a str),
    /// A lock file names it.
    Locked,
}

/// Package to check. Properties that are not known yet are not checked: check again when they are.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    name: &'a DistributionName,
    version: Option<&'a Version>,
    provenance: Provenance<'a>,
    request_reason: RequestReason<'a>,
    bytes: Option<u64>,
    has_hash: Option<bool>,
}

impl<'a> Candidate<'a> {
    /// Makes a candidate of which only the name and the source are known.
    pub fn new(name: &'a DistributionName, provenance: Provenance<'a>, request_reason: RequestReason<'a>) -> Self {
        Self { name, version: None, provenance, request_reason, bytes: None, has_hash: None }
    }

    /// Sets the version.
    #[must_use]
    pub fn version(mut self, version: &'a Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets the length of the wheel in bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Sets whether the wheel's SHA-256 is known before it is fetched: from the index, a lock file or a URL's
    /// fragment.
    #[must_use]
    pub fn hash_known(mut self, known: bool) -> Self {
        self.has_hash = Some(known);
        self
    }
}

/// Rules of the operator. The default allows everything.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    layers: Vec<PolicyLayer>,
}

impl Policy {
    /// Makes a policy of layers, in the order in which they are checked.
    pub fn new(layers: impl IntoIterator<Item = PolicyLayer>) -> Self {
        Self { layers: layers.into_iter().collect() }
    }

    /// Adds a layer.
    pub fn add(&mut self, layer: PolicyLayer) {
        self.layers.push(layer);
    }

    /// Checks whether the package is allowed, as far as its properties are known.
    ///
    /// # Errors
    ///
    /// The first rule that refuses it.
    pub fn check(&self, candidate: &Candidate<'_>) -> Result<(), Box<Refusal>> {
        self.layers.iter().try_for_each(|layer| layer.check(candidate))
    }

    /// Checks whether the packages are allowed together: each of them, their number, and their size.
    ///
    /// # Errors
    ///
    /// The first rule that refuses one of them, or the set.
    pub fn check_set(&self, candidates: &[Candidate<'_>]) -> Result<(), Box<Refusal>> {
        candidates.iter().try_for_each(|candidate| self.check(candidate))?;
        let fetched = candidates.iter().filter(|candidate| candidate.provenance != Provenance::Bundle);
        let bytes = fetched.filter_map(|candidate| candidate.bytes).fold(0, u64::saturating_add);
        self.check_totals(candidates.len(), bytes)
    }

    /// Checks whether so many packages, with wheels of so many bytes, are allowed together.
    ///
    /// # Errors
    ///
    /// The first rule that refuses them.
    pub fn check_totals(&self, count: usize, bytes: u64) -> Result<(), Box<Refusal>> {
        self.layers.iter().try_for_each(|layer| layer.check_totals(count, bytes))
    }

    /// Returns the smallest limit on a wheel in bytes, where a download can stop.
    pub fn max_wheel_bytes(&self) -> Option<u64> {
        self.layers.iter().filter_map(|layer| layer.table.max_wheel_size).map(|size| size.0).min()
    }

    /// Returns whether only the bundle is allowed, so that no index needs to be asked.
    pub fn is_only_bundled(&self) -> bool {
        self.layers.iter().any(|layer| layer.table.only_bundled)
    }
}

impl PolicyLayer {
    fn check(&self, candidate: &Candidate<'_>) -> Result<(), Box<Refusal>> {
        let refuse = |reason| Err(Refusal::new(candidate, reason, &self.origin));
        let table = &self.table;
        let matches = |pattern: &&PackagePattern| pattern.matches(candidate.name, candidate.version);
        if let Some(pattern) = table.deny.iter().find(matches) {
            return refuse(RefusalReason::Denied { pattern: pattern.to_string() });
        }
        if candidate.provenance == Provenance::Bundle {
            return Ok(());
        }
        if table.only_bundled {
            return refuse(RefusalReason::OnlyBundled);
        }
        if let Some(allow) = &table.allow {
            // While the version is not known, a rule for some versions may still allow it.
            let may_match = |pattern: &PackagePattern| match candidate.version {
                Some(_) => pattern.matches(candidate.name, candidate.version),
                None => pattern.matches_name(candidate.name),
            };
            if !allow.iter().any(may_match) {
                return refuse(RefusalReason::NotAllowed);
            }
        }
        match candidate.provenance {
            Provenance::Url(url) if table.no_urls => return refuse(RefusalReason::Url { url: table::shown_url(url) }),
            // A direct reference does not come from an index.
            Provenance::Url(url) if table.indexes.is_some() => {
                return refuse(RefusalReason::Index { url: table::shown_url(url) });
            }
            Provenance::Index(url) if !self.allows_index(url) => {
                return refuse(RefusalReason::Index { url: table::shown_url(url) });
            }
            _ => {}
        }
        if table.require_hashes && candidate.has_hash == Some(false) {
            return refuse(RefusalReason::NoHash);
        }
        match (table.max_wheel_size, candidate.bytes) {
            (Some(limit), Some(bytes)) if bytes > limit.0 => refuse(RefusalReason::WheelSize { bytes, limit }),
            _ => Ok(()),
        }
    }

    fn check_totals(&self, count: usize, bytes: u64) -> Result<(), Box<Refusal>> {
        let refuse = |reason| Err(Refusal::of_set(reason, &self.origin));
        match (self.table.max_packages, self.table.max_total_size) {
            (Some(limit), _) if count > limit => refuse(RefusalReason::Packages { count, limit }),
            (_, Some(limit)) if bytes > limit.0 => refuse(RefusalReason::TotalSize { bytes, limit }),
            _ => Ok(()),
        }
    }

    fn allows_index(&self, url: &str) -> bool {
        let Some(indexes) = &self.table.indexes else { return true };
        let Some(url) = table::normalised_url(url) else { return false };
        indexes.iter().any(|index| table::normalised_url(index).is_some_and(|index| index == url))
    }
}
