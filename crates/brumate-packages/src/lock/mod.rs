//! Lock files `pylock.toml` (PEP 751): writes and reads resolutions.
//!
//! Wheels of the bundle have no URL; `[packages.tool.brumate]` has their keys. `[tool.brumate]` has the requirements
//! that a lock was made for. Locks of other tools can be read as well: of each package the best wheel for the sandbox
//! is taken; where there is none, its source distribution.

mod format;

use std::collections::BTreeMap;
use std::path::Path;

use brumate_setting::Setting;
use pep440_rs::Version;
use thiserror::Error;
use url::Url;

use crate::index::{Filename, Origin, filename, sha256};
use crate::marker::{MarkerEnvironment, PYTHON_FULL_VERSION};
use crate::name::DistributionName;
use crate::requirement::{Requirement, RequirementSource};
use crate::resolver::{LockedPackage, MAX_DISTRIBUTIONS, Resolution, in_order, same_file};
use crate::source::is_buildable;
use crate::wheel::WheelFileName;

use format::{Dependency, File, Hashes, Index, Package, PackageTool, Tool, ToolBrumate};

/// Largest lock, in bytes.
pub const MAX_LOCK_BYTES: usize = 16 << 20;
/// Version of the format that is written; other versions `1.x` can be read.
const LOCK_VERSION: &str = "1.0";
/// Marker of the environment that a lock is written for.
const ENVIRONMENT: &str = "sys_platform == 'emscripten' and platform_machine == 'wasm32'";

/// Error of a lock that cannot be written or used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LockError {
    /// The text is not a lock, or one of another version.
    #[error("the lock cannot be read: {0}")]
    Format(String),
    /// The lock was made for other environments.
    #[error("the lock is not for the sandbox: {0}")]
    Environment(String),
    /// A package in the lock cannot be used.
    #[error("`{name}` in the lock cannot be used: {reason}")]
    Package {
        /// Name of the package.
        name: String,
        /// Reason.
        reason: String,
    },
    /// The lock does not meet the requirements.
    #[error("the lock does not meet `{requirement}`: {reason}. Write it anew, or run without {}", Setting::Locked.brief())]
    Stale {
        /// The requirement as written.
        requirement: String,
        /// Reason.
        reason: String,
    },
}

/// Lock file.
#[derive(Debug, Clone)]
pub struct Lock {
    /// Packages of the lock.
    pub resolution: Resolution,
    /// Requirements that the lock was made for, as written; `None` if it does not have them.
    pub requirements: Option<Vec<String>>,
}

/// Writes a lock of `resolution`, which was made for `requirements`.
///
/// # Errors
///
/// [`LockError::Package`] for a wheel without a SHA-256: it could not be verified later.
pub fn write(resolution: &Resolution, requirements: &[Requirement]) -> Result<String, LockError> {
    let mut packages = resolution.packages.iter().map(package).collect::<Result<Vec<_>, _>>()?;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let index = Index {
        lock_version: LOCK_VERSION.to_owned(),
        environments: vec![ENVIRONMENT.to_owned()],
        requires_python: Some(format!(">={}", crate::marker::PYTHON_VERSION)),
        extras: Vec::new(),
        dependency_groups: Vec::new(),
        default_groups: Vec::new(),
        created_by: "brumate".to_owned(),
        packages,
        tool: Some(Tool {
            brumate: Some(ToolBrumate { requirements: requirements.iter().map(ToString::to_string).collect() }),
        }),
    };
    toml::to_string(&index).map_err(|error| LockError::Format(error.to_string()))
}

fn package(locked: &LockedPackage) -> Result<Package, LockError> {
    let wrong = |reason: &str| LockError::Package { name: locked.name.to_string(), reason: reason.to_owned() };
    let mut package = Package {
        name: locked.name.to_string(),
        version: Some(locked.version.to_string()),
        dependencies: locked.requires.iter().map(|name| Dependency { name: name.to_string() }).collect(),
        ..Package::default()
    };
    if let Origin::Bundle(key) = &locked.origin {
        package.tool = Some(PackageTool::of_bundle(key));
        return Ok(package);
    }
    let url = locked.url.as_ref().ok_or_else(|| wrong("its URL is not known"))?;
    let sha256 = locked.sha256.clone().ok_or_else(|| wrong("its source states no SHA-256"))?;
    let (url, hashes) = (Some(url.to_string()), Hashes { sha256: Some(sha256) });
    match &locked.origin {
        Origin::Direct => package.archive = Some(File { name: None, url, path: None, size: locked.size, hashes }),
        origin => {
            if let Origin::Index(index) = origin {
                package.index = Some(index.clone());
            }
            let file = File { name: Some(locked.file_name.clone()), url, path: None, size: locked.size, hashes };
            if locked.is_source() {
                package.sdist = Some(file);
            } else {
                package.wheels = vec![file];
            }
        }
    }
    Ok(package)
}

