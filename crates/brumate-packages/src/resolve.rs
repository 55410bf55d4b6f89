//! Resolution against the bundle.
//!
//! The bundle has one version of each distribution, so there is no search: each requirement is met or it is not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::bundle::Bundle;
use crate::error::{ResolveError, ResolveProblem};
use crate::marker::MarkerEnvironment;
use crate::name::DistributionName;
use crate::order::requirements_first;
use crate::requirement::{Requirement, RequirementSource};

/// Most requirements of one script.
const MAX_REQUIREMENTS: usize = 256;

/// Wheels to load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleResolution {
    /// Keys of the bundle's wheels, each after the wheels that it requires (except in cycles).
    pub wheels: Vec<String>,
}

/// Requirement that has to be met.
struct Pending<'a> {
    requirement: &'a Requirement,
    /// Distribution that requires it; `None` for the user.
    required_by: Option<&'a DistributionName>,
    /// Extras with which the requirement's marker is evaluated.
    extras: Vec<DistributionName>,
}

impl Bundle {
    /// Finds the wheels that meet `requirements`, with their dependencies.
    ///
    /// Requirements whose marker does not hold in the sandbox are left out. An extra that a distribution does not have
    /// adds nothing, as with pip.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] with every requirement that the bundle cannot meet.
    pub fn resolve(&self, requirements: &[Requirement]) -> Result<BundleResolution, ResolveError> {
        if requirements.len() > MAX_REQUIREMENTS {
            let problem = ResolveProblem::TooMany { count: requirements.len(), limit: MAX_REQUIREMENTS };
            return Err(ResolveError { problems: vec![problem] });
        }
        let mut queue: VecDeque<Pending<'_>> = requirements
            .iter()
            .map(|requirement| Pending { requirement, required_by: None, extras: Vec::new() })
            .collect();
        let mut problems = Vec::new();
        // Extras of each wheel that were expanded already, and its requirements.
        let mut expanded: BTreeMap<&DistributionName, BTreeSet<DistributionName>> = BTreeMap::new();
        let mut edges: BTreeMap<&DistributionName, Vec<&DistributionName>> = BTreeMap::new();
        let mut roots: Vec<&DistributionName> = Vec::new();
        while let Some(pending) = queue.pop_front() {
            let environment = MarkerEnvironment::with_extras(pending.extras);
            if !pending.requirement.applies_in(&environment) {
                continue;
            }
            let name = match self.check(pending.requirement, pending.required_by) {
                Ok(name) => name,
                Err(problem) => {
                    if !problems.contains(&problem) {
                        problems.push(problem);
                    }
                    continue;
                }
            };
            match pending.required_by {
                Some(parent) => edges.entry(parent).or_default().push(name),
                None => roots.push(name),
            }
            let first_visit = !expanded.contains_key(name);
            let known = expanded.entry(name).or_default();
            let before = known.len();
            known.extend(pending.requirement.extras.iter().cloned());
            if first_visit || known.len() > before {
                let extras: Vec<DistributionName> = known.iter().cloned().collect();
                for requirement in &self.wheels[name].requires {
                    queue.push_back(Pending { requirement, required_by: Some(name), extras: extras.clone() });
                }
            }
        }
        if !problems.is_empty() {
            return Err(ResolveError { problems });
        }
        let ordered = requirements_first(roots, &edges);
        Ok(BundleResolution { wheels: ordered.into_iter().map(|name| self.wheels[name].key.clone()).collect() })
    }

    /// Returns the wheel that meets `requirement`, or the problem.
    fn check(
        &self,
        requirement: &Requirement,
        required_by: Option<&DistributionName>,
    ) -> Result<&DistributionName, ResolveProblem> {
        let required_by = required_by.map(ToString::to_string);
        let RequirementSource::Versions(versions) = &requirement.source else {
            let bundle = self.summary().to_owned();
            return Err(ResolveProblem::DirectUrl { requirement: requirement.to_string(), bundle });
        };
        let Some((name, wheel)) = self.wheels.get_key_value(&requirement.name) else {
            return Err(ResolveProblem::NotInBundle {
                name: requirement.name.to_string(),
                required_by,
                bundle: self.summary().to_owned(),
                provided_by: self.provider_of(&requirement.name),
            });
        };
        if !versions.contains(&wheel.version) {
            return Err(ResolveProblem::WrongVersion {
                requirement: requirement.to_string(),
                name: name.to_string(),
                version: wheel.version.to_string(),
                required_by,
            });
        }
        Ok(name)
    }

