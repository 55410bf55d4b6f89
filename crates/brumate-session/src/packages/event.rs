//! Events while packages are found and fetched.

use std::fmt;

use crate::units::format_size;

/// A step of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageEvent {
    /// Versions are being resolved.
    Resolving {
        /// Number of requirements.
        requirements: usize,
    },
    /// A package's versions are being listed.
    Looking {
        /// Its name.
        name: String,
    },
    /// A source distribution is being built.
    Building {
        /// Name and version.
        package: String,
    },
    /// A wheel is being downloaded.
    Fetching {
        /// Name and version.
        package: String,
        /// Bytes received.
        bytes: u64,
        /// Bytes in total, if known.
        total: Option<u64>,
    },
    /// All packages are ready.
    Ready {
        /// Number of packages.
        packages: usize,
    },
}

impl PackageEvent {
    /// Returns whether the event is frequent, so that showing the latest one is enough.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Looking { .. } => true,
            Self::Fetching { bytes, .. } => *bytes > 0,
            _ => false,
        }
    }
}

impl fmt::Display for PackageEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolving { requirements: 1 } => formatter.write_str("Resolving 1 requirement"),
            Self::Resolving { requirements } => write!(formatter, "Resolving {requirements} requirements"),
            Self::Looking { name } => write!(formatter, "Looking at {name}"),
            Self::Building { package } => write!(formatter, "Building {package} from its source code"),
            Self::Fetching { package, bytes: 0, total: Some(total) } => {
                write!(formatter, "Fetching {package} ({})", format_size(*total))
            }
            Self::Fetching { package, bytes: 0, total: None } => write!(formatter, "Fetching {package}"),
            Self::Fetching { package, bytes, total: Some(total) } => {
                write!(formatter, "Fetching {package}: {} of {}", format_size(*bytes), format_size(*total))
            }
            Self::Fetching { package, bytes, total: None } => {
                write!(formatter, "Fetching {package}: {}", format_size(*bytes))
            }
            Self::Ready { packages: 1 } => formatter.write_str("1 package is ready"),
            Self::Ready { packages } => write!(formatter, "{packages} packages are ready"),
        }
    }
}
