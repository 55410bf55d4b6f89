//! Policy checks of package requests.

use std::sync::Arc;

use brumate_engine_api::MAX_LAYERS;
use brumate_packages::index::Origin;
use brumate_packages::policy::{Candidate, Provenance, RequestReason};
use brumate_packages::resolver::{self, LockedPackage, Resolution};
use brumate_packages::{DistributionName, Requirement, RequirementSource};
use url::Url;

use super::{InstalledPackage, PackageError, Packages, RequirementSet};

impl Packages {
    /// Checks the requirements by name or URL, before anything is fetched for them.
    pub(super) fn check_requirements(&self, set: &RequirementSet) -> Result<(), PackageError> {
        for request in &set.requests {
            let requirement = &request.requirement;
            let provenance = match &requirement.source {
                RequirementSource::Url(url) => Provenance::Url(url),
                RequirementSource::Versions(_) if self.inner.bundle.version(&requirement.name).is_some() => {
                    Provenance::Bundle
                }
                RequirementSource::Versions(_) => Provenance::AnyIndex,
            };
            let mut candidate = Candidate::new(&requirement.name, provenance, request.reason());
            if let RequirementSource::Url(url) = &requirement.source {
                candidate = candidate.hash_known(url.split_once('#').is_some_and(|(_, part)| part.contains("sha256=")));
            }
            self.inner.settings.policy.check(&candidate)?;
        }
        Ok(())
    }

    /// Checks a set of the bundle's wheels. The service's constraints hold for it as well.
    pub(super) fn check_bundled(
        &self,
        set: &RequirementSet,
        packages: &[InstalledPackage],
    ) -> Result<(), PackageError> {
        let named: Vec<(DistributionName, String)> = packages
            .iter()
            .filter_map(|package| Some((DistributionName::new(&package.name)?, package.version.clone())))
            .collect();
        let bundle = &self.inner.bundle;
        for constraint in self.constraints(set) {
            let (Some(version), RequirementSource::Versions(versions)) =
                (bundle.version(&constraint.name), &constraint.source)
            else {
                continue;
            };
            let is_used = named.iter().any(|(name, _)| *name == constraint.name);
            if is_used && constraint.applies_in(&Default::default()) && !versions.contains(version) {
                let text = format!("the constraint `{constraint}` excludes the bundle's {} {version}", constraint.name);
                return Err(PackageError::Requirement(text));
            }
        }
        let candidates: Vec<Candidate<'_>> = named
            .iter()
            .filter_map(|(name, _)| {
                let candidate = Candidate::new(name, Provenance::Bundle, reason_of(set, name, None));
                Some(candidate.version(bundle.version(name)?))
            })
            .collect();
        Ok(self.inner.settings.policy.check_set(&candidates)?)
    }

    /// Checks a set of exact wheels, before any of them is fetched.
    pub(super) fn check_resolution(&self, set: &RequirementSet, resolution: &Resolution) -> Result<(), PackageError> {
        let parents: Vec<Option<&LockedPackage>> = resolution
            .packages
            .iter()
            .map(|package| resolution.packages.iter().find(|parent| parent.requires.contains(&package.name)))
            .collect();
        let is_lock = self.inner.settings.lock.is_some();
        let candidates: Vec<Candidate<'_>> = resolution
            .packages
            .iter()
            .zip(&parents)
            .map(|(package, parent)| {
                let way = if is_lock { RequestReason::Locked } else { reason_of(set, &package.name, *parent) };
                candidate(package, way)
            })
            .collect();
        self.inner.settings.policy.check_set(&candidates)?;
        let count = candidates.len();
        if count > MAX_LAYERS {
            return Err(PackageError::TooMany { count, limit: MAX_LAYERS });
        }
        Ok(())
    }

    /// Returns the resolver's policy. Index URLs are checked when they are known; URLs of requirements have been
    /// checked.
    pub(super) fn resolver_policy(&self) -> resolver::Policy {
        let packages = self.clone();
        let forbids = move |name: &DistributionName, version: &brumate_packages::Version| {
            let inner = &packages.inner;
            let is_bundled = inner.bundle.version(name) == Some(version);
            let provenance = if is_bundled { Provenance::Bundle } else { Provenance::AnyIndex };
            let candidate = Candidate::new(name, provenance, RequestReason::Requested).version(version);
            inner.settings.policy.check(&candidate).err().map(|refusal| refusal.rule())
        };
        resolver::Policy { url: Arc::new(|_| Ok(())), forbids: Arc::new(forbids), ..resolver::Policy::default() }
    }

    /// Returns the service's constraints and those of the request.
    pub(super) fn constraints<'a>(&'a self, set: &'a RequirementSet) -> impl Iterator<Item = &'a Requirement> {
        self.inner.settings.constraints.iter().chain(&set.constraints)
    }
}

/// Returns how a package came into a set.
fn reason_of<'a>(
    set: &'a RequirementSet,
    name: &DistributionName,
    parent: Option<&'a LockedPackage>,
) -> RequestReason<'a> {
    match (set.requests.iter().find(|request| request.requirement.name == *name), parent) {
        (Some(request), _) => request.reason(),
        (None, Some(parent)) => RequestReason::RequiredBy(parent.name.as_str()),
        (None, None) => RequestReason::Requested,
    }
}

pub(super) fn provenance<'a>(origin: &'a Origin, url: Option<&'a Url>) -> Provenance<'a> {
    match origin {
        Origin::Bundle(_) => Provenance::Bundle,
        Origin::Direct => Provenance::Url(url.map_or("", |url| url.as_str())),
        Origin::Index(place) | Origin::FindLinks(place) | Origin::Pyodide(place) => Provenance::Index(place),
        _ => Provenance::AnyIndex,
    }
}

fn candidate<'a>(package: &'a LockedPackage, way: RequestReason<'a>) -> Candidate<'a> {
    let provenance = provenance(&package.origin, package.url.as_ref());
    let candidate = Candidate::new(&package.name, provenance, way).version(&package.version);
    let candidate = candidate.hash_known(package.sha256.is_some());
    match package.size {
        Some(bytes) => candidate.bytes(bytes),
        None => candidate,
    }
}
