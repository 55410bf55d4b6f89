//! Projects that provide modules, for code that does not state its dependencies.
//!
//! ```
//! use brumate_packages::import_names::distribution_for;
//!
//! assert_eq!(distribution_for("yaml"), Some("PyYAML"));
//! assert_eq!(distribution_for("google.protobuf.message"), Some("protobuf"));
//! assert_eq!(distribution_for("reqeusts"), None);
//! ```
//!
//! The table `import-names/import-names.tsv` is made by `import-names/generate.py` from the projects' published
//! metadata, the most downloaded project first. Modules that are not in it have no project: names that are easily
//! mistyped are registered by strangers.

use std::sync::LazyLock;

/// Rows of module, tab, project; sorted by module.
static TABLE: &str = include_str!("../import-names/import-names.tsv");

static ROWS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| TABLE.lines().filter_map(|line| line.split_once('\t')).collect());

/// Returns the project, as it spells its name, whose distribution provides `module`; for a dotted name, the project of
/// its longest known prefix. `None` for modules of the standard library and for namespaces that projects share.
pub fn distribution_for(module: &str) -> Option<&'static str> {
    let mut part = module;
    loop {
        if let Ok(row) = ROWS.binary_search_by_key(&part, |(module, _)| module) {
            return Some(ROWS[row].1);
        }
        part = part.rsplit_once('.')?.0;
    }
}

/// Returns whether several projects share a package of this name, each with modules in it.
pub fn is_namespace(module: &str) -> bool {
    let prefix = format!("{module}.");
    let first = ROWS.partition_point(|(name, _)| *name < prefix.as_str());
    ROWS.get(first).is_some_and(|(name, _)| name.starts_with(&prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::DistributionName;

    #[test]
    fn knows_modules_that_are_not_called_like_their_project() {
        for (module, project) in [
            ("yaml", "PyYAML"),
            ("cv2", "opencv-python"),
            ("sklearn", "scikit-learn"),
            ("skimage", "scikit-image"),
            ("bs4", "beautifulsoup4"),
            ("PIL", "pillow"),
            ("dateutil", "python-dateutil"),
            ("dotenv", "python-dotenv"),
            ("jwt", "PyJWT"),
            ("git", "GitPython"),
            ("attr", "attrs"),
            ("docx", "python-docx"),
            ("google.cloud.storage.blob", "google-cloud-storage"),
            ("Crypto", "pycryptodome"),
            ("serial", "pyserial"),
            ("google.protobuf", "protobuf"),
            ("google.protobuf.internal.decoder", "protobuf"),
            ("google.auth.transport.requests", "google-auth"),
            ("requests", "requests"),
            ("rich.console", "rich"),
        ] {
            let found = distribution_for(module).and_then(DistributionName::new);
            assert_eq!(found, DistributionName::new(project), "{module}");
        }
    }

    #[test]
    fn does_not_guess() {
        for module in ["", ".", "json", "os.path", "google", "google.cloud", "reqeusts", "yaml2", "tests", "Yaml"] {
            assert_eq!(distribution_for(module), None, "{module}");
        }
    }

    #[test]
    fn knows_what_is_shared() {
        for module in ["google", "azure", "ruamel"] {
            assert!(is_namespace(module), "{module}");
        }
        assert!(!is_namespace("numpy") && !is_namespace(""));
    }

    #[test]
    fn the_table_is_sorted_and_sound() {
        assert_eq!(ROWS.len(), TABLE.lines().count());
        assert!(ROWS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (module, project) in ROWS.iter() {
            assert!(!module.is_empty() && module.split('.').all(|part| !part.is_empty()), "{module}");
            assert!(DistributionName::new(project).is_some(), "{project}");
        }
    }
}
