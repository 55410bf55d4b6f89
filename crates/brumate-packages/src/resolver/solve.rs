//! Search: PubGrub with uv's order of decisions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use pep440_rs::Version;
use pubgrub::{ConflictId, Id, State};

use crate::index::IndexError;
use crate::name::DistributionName;
use crate::requirement::{Requirement, RequirementSource};
use crate::resolver::fetcher::Fetcher;
use crate::resolver::package::{Package, Priorities};
use crate::resolver::provider::{SearchFailure, SolverTypes, UnusableReason, positive};
use crate::resolver::ranges::Versions;
use crate::resolver::requirements::{self, Constraints, Dependency};
use crate::resolver::{MAX_DISTRIBUTIONS, MAX_FAILED_BUILDS, MAX_FAILED_VERSIONS, MAX_STEPS, same_file};
use crate::source::{BuildProblem, is_buildable};

/// Conflicts after which a package is decided at another time; uv's number.
const CONFLICTS: usize = 5;
/// Versions of one package that are tried before metadata is fetched in batches.
const TRIED: usize = 5;

/// Versions of a solution, with the extras that count.
#[derive(Debug, Default)]
pub(crate) struct Solution {
    pub(crate) packages: BTreeMap<DistributionName, (Version, BTreeSet<DistributionName>)>,
}

