//! Files of distributions, as the rules allow them. They are kept for some minutes: a page is followed by its files.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brumate_packages::policy::{Candidate, Provenance, RequestReason};
use brumate_packages::{DistributionName, Offer, RequirementSource};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::super::PackageError;
use super::super::rules::provenance;
use super::{Inner, MAX_LISTINGS};

/// Longest time for which a listing is kept.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);
/// Files of all listings that are kept.
const MAX_FILES: usize = 100_000;

/// Files of a distribution that may be installed.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) offers: Vec<Offer>,
    /// Tells which files are left out, and by which rule.
    pub(super) left_out: Option<String>,
}

/// Listings of all sessions, the oldest first.
#[derive(Debug)]
pub(super) struct Listings {
    kept: Mutex<VecDeque<(DistributionName, Instant, Arc<Listing>)>>,
    slots: Semaphore,
}

impl Default for Listings {
    fn default() -> Self {
        Self { kept: Mutex::default(), slots: Semaphore::new(MAX_LISTINGS) }
    }
}

impl Listings {
    /// Returns the files of `name`. A page asks the sources again; files use a listing that is kept.
    pub(super) async fn of(
        &self,
        gateway: &Inner,
        name: &DistributionName,
        is_page: bool,
    ) -> Result<Arc<Listing>, PackageError> {
        if let Some(listing) = self.find(name).filter(|_| !is_page) {
            return Ok(listing);
        }
        let _slot = self.slots.acquire().await.map_err(PackageError::internal)?;
        let listing = Arc::new(gateway.listing(name).await?);
        self.keep(name, &listing);
        Ok(listing)
    }

    fn find(&self, name: &DistributionName) -> Option<Arc<Listing>> {
        let kept = self.kept.lock();
        let found = kept.iter().find(|(known, since, _)| known == name && since.elapsed() < MAX_AGE);
        found.map(|(_, _, listing)| Arc::clone(listing))
    }

    fn keep(&self, name: &DistributionName, listing: &Arc<Listing>) {
        let mut kept = self.kept.lock();
        kept.retain(|(known, since, _)| known != name && since.elapsed() < MAX_AGE);
        kept.push_back((name.clone(), Instant::now(), Arc::clone(listing)));
        let mut files: usize = kept.iter().map(|(_, _, listing)| listing.offers.len() + 1).sum();
        while files > MAX_FILES
            && let Some((_, _, oldest)) = kept.pop_front()
        {
            files = files.saturating_sub(oldest.offers.len() + 1);
        }
    }
}

impl Inner {
    /// Lists the files of `name` that policy and constraints allow.
    ///
    /// # Errors
    ///
    /// The rule that refuses all of them, before any source is asked if the name suffices; the error of a source.
    async fn listing(&self, name: &DistributionName) -> Result<Listing, PackageError> {
        let settings = &self.packages.inner.settings;
        let candidate = |name| Candidate::new(name, Provenance::AnyIndex, RequestReason::Requested);
        settings.policy.check(&candidate(name))?;
        if settings.lock.is_some() {
            let reason = "`--locked` fixes the packages of the sandbox; native kernels have no other ones then";
            return Err(PackageError::Requirement(reason.to_owned()));
        }
        let offers = self.resolver().await?.offers(name).await?;
        let (mut allowed, mut refused, mut first) = (Vec::new(), 0_usize, None);
        let mut names = HashSet::new();
        for offer in offers {
            match self.check_offer(name, &offer) {
                // Of two files with one name the one of the first source counts.
                Ok(()) if names.insert(offer.file.filename.clone()) => allowed.push(offer),
                Ok(()) => {}
                Err(error) => {
                    refused += 1;
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if allowed.is_empty() => Err(error),
            first => {
                let left_out =
                    first.map(|error| format!("{refused} files of `{name}` are left out. The first: {error}"));
                Ok(Listing { offers: allowed, left_out })
            }
        }
    }

    fn check_offer(&self, name: &DistributionName, offer: &Offer) -> Result<(), PackageError> {
        let settings = &self.packages.inner.settings;
        let provenance = provenance(&offer.file.origin, Some(&offer.file.url));
        let candidate = Candidate::new(name, provenance, RequestReason::Requested).version(&offer.version);
        let candidate = candidate.hash_known(offer.file.sha256.is_some());
        settings.policy.check(&match offer.file.size {
            Some(bytes) => candidate.bytes(bytes),
            None => candidate,
        })?;
        for constraint in settings.constraints.iter().filter(|constraint| constraint.name == *name) {
            let RequirementSource::Versions(versions) = &constraint.source else { continue };
            if constraint.applies_in(&Default::default()) && !versions.contains(&offer.version) {
                let text = format!("the constraint `{constraint}` excludes `{name} {}`", offer.version);
                return Err(PackageError::Requirement(text));
            }
        }
        Ok(())
    }
}
