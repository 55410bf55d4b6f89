//! Single reason for a contradiction: every way to meet the requirements ends at a package without a usable version.
//! The solver's own explanation of that goes through every range of versions on the way.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use brumate_setting::Setting;
use pep440_rs::Version;
use pubgrub::External;

use crate::resolver::candidates::{Candidates, CandidatesByName, Rejection};
use crate::resolver::package::Package;
use crate::resolver::provider::{Derivation, UnusableReason};
use crate::resolver::ranges::{self, Versions};
use crate::wheel::PLATFORM;

/// Requirements of a contradiction up to which a single reason is searched.
const MAX_REQUIREMENTS: usize = 5000;

/// Single reason for a contradiction.
pub(super) struct DeadEnd {
    /// Package without a usable version, if the sentence is about its wheels.
    pub(super) wheels_of: Option<String>,
    /// The reason as a sentence.
    pub(super) sentence: String,
}

/// Requirement of a contradiction.
struct Requirement<'a> {
    parent: &'a Package,
    parents: &'a Versions,
    package: &'a Package,
    versions: &'a Versions,
    /// Versions of the required package that can be used.
    usable: Vec<&'a Version>,
}

/// Reason why a version cannot be part of a solution.
#[derive(Clone, Copy)]
enum DeadEndStep<'a> {
    /// All versions that this requirement (its number) allows are dead.
    Requires(usize),
    /// The version itself cannot be used.
    Unusable(Option<&'a UnusableReason>),
}

/// Leaves of a derivation.
#[derive(Default)]
struct Leaves<'a> {
    requirements: Vec<Requirement<'a>>,
    unusable: Vec<(&'a Package, &'a Versions, Option<&'a UnusableReason>)>,
}

/// Finds the single reason of `tree`; `None` if there are several.
pub(super) fn find(tree: &Derivation, known: &CandidatesByName) -> Option<DeadEnd> {
    let mut leaves = Leaves::default();
    gather(tree, known, &mut leaves, &mut HashSet::new());
    let Leaves { requirements, unusable } = leaves;
    if requirements.len() > MAX_REQUIREMENTS {
        return None;
    }
    let mut dead: HashMap<&Package, BTreeMap<&Version, DeadEndStep<'_>>> = HashMap::new();
    for (package, versions, reason) in unusable {
        let steps = dead.entry(package).or_default();
        steps.extend(usable(package, versions, known).map(|version| (version, DeadEndStep::Unusable(reason))));
    }
    // Each round finds versions that require those of earlier rounds, so the steps have no cycle.
    let first = loop {
        let is_dead = |requirement: &&Requirement<'_>| {
            let steps = dead.get(requirement.package);
            requirement.usable.iter().all(|version| steps.is_some_and(|steps| steps.contains_key(version)))
        };
        let ends: Vec<usize> = (0..requirements.len()).filter(|&number| is_dead(&&requirements[number])).collect();
        if let Some(&root) = ends.iter().find(|&&number| *requirements[number].parent == Package::Root) {
            break root;
        }
        let mut found = false;
        for number in ends {
            let Requirement { parent, parents, .. } = &requirements[number];
            let steps = dead.entry(parent).or_default();
            for version in usable(parent, parents, known) {
                found |= !steps.contains_key(version);
                steps.entry(version).or_insert(DeadEndStep::Requires(number));
            }
        }
        if !found {
            return None;
        }
    };
    let mut chain: Vec<(&Package, &Version)> = Vec::new();
    let mut last = &requirements[first];
    let reason = loop {
        let mut finals = last.usable.iter().filter(|version| !version.any_prerelease());
        let Some(newest) = finals.next_back().or(last.usable.last()) else { break None };
        match dead.get(last.package)?.get(newest)? {
            DeadEndStep::Requires(number) => {
                if chain.last().is_none_or(|(package, _)| package.name() != last.package.name()) {
                    chain.push((last.package, newest));
                }
                last = &requirements[*number];
            }
            DeadEndStep::Unusable(reason) => break Some((*newest, *reason)),
        }
    };
    Some(describe(last, reason, &chain, known))
}

fn gather<'a>(
    tree: &'a Derivation,
    known: &'a CandidatesByName,
    leaves: &mut Leaves<'a>,
    seen: &mut HashSet<*const Derivation>,
) {
    match tree {
        Derivation::External(External::FromDependencyOf(parent, parents, package, versions)) => {
            let usable = usable(package, versions, known).collect();
            leaves.requirements.push(Requirement { parent, parents, package, versions, usable });
        }
        Derivation::External(External::NoVersions(package, versions)) => {
            leaves.unusable.push((package, versions, None))
        }
        Derivation::External(External::Custom(package, versions, reason)) => {
            leaves.unusable.push((package, versions, Some(reason)));
        }
        Derivation::External(External::NotRoot(..)) => {}
        Derivation::Derived(derived) => {
            for cause in [&derived.cause1, &derived.cause2] {
                if seen.insert(Arc::as_ptr(cause)) {
                    gather(cause, known, leaves, seen);
                }
            }
        }
    }
}

