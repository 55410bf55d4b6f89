//! Places of a wheel's files in an installation (binary distribution format, "installing a wheel").

use serde::{Deserialize, Serialize};

use super::WheelProblem;

/// Place of a file in an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Scheme {
    /// Site-packages: the root, `purelib` or `platlib`.
    SitePackages,
    /// Programs: `bin`.
    Scripts,
    /// Headers of C.
    Headers,
    /// The environment's root.
    Data,
}

/// Splits a path of the archive into its scheme and the path in it. `data` is the name of the wheel's `.data`
/// directory.
///
/// # Errors
/// [`WheelProblem::DataScheme`] for a file in a `.data` directory that is in none of its schemes.
pub(super) fn split_scheme<'a>(path: &'a str, data: Option<&str>) -> Result<(Scheme, &'a str), WheelProblem> {
    let Some((top, rest)) = path.split_once('/') else { return Ok((Scheme::SitePackages, path)) };
    if Some(top) != data {
        return Ok((Scheme::SitePackages, path));
    }
    let (scheme, relative) = rest.split_once('/').ok_or(WheelProblem::DataScheme)?;
    let scheme = match scheme {
        "purelib" | "platlib" => Scheme::SitePackages,
        "scripts" => Scheme::Scripts,
        "headers" => Scheme::Headers,
        "data" => Scheme::Data,
        _ => return Err(WheelProblem::DataScheme),
    };
    Ok((scheme, relative))
}

/// Returns the first component of `path`, if there are more.
pub(super) fn top_directory(path: &str) -> Option<&str> {
    path.split_once('/').map(|(top, _)| top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let data = Some("a-1.data");
        for (path, scheme, relative) in [
            ("a/b.py", Scheme::SitePackages, "a/b.py"),
            ("a.py", Scheme::SitePackages, "a.py"),
            ("a-1.data/purelib/a/c.py", Scheme::SitePackages, "a/c.py"),
            ("a-1.data/platlib/a/c.so", Scheme::SitePackages, "a/c.so"),
            ("a-1.data/scripts/run", Scheme::Scripts, "run"),
            ("a-1.data/headers/a.h", Scheme::Headers, "a.h"),
            ("a-1.data/data/share/man/a.1", Scheme::Data, "share/man/a.1"),
        ] {
            assert_eq!(split_scheme(path, data), Ok((scheme, relative)), "{path}");
        }
        for path in ["a-1.data/x", "a-1.data/etc/passwd", "a-1.data/PURELIB/a"] {
            assert_eq!(split_scheme(path, data), Err(WheelProblem::DataScheme), "{path}");
        }
    }
}
