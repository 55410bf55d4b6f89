//! Versions of one distribution: which can be used, and why others cannot.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use brumate_setting::Setting;
use jiff::Timestamp;
use pep440_rs::Version;

use crate::index::{Filename, IndexFile, Listing, Origin};
use crate::marker::PYTHON_FULL_VERSION;
use crate::name::DistributionName;
use crate::resolver::ranges::{self, Versions};
use crate::settings::Prerelease;
use crate::source::is_buildable;
use crate::wheel::{BuildTag, WheelFileName, quote_for_error};

/// Reason why no file of a version can be used. The greatest reason is reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rejection {
    /// Only source code exists.
    SourceOnly,
    /// Only source code exists, and the settings allow wheels only.
    NotBuilt,
    /// All wheels are for other systems or Pythons.
    OtherPlatforms,
    /// The version is withdrawn (PEP 592), for this reason.
    Yanked(String),
    /// `Requires-Python` excludes the sandbox's Python.
    Python(String),
    /// No wheel has an allowed hash.
    Hash,
    /// The policy refuses the version, for this reason.
    Policy(String),
}

impl fmt::Display for Rejection {
    /// Writes a text that continues "… and": `comes as source code only`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SourceOnly => formatter.write_str("comes as source code only, which the sandbox cannot build"),
            Self::NotBuilt => {
                write!(formatter, "comes as source code only, and {} allows wheels only", Setting::OnlyBinary.quoted())
            }
            Self::OtherPlatforms => formatter.write_str("has no wheel for the sandbox (WebAssembly), only for others"),
            Self::Yanked(reason) if reason.is_empty() => formatter.write_str("was withdrawn (yanked)"),
            Self::Yanked(reason) => write!(formatter, "was withdrawn (yanked: {})", quote_for_error(reason)),
            Self::Python(required) => {
                write!(formatter, "needs Python {required}; the sandbox has {PYTHON_FULL_VERSION}")
            }
            Self::Hash => formatter.write_str("has no wheel with one of the hashes that you allow"),
            Self::Policy(reason) => write!(formatter, "is not allowed: {reason}"),
        }
    }
}

/// Rules for the choice of files.
pub(crate) struct SelectionRules<'a> {
    pub(crate) python: &'a Version,
    pub(crate) exclude_newer: Option<Timestamp>,
    /// Versions that are used although they were withdrawn, because they are pinned.
    pub(crate) pinned: &'a BTreeSet<Version>,
    /// Allowed SHA-256; empty allows all.
    pub(crate) hashes: &'a [String],
    /// Returns why a version is refused, if it is.
    pub(crate) forbidden: &'a dyn Fn(&Version) -> Option<String>,
    /// Reason why source distributions are not used; `None` if they are.
    pub(crate) no_sources: Option<Rejection>,
}

/// Rank of a version's wheels: the best tag, then the highest build tag.
type WheelRank = (Option<u32>, Reverse<Option<BuildTag>>);

/// Candidates of several distributions.
pub(crate) type CandidatesByName = BTreeMap<DistributionName, Arc<Candidates>>;

/// Versions of one distribution.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    usable: BTreeMap<Version, Arc<IndexFile>>,
    /// Versions of `usable` that have to be built and most likely have compiled parts: they, or a newer version, have
    /// wheels for other systems. Other versions are preferred.
    doubtful: BTreeSet<Version>,
    /// Keys of `usable`.
    versions: Vec<Version>,
    /// Version in the bundle, which is preferred because it is present already.
    bundled: Option<Version>,
    rejected: BTreeMap<Version, Rejection>,
    /// Whether there was any file.
    pub(crate) exists: bool,
    /// Whether a source was not asked because the network is off.
    pub(crate) offline: bool,
    /// Whether only the bundle was asked.
    pub(crate) is_partial: bool,
}

impl Candidates {
    /// Makes candidates of the bundle's version alone, unless it is refused.
    pub(crate) fn of_bundle(file: IndexFile, forbidden: &dyn Fn(&Version) -> Option<String>) -> Self {
        let mut candidates = Self { is_partial: true, ..Self::default() };
        candidates.bundle(file, forbidden);
        candidates.versions = candidates.usable.keys().cloned().collect();
        candidates
    }

