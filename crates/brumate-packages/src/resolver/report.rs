//! Explanations of contradictions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brumate_setting::Setting;
use pubgrub::{DefaultStringReporter, Derived, External, Map, ReportFormatter, Reporter, Term};

use crate::index::Origin;
use crate::resolver::candidates::{CandidatesByName, Rejection};
use crate::resolver::dead_end;
use crate::resolver::fetcher::Fetcher;
use crate::resolver::package::Package;
use crate::resolver::provider::{Derivation, UnusableReason, is_all, positive};
use crate::resolver::ranges::{self, Versions};

/// Most characters of an explanation; contradictions between many packages can be very long.
const MAX_CHARACTERS: usize = 8000;
/// Most versions that a hint names.
const MAX_NAMED: usize = 3;

/// Beginning of the hint about a package that no source has.
const NOWHERE: &str = "no source knows ";

/// Returns the explanation and hints, one for each line.
pub(crate) fn explain(tree: &Derivation, fetcher: &Fetcher) -> String {
    let mut known = BTreeMap::new();
    for package in tree.packages() {
        if let Some(name) = package.name()
            && let Ok(candidates) = fetcher.wait(fetcher.candidates(name))
        {
            known.insert(name.clone(), candidates);
        }
    }
    let dead_end = dead_end::find(tree, &known);
    let tree = without_proxies(tree.clone());
    let words = ReportText { known: &known };
    let mut text = match (&dead_end, &tree) {
        (Some(dead_end), _) => dead_end.sentence.clone(),
        (None, Derivation::External(external)) => format!("{}.", words.format_external(external)),
        (None, Derivation::Derived(_)) => DefaultStringReporter::report_with_formatter(&tree, &words),
    };
    if text.chars().count() > MAX_CHARACTERS {
        text = text.chars().take(MAX_CHARACTERS).collect::<String>() + "…";
    }
    // The sentence has this hint already.
    let said = dead_end.and_then(|dead_end| dead_end.wheels_of).map(|name| format!("`{name}` "));
    let named = text.clone();
    // So has a sentence about a package that is nowhere.
    let is_new = |hint: &&String| match hint.strip_prefix(NOWHERE) {
        Some(package) => !named.starts_with(&format!("no source has a package {package}")),
        None => said.as_ref().is_none_or(|said| !hint.starts_with(said)),
    };
    for hint in hints(&tree, &known).iter().filter(is_new) {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    text
}

/// Removes steps from `foo[x]` to `foo`.
fn without_proxies(tree: Derivation) -> Derivation {
    let Derivation::Derived(Derived { terms, shared_id, cause1, cause2 }) = tree else { return tree };
    let is_proxy = |cause: &Derivation| {
        matches!(cause, Derivation::External(External::FromDependencyOf(one, _, other, _))
            if one.name().is_some() && one.name() == other.name())
    };
    match (is_proxy(&cause1), is_proxy(&cause2)) {
        (true, false) => without_proxies((*cause2).clone()),
        (false, true) => without_proxies((*cause1).clone()),
        _ => Derivation::Derived(Derived {
            terms,
            shared_id,
            cause1: Arc::new(without_proxies((*cause1).clone())),
            cause2: Arc::new(without_proxies((*cause2).clone())),
        }),
    }
}

/// Texts of a report, with ranges simplified for the known candidates.
struct ReportText<'a> {
    known: &'a CandidatesByName,
}

impl ReportText<'_> {
    /// Formats a package with its range, simplified for the existing versions: `numpy>=2`.
    fn package(&self, package: &Package, versions: &Versions) -> String {
        let simple = match package.name().and_then(|name| self.known.get(name)) {
            Some(candidates) if !candidates.versions().is_empty() => versions.simplify(candidates.versions().iter()),
            _ => versions.clone(),
        };
        match package {
            Package::Root => package.to_string(),
            _ if is_all(&simple) => format!("{package}"),
            _ => format!("{package}{}", ranges::specifiers(&simple)),
        }
    }

    /// Formats a package with the range of a requirement, as it was written.
    fn required(&self, package: &Package, versions: &Versions) -> String {
        format!("{package}{}", ranges::specifiers(versions))
    }
}

