//! The fixed set of wheels that a Brumate ships.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr;

use pep440_rs::Version;

use crate::error::{BundleError, Problem};
use crate::name::DistributionName;
use crate::requirement::Requirement;

/// One wheel of the bundle, as its metadata describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Name, in any spelling.
    pub name: String,
    /// Version (PEP 440).
    pub version: String,
    /// Top-level modules it provides.
    pub import_names: Vec<String>,
    /// `Requires-Dist` entries (PEP 508).
    pub requires: Vec<String>,
}

impl Distribution {
    /// A distribution that provides nothing and requires nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }

    /// Sets the top-level modules it provides.
    #[must_use]
    pub fn provides<S: Into<String>>(mut self, import_names: impl IntoIterator<Item = S>) -> Self {
        self.import_names = import_names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets its `Requires-Dist` entries.
    #[must_use]
    pub fn requires<S: Into<String>>(mut self, requires: impl IntoIterator<Item = S>) -> Self {
        self.requires = requires.into_iter().map(Into::into).collect();
        self
    }
}

/// A wheel with its table entries parsed.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The name under which the bundle's owner knows it.
    pub(crate) key: String,
    pub(crate) version: Version,
    pub(crate) requires: Vec<Requirement>,
}

/// All wheels, by normalised name and by import name.
#[derive(Debug)]
pub struct Bundle {
    pub(crate) wheels: BTreeMap<DistributionName, Wheel>,
    modules: HashMap<String, DistributionName>,
    summary: String,
}

impl Bundle {
    /// Reads a bundle's table.
    ///
    /// # Errors
    ///
    /// [`BundleError`] when an entry has an invalid name, version or requirement, or appears twice.
    pub fn new(distributions: impl IntoIterator<Item = Distribution>) -> Result<Self, BundleError> {
        let mut wheels = BTreeMap::new();
        let mut modules = HashMap::new();
        for distribution in distributions {
            let fail = |reason: String| BundleError { entry: distribution.name.clone(), reason };
            let name = DistributionName::new(&distribution.name)
                .ok_or_else(|| fail("not a valid distribution name".to_owned()))?;
            let version = Version::from_str(&distribution.version).map_err(|error| fail(error.to_string()))?;
            let requires = distribution
                .requires
                .iter()
                .map(|text| text.parse::<Requirement>())
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| fail(error.to_string()))?;
            for module in &distribution.import_names {
                modules.insert(module.clone(), name.clone());
            }
            let wheel = Wheel { key: distribution.name.clone(), version, requires };
            if wheels.insert(name, wheel).is_some() {
                return Err(fail("appears twice".to_owned()));
            }
        }
        let summary = summary(&wheels);
        Ok(Self { wheels, modules, summary })
    }

    /// The distribution that provides the top-level module `module`.
    pub fn distribution_of(&self, module: &str) -> Option<&DistributionName> {
        self.modules.get(module)
    }

    /// Requirements for imported modules: each of `required` must be in the bundle, of `optional` those that are
    /// there are taken. A distribution appears once, where its first module is imported.
    ///
    /// # Errors
    ///
    /// One [`Problem::UnknownModule`] for each of `required` that the bundle does not provide.
    pub fn requirements_of_imports(
        &self,
        required: &[String],
        optional: &[String],
    ) -> Result<Vec<Requirement>, Vec<Problem>> {
        let mut names: Vec<&DistributionName> = Vec::new();
        let mut problems = Vec::new();
        for module in required {
            match self.distribution_of(module) {
                Some(name) => names.push(name),
                None => problems.push(Problem::UnknownModule { module: module.clone(), bundle: self.summary.clone() }),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        names.extend(optional.iter().filter_map(|module| self.distribution_of(module)));
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        Ok(names.into_iter().map(Requirement::any).collect())
    }

    /// Names and versions, for people: `numpy 2.4.6, pandas 3.0.2`.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Import names and the distributions that provide them, in no order.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&str, &DistributionName)> {
        self.modules.iter().map(|(module, name)| (module.as_str(), name))
    }

    /// Every distribution, sorted by name.
    pub fn names(&self) -> impl Iterator<Item = &DistributionName> {
        self.wheels.keys()
    }
}

fn summary(wheels: &BTreeMap<DistributionName, Wheel>) -> String {
    if wheels.is_empty() {
        return "which is empty".to_owned();
    }
    let entries: Vec<String> = wheels.iter().map(|(name, wheel)| format!("{name} {}", wheel.version)).collect();
    entries.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        Bundle::new([
            Distribution::new("pillow", "12.2.0").provides(["PIL"]),
            Distribution::new("python-dateutil", "2.9.0.post0").provides(["dateutil"]),
            Distribution::new("matplotlib", "3.10.8").provides(["matplotlib", "mpl_toolkits", "pylab"]),
        ])
        .unwrap()
    }

    fn texts(modules: &[&str]) -> Vec<String> {
        modules.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn imports_become_distributions_once_and_in_order() {
        let requirements = bundle()
            .requirements_of_imports(&texts(&["PIL", "pylab", "matplotlib"]), &texts(&["lxml", "dateutil", "PIL"]))
            .unwrap();
        let names: Vec<String> = requirements.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["pillow", "matplotlib", "python-dateutil"]);
    }

    #[test]
    fn every_unknown_module_is_reported() {
        let problems = bundle().requirements_of_imports(&texts(&["requests", "PIL", "yaml"]), &[]).unwrap_err();
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 2);
        assert!(text[0].contains("`requests`") && text[0].contains("pillow 12.2.0"), "{text:?}");
        assert!(text[1].contains("`yaml`") && text[1].contains("except ImportError"), "{text:?}");
    }

    #[test]
    fn a_defective_table_is_refused() {
        let twice = Bundle::new([Distribution::new("a_b", "1"), Distribution::new("A-B", "2")]).unwrap_err();
        assert_eq!(twice.to_string(), "the bundle's entry `A-B` is unusable: appears twice");
        assert!(Bundle::new([Distribution::new("a", "one")]).is_err());
        assert!(Bundle::new([Distribution::new("a", "1").requires(["b >"])]).is_err());
    }
}