    /// Sorts the files of `name`.
    pub(crate) fn new(name: &DistributionName, listing: Listing, rules: &SelectionRules<'_>) -> Self {
        let mut candidates = Self { offline: listing.offline, ..Self::default() };
        let mut best: BTreeMap<Version, (WheelRank, Arc<IndexFile>)> = BTreeMap::new();
        let mut sources: BTreeMap<Version, Arc<IndexFile>> = BTreeMap::new();
        for file in listing.files {
            if matches!(*file.origin, Origin::Bundle(_)) {
                candidates.bundle(file, rules.forbidden);
                continue;
            }
            let Some(filename) = Filename::parse(&file.filename, name) else { continue };
            let in_time = match rules.exclude_newer {
                Some(limit) if !matches!(*file.origin, Origin::FindLinks(_) | Origin::Pyodide(_)) => {
                    file.uploaded.is_some_and(|uploaded| uploaded < limit)
                }
                _ => true,
            };
            if !in_time {
                continue;
            }
            let (version, wheel) = match filename {
                Filename::Wheel(wheel) => (wheel.version.clone(), Some(wheel)),
                Filename::Source { version } => (version, None),
            };
            if ranges::is_reserved(&version) {
                continue;
            }
            candidates.exists = true;
            match reject(&file, &version, wheel.as_ref(), rules) {
                Some(rejection) => {
                    let known = candidates.rejected.entry(version).or_insert_with(|| rejection.clone());
                    if rejection > *known {
                        *known = rejection;
                    }
                }
                None => {
                    let Some(wheel) = wheel else {
                        sources.entry(version).or_insert(Arc::new(file));
                        continue;
                    };
                    let rank = (wheel.priority(), Reverse(wheel.build));
                    if best.get(&version).is_none_or(|(known, _)| rank < *known) {
                        best.insert(version, (rank, Arc::new(file)));
                    }
                }
            }
        }
        for (version, (_, file)) in best {
            candidates.usable.entry(version).or_insert(file);
        }
        // The newest version with wheels that are all for other systems. Older versions most likely have the same compiled parts.
        let compiled = (candidates.rejected.iter().rev())
            .find(|(version, rejection)| {
                **rejection == Rejection::OtherPlatforms && !candidates.usable.contains_key(*version)
            })
            .map(|(version, _)| version.clone());
        for (version, file) in sources {
            let Entry::Vacant(entry) = candidates.usable.entry(version) else { continue };
            if compiled.as_ref().is_some_and(|compiled| entry.key() <= compiled)
                || !matches!(candidates.rejected.get(entry.key()), None | Some(Rejection::SourceOnly))
            {
                candidates.doubtful.insert(entry.key().clone());
            }
            entry.insert(file);
        }
        candidates.rejected.retain(|version, _| !candidates.usable.contains_key(version));
        candidates.versions = candidates.usable.keys().cloned().collect();
        candidates
    }

    fn bundle(&mut self, file: IndexFile, forbidden: &dyn Fn(&Version) -> Option<String>) {
        let Some(version) = file.known.as_ref().map(|metadata| metadata.version.clone()) else { return };
        self.exists = true;
        if let Some(reason) = forbidden(&version) {
            self.rejected.insert(version, Rejection::Policy(reason));
        } else {
            self.bundled = Some(version.clone());
            self.usable.insert(version, Arc::new(file));
        }
    }

    /// Returns the best version in `range`.
    pub(crate) fn choose(&self, range: &Versions, prerelease: Prerelease) -> Option<(&Version, &Arc<IndexFile>)> {
        if let Some(bundled) = self.bundled.as_ref().filter(|version| range.contains(version)) {
            return self.usable.get_key_value(bundled);
        }
        let best = |wanted: &dyn Fn(&Version) -> bool| {
            self.usable.iter().rev().find(|(version, _)| wanted(version) && range.contains(version))
        };
        let sure_or_doubtful = |wanted: &dyn Fn(&Version) -> bool| {
            best(&|version| wanted(version) && !self.doubtful.contains(version)).or_else(|| best(wanted))
        };
        match prerelease {
            Prerelease::Allow => sure_or_doubtful(&|_| true),
            Prerelease::Disallow => sure_or_doubtful(&|version| !version.any_prerelease()),
            Prerelease::IfNecessary => sure_or_doubtful(&|version| !version.any_prerelease())
                .or_else(|| sure_or_doubtful(&Version::any_prerelease)),
        }
    }

