//! Makes the settings of packages from the command line.

use std::path::Path;
use std::sync::Arc;

use brumate_packages::lock::{Lock, MAX_LOCK_BYTES};
use brumate_packages::policy::{PackagePattern, Policy, PolicyLayer, PolicyTable, RuleOrigin};
use brumate_packages::settings::{Timestamp, parse_exclude_newer};
use brumate_packages::{Requirement, RequirementError};
use brumate_session::packages::{InferenceScope, PackageSettings, PackageSources};

use crate::bounded_file::read_text;
use crate::cli::{InferArg, PackageOptions};
use crate::env_vars;
use crate::environment::Environment;

/// Largest file of constraints or rules, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Makes the settings, with the cache in `cache_dir`.
///
/// # Errors
///
/// A text with the wrong option, and what is possible.
pub(crate) fn resolve(
    options: &PackageOptions,
    cache_dir: &Path,
    environment: &Environment,
) -> Result<PackageSettings, String> {
    let mut settings = PackageSettings::new(cache_dir);
    settings.sources = sources(options)?;
    settings.policy = policy(options, environment)?;
    settings.infer = match options.infer {
        InferArg::All => InferenceScope::All,
        InferArg::Known => InferenceScope::Known,
        InferArg::None => InferenceScope::None,
    };
    for file in &options.constraint {
        settings.constraints.extend(constraints(file)?);
    }
    settings.lock = options.locked.as_deref().map(lock).transpose()?.map(Arc::new);
    Ok(settings)
}

fn sources(options: &PackageOptions) -> Result<PackageSources, String> {
    let mut sources = PackageSources::default();
    sources.index.clone_from(&options.index);
    sources.extra_indexes = filled(&options.extra_index);
    sources.find_links = filled(&options.find_links);
    sources.pyodide.clone_from(&options.pyodide);
    sources.offline = options.offline;
    if let Some(text) = &options.keyring_provider {
        sources.keyring = Some(text.parse().map_err(|error| format!("`--keyring-provider`: {error}"))?);
    }
    if let Some(text) = &options.exclude_newer {
        let moment = parse_exclude_newer(text, Timestamp::now());
        sources.exclude_newer = Some(moment.map_err(|error| format!("`--exclude-newer`: {error}"))?);
    }
    for text in &options.only_binary {
        sources.only_binary.add(text).map_err(|error| format!("`--only-binary`: {error}"))?;
    }
    sources.check().map_err(|error| error.to_string())?;
    Ok(sources)
}

/// Removes empty texts, which come from empty variables.
fn filled(texts: &[String]) -> Vec<String> {
    texts.iter().filter(|text| !text.trim().is_empty()).cloned().collect()
}

/// Returns the rules of the file, of the environment and of the command line. A package is denied if one of them denies it.
fn policy(options: &PackageOptions, environment: &Environment) -> Result<Policy, String> {
    let mut layers = Vec::new();
    if let Some(file) = &options.package_policy {
        let origin = RuleOrigin::File(file.clone());
        layers.push(
            PolicyLayer::from_toml(&read_text(file, MAX_FILE_BYTES)?, origin).map_err(|error| error.to_string())?,
        );
    }
    let words = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| text.split(',')).map(|word| word.trim().to_owned()).collect()
    };
    let of_environment = PolicyTable {
        allow: patterns(env_vars::ALLOW_PACKAGE, &words(&environment.allow_package))?,
        deny: patterns(env_vars::DENY_PACKAGE, &words(&environment.deny_package))?.unwrap_or_default(),
        ..PolicyTable::default()
    };
    let of_command_line = PolicyTable {
        allow: patterns("--allow-package", &options.allow_package)?,
        deny: patterns("--deny-package", &options.deny_package)?.unwrap_or_default(),
        require_hashes: options.require_hashes,
        only_bundled: options.only_bundled,
        no_urls: !options.allow_urls,
        ..PolicyTable::default()
    };
    for (table, origin) in [(of_environment, RuleOrigin::Environment), (of_command_line, RuleOrigin::CommandLine)] {
        if table != PolicyTable::default() {
            layers.push(PolicyLayer::new(table, origin).map_err(|error| error.to_string())?);
        }
    }
    Ok(Policy::new(layers))
}

