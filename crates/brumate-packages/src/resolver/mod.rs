//! Resolver: finds exact wheels for requirements, from the bundle, the operator's sources, an index, a Pyodide
//! distribution.
//!
//! The search is PubGrub's, with uv's order of decisions, so that both find the same versions. A source distribution is
//! used where no wheel fits, and a [`SourceBuilder`] builds it. Metadata is fetched when it is needed, and a little ahead.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use brumate_packages::Requirement;
//! use brumate_packages::resolver::{Policy, Resolver};
//! use brumate_packages::settings::Settings;
//!
//! let resolver = Resolver::new(Settings::from_environment()?)?;
//! let wanted: Vec<Requirement> = vec!["rich<13".parse()?];
//! let resolution = resolver.resolve(&wanted, &[], Policy::default()).await?;
//! for package in &resolution.packages {
//!     println!("{} {} {:?}", package.name, package.version, package.url);
//! }
//! # Ok(())
//! # }
//! ```

mod builder;
mod candidates;
mod dead_end;
mod direct;
mod fetcher;
mod package;
mod provider;
mod ranges;
mod report;
mod requirements;
mod resolution;
mod solve;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use pep440_rs::Version;
use thiserror::Error;
use url::Url;

use crate::bundle::Bundle;
use crate::index::{IndexClient, IndexError};
use crate::marker::PYTHON_FULL_VERSION;
use crate::name::DistributionName;
use crate::requirement::Requirement;
use crate::settings::Settings;

pub use builder::{SourceBuilder, SourceDistribution};
pub(crate) use direct::same_file;
use fetcher::Fetcher;
use provider::SearchFailure;
use requirements::Constraints;
pub(crate) use resolution::in_order;
pub use resolution::{LockedPackage, Resolution};
use solve::Search;

/// Most requirements and constraints of one resolution.
pub const MAX_REQUIREMENTS: usize = 1024;
/// Most distributions that one resolution considers.
pub const MAX_DISTRIBUTIONS: usize = 5000;
/// Most steps of one search; real ones take some hundreds.
pub const MAX_STEPS: usize = 500_000;
/// Most versions of one package that a search fails to build. It then uses the others only as wheels.
pub const MAX_FAILED_VERSIONS: usize = 3;
/// Most source distributions that one search fails to build. Then it ends.
pub const MAX_FAILED_BUILDS: usize = 12;
/// Stack of the search thread: explanations of long contradictions are deeply nested.
const STACK_BYTES: usize = 256 << 20;

/// Returns why a URL may not be fetched, if so.
pub type UrlRule = dyn Fn(&Url) -> Result<(), String> + Send + Sync;

/// Returns why a version of a distribution may not be used, if so.
pub type VersionRule = dyn Fn(&DistributionName, &Version) -> Option<String> + Send + Sync;

/// Rules for what may be installed. The default allows every distribution, and no URLs.
#[derive(Clone)]
pub struct Policy {
    /// Checks whether a URL of a requirement may be fetched. The error is the reason.
    pub url: Arc<UrlRule>,
    /// Returns why a version of a distribution may not be used, if so.
    pub forbids: Arc<VersionRule>,
    /// Allowed SHA-256 (lower-case hexadecimal) by name; a name without an entry may have any.
    pub hashes: HashMap<DistributionName, Vec<String>>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            url: Arc::new(|_| Err("requirements with URLs are not allowed here; write the name alone".to_owned())),
            forbids: Arc::new(|_, _| None),
            hashes: HashMap::new(),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Policy").field("hashes", &self.hashes).finish_non_exhaustive()
    }
}

/// Progress of a resolution.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ResolutionProgress<'a> {
    /// The files of a distribution are being listed.
    Listing {
        /// Normalised name.
        name: &'a str,
    },
    /// A source distribution is being built for its metadata.
    Building {
        /// Normalised name.
        name: &'a str,
        /// The version.
        version: &'a Version,
    },
    /// The metadata of a version is being read.
    Metadata {
        /// Normalised name.
        name: &'a str,
        /// The version.
        version: &'a Version,
    },
}

/// Receiver of progress; called from several threads.
pub type OnProgress = Arc<dyn Fn(ResolutionProgress<'_>) + Send + Sync>;

/// Error of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolutionError {
    /// The requirements contradict each other, or something is missing. The text has the explanation, then hints, one
    /// for each line.
    #[error("{0}")]
    NoSolution(String),
    /// A source failed or gave an unusable answer.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A requirement's URL is not allowed or not a wheel.
    #[error("`{requirement}` cannot be used: {reason}")]
    Url {
        /// The requirement as written.
        requirement: String,
        /// Reason.
        reason: String,
    },
    /// The requirements exceed a limit.
    #[error("the requirements are too large: {0}")]
    TooLarge(String),
    /// The search thread could not be started, or panicked.
    #[error("the resolution could not be run: {0}")]
    Internal(String),
}

