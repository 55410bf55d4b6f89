//! Building of source distributions, as a resolver needs it.

use async_trait::async_trait;
use pep440_rs::Version;
use url::Url;

use crate::cache::CachedWheel;
use crate::index::{IndexError, IndexFile, Metadata, Origin};
use crate::name::DistributionName;
use crate::resolver::LockedPackage;
use crate::source::{BuildError, BuildProblem};

/// Source distribution, as its index describes it.
#[derive(Debug, Clone)]
pub struct SourceDistribution {
    /// Normalised name.
    pub name: DistributionName,
    /// Version (PEP 440).
    pub version: Version,
    /// Source of the file.
    pub origin: Origin,
    /// Name of the file.
    pub file_name: String,
    /// URL of the file, without credentials.
    pub url: Url,
    /// SHA-256 of the file, lower-case hexadecimal, if the source states it.
    pub sha256: Option<String>,
    /// Size in bytes, if the source states it.
    pub size: Option<u64>,
}

impl SourceDistribution {
    pub(super) fn of_file(name: &DistributionName, version: &Version, file: &IndexFile) -> Self {
        Self {
            name: name.clone(),
            version: version.clone(),
            origin: (*file.origin).clone(),
            file_name: file.filename.clone(),
            url: file.url.clone(),
            sha256: file.sha256.clone(),
            size: file.size,
        }
    }

    /// Returns a package of a resolution as a source distribution; `None` for a wheel.
    pub fn of_package(package: &LockedPackage) -> Option<Self> {
        if !package.is_source() {
            return None;
        }
        Some(Self {
            name: package.name.clone(),
            version: package.version.clone(),
            origin: package.origin.clone(),
            file_name: package.file_name.clone(),
            url: package.url.clone()?,
            sha256: package.sha256.clone(),
            size: package.size,
        })
    }

    /// Returns the error of a source distribution that does not become a wheel.
    pub fn error(&self, problem: BuildProblem) -> IndexError {
        let package = format!("{} {}", self.name, self.version);
        IndexError::Build(Box::new(BuildError { package, problem }))
    }
}

/// Builder of source distributions. It checks by itself whether one may be fetched.
#[async_trait]
pub trait SourceBuilder: Send + Sync {
    /// Returns the metadata of the wheel that `source` becomes.
    ///
    /// # Errors
    ///
    /// [`IndexError::Build`] when it does not become one; the others when it cannot be fetched.
    async fn metadata(&self, source: &SourceDistribution) -> Result<Metadata, IndexError>;

    /// Returns the wheel that `source` becomes.
    ///
    /// # Errors
    ///
    /// As [`SourceBuilder::metadata`].
    async fn build(&self, source: &SourceDistribution) -> Result<CachedWheel, IndexError>;
}
