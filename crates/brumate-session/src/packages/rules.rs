//! Policy checks of package requests.

use std::sync::Arc;

use brumate_engine_api::MAX_LAYERS;
use brumate_packages::index::Origin;
use brumate_packages::policy::{Candidate, Provenance, Way};
use brumate_packages::resolver::{self, Locked, Resolution};
use brumate_packages::{DistributionName, Requirement, Source};

use super::{InstalledPackage, PackageError, Packages, ResolveRequest};

impl Packages {
    /// Checks the requirements by name or URL, before anything is fetched for them.
    pub(super) fn check_requirements(&self, order: &ResolveRequest) -> Result<(), PackageError> {
        for wanted in &order.requests {
            let requirement = &wanted.requirement;
            let provenance = match &requirement.source {
                Source::Url(url) => Provenance::Url(url),
                Source::Versions(_) if self.inner.bundle.version(&requirement.name).is_some() => Provenance::Bundle,
                Source::Versions(_) => Provenance::AnyIndex,
            };
            let mut candidate = Candidate::new(&requirement.name, provenance, wanted.way());
            if let Source::Url(url) = &requirement.source {
                candidate = candidate.hash_known(url.split_once('#').is_some_and(|(_, part)| part.contains("sha256=")));
            }
            self.inner.settings.policy.check(&candidate)?;
        }
        Ok(())
    }

    /// Checks a set of the bundle's wheels. The service's constraints hold for it as well.
    pub(super) fn check_bundled(
        &self,
        order: &ResolveRequest,
        packages: &[InstalledPackage],
    ) -> Result<(), PackageError> {
        let named: Vec<(DistributionName, String)> = packages
            .iter()
            .filter_map(|package| Some((DistributionName::new(&package.name)?, package.version.clone())))
            .collect();
        let bundle = &self.inner.bundle;
        for constraint in self.constraints(order) {
            let (Some(version), Source::Versions(versions)) = (bundle.version(&constraint.name), &constraint.source)
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
                let candidate = Candidate::new(name, Provenance::Bundle, way(order, name, None));
                Some(candidate.version(bundle.version(name)?))
            })
            .collect();
        Ok(self.inner.settings.policy.check_set(&candidates)?)
    }

    /// Checks a set of exact wheels, before any of them is fetched.
    pub(super) fn check_resolution(&self, order: &ResolveRequest, resolution: &Resolution) -> Result<(), PackageError> {
        let parents: Vec<Option<&Locked>> = resolution
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
                let way = if is_lock { Way::Locked } else { way(order, &package.name, *parent) };
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
            let candidate = Candidate::new(name, provenance, Way::Requested).version(version);
            inner.settings.policy.check(&candidate).err().map(|refusal| refusal.rule())
        };
        resolver::Policy { url: Arc::new(|_| Ok(())), forbids: Arc::new(forbids), ..resolver::Policy::default() }
    }

    /// Returns the service's constraints and those of the request.
    pub(super) fn constraints<'a>(&'a self, order: &'a ResolveRequest) -> impl Iterator<Item = &'a Requirement> {
        self.inner.settings.constraints.iter().chain(&order.constraints)
    }
}

/// Returns how a package came into a set.
fn way<'a>(order: &'a ResolveRequest, name: &DistributionName, parent: Option<&'a Locked>) -> Way<'a> {
    match (order.requests.iter().find(|request| request.requirement.name == *name), parent) {
        (Some(wanted), _) => wanted.way(),
        (None, Some(parent)) => Way::RequiredBy(parent.name.as_str()),
        (None, None) => Way::Requested,
    }
}

fn candidate<'a>(package: &'a Locked, way: Way<'a>) -> Candidate<'a> {
    let provenance = match &package.origin {
        Origin::Bundle(_) => Provenance::Bundle,
        Origin::Direct => Provenance::Url(package.url.as_ref().map_or("", |url| url.as_str())),
        Origin::Index(place) | Origin::FindLinks(place) | Origin::Pyodide(place) => Provenance::Index(place),
        _ => Provenance::AnyIndex,
    };
    let candidate = Candidate::new(&package.name, provenance, way).version(&package.version);
    let candidate = candidate.hash_known(package.sha256.is_some());
    match package.size {
        Some(bytes) => candidate.bytes(bytes),
        None => candidate,
    }
}