fn candidates<'a>(package: &Package, known: &'a CandidatesByName) -> Option<&'a Candidates> {
    known.get(package.name()?).map(Arc::as_ref)
}

/// Returns the usable versions of a package in a range, ascending.
fn usable<'a>(
    package: &Package,
    versions: &Versions,
    known: &'a CandidatesByName,
) -> impl Iterator<Item = &'a Version> {
    let all = candidates(package, known).map_or(&[][..], Candidates::versions);
    all.iter().filter(|version| versions.contains(version))
}

/// Describes what is wrong with the package that `last` requires, and which packages require it.
fn describe(
    last: &Requirement<'_>,
    unusable: Option<(&Version, Option<&UnusableReason>)>,
    chain: &[(&Package, &Version)],
    known: &CandidatesByName,
) -> DeadEnd {
    let package = last.package;
    let required = format!("{package}{}", ranges::specifiers(last.versions));
    let mut wheels_of = None;
    let mut sentence = match (unusable, candidates(package, known)) {
        (Some((version, Some(reason))), _) => format!("`{package}` {version} {reason}"),
        (Some((version, None)), _) => format!("`{package}` {version} cannot be taken"),
        (None, Some(candidates)) if candidates.exists => {
            let rejected = finals_first(candidates.rejected(last.versions).collect());
            let named = if candidates.versions().is_empty() { package.to_string() } else { required.clone() };
            if let Some(wheels) = lacking(&rejected) {
                wheels_of = package.name().map(ToString::to_string);
                match candidates.versions().last() {
                    Some(usable) => format!("`{named}` {wheels}; {usable} is the newest version that can be used"),
                    None => format!("`{named}` {wheels}"),
                }
            } else if let Some((version, rejection)) = rejected.first() {
                format!("`{package}` {version} {rejection}")
            } else if let Some(newest) = candidates.versions().last() {
                format!("there is no `{required}`: the newest version that can be used is {newest}")
            } else {
                format!("no version of `{package}` can be used here")
            }
        }
        (None, candidates) if candidates.is_some_and(|candidates| candidates.offline) => {
            format!("`{package}` is not in the cache, and the network is off ({})", Setting::Offline.brief())
        }
        (None, _) => format!("no source has a package `{package}`: is the name right?"),
    };
    for (number, (package, version)) in chain.iter().rev().enumerate() {
        sentence.push_str(if number == 0 { "; required by " } else { ", required by " });
        sentence.push_str(&format!("{package} {version}"));
    }
    let end = if sentence.ends_with('?') { "" } else { "." };
    DeadEnd { wheels_of, sentence: format!("{sentence}{end}") }
}

/// Returns the final versions, or all if there are none: users rarely ask for prereleases.
fn finals_first<'a>(rejected: Vec<(&'a Version, &'a Rejection)>) -> Vec<(&'a Version, &'a Rejection)> {
    let finals: Vec<_> = rejected.iter().copied().filter(|(version, _)| !version.any_prerelease()).collect();
    if finals.is_empty() { rejected } else { finals }
}

/// Describes versions that all lack a wheel for the sandbox; `None` for others.
fn lacking(rejected: &[(&Version, &Rejection)]) -> Option<String> {
    let lacks = |rejection: &Rejection| {
        matches!(rejection, Rejection::SourceOnly | Rejection::NotBuilt | Rejection::OtherPlatforms)
    };
    let (_, newest) = rejected.first()?;
    let passes = |rejection: &Rejection| lacks(rejection) || matches!(rejection, Rejection::Yanked(_));
    if !lacks(newest) || !rejected.iter().all(|(_, rejection)| passes(rejection)) {
        return None;
    }
    let has = |wanted: &Rejection| rejected.iter().any(|(_, rejection)| *rejection == wanted);
    Some(if has(&Rejection::OtherPlatforms) {
        format!("has no wheel for this sandbox (none in pure Python, none for {PLATFORM})")
    } else if has(&Rejection::NotBuilt) {
        format!("{}: it has no wheel", Rejection::NotBuilt)
    } else {
        "comes as source code only, which the sandbox cannot build: it has no wheel".to_owned()
    })
}
