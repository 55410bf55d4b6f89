//! Source distributions: the archives that can be built, and the reasons why a build is impossible or fails.

use brumate_setting::Setting;
use thiserror::Error;

use crate::name::DistributionName;

/// Endings of the archives that are built (PEP 625, and the ZIP archives of older projects).
pub(crate) const BUILT_ENDINGS: &[&str] = &[".tar.gz", ".zip"];
/// Largest source distribution that is fetched, in bytes.
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Error if no wheel can be built from a source distribution.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{package}` comes as source code {problem}")]
pub struct BuildError {
    /// Name and version.
    pub package: String,
    /// Reason.
    pub problem: BuildProblem,
}

/// Reason why no wheel can be built from a source distribution.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildProblem {
    /// The source distribution has parts that need a compiler.
    #[error(
        "and has parts that the sandbox cannot compile ({0}). Use another version or a package in pure Python, or ask \
         the operator to add a wheel ({find_links}) or a Pyodide distribution ({pyodide}).",
        find_links = Setting::FindLinks.brief(),
        pyodide = Setting::Pyodide.brief()
    )]
    Compiled(String),
    /// Its build ended with an error.
    #[error(
        "and its build failed: {reason}. Use another version, or ask the operator to add a wheel ({}).{}",
        Setting::FindLinks.brief(),
        last_lines(.output)
    )]
    Failed {
        /// Reason, as a clause.
        reason: String,
        /// Last lines that the build wrote; may be empty.
        output: String,
    },
    /// Requirements of the build are not available or not allowed.
    #[error("and the requirements of its build are not available: {0}")]
    Requirements(String),
    /// The file itself is not allowed.
    #[error("that is not built: {0}")]
    Refused(String),
}

fn last_lines(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("\nThe last lines of its build:\n{output}") }
}

/// Returns whether a file is an archive that can be built.
pub(crate) fn is_buildable(file_name: &str) -> bool {
    BUILT_ENDINGS.iter().any(|ending| file_name.ends_with(ending))
}

/// Returns the name of the distribution from a file name of the form `name-version` and an ending. `None` if the file
/// name has another form.
pub fn source_distribution_name(file_name: &str) -> Option<DistributionName> {
    let stem = BUILT_ENDINGS.iter().find_map(|ending| file_name.strip_suffix(ending))?;
    DistributionName::new(stem.rsplit_once('-')?.0)
}