    /// Returns the distribution that provides a module with the wanted name: `pillow` for `PIL`.
    fn provider_of(&self, wanted: &DistributionName) -> Option<String> {
        self.modules()
            .filter(|(module, _)| DistributionName::new(module).as_ref() == Some(wanted))
            .map(|(_, distribution)| distribution.to_string())
            .next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Distribution;

    fn bundle() -> Bundle {
        Bundle::new([
            Distribution::new("numpy", "2.4.6").provides(["numpy"]),
            Distribution::new("pandas", "3.0.2").provides(["pandas"]).requires([
                "numpy>=2.3.3; python_version >= '3.14'",
                "numpy<2; python_version < '3.14'",
                "python-dateutil>=2.8.2",
                "tzdata; sys_platform == 'win32'",
                "tzdata; sys_platform == 'emscripten'",
                "openpyxl>=3.1.5; extra == 'excel'",
                "pillow; extra == 'plot'",
            ]),
            Distribution::new("pillow", "12.2.0").provides(["PIL"]),
            Distribution::new("python_dateutil", "2.9.0.post0").provides(["dateutil"]).requires(["six>=1.5"]),
            Distribution::new("six", "1.17.0").provides(["six"]),
            Distribution::new("tzdata", "2026.6").provides(["tzdata"]),
            Distribution::new("chicken", "1").requires(["egg"]),
            Distribution::new("egg", "1").requires(["chicken"]),
        ])
        .unwrap()
    }

    fn resolve(requirements: &[&str]) -> Result<Vec<String>, String> {
        let requirements: Vec<Requirement> = requirements.iter().map(|text| text.parse().unwrap()).collect();
        bundle().resolve(&requirements).map(|found| found.wheels).map_err(|error| error.to_string())
    }

    #[test]
    fn takes_what_is_required_in_turn_and_orders_it() {
        assert_eq!(resolve(&["Pandas>=3", "numpy"]).unwrap(), ["numpy", "six", "python_dateutil", "tzdata", "pandas"]);
        assert_eq!(resolve(&[]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn extras_add_their_requirements() {
        assert!(resolve(&["pandas", "pandas[nonsense,plot]"]).unwrap().contains(&"pillow".to_owned()));
        assert!(!resolve(&["pandas[nonsense]"]).unwrap().contains(&"pillow".to_owned()));
        let error = resolve(&["pandas[excel]"]).unwrap_err();
        assert!(error.starts_with("`openpyxl` (required by `pandas`) is not in the bundle"), "{error}");
    }

    #[test]
    fn markers_that_do_not_hold_are_left_out() {
        assert_eq!(resolve(&["nosuch; sys_platform == 'win32'", "six"]).unwrap(), ["six"]);
    }

    #[test]
    fn cycles_end() {
        assert_eq!(resolve(&["chicken"]).unwrap(), ["egg", "chicken"]);
    }

    #[test]
    fn every_problem_is_reported_with_its_way_out() {
        let error = resolve(&["foo", "numpy<2", "PIL", "six @ https://example.org/six.whl"]).unwrap_err();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[0],
            "`foo` is not in the bundle of this Brumate (chicken 1, egg 1, numpy 2.4.6, pandas 3.0.2, pillow 12.2.0, \
             python-dateutil 2.9.0.post0, six 1.17.0, tzdata 2026.6), and nothing else may be used here. \
             Use what is there, or leave it out."
        );
        assert_eq!(
            lines[1],
            "`numpy<2` cannot be met: the bundle of this Brumate has exactly one version, numpy 2.4.6. \
             Relax the version, or leave it out."
        );
        assert!(lines[2].ends_with("Write `pillow`: that package provides the module."), "{}", lines[2]);
        assert!(lines[3].contains("points at a URL"), "{}", lines[3]);
    }

    #[test]
    fn the_number_of_requirements_is_bounded() {
        let many = vec!["six"; MAX_REQUIREMENTS + 1];
        assert!(resolve(&many).unwrap_err().contains("at most 256"));
        assert_eq!(resolve(&many[1..]).unwrap(), ["six"]);
    }
}
