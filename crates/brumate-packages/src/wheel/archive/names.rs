//! Names that have the same meaning everywhere.

use std::collections::HashMap;

use super::super::WheelProblem;
use super::super::limits::{MAX_COMPONENT_BYTES, MAX_PATH_BYTES, MAX_PATH_DEPTH, MAX_PATHS};

/// Checks that `path`, without a directory's slash, is a path below the root of a wheel.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(path: &str) -> Result<(), WheelProblem> {
    let bytes = path.as_bytes();
    let has_drive = bytes.len() >= 2 && bytes[1] == b':' && bytes[0].is_ascii_alphabetic();
    if bytes.first() == Some(&b'/') || has_drive {
        return Err(WheelProblem::AbsoluteName);
    }
    if path.contains('\\') {
        return Err(WheelProblem::InvalidName("a backslash is no separator"));
    }
    if path.contains(char::is_control) {
        return Err(WheelProblem::InvalidName("control characters are not allowed"));
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(WheelProblem::InvalidName("too long"));
    }
    for (depth, component) in path.split('/').enumerate() {
        if depth >= MAX_PATH_DEPTH {
            return Err(WheelProblem::InvalidName("too many directories"));
        }
        match component {
            ".." => return Err(WheelProblem::PathTraversal),
            "" | "." => return Err(WheelProblem::InvalidName("a part is empty or `.`")),
            long if long.len() > MAX_COMPONENT_BYTES => return Err(WheelProblem::InvalidName("a part is too long")),
            _ => {}
        }
    }
    Ok(())
}

/// Paths of one tree, including directories that only follow from files' paths.
#[derive(Default)]
pub(crate) struct PathNames {
    known: HashMap<String, PathKind>,
    /// Spelling of each path by its lower-case form.
    spelling: HashMap<String, String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PathKind {
    File,
    Directory,
    /// Directory without an entry of its own so far.
    Implied,
}

impl PathNames {
    /// Adds a path and its directories.
    ///
    /// # Errors
    /// When the path exists already, is both file and directory, differs only by case, or exceeds the limit.
    pub(crate) fn add(&mut self, path: &str, is_directory: bool) -> Result<(), WheelProblem> {
        for (at, _) in path.match_indices('/') {
            match self.known.get(&path[..at]) {
                Some(PathKind::File) => return Err(WheelProblem::Duplicate),
                Some(_) => {}
                None => self.insert(&path[..at], PathKind::Implied)?,
            }
        }
        let kind = if is_directory { PathKind::Directory } else { PathKind::File };
        match self.known.get_mut(path) {
            None => self.insert(path, kind),
            Some(known) if is_directory && *known == PathKind::Implied => {
                *known = PathKind::Directory;
                Ok(())
            }
            Some(_) => Err(WheelProblem::Duplicate),
        }
    }

    fn insert(&mut self, path: &str, kind: PathKind) -> Result<(), WheelProblem> {
        if self.known.len() >= MAX_PATHS {
            return Err(WheelProblem::TooMuch { what: "files and directories", limit: MAX_PATHS as u64 });
        }
        if let Some(other) = self.spelling.insert(path.to_lowercase(), path.to_owned()) {
            return Err(WheelProblem::CaseCollision(super::super::error::quote_for_error(&other)));
        }
        self.known.insert(path.to_owned(), kind);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere() {
        for (name, problem) in [
            ("/etc/passwd", WheelProblem::AbsoluteName),
            ("C:/a", WheelProblem::AbsoluteName),
            ("c:a", WheelProblem::AbsoluteName),
            ("a/../../b", WheelProblem::PathTraversal),
            ("..", WheelProblem::PathTraversal),
        ] {
            assert_eq!(check(name), Err(problem), "{name}");
        }
        for name in ["", "a//b", "./a", "a/./b", "a\\b", "a\0b", "a\nb", "a/b/", "a\u{7f}"] {
            assert!(matches!(check(name), Err(WheelProblem::InvalidName(_))), "{name:?}");
        }
        assert!(check(&["a"; MAX_PATH_DEPTH].join("/")).is_ok());
        assert!(check(&["a"; MAX_PATH_DEPTH + 1].join("/")).is_err());
        assert!(check(&"a".repeat(MAX_COMPONENT_BYTES)).is_ok());
        assert!(check(&"a".repeat(MAX_COMPONENT_BYTES + 1)).is_err());
        assert!(check(&["a".repeat(200).as_str(); 6].join("/")).is_err());
        assert!(check("pkg/größe …/a..b/.hidden").is_ok());
    }

    #[test]
    fn one_path_one_kind_one_spelling() {
        let mut names = PathNames::default();
        names.add("a/b.py", false).unwrap();
        names.add("a", true).unwrap();
        assert_eq!(names.add("a", true), Err(WheelProblem::Duplicate));
        assert_eq!(names.add("a", false), Err(WheelProblem::Duplicate));
        assert_eq!(names.add("a/b.py", false), Err(WheelProblem::Duplicate));
        assert_eq!(names.add("a/b.py/c", false), Err(WheelProblem::Duplicate));
        assert_eq!(names.add("a/B.py", false), Err(WheelProblem::CaseCollision("a/b.py".to_owned())));
        assert_eq!(names.add("A/c.py", false), Err(WheelProblem::CaseCollision("a".to_owned())));
        names.add("a/ä", false).unwrap();
        assert_eq!(names.add("a/Ä", false), Err(WheelProblem::CaseCollision("a/ä".to_owned())));
    }

    #[test]
    fn paths_are_counted_with_their_directories() {
        let mut names = PathNames::default();
        let mut added = 0;
        let refused = (0..MAX_PATHS).find_map(|index| {
            added = index;
            names.add(&format!("{index}/a/b/c"), false).err()
        });
        assert!(matches!(refused, Some(WheelProblem::TooMuch { .. })), "{refused:?}");
        assert_eq!(added, MAX_PATHS / 4);
    }
}