    pub(crate) fn file(&self, version: &Version) -> Option<&Arc<IndexFile>> {
        self.usable.get(version)
    }

    /// Returns the versions that can be used, ascending.
    pub(crate) fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Returns the versions of `range` that cannot be used, the newest first.
    pub(crate) fn rejected(&self, range: &Versions) -> impl Iterator<Item = (&Version, &Rejection)> {
        self.rejected.iter().rev().filter(|(version, _)| range.contains(version))
    }
}

fn reject(
    file: &IndexFile,
    version: &Version,
    wheel: Option<&WheelFileName>,
    rules: &SelectionRules<'_>,
) -> Option<Rejection> {
    if let Some(reason) = (rules.forbidden)(version) {
        return Some(Rejection::Policy(reason));
    }
    if let Some(reason) = &file.yanked
        && !rules.pinned.contains(version)
    {
        return Some(Rejection::Yanked(reason.clone()));
    }
    if wheel.is_none() {
        if !is_buildable(&file.filename) {
            return Some(Rejection::SourceOnly);
        }
        if let Some(rejection) = &rules.no_sources {
            return Some(rejection.clone());
        }
    }
    if let Some(required) = &file.requires_python
        && !required.contains(rules.python)
    {
        return Some(Rejection::Python(required.to_string()));
    }
    if !rules.hashes.is_empty() && !file.sha256.as_ref().is_some_and(|sha256| rules.hashes.contains(sha256)) {
        return Some(Rejection::Hash);
    }
    wheel.is_some_and(|wheel| wheel.priority().is_none()).then_some(Rejection::OtherPlatforms)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    /// Returns the files of a project in the order in which they are chosen.
    fn chosen(files: &[&str], no_sources: Option<Rejection>) -> (Vec<String>, Candidates) {
        let name = DistributionName::new("a").expect("a name");
        let url = Url::parse("https://files.example/").expect("a URL");
        let file = |filename: &&str| IndexFile::new((*filename).to_owned(), url.clone(), Arc::new(Origin::Direct));
        let listing = Listing { files: files.iter().map(file).collect(), offline: false };
        let python = PYTHON_FULL_VERSION.parse().expect("a version");
        let rules = SelectionRules {
            python: &python,
            exclude_newer: None,
            pinned: &BTreeSet::new(),
            hashes: &[],
            forbidden: &|_| None,
            no_sources,
        };
        let candidates = Candidates::new(&name, listing, &rules);
        let (mut found, mut range) = (Vec::new(), Versions::full());
        while let Some((version, file)) = candidates.choose(&range, Prerelease::IfNecessary) {
            found.push(file.filename.clone());
            range = range.intersection(&Versions::singleton(version.clone()).complement());
        }
        (found, candidates)
    }

    #[test]
    fn source_distributions_are_taken_where_no_wheel_fits() {
        let files = [
            "a-5.0.tar.gz",
            "a-4.0.tar.gz",
            "a-4.0-cp314-cp314-win_amd64.whl",
            "a-3.0.zip",
            "a-3.0.tar.bz2",
            "a-2.0.tar.gz",
            "a-2.0-py3-none-any.whl",
            "a-1.0.tar.bz2",
        ];
        // Version 4 most likely has compiled parts, and so has version 3, which is older.
        let expected = ["a-5.0.tar.gz", "a-2.0-py3-none-any.whl", "a-4.0.tar.gz", "a-3.0.zip"];
        assert_eq!(chosen(&files, None).0, expected);
        for rejection in [Rejection::SourceOnly, Rejection::NotBuilt] {
            let (found, candidates) = chosen(&files, Some(rejection.clone()));
            assert_eq!(found, ["a-2.0-py3-none-any.whl"]);
            let rejected: Vec<_> = candidates.rejected(&Versions::full()).map(|(_, rejection)| rejection).collect();
            assert_eq!(rejected, [&rejection, &Rejection::OtherPlatforms, &rejection, &Rejection::SourceOnly]);
        }
    }
}
