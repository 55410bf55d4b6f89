//! The bundle: the fixed set of wheels that a Brumate ships.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use pep440_rs::Version;

use crate::error::BundleError;
use crate::name::DistributionName;
use crate::requirement::Requirement;

/// Wheel of the bundle, as its metadata describes it.
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
    /// Makes a distribution that provides and requires nothing.
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
pub(crate) struct BundledWheel {
    /// Name that the bundle's owner uses for the wheel.
    pub(crate) key: String,
    pub(crate) version: Version,
    pub(crate) requires: Vec<Requirement>,
}

/// All wheels, by normalised name and by import name.
#[derive(Debug)]
pub struct Bundle {
    pub(crate) wheels: BTreeMap<DistributionName, BundledWheel>,
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
            let wheel = BundledWheel { key: distribution.name.clone(), version, requires };
            if wheels.insert(name, wheel).is_some() {
                return Err(fail("appears twice".to_owned()));
            }
        }
        let summary = summary(&wheels);
        Ok(Self { wheels, modules, summary })
    }

    /// Returns the distribution that provides a top-level module.
    pub fn distribution_of(&self, module: &str) -> Option<&DistributionName> {
        self.modules.get(module)
    }

    /// Returns the version of a distribution; `None` if it is not in the bundle.
    pub fn version(&self, name: &DistributionName) -> Option<&Version> {
        self.wheels.get(name).map(|wheel| &wheel.version)
    }

    /// Returns the key of a distribution, by its name in any spelling.
    pub fn key(&self, name: &str) -> Option<&str> {
        self.wheels.get(&DistributionName::new(name)?).map(|wheel| wheel.key.as_str())
    }

    /// Returns the name and version of the wheel with this key.
    pub fn wheel(&self, key: &str) -> Option<(&DistributionName, &Version)> {
        self.wheels.get_key_value(&DistributionName::new(key)?).map(|(name, wheel)| (name, &wheel.version))
    }

    /// Returns names and versions for messages: `numpy 2.4.6, pandas 3.0.2`.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the import names with the distributions that provide them, in no order.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&str, &DistributionName)> {
        self.modules.iter().map(|(module, name)| (module.as_str(), name))
    }

    /// Returns the names of all distributions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &DistributionName> {
        self.wheels.keys()
    }
}

fn summary(wheels: &BTreeMap<DistributionName, BundledWheel>) -> String {
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

    #[test]
    fn modules_names_and_versions_are_found() {
        let bundle = bundle();
        assert_eq!(bundle.distribution_of("pylab").unwrap().as_str(), "matplotlib");
        assert_eq!(bundle.distribution_of("lxml"), None);
        assert_eq!(bundle.key("Python.Dateutil"), Some("python-dateutil"));
        let (name, version) = bundle.wheel("pillow").unwrap();
        assert_eq!((name.as_str(), bundle.version(name)), ("pillow", Some(version)));
        assert!(bundle.summary().contains("pillow 12.2.0"));
    }

    #[test]
    fn a_defective_table_is_refused() {
        let twice = Bundle::new([Distribution::new("a_b", "1"), Distribution::new("A-B", "2")]).unwrap_err();
        assert_eq!(twice.to_string(), "the bundle's entry `A-B` is unusable: appears twice");
        assert!(Bundle::new([Distribution::new("a", "one")]).is_err());
        assert!(Bundle::new([Distribution::new("a", "1").requires(["b >"])]).is_err());
    }
}
