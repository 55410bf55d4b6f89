//! Settings of the package service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brumate_packages::Requirement;
use brumate_packages::index::IndexError;
use brumate_packages::lock::Lock;
use brumate_packages::policy::{Policy, PolicyLayer, PolicyTable, RuleOrigin};
use brumate_packages::settings::{Credentials, FindLinks, Index, KeyringProvider, OnlyBinary, Settings, Timestamp};

use super::InferenceScope;

/// Settings of [`Packages`](super::Packages).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PackageSettings {
    /// Directory of the cache, private to this user.
    pub cache_dir: PathBuf,
    /// Sources of packages.
    pub sources: PackageSources,
    /// The operator's policy.
    pub policy: Policy,
    /// Constraints on every resolution.
    pub constraints: Vec<Requirement>,
    /// Imported modules for which packages are inferred.
    pub infer: InferenceScope,
    /// Longest time of one build of a source distribution. Default: 120 s.
    pub build_time: Option<Duration>,
    /// Lock with the packages of every machine; `None` resolves requirements.
    pub lock: Option<Arc<Lock>>,
}

impl PackageSettings {
    /// Returns the default settings, with a cache below `cache_dir`.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self { cache_dir: cache_dir.into(), ..Self::default() }
    }

    /// Returns settings that allow the bundle only.
    pub fn only_bundled() -> Self {
        let table = PolicyTable { only_bundled: true, ..PolicyTable::default() };
        // `PolicyLayer::new` fails only for an index that is not a URL, and there is none.
        let policy =
            PolicyLayer::new(table, RuleOrigin::CommandLine).map(|layer| Policy::new([layer])).unwrap_or_default();
        Self { policy, ..Self::default() }
    }
}

/// Sources of packages, on top of pip's and uv's settings, which are read when they are first needed.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PackageSources {
    /// Replaces the default index.
    pub index: Option<String>,
    /// Further indexes, asked before the default one.
    pub extra_indexes: Vec<String>,
    /// Directories of wheels, and pages of links.
    pub find_links: Vec<String>,
    /// Base URL of a Pyodide distribution.
    pub pyodide: Option<String>,
    /// Ignores files that were uploaded at or after this moment.
    pub exclude_newer: Option<Timestamp>,
    /// Disables the network.
    pub offline: bool,
    /// Packages that are not built from source code.
    pub only_binary: OnlyBinary,
    /// Command that is asked for passwords of indexes.
    pub keyring: Option<KeyringProvider>,
}

impl PackageSources {
    /// Merges these settings with pip's and uv's; these win.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] for a value that cannot be used, [`IndexError::File`] for a file that cannot be read.
    pub fn read(&self) -> Result<Settings, IndexError> {
        let mut settings = Settings::from_environment()?;
        self.apply(&mut settings)?;
        settings.ask_keyring();
        Ok(settings)
    }

    /// Checks that the values can be used. The environment is not read.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] for the first value that cannot be used.
    pub fn check(&self) -> Result<(), IndexError> {
        self.apply(&mut Settings::default())
    }

    fn apply(&self, settings: &mut Settings) -> Result<(), IndexError> {
        let credentials = &mut settings.credentials;
        if let Some(url) = &self.index {
            // The last one is the default; the list is empty when indexes are switched off.
            settings.indexes.pop();
            settings.indexes.push(Index::new(url, credentials)?);
        }
        let extra: Vec<Index> =
            self.extra_indexes.iter().map(|url| Index::new(url, credentials)).collect::<Result<_, _>>()?;
        settings.indexes.splice(0..0, extra);
        let links: Vec<FindLinks> =
            self.find_links.iter().map(|place| FindLinks::new(place, credentials)).collect::<Result<_, _>>()?;
        settings.find_links.splice(0..0, links);
        if let Some(base) = &self.pyodide {
            settings.pyodide = Some(Index::new(base, &mut Credentials::default())?.url);
        }
        settings.exclude_newer = self.exclude_newer.or(settings.exclude_newer);
        settings.offline |= self.offline;
        settings.only_binary.extend(self.only_binary.clone());
        settings.keyring = self.keyring.unwrap_or(settings.keyring);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_before_the_environment() {
        let mut settings = Settings::default();
        let sources = PackageSources {
            index: Some("https://user:pass@one.example/simple".to_owned()),
            extra_indexes: vec!["https://two.example/simple/".to_owned()],
            find_links: vec!["/wheels".to_owned()],
            offline: true,
            ..PackageSources::default()
        };
        sources.apply(&mut settings).unwrap();
        let urls: Vec<&str> = settings.indexes.iter().map(|index| index.url.as_str()).collect();
        assert_eq!(urls, ["https://two.example/simple/", "https://one.example/simple/"]);
        assert_eq!(settings.find_links, [FindLinks::Directory("/wheels".into())]);
        assert!(settings.offline && settings.credentials.authorization(&settings.indexes[1].url).is_some());
        let wrong =
            PackageSources { index: Some("ftp://user:pass@one.example/".to_owned()), ..PackageSources::default() };
        let error = wrong.check().unwrap_err().to_string();
        assert!(error.contains("not http") && !error.contains("pass@"), "{error}");
    }
}