/// Search of one resolution.
pub(crate) struct Search<'a> {
    fetcher: &'a Arc<Fetcher>,
    requirements: &'a [Requirement],
    constraints: &'a Constraints,
    /// Whether dependencies count.
    dependencies: bool,
    state: State<SolverTypes>,
    next: Id<Package>,
    priorities: Priorities,
    added: HashMap<Id<Package>, BTreeSet<Version>>,
    visited: HashMap<Id<Package>, Versions>,
    affected: HashMap<Id<Package>, usize>,
    culprits: HashMap<Id<Package>, usize>,
    raise: Vec<Id<Package>>,
    lower: Vec<Id<Package>>,
    tried: HashMap<DistributionName, usize>,
    /// Versions that cannot be built here.
    failed_builds: HashMap<DistributionName, BTreeSet<Version>>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        fetcher: &'a Arc<Fetcher>,
        requirements: &'a [Requirement],
        constraints: &'a Constraints,
        dependencies: bool,
    ) -> Self {
        let state = State::init(Package::Root, root_version());
        Self {
            fetcher,
            requirements,
            constraints,
            dependencies,
            next: state.root_package,
            state,
            priorities: Priorities::default(),
            added: HashMap::new(),
            visited: HashMap::new(),
            affected: HashMap::new(),
            culprits: HashMap::new(),
            raise: Vec::new(),
            lower: Vec::new(),
            tried: HashMap::new(),
            failed_builds: HashMap::new(),
        }
    }

    /// Runs the search; blocks.
    pub(crate) fn run(mut self) -> Result<Solution, SearchFailure> {
        for _ in 0..MAX_STEPS {
            if self.fetcher.is_stopped() {
                return Err(SearchFailure::Cancelled);
            }
            let conflicts: Vec<_> = match self.state.unit_propagation(self.next) {
                Ok(conflicts) => conflicts.into_iter().collect(),
                Err(tree) => return Err(SearchFailure::NoSolution(Box::new(tree))),
            };
            for (package, conflict) in conflicts {
                self.record(package, &conflict);
            }
            self.visit();
            self.reorder();
            let (state, priorities) = (&mut self.state, &self.priorities);
            let store = &state.package_store;
            let picked = state.partial_solution.pick_highest_priority_pkg(|id, _| priorities.get(&store[id]));
            let Some((id, range)) = picked.map(|(id, range)| (id, range.clone())) else {
                return Ok(self.solution());
            };
            self.next = id;
            self.decide(id, &range)?;
        }
        Err(SearchFailure::TooLarge(format!("no solution was found in {MAX_STEPS} steps; pin some versions to help")))
    }

    fn solution(&self) -> Solution {
        let mut solution = Solution::default();
        for (id, version) in self.state.partial_solution.extract_solution() {
            let (name, extra) = match &self.state.package_store[id] {
                Package::Root | Package::Extra(..) => continue,
                Package::Base(name) => (name, None),
                Package::Optional(name, extra) => (name, Some(extra)),
            };
            let entry = solution.packages.entry(name.clone()).or_insert_with(|| (version, BTreeSet::new()));
            entry.1.extend(extra.cloned());
        }
        solution
    }

    /// Prefetches what the packages found last will probably need.
    fn visit(&mut self) {
        for (id, range) in self.state.partial_solution.prioritized_packages() {
            let Package::Base(name) = &self.state.package_store[id] else { continue };
            if self.visited.get(&id) != Some(range) {
                self.visited.insert(id, range.clone());
                self.fetcher.prefetch_choice(name, range);
            }
        }
    }

    /// Chooses a version of a package and adds its dependencies, or records that there is none.
    fn decide(&mut self, id: Id<Package>, range: &Versions) -> Result<(), SearchFailure> {
        let package = self.state.package_store[id].clone();
        let Some(name) = package.name() else {
            return self.decide_root(id);
        };
        if self.fetcher.distributions() > MAX_DISTRIBUTIONS {
            let message = format!("more than {MAX_DISTRIBUTIONS} distributions would have to be looked at");
            return Err(SearchFailure::TooLarge(message));
        }
        let candidates = self.fetcher.wait(self.fetcher.candidates_in(name, range))?;
        let prerelease = self.fetcher.client().settings().prerelease;
        let Some((version, file)) = candidates.choose(range, prerelease) else {
            if candidates.exists {
                self.state.add_no_versions(id, range.clone());
            } else {
                let reason = if candidates.offline { UnusableReason::Offline } else { UnusableReason::NotFound };
                self.state.add_unavailable(id, range.clone(), reason);
            }
            return Ok(());
        };
        if self.added.get(&id).is_some_and(|versions| versions.contains(version)) {
            self.state.partial_solution.add_decision(id, version.clone());
            return Ok(());
        }
        if let Package::Base(_) = package {
            let tried = self.tried.entry(name.clone()).or_default();
            *tried += 1;
            if tried.is_multiple_of(TRIED) {
                // The choice of an extra narrows `range` to one version. The next versions are in the range that
                // stays.
                let lasting = self.state.partial_solution.unchanging_term_for_package(id).and_then(positive);
                let count = *tried * 2;
                self.fetcher.prefetch_below(name, &candidates, lasting.unwrap_or(&Versions::full()), version, count);
            }
        }
        let only = Versions::singleton(version.clone());
        // Unknown versions may be between those of a partial list.
        let widened = if candidates.is_partial { only } else { only.widen_versions(candidates.versions()) };
        let dependencies = match &package {
            Package::Root => Vec::new(),
            Package::Extra(name, extra) => {
                [Package::Base(name.clone()), Package::Optional(name.clone(), extra.clone())]
                    .map(|package| (package, Versions::singleton(version.clone())))
                    .into()
            }
            Package::Base(_) | Package::Optional(..) => {
                let extra = if let Package::Optional(_, extra) = &package { Some(extra) } else { None };
                if is_buildable(&file.filename) && self.is_given_up(name, version) {
                    self.state.add_unavailable(id, widened, UnusableReason::Untried);
                    return Ok(());
                }
                // It may have to wait for a build.
                let Some(metadata) = self.fetcher.wait_unless_stopped(self.fetcher.metadata(name, version, file))
                else {
                    return Err(SearchFailure::Cancelled);
                };
                let metadata = match metadata {
                    Ok(metadata) => metadata,
                    Err(IndexError::Malformed { reason, .. }) => {
                        self.state.add_unavailable(id, widened, UnusableReason::Unreadable(reason));
                        return Ok(());
                    }
                    Err(IndexError::Build(error)) => {
                        let reason = match &error.problem {
                            BuildProblem::Compiled(parts) => UnusableReason::Compiled(parts.clone()),
                            BuildProblem::Requirements(reason) => {
                                let first = reason.lines().next().unwrap_or_default();
                                UnusableReason::BuildRequirements(first.trim_end_matches('.').to_owned())
                            }
                            _ => return Err(IndexError::Build(error).into()),
                        };
                        self.failed_builds.entry(name.clone()).or_default().insert(version.clone());
                        if self.failed_builds.values().map(BTreeSet::len).sum::<usize>() >= MAX_FAILED_BUILDS {
                            return Err(IndexError::Build(error).into());
                        }
                        // Older versions may be in pure Python, or have a wheel.
                        self.state.add_unavailable(id, widened, reason);
                        return Ok(());
                    }
                    Err(error) => return Err(error.into()),
                };
                if let Some(required) = &metadata.requires_python
                    && !required.contains(self.fetcher.python())
                {
                    self.state.add_unavailable(id, widened, UnusableReason::Python(required.to_string()));
                    return Ok(());
                }
                let requires = if self.dependencies { &metadata.requires[..] } else { &[] };
                let applicable = requirements::applicable(requires, Some(name), extra);
                self.check_urls(&applicable, &format!("{name} {version}"))?;
                match requirements::dependencies(&applicable, Some(name), self.constraints) {
                    Ok(dependencies) => dependencies,
                    Err(requirement) => {
                        let reason = UnusableReason::Impossible(requirement.to_string());
                        self.state.add_unavailable(id, widened, reason);
                        return Ok(());
                    }
                }
            }
        };
        self.add(id, version, widened, dependencies);
        Ok(())
    }

    /// Returns whether so many versions of a package could not be built that this one is not tried.
    fn is_given_up(&self, name: &DistributionName, version: &Version) -> bool {
        let failed = self.failed_builds.get(name);
        failed.is_some_and(|failed| failed.len() >= MAX_FAILED_VERSIONS && !failed.contains(version))
    }

    fn decide_root(&mut self, id: Id<Package>) -> Result<(), SearchFailure> {
        let applicable = requirements::applicable(self.requirements, None, None);
        let dependencies = match requirements::dependencies(&applicable, None, self.constraints) {
            Ok(dependencies) => dependencies,
            Err(requirement) => {
                let reason = UnusableReason::Impossible(requirement.to_string());
                self.state.add_unavailable(id, Versions::full(), reason);
                return Ok(());
            }
        };
        self.add(id, &root_version(), Versions::singleton(root_version()), dependencies);
        Ok(())
    }

    /// Checks that dependencies use only URLs that the user gave: a distribution must not make this process fetch from
    /// anywhere.
    fn check_urls(&self, requirements: &[&Requirement], parent: &str) -> Result<(), SearchFailure> {
        let foreign = requirements.iter().find(|requirement| match &requirement.source {
            RequirementSource::Url(url) => {
                self.fetcher.direct(&requirement.name).is_none_or(|file| !same_file(url, &file.url))
            }
            RequirementSource::Versions(_) => false,
        });
        match foreign {
            None => Ok(()),
            Some(requirement) => {
                Err(SearchFailure::TransitiveUrl { parent: parent.to_owned(), requirement: requirement.to_string() })
            }
        }
    }

    fn add(&mut self, id: Id<Package>, version: &Version, versions: Versions, dependencies: Vec<Dependency>) {
        self.added.entry(id).or_default().insert(version.clone());
        for (package, range) in &dependencies {
            let Some(name) = package.name() else { continue };
            let is_url = self.fetcher.direct(name).is_some();
            self.priorities.meet(package, range, is_url);
            self.fetcher.prefetch_candidates(name, range);
            if let Package::Extra(name, _) = package {
                // A bound on `name[extra]` applies to `name` at once, not only when the extra is decided.
                let base = Package::Base(name.clone());
                self.priorities.meet(&base, range, is_url);
                let extra = self.state.package_store.alloc(package.clone());
                let base = self.state.package_store.alloc(base);
                self.state.add_dependency(extra, range.clone(), (base, range.clone()));
            }
        }
        let conflict = self.state.add_package_version_dependencies(id, version.clone(), versions, dependencies);
        if let Some(conflict) = conflict {
            self.record(id, &conflict);
        }
    }

    /// Counts the packages that take part in conflicts.
    fn record(&mut self, affected: Id<Package>, conflict: &ConflictId<SolverTypes>) {
        let store = &self.state.package_store;
        let mut between_packages = false;
        for culprit in self.state.conflict_packages(conflict) {
            // Extras of one distribution always follow each other.
            if culprit == affected || store[culprit].name() == store[affected].name() {
                continue;
            }
            between_packages = true;
            let count = self.culprits.entry(culprit).or_default();
            *count += 1;
            if *count == CONFLICTS {
                self.lower.push(culprit);
            }
        }
        if between_packages {
            let count = self.affected.entry(self.next).or_default();
            *count += 1;
            if *count == CONFLICTS {
                self.raise.push(self.next);
            }
        }
    }

    /// Changes the order of decisions for packages with many conflicts.
    fn reorder(&mut self) {
        for id in std::mem::take(&mut self.raise) {
            self.priorities.mark_affected(&self.state.package_store[id]);
        }
        for id in std::mem::take(&mut self.lower) {
            if self.priorities.mark_culprit(&self.state.package_store[id]) {
                self.state.backtrack_package(id);
            }
        }
    }
}

fn root_version() -> Version {
    Version::new([0])
}
