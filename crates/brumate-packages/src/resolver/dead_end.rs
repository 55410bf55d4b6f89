//! The one reason that there is no solution, where it is one: every way to meet the requirements ends at a package of which no
//! version can be used. The solver's own explanation of that goes through every range of versions on the way.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use pep440_rs::Version;
use pubgrub::External;

use crate::resolver::candidates::{Candidates, Rejection};
use crate::resolver::package::Package;
use crate::resolver::provider::{Derivation, Reason};
use crate::resolver::ranges::{self, Versions};
use crate::resolver::report::Known;
use crate::wheel::PLATFORM;

/// Requirements of a contradiction beyond which no single reason is looked for.
const MAX_REQUIREMENTS: usize = 5000;

/// See the module.
pub(super) struct DeadEnd {
    /// The package of which no version can be used, if the sentence is about its wheels.
    pub(super) wheels_of: Option<String>,
    /// The reason, a whole sentence.
    pub(super) sentence: String,
}

/// One way to go on from a version of a package.
struct Requirement<'a> {
    parent: &'a Package,
    parents: &'a Versions,
    package: &'a Package,
    versions: &'a Versions,
    /// Those that could be used.
    usable: Vec<&'a Version>,
}

/// Why a version leads nowhere.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// All that it requires in one requirement (its number) leads nowhere.
    Requires(usize),
    /// It cannot be taken itself.
    Unusable(Option<&'a Reason>),
}

/// The leaves of an explanation.
#[derive(Default)]
struct Leaves<'a> {
    requirements: Vec<Requirement<'a>>,
    unusable: Vec<(&'a Package, &'a Versions, Option<&'a Reason>)>,
}

/// The one reason of `tree`, if it has one.
pub(super) fn find(tree: &Derivation, known: &Known) -> Option<DeadEnd> {
    let mut leaves = Leaves::default();
    gather(tree, known, &mut leaves, &mut HashSet::new());
    let Leaves { requirements, unusable } = leaves;
    if requirements.len() > MAX_REQUIREMENTS {
        return None;
    }
    let mut dead: HashMap<&Package, BTreeMap<&Version, Step<'_>>> = HashMap::new();
    for (package, versions, reason) in unusable {
        let steps = dead.entry(package).or_default();
        steps.extend(usable(package, versions, known).map(|version| (version, Step::Unusable(reason))));
    }
    // Each round finds versions that need those of the rounds before: the way to an end is never a circle.
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
                steps.entry(version).or_insert(Step::Requires(number));
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
            Step::Requires(number) => {
                if chain.last().is_none_or(|(package, _)| package.name() != last.package.name()) {
                    chain.push((last.package, newest));
                }
                last = &requirements[*number];
            }
            Step::Unusable(reason) => break Some((*newest, *reason)),
        }
    };
    Some(told(last, reason, &chain, known))
}

fn gather<'a>(tree: &'a Derivation, known: &'a Known, leaves: &mut Leaves<'a>, seen: &mut HashSet<*const Derivation>) {
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

fn candidates<'a>(package: &Package, known: &'a Known) -> Option<&'a Candidates> {
    known.get(package.name()?).map(Arc::as_ref)
}

/// The versions of a package in a range that exist and can be used, ascending.
fn usable<'a>(package: &Package, versions: &Versions, known: &'a Known) -> impl Iterator<Item = &'a Version> {
    let all = candidates(package, known).map_or(&[][..], Candidates::versions);
    all.iter().filter(|version| versions.contains(version))
}

/// What is wrong with the package that `last` requires, and who requires it.
fn told(
    last: &Requirement<'_>,
    unusable: Option<(&Version, Option<&Reason>)>,
    chain: &[(&Package, &Version)],
    known: &Known,
) -> DeadEnd {
    let package = last.package;
    let required = format!("{package}{}", ranges::shown(last.versions));
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
            format!("`{package}` is not in the cache, and the network is off (--offline)")
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

/// The final versions; where there are none, the others: nobody wants to hear of those.
fn finals_first<'a>(rejected: Vec<(&'a Version, &'a Rejection)>) -> Vec<(&'a Version, &'a Rejection)> {
    let finals: Vec<_> = rejected.iter().copied().filter(|(version, _)| !version.any_prerelease()).collect();
    if finals.is_empty() { rejected } else { finals }
}

/// What to say when versions exist, and wheels of the sandbox's are what they all lack.
fn lacking(rejected: &[(&Version, &Rejection)]) -> Option<String> {
    let lacks = |rejection: &Rejection| matches!(rejection, Rejection::SourceOnly | Rejection::OtherPlatforms);
    let (_, newest) = rejected.first()?;
    let passes = |rejection: &Rejection| lacks(rejection) || matches!(rejection, Rejection::Yanked(_));
    if !lacks(newest) || !rejected.iter().all(|(_, rejection)| passes(rejection)) {
        return None;
    }
    let is_source = !rejected.iter().any(|(_, rejection)| matches!(rejection, Rejection::OtherPlatforms));
    Some(match is_source {
        true => "comes as source code only, which the sandbox cannot build: it has no wheel".to_owned(),
        false => format!("has no wheel for this sandbox (none in pure Python, none for {PLATFORM})"),
    })
}