/// Resolver. Cheap to clone. Fetched data is in the cache on disk for later resolutions.
#[derive(Clone)]
pub struct Resolver {
    client: Arc<IndexClient>,
    bundle: Option<Arc<Bundle>>,
    builder: Option<Arc<dyn SourceBuilder>>,
    progress: OnProgress,
    dependencies: bool,
}

impl fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Resolver").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Resolver {
    /// Makes a resolver over the sources of `settings`.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] when certificates or the proxy cannot be used.
    pub fn new(settings: Settings) -> Result<Self, IndexError> {
        Ok(Self {
            client: Arc::new(IndexClient::new(settings)?),
            bundle: None,
            builder: None,
            progress: Arc::new(|_| {}),
            dependencies: true,
        })
    }

    /// Lists the modules of the wheels in find-links directories, with their distributions. Find-links pages are left
    /// out: they name wheels, not their modules.
    ///
    /// # Errors
    ///
    /// [`IndexError::File`] for a directory that cannot be read.
    pub async fn find_links_modules(&self) -> Result<HashMap<String, DistributionName>, IndexError> {
        self.client.find_links_modules().await
    }

    pub(crate) fn client(&self) -> &IndexClient {
        &self.client
    }

    /// Prefers the wheels of `bundle` to all others.
    #[must_use]
    pub fn with_bundle(mut self, bundle: Arc<Bundle>) -> Self {
        self.bundle = Some(bundle);
        self
    }

    /// Uses source distributions, which `builder` builds. Default: only wheels are used.
    #[must_use]
    pub fn with_builder(mut self, builder: Arc<dyn SourceBuilder>) -> Self {
        self.builder = Some(builder);
        self
    }

    pub(crate) fn builder(&self) -> Option<&Arc<dyn SourceBuilder>> {
        self.builder.as_ref()
    }

    /// Leaves out the dependencies of the requirements, also those of extras.
    #[must_use]
    pub fn without_dependencies(mut self) -> Self {
        self.dependencies = false;
        self
    }

    /// Sets the receiver of progress.
    #[must_use]
    pub fn with_progress(mut self, progress: OnProgress) -> Self {
        self.progress = progress;
        self
    }

    /// Finds wheels that meet `requirements` and their dependencies, within `constraints` and `policy`.
    ///
    /// Requirements whose marker does not hold in the sandbox are left out. Dropping the future cancels the search.
    ///
    /// # Errors
    ///
    /// [`ResolutionError`]; its text is meant for the author of the requirements.
    pub async fn resolve(
        &self,
        requirements: &[Requirement],
        constraints: &[Requirement],
        policy: Policy,
    ) -> Result<Resolution, ResolutionError> {
        if requirements.len() + constraints.len() > MAX_REQUIREMENTS {
            let count = requirements.len() + constraints.len();
            let message = format!("{count} requirements were given; at most {MAX_REQUIREMENTS} are allowed");
            return Err(ResolutionError::TooLarge(message));
        }
        let python = Version::from_str(PYTHON_FULL_VERSION).map_err(|error| internal(&error))?;
        let policy = Arc::new(policy);
        let (client, bundle, builder) = (self.client.clone(), self.bundle.clone(), self.builder.clone());
        let mut fetcher = Fetcher::new(client, bundle, builder, policy.clone(), python, self.progress.clone());
        direct::prepare(&mut fetcher, requirements.iter().chain(constraints), &policy)?;
        let fetcher = Arc::new(fetcher);
        let _guard = CancelOnDrop(fetcher.clone());

        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (requirements, constraints) = (requirements.to_vec(), constraints.to_vec());
        let dependencies = self.dependencies;
        let work = move || {
            let constraints = Constraints::new(&constraints);
            let found = Search::new(&fetcher, &requirements, &constraints, dependencies).run();
            let result = match found {
                Ok(solution) => resolution::lock(&solution, &fetcher),
                Err(failure) => Err(explained(failure, &fetcher)),
            };
            // The receiver may be gone.
            let _ = sender.send(result);
        };
        std::thread::Builder::new()
            .name("resolver".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(work)
            .map_err(|error| internal(&error))?;
        receiver.await.map_err(|_| internal(&"its thread ended early"))?
    }
}

/// Cancels the search when its future is dropped.
struct CancelOnDrop(Arc<Fetcher>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn internal(error: &dyn fmt::Display) -> ResolutionError {
    ResolutionError::Internal(error.to_string())
}

fn explained(failure: SearchFailure, fetcher: &Fetcher) -> ResolutionError {
    match failure {
        SearchFailure::NoSolution(tree) => ResolutionError::NoSolution(report::explain(&tree, fetcher)),
        SearchFailure::Index(error) => ResolutionError::Index(error),
        SearchFailure::TransitiveUrl { parent, requirement } => ResolutionError::Url {
            requirement,
            reason: format!("{parent} asks for it; add it to your own requirements if its URL is to be trusted"),
        },
        SearchFailure::TooLarge(message) => ResolutionError::TooLarge(message),
        SearchFailure::Cancelled => internal(&"it was cancelled"),
    }
}
