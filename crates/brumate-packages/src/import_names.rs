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
//! metadata and from the most downloaded projects of PyPI. Where several provide a module, the most downloaded one has it.
//! Modules that are not in it have no project: names that are easily mistyped are registered by strangers.

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

    #[track_caller]
    fn check_projects(rows: &[(&str, &str)]) {
        for (module, project) in rows {
            let found = distribution_for(module).and_then(DistributionName::new);
            assert_eq!(found, DistributionName::new(project), "{module}");
        }
    }

    #[test]
    fn knows_modules_that_are_not_called_like_their_project() {
        check_projects(&[
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
        ]);
    }

    /// The rows are modules with the projects that people mean by them, as the tables of pipreqs and the directories of typeshed say. They
    /// are in the order of the names' SHA-256. Modules that those projects no longer have are left out.
    #[test]
    fn a_module_is_of_the_project_that_people_mean() {
        let rows: Vec<(&str, &str)> =
            include_str!("../import-names/meant.tsv").lines().filter_map(|line| line.split_once('\t')).collect();
        assert_eq!(rows.len(), 300);
        let name = |project: &str| DistributionName::new(project);
        let others: Vec<_> = rows
            .into_iter()
            .map(|(module, meant)| (module, meant, distribution_for(module)))
            .filter(|(_, meant, found)| found.and_then(name) != name(meant))
            .collect();
        assert!(others.is_empty(), "{others:#?}");
    }

    #[test]
    fn the_most_downloaded_project_has_a_module_that_several_provide() {
        check_projects(&[
            ("fpdf", "fpdf2"),
            ("magic", "python-magic"),
            ("discord", "discord.py"),
            ("gnupg", "python-gnupg"),
            ("ffmpeg", "ffmpeg-python"),
            ("whisper", "openai-whisper"),
            ("whois", "python-whois"),
            ("progressbar", "progressbar2"),
            ("pygame", "pygame"),
            ("bs4", "beautifulsoup4"),
            ("airflow", "apache-airflow"),
        ]);
    }

    /// Directories that many projects install by mistake, and packages that many share.
    #[test]
    fn a_name_that_many_use_is_of_no_project() {
        for module in ["utils", "core", "common", "api", "helpers", "tests", "conftest", "azureml", "google"] {
            assert_eq!(distribution_for(module), None, "{module}");
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