impl Lock {
    /// Reads a lock; `directory` is the base of relative paths in it.
    ///
    /// # Errors
    ///
    /// [`LockError`] when it is not a lock for the sandbox, or a package has no usable wheel with a SHA-256.
    pub fn read(text: &str, directory: &Path) -> Result<Self, LockError> {
        if text.len() > MAX_LOCK_BYTES {
            return Err(LockError::Format(format!("it is larger than {MAX_LOCK_BYTES} bytes")));
        }
        let index: Index = toml::from_str(text).map_err(|error| LockError::Format(error.message().to_owned()))?;
        if index.lock_version.split('.').next() != Some("1") {
            return Err(LockError::Format(format!("its version is {}; only 1.x is known", index.lock_version)));
        }
        if index.packages.len() > MAX_DISTRIBUTIONS {
            return Err(LockError::Format(format!("it has more than {MAX_DISTRIBUTIONS} packages")));
        }
        if let Some(required) = &index.requires_python {
            for_this_python(required).map_err(LockError::Environment)?;
        }
        let environments: Result<Vec<bool>, LockError> =
            index.environments.iter().map(|marker| holds(marker).map_err(LockError::Environment)).collect();
        let environments = environments?;
        if !environments.is_empty() && !environments.contains(&true) {
            return Err(LockError::Environment(index.environments.join("; ")));
        }
        let mut locked = BTreeMap::new();
        for package in &index.packages {
            let wrong = |reason: String| LockError::Package { name: package.name.clone(), reason };
            let here = package.marker.as_deref().map_or(Ok(true), holds).map_err(wrong)?;
            if !here {
                continue;
            }
            let package = read_package(package, directory).map_err(wrong)?;
            if let Some(twice) = locked.insert(package.name.clone(), package) {
                let reason = "it appears twice for the sandbox".to_owned();
                return Err(LockError::Package { name: twice.name.to_string(), reason });
            }
        }
        let requirements = index.tool.and_then(|tool| tool.brumate).map(|brumate| brumate.requirements);
        Ok(Self { resolution: Resolution { packages: in_order(locked) }, requirements })
    }

    /// Checks that the lock meets `requirements`. A package of the lock has to meet each of them. If the lock states
    /// its requirements, each has to be among them as well.
    ///
    /// # Errors
    ///
    /// [`LockError::Stale`] for the first requirement that is not met.
    pub fn check(&self, requirements: &[Requirement]) -> Result<(), LockError> {
        let here = MarkerEnvironment::default();
        for requirement in requirements.iter().filter(|requirement| requirement.applies_in(&here)) {
            let stale =
                |reason: &str| LockError::Stale { requirement: requirement.to_string(), reason: reason.to_owned() };
            let found = self.resolution.packages.iter().find(|package| package.name == requirement.name);
            let package = found.ok_or_else(|| stale("it is not in the lock"))?;
            let met = match &requirement.source {
                RequirementSource::Versions(versions) => versions.contains(&package.version),
                RequirementSource::Url(url) => {
                    package.origin == Origin::Direct && package.url.as_ref().is_some_and(|found| same_file(url, found))
                }
            };
            if !met {
                return Err(stale(&format!("the lock has {} {}", package.name, package.version)));
            }
            // The packages do not show what an extra adds.
            let known = self.requirements.as_ref().is_none_or(|known| known.contains(&requirement.to_string()));
            if !requirement.extras.is_empty() && !known {
                return Err(stale("it was made without these extras"));
            }
        }
        Ok(())
    }
}

