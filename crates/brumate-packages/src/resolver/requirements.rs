//! Converts requirements to the solver's dependencies.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::marker::MarkerEnvironment;
use crate::name::DistributionName;
use crate::requirement::{Requirement, RequirementSource};
use crate::resolver::package::Package;
use crate::resolver::ranges::{self, Versions};

/// Package with the versions that meet a requirement.
pub(crate) type Dependency = (Package, Versions);

/// Constraints: limits on the versions of packages that do not request them.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    by_name: HashMap<DistributionName, Versions>,
}

impl Constraints {
    /// Reads the `constraints` that count in the sandbox.
    pub(crate) fn new<'a>(constraints: impl IntoIterator<Item = &'a Requirement>) -> Self {
        let here = MarkerEnvironment::default();
        let mut by_name: HashMap<DistributionName, Versions> = HashMap::new();
        for constraint in constraints.into_iter().filter(|constraint| constraint.applies_in(&here)) {
            if let RequirementSource::Versions(specifiers) = &constraint.source {
                let versions = ranges::versions(specifiers);
                by_name
                    .entry(constraint.name.clone())
                    .and_modify(|known| *known = known.intersection(&versions))
                    .or_insert(versions);
            }
        }
        Self { by_name }
    }
}

/// Returns the requirements that count in the sandbox: those for every use if `extra` is `None`, else those that
/// `extra` adds. Requirements of a distribution for itself (`all = ["foo[a,b]"]`) are expanded.
pub(crate) fn applicable<'a>(
    requirements: &'a [Requirement],
    name: Option<&DistributionName>,
    extra: Option<&DistributionName>,
) -> Vec<&'a Requirement> {
    let mut found: Vec<&Requirement> = of_extra(requirements, extra).collect();
    let is_own = |requirement: &Requirement| name == Some(&requirement.name);
    let mut queue: VecDeque<&DistributionName> =
        found.iter().filter(|requirement| is_own(requirement)).flat_map(|requirement| &requirement.extras).collect();
    let mut seen = HashSet::new();
    while let Some(extra) = queue.pop_front() {
        if !seen.insert(extra) {
            continue;
        }
        for requirement in of_extra(requirements, Some(extra)) {
            if is_own(requirement) {
                queue.extend(&requirement.extras);
            }
            found.push(requirement);
        }
    }
    found
}

fn of_extra<'a>(
    requirements: &'a [Requirement],
    extra: Option<&DistributionName>,
) -> impl Iterator<Item = &'a Requirement> {
    let here = MarkerEnvironment::default();
    let with_extra = extra.map(|extra| MarkerEnvironment::with_extras([extra.clone()]));
    requirements.iter().filter(move |requirement| match &with_extra {
        None => requirement.applies_in(&here),
        Some(with_extra) => requirement.applies_in(with_extra) && !requirement.applies_in(&here),
    })
}

/// Returns the dependencies that follow from `requirements`, of the distribution `name` or of the user.
///
/// # Errors
///
/// A text about a requirement that no version can meet (`>2,<1`).
pub(crate) fn dependencies<'a>(
    requirements: &[&'a Requirement],
    name: Option<&DistributionName>,
    constraints: &Constraints,
) -> Result<Vec<Dependency>, &'a Requirement> {
    let mut dependencies = Vec::new();
    let mut own = Vec::new();
    for requirement in requirements {
        let versions = match &requirement.source {
            RequirementSource::Versions(specifiers) => ranges::versions(specifiers),
            RequirementSource::Url(_) => Versions::full(),
        };
        if versions.is_empty() {
            return Err(requirement);
        }
        let base = Package::Base(requirement.name.clone());
        if name == Some(&requirement.name) && !requirement.extras.is_empty() {
            // Its extras are expanded already; its bounds count.
            if versions != Versions::full() {
                own.push((base, versions));
            }
            continue;
        }
        if requirement.extras.is_empty() {
            dependencies.push((base.clone(), versions));
        } else {
            let extras = requirement.extras.iter();
            dependencies.extend(
                extras.map(|extra| (Package::Extra(requirement.name.clone(), extra.clone()), versions.clone())),
            );
        }
        if let Some(constraint) = constraints.by_name.get(&requirement.name) {
            dependencies.push((base, constraint.clone()));
        }
    }
    dependencies.extend(own);
    Ok(dependencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirements(texts: &[&str]) -> Vec<Requirement> {
        texts.iter().map(|text| text.parse().expect("a requirement")).collect()
    }

    fn shown(requirements: &[Requirement], extra: Option<&str>) -> Vec<String> {
        let name = DistributionName::new("foo").expect("a name");
        let extra = extra.map(|extra| DistributionName::new(extra).expect("a name"));
        let applicable = applicable(requirements, Some(&name), extra.as_ref());
        let dependencies = dependencies(&applicable, Some(&name), &Constraints::default()).expect("can be met");
        dependencies.iter().map(|(package, versions)| format!("{package}{}", ranges::specifiers(versions))).collect()
    }

    #[test]
    fn extras_are_apart_and_opened_up() {
        let requirements = requirements(&[
            "a>=1",
            "b; sys_platform == 'win32'",
            "c; extra == 'x'",
            "d; extra == 'y' and python_version >= '3'",
            "foo[x,y]>=2; extra == 'all'",
            "e[z]; extra == 'all'",
        ]);
        assert_eq!(shown(&requirements, None), ["a>=1"]);
        assert_eq!(shown(&requirements, Some("x")), ["c"]);
        assert_eq!(shown(&requirements, Some("all")), ["e[z]", "c", "d", "foo>=2"]);
        assert_eq!(shown(&requirements, Some("none")), Vec::<String>::new());
    }

    #[test]
    fn circles_of_extras_end() {
        let requirements = requirements(&["foo[b]; extra == 'a'", "foo[a]; extra == 'b'", "c; extra == 'b'"]);
        assert_eq!(shown(&requirements, Some("a")), ["c"]);
    }

    #[test]
    fn constraints_follow_what_they_hold() {
        let constraints = Constraints::new(&requirements(&["a<2", "b<1; sys_platform == 'win32'", "a>=1"]));
        let given = requirements(&["a", "b[x]"]);
        let all: Vec<&Requirement> = given.iter().collect();
        let found = dependencies(&all, None, &constraints).expect("can be met");
        let found: Vec<String> =
            found.iter().map(|(package, versions)| format!("{package}{}", ranges::specifiers(versions))).collect();
        assert_eq!(found, ["a", "a>=1,<2", "b[x]"]);
    }
}