/// Parses patterns. Returns `None` if there are none.
fn patterns(name: &str, texts: &[String]) -> Result<Option<Vec<PackagePattern>>, String> {
    let texts = filled(texts);
    let read = |text: &String| text.parse().map_err(|error| format!("`{name}`: {error}"));
    let patterns: Vec<PackagePattern> = texts.iter().map(read).collect::<Result<_, String>>()?;
    Ok((!patterns.is_empty()).then_some(patterns))
}

/// Reads a file of constraints, one requirement per line.
fn constraints(file: &Path) -> Result<Vec<Requirement>, String> {
    let text = read_text(file, MAX_FILE_BYTES)?;
    let mut constraints = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        // Comments as in pip: at the beginning of a line, or after white space.
        let line = if line.starts_with('#') { "" } else { line.split(" #").next().unwrap_or_default().trim() };
        if line.is_empty() {
            continue;
        }
        let wrong = |error: RequirementError| format!("{}, line {}: {error}", file.display(), number + 1);
        constraints.push(line.parse().map_err(wrong)?);
    }
    Ok(constraints)
}

/// Reads a lock file.
fn lock(file: &Path) -> Result<Lock, String> {
    let text = read_text(file, MAX_LOCK_BYTES as u64)?;
    let directory = file.parent().unwrap_or(Path::new(""));
    Lock::read(&text, directory).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use brumate_packages::DistributionName;
    use brumate_packages::policy::{Candidate, Provenance, RequestReason};

    use super::*;

    fn resolved(options: PackageOptions, environment: &Environment) -> Result<PackageSettings, String> {
        resolve(&options, Path::new("/c"), environment)
    }

    #[test]
    fn rules_of_every_place_hold() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("policy.toml");
        std::fs::write(&file, "deny = ['a']").unwrap();
        let options = PackageOptions {
            package_policy: Some(file),
            deny_package: vec!["b".to_owned()],
            allow_package: vec!["e".to_owned(), "d".to_owned()],
            ..PackageOptions::default()
        };
        let environment = Environment {
            deny_package: Some("c,".to_owned()),
            allow_package: Some("e, a".to_owned()),
            ..Environment::default()
        };
        let policy = resolved(options, &environment).unwrap().policy;
        let refused = |name: &str, provenance: Provenance<'_>| {
            let name = DistributionName::new(name).unwrap();
            policy
                .check(&Candidate::new(&name, provenance, RequestReason::Requested))
                .err()
                .map(|refusal| refusal.to_string())
        };
        for (name, part) in
            [("a", "policy.toml"), ("b", "environment"), ("c", "`c`"), ("d", "environment"), ("x", "allow")]
        {
            let text = refused(name, Provenance::AnyIndex).unwrap();
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(refused("e", Provenance::AnyIndex), None);
        assert!(refused("e", Provenance::Url("https://example.org/e-1-py3-none-any.whl")).unwrap().contains("no-urls"));
    }

    #[test]
    fn files_and_values_are_checked() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let good = path("good.txt", "# none\n\nrich<13  # old\nsix==1.17.0 ; python_version > '3'\n");
        let options = PackageOptions { constraint: vec![good], ..PackageOptions::default() };
        let constraints = resolved(options, &Environment::default()).unwrap().constraints;
        assert_eq!(constraints.iter().map(ToString::to_string).collect::<Vec<_>>()[0], "rich<13");
        assert_eq!(constraints.len(), 2);
        let bad = path("bad.txt", "rich\n-r more.txt\n");
        let lock = path("pylock.toml", "lock-version = '9'");
        let wrong = [
            (PackageOptions { constraint: vec![bad], ..PackageOptions::default() }, "line 2"),
            (PackageOptions { constraint: vec!["/nowhere".into()], ..PackageOptions::default() }, "cannot be read"),
            (PackageOptions { locked: Some(lock), ..PackageOptions::default() }, "pylock.toml: the lock"),
            (PackageOptions { exclude_newer: Some("soon".to_owned()), ..PackageOptions::default() }, "--exclude-newer"),
            (PackageOptions { index: Some("ftp://x/".to_owned()), ..PackageOptions::default() }, "not http"),
            (
                PackageOptions { keyring_provider: Some("import".to_owned()), ..PackageOptions::default() },
                "--keyring-provider",
            ),
            (PackageOptions { deny_package: vec!["a b".to_owned()], ..PackageOptions::default() }, "--deny-package"),
        ];
        for (options, part) in wrong {
            let error = resolved(options, &Environment::default()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
