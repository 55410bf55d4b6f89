//! Results of resolutions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pep440_rs::Version;
use url::Url;

use crate::index::Origin;
use crate::name::DistributionName;
use crate::order::requirements_first;
use crate::resolver::fetcher::Fetcher;
use crate::resolver::ranges::Versions;
use crate::resolver::solve::Solution;
use crate::resolver::{ResolutionError, internal, requirements};
use crate::source::is_buildable;

/// Exact wheels for a set of requirements.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// Packages, each after the packages that it requires (except in cycles), otherwise by name.
    pub packages: Vec<LockedPackage>,
}

/// Wheel or source distribution of a resolution.
#[derive(Debug, Clone)]
pub struct LockedPackage {
    /// Normalised name.
    pub name: DistributionName,
    /// Version (PEP 440).
    pub version: Version,
    /// Extras that the user or other packages request.
    pub extras: Vec<DistributionName>,
    /// Source of the wheel.
    pub origin: Origin,
    /// File name; the bundle's key for wheels of the bundle.
    pub file_name: String,
    /// URL without credentials; `None` for wheels of the bundle.
    pub url: Option<Url>,
    /// SHA-256, lower-case hexadecimal; `None` for wheels of the bundle, and if the server states none.
    pub sha256: Option<String>,
    /// Size in bytes, if the source states it.
    pub size: Option<u64>,
    /// Names of the packages of this resolution that it requires.
    pub requires: Vec<DistributionName>,
    /// Reason of the withdrawal (PEP 592) of a version that is used because it is pinned.
    pub yanked: Option<String>,
}

impl LockedPackage {
    /// Returns whether the file is a source distribution, which has to be built.
    pub fn is_source(&self) -> bool {
        !matches!(self.origin, Origin::Bundle(_)) && is_buildable(&self.file_name)
    }
}

/// Collects the files of a solution; all of it was fetched during the search.
pub(super) fn lock(solution: &Solution, fetcher: &Arc<Fetcher>) -> Result<Resolution, ResolutionError> {
    let mut locked = BTreeMap::new();
    for (name, (version, extras)) in &solution.packages {
        let candidates = fetcher.wait(fetcher.candidates_in(name, &Versions::singleton(version.clone())))?;
        let file = candidates.file(version).ok_or_else(|| internal(&format!("{name} {version} has no file")))?;
        let metadata = fetcher.wait(fetcher.metadata(name, version, file))?;
        let mut requires = BTreeSet::new();
        for extra in std::iter::once(None).chain(extras.iter().map(Some)) {
            let applicable = requirements::applicable(&metadata.requires, Some(name), extra);
            requires.extend(applicable.iter().map(|requirement| requirement.name.clone()));
        }
        requires.remove(name);
        let is_bundled = matches!(*file.origin, Origin::Bundle(_));
        let package = LockedPackage {
            name: name.clone(),
            version: version.clone(),
            extras: extras.iter().cloned().collect(),
            origin: (*file.origin).clone(),
            file_name: file.filename.clone(),
            url: (!is_bundled).then(|| file.url.clone()),
            sha256: fetcher.wait(fetcher.client().sha256(file))?,
            size: file.size,
            requires: requires.into_iter().collect(),
            yanked: file.yanked.clone(),
        };
        locked.insert(name.clone(), package);
    }
    Ok(Resolution { packages: in_order(locked) })
}

/// Sorts packages, each after the packages that it requires.
pub(crate) fn in_order(mut locked: BTreeMap<DistributionName, LockedPackage>) -> Vec<LockedPackage> {
    let edges = locked
        .iter()
        .map(|(name, package)| {
            let requires = package.requires.iter().filter(|required| locked.contains_key(*required));
            (name, requires.collect())
        })
        .collect();
    let order: Vec<DistributionName> = requirements_first(locked.keys(), &edges).into_iter().cloned().collect();
    order.into_iter().filter_map(|name| locked.remove(&name)).collect()
}