impl ReportFormatter<Package, Versions, UnusableReason> for ReportText<'_> {
    type Output = String;

    fn format_external(&self, external: &External<Package, Versions, UnusableReason>) -> String {
        match external {
            External::NotRoot(package, _) => format!("{package} are to be met"),
            External::NoVersions(package, versions) => {
                format!("no version of {} can be used here", self.required(package, versions))
            }
            External::Custom(package, versions, reason) => format!("{} {reason}", self.package(package, versions)),
            External::FromDependencyOf(Package::Root, _, package, versions) => {
                format!("you require {}", self.required(package, versions))
            }
            External::FromDependencyOf(parent, parents, package, versions) => {
                format!("{} requires {}", self.package(parent, parents), self.required(package, versions))
            }
        }
    }

    fn format_terms(&self, terms: &Map<Package, Term<Versions>>) -> String {
        let mut terms: Vec<_> = terms.iter().filter(|(package, _)| **package != Package::Root).collect();
        terms.sort_by_key(|(package, _)| package.to_string());
        match terms.as_slice() {
            [] => "your requirements cannot be met".to_owned(),
            [(package, Term::Positive(versions))] => format!("{} cannot be used", self.package(package, versions)),
            [(package, Term::Negative(versions))] => format!("{} is needed", self.required(package, versions)),
            [(one, Term::Positive(first)), (other, Term::Negative(second))]
            | [(other, Term::Negative(second)), (one, Term::Positive(first))] => {
                format!("{} requires {}", self.package(one, first), self.required(other, second))
            }
            terms => {
                let shown: Vec<String> = terms
                    .iter()
                    .map(|(package, term)| match positive(term) {
                        Some(versions) => self.package(package, versions),
                        None => format!("no {package}"),
                    })
                    .collect();
                format!("{} do not go together", shown.join(" and "))
            }
        }
    }

    fn explain_both_external(
        &self,
        external1: &External<Package, Versions, UnusableReason>,
        external2: &External<Package, Versions, UnusableReason>,
        current_terms: &Map<Package, Term<Versions>>,
    ) -> String {
        let (first, second) = (self.format_external(external1), self.format_external(external2));
        format!("Because {first} and {second}, {}.", self.format_terms(current_terms))
    }

    fn explain_both_ref(
        &self,
        ref_id1: usize,
        derived1: &Derived<Package, Versions, UnusableReason>,
        ref_id2: usize,
        derived2: &Derived<Package, Versions, UnusableReason>,
        current_terms: &Map<Package, Term<Versions>>,
    ) -> String {
        let (first, second) = (self.format_terms(&derived1.terms), self.format_terms(&derived2.terms));
        format!("Because {first} ({ref_id1}) and {second} ({ref_id2}), {}.", self.format_terms(current_terms))
    }

    fn explain_ref_and_external(
        &self,
        ref_id: usize,
        derived: &Derived<Package, Versions, UnusableReason>,
        external: &External<Package, Versions, UnusableReason>,
        current_terms: &Map<Package, Term<Versions>>,
    ) -> String {
        let (first, second) = (self.format_terms(&derived.terms), self.format_external(external));
        format!("Because {first} ({ref_id}) and {second}, {}.", self.format_terms(current_terms))
    }

    fn and_explain_external(
        &self,
        external: &External<Package, Versions, UnusableReason>,
        current_terms: &Map<Package, Term<Versions>>,
    ) -> String {
        format!("And because {}, {}.", self.format_external(external), self.format_terms(current_terms))
    }

    fn and_explain_ref(
        &self,
        ref_id: usize,
        derived: &Derived<Package, Versions, UnusableReason>,
        current_terms: &Map<Package, Term<Versions>>,
    ) -> String {
        let first = self.format_terms(&derived.terms);
        format!("And because {first} ({ref_id}), {}.", self.format_terms(current_terms))
    }

    fn and_explain_prior_and_external(
        &self,
        prior_external: &External<Package, Versions, UnusableReason>,
        external: &External<Package, Versions, UnusableReason>,
        current_terms: &Map<Package, Term<Versions>>,
    ) -> String {
        let (first, second) = (self.format_external(prior_external), self.format_external(external));
        format!("And because {first} and {second}, {}.", self.format_terms(current_terms))
    }
}