fn read_package(package: &Package, directory: &Path) -> Result<LockedPackage, String> {
    let name = DistributionName::new(&package.name).ok_or("its name is not valid")?;
    if let Some(required) = &package.requires_python {
        for_this_python(required)?;
    }
    let requires = package.dependencies.iter().filter_map(|other| DistributionName::new(&other.name)).collect();
    if let Some(key) = package.tool.as_ref().and_then(PackageTool::bundle) {
        let version = package.version.as_deref().ok_or("a wheel of the bundle needs its version")?;
        return Ok(LockedPackage {
            name,
            version: version.parse().map_err(|_| "its version is not valid")?,
            extras: Vec::new(),
            origin: Origin::Bundle(key.to_owned()),
            file_name: key.to_owned(),
            url: None,
            sha256: None,
            size: None,
            requires,
            yanked: None,
        });
    }
    let (file, file_name, version, url) = match &package.archive {
        Some(archive) => {
            let found = wheel(archive, directory).map(of_wheel).or_else(|| source(archive, &name, directory));
            found.ok_or("its archive is neither a wheel nor a source distribution")?
        }
        None => {
            let wheels = package.wheels.iter().filter_map(|file| wheel(file, directory));
            let best = wheels
                .filter(|(_, wheel, _)| wheel.priority().is_some())
                .min_by_key(|(_, wheel, _)| (wheel.priority(), std::cmp::Reverse(wheel.build.clone())));
            let from_source = || package.sdist.as_ref().and_then(|file| source(file, &name, directory));
            best.map(of_wheel)
                .or_else(from_source)
                .ok_or("it has no wheel for the sandbox, and no source distribution")?
        }
    };
    if let Ok(wheel) = file_name.parse::<WheelFileName>() {
        if wheel.name != name {
            return Err(format!("`{wheel}` is a wheel of {}", wheel.name));
        }
        if wheel.priority().is_none() {
            return Err(format!("`{wheel}` is not a wheel for the sandbox"));
        }
    }
    if package.version.as_ref().is_some_and(|stated| stated.parse() != Ok(version.clone())) {
        return Err(format!("`{file_name}` is another version"));
    }
    let origin = match (&package.archive, &package.index) {
        (Some(_), _) => Origin::Direct,
        (None, Some(index)) => Origin::Index(index.clone()),
        (None, None) => Origin::FindLinks(directory.display().to_string()),
    };
    Ok(LockedPackage {
        name,
        file_name,
        version,
        extras: Vec::new(),
        origin,
        url: Some(url),
        sha256: Some(file.hashes.sha256.as_deref().and_then(sha256).ok_or("its file has no SHA-256")?),
        size: file.size,
        requires,
        yanked: None,
    })
}

/// File of a lock with its name, version and URL.
type NamedFile<'a> = (&'a File, String, Version, Url);

fn of_wheel((file, wheel, url): (&File, WheelFileName, Url)) -> NamedFile<'_> {
    (file, wheel.as_str().to_owned(), wheel.version, url)
}

/// Returns the parts of the name and the URL of a file that is a wheel; `None` for others.
fn wheel<'a>(file: &'a File, directory: &Path) -> Option<(&'a File, WheelFileName, Url)> {
    let (name, url) = named(file, directory)?;
    Some((file, name.parse().ok()?, url))
}

/// Returns name, version and URL of a file that is a source distribution of `name`; `None` for others.
fn source<'a>(file: &'a File, name: &DistributionName, directory: &Path) -> Option<NamedFile<'a>> {
    let (file_name, url) = named(file, directory)?;
    match Filename::parse(&file_name, name)? {
        Filename::Source { version } if is_buildable(&file_name) => Some((file, file_name, version, url)),
        _ => None,
    }
}

/// Returns the name and the URL of a file.
fn named(file: &File, directory: &Path) -> Option<(String, Url)> {
    let url = match (&file.url, &file.path) {
        (Some(url), _) => Url::parse(url).ok()?,
        (None, Some(path)) => Url::from_file_path(std::path::absolute(directory.join(path)).ok()?).ok()?,
        (None, None) => return None,
    };
    Some((file.name.clone().or_else(|| filename(&url))?, url))
}

/// Returns whether an environment marker holds in the sandbox.
fn holds(marker: &str) -> Result<bool, String> {
    let requirement: Requirement = format!("x; {marker}")
        .parse()
        .map_err(|error: crate::error::RequirementError| format!("its marker `{marker}`: {}", error.reason))?;
    Ok(requirement.applies_in(&MarkerEnvironment::default()))
}

fn for_this_python(required: &str) -> Result<(), String> {
    let specifiers: pep440_rs::VersionSpecifiers =
        required.parse().map_err(|_| format!("`requires-python = \"{required}\"` is not a version specifier"))?;
    let python: Version = PYTHON_FULL_VERSION.parse().map_err(|_| "our own version is not valid".to_owned())?;
    if specifiers.contains(&python) {
        return Ok(());
    }
    Err(format!("it needs Python {required}; the sandbox has {PYTHON_FULL_VERSION}"))
}

#[cfg(test)]
mod tests;
