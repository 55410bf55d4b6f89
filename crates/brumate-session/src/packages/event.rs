//! What is told while packages are found and fetched.

use std::fmt;

use crate::units::format_size;

/// A step of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackageEvent {
    /// Versions are looked for.
    Resolving {
        /// How many requirements there are.
        requirements: usize,
    },
    /// A package is looked at.
    Looking {
        /// Its name.
        name: String,
    },
    /// A wheel is being fetched.
    Fetching {
        /// Name and version.
        package: String,
        /// Bytes that have come.
        bytes: u64,
        /// Bytes of all of it, if that is known.
        total: Option<u64>,
    },
    /// Everything is there.
    Ready {
        /// How many packages.
        packages: usize,
    },
}

impl PackageEvent {
    /// One of those that come in great numbers: enough to show the latest.
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