/// Returns hints about existing versions that were not used, which the tree does not have.
fn hints(tree: &Derivation, known: &CandidatesByName) -> Vec<String> {
    let mut missing: Vec<(Package, Versions)> = Vec::new();
    let mut hints = BTreeSet::new();
    gather(tree, &mut missing, &mut hints);
    for (package, versions) in &missing {
        let Some((name, candidates)) = package.name().and_then(|name| known.get_key_value(name)) else { continue };
        let mut by_reason: BTreeMap<&Rejection, Vec<String>> = BTreeMap::new();
        for (version, rejection) in candidates.rejected(versions) {
            by_reason.entry(rejection).or_default().push(version.to_string());
        }
        // Many reasons differ only in details: the kinds with most versions are enough.
        let mut reasons: Vec<_> = by_reason.into_iter().collect();
        reasons.sort_by_key(|(_, versions)| std::cmp::Reverse(versions.len()));
        let only = reasons.len() == 1;
        for (rejection, versions) in reasons.into_iter().take(MAX_NAMED) {
            let mut named = versions.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
            if versions.len() > MAX_NAMED {
                named.push_str(&format!(" and {} others", versions.len() - MAX_NAMED));
            }
            let each = if versions.len() > 1 { ": each " } else { " " };
            hints.insert(format!("`{name}` {named}{each}{rejection}"));
            hints.extend(way_out(rejection, only));
        }
        if candidates.offline {
            hints.insert(format!("`{name}`: the network is off, so only what is in the cache was looked at"));
        }
    }
    for (name, candidates) in known {
        let bundled = candidates.versions().iter().filter_map(|version| candidates.file(version));
        if let [only] = bundled.collect::<Vec<_>>().as_slice()
            && matches!(*only.origin, Origin::Bundle(_))
        {
            hints.insert(format!("only one version of `{name}` can be used: the one in the bundle"));
        }
    }
    hints.into_iter().collect()
}

/// Returns what to do about a rejection; `only` if it is that of all requested versions.
fn way_out(rejection: &Rejection, only: bool) -> Option<String> {
    match rejection {
        Rejection::SourceOnly | Rejection::OtherPlatforms => Some(format!(
            "where no wheel fits the sandbox: try another version or a package in pure Python, or ask the operator \
             to add a wheel ({}) or a Pyodide distribution ({})",
            Setting::FindLinks.brief(),
            Setting::Pyodide.brief()
        )),
        Rejection::NotBuilt => Some(format!(
            "to have it built from source code, leave out {}, also in pip's and uv's settings",
            Setting::OnlyBinary.quoted()
        )),
        // A withdrawn version is not needed if another one can be used.
        Rejection::Yanked(_) if only => Some("to use a withdrawn version all the same, pin it (`==`)".to_owned()),
        _ => None,
    }
}

fn gather(tree: &Derivation, missing: &mut Vec<(Package, Versions)>, hints: &mut BTreeSet<String>) {
    match tree {
        Derivation::External(External::NoVersions(package, versions)) => {
            missing.push((package.clone(), versions.clone()));
        }
        Derivation::External(External::Custom(package, _, UnusableReason::NotFound)) => {
            hints.insert(format!("{NOWHERE}`{package}`: is the name right?"));
        }
        Derivation::External(External::Custom(package, _, UnusableReason::Offline)) => {
            hints.insert(format!("`{package}` was not looked for: the network is off ({})", Setting::Offline.brief()));
        }
        Derivation::External(External::Custom(_, _, UnusableReason::Compiled(_) | UnusableReason::Untried)) => {
            hints.extend(way_out(&Rejection::SourceOnly, true));
        }
        Derivation::External(External::Custom(package, _, UnusableReason::Unreadable(reason))) => {
            hints.insert(format!("the metadata of `{package}` is unusable: {reason}"));
        }
        Derivation::External(_) => {}
        Derivation::Derived(derived) => {
            gather(&derived.cause1, missing, hints);
            gather(&derived.cause2, missing, hints);
        }
    }
}
