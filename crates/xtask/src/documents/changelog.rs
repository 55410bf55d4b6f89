//! `CHANGELOG.md`: versions are short, and the newest one is the version that all packages have.

use super::fault::Fault;
use super::repository::Repository;
use anyhow::{Context, Result};

/// The changelog.
pub(crate) const PATH: &str = "CHANGELOG.md";
/// Where the Python package says its version.
const PYTHON: &str = "python/src/brumate/__init__.py";
/// Entries of one version at most: more than that nobody reads.
const MAX_ENTRIES: usize = 15;

/// Returns a fault for each version that is too long, and for each package that has another version than the newest one.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Fault>> {
    let changelog = repository.text(PATH)?;
    let versions = versions(&changelog);
    let mut faults = Vec::new();
    for version in &versions {
        if version.entries > MAX_ENTRIES {
            let message = format!("{} has {} entries, {MAX_ENTRIES} are allowed", version.name, version.entries);
            faults.push(Fault::new(PATH, version.line, message));
        }
    }
    match versions.first() {
        Some(first) if first.name == "Unreleased" => {}
        _ => faults.push(Fault::new(PATH, 1, "its first heading is not `## [Unreleased]`")),
    }
    let Some(newest) = versions.iter().find(|version| version.name != "Unreleased") else {
        return Ok(faults);
    };
    for (file, version) in declared(repository)? {
        if version != newest.name {
            let message = format!("{} is the newest version, and {file} has {version}", newest.name);
            faults.push(Fault::new(PATH, newest.line, message));
        }
    }
    Ok(faults)
}

/// A version of the changelog.
struct Version<'a> {
    name: &'a str,
    line: usize,
    entries: usize,
}

/// Reads the headings `## [name]`, and counts the entries below each.
fn versions(changelog: &str) -> Vec<Version<'_>> {
    let mut versions: Vec<Version<'_>> = Vec::new();
    for (index, line) in changelog.lines().enumerate() {
        if let Some(name) = line.strip_prefix("## [").and_then(|rest| rest.split(']').next()) {
            versions.push(Version { name, line: index + 1, entries: 0 });
        } else if let Some(version) = versions.last_mut().filter(|_| line.starts_with("- ")) {
            version.entries += 1;
        }
    }
    versions
}

/// Returns the versions that packages declare, with their files.
fn declared(repository: &Repository) -> Result<Vec<(&'static str, String)>> {
    let manifest: toml::Table = repository.text("Cargo.toml")?.parse().context("cannot read Cargo.toml")?;
    let workspace = manifest.get("workspace").context("Cargo.toml has no workspace")?;
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(str::to_owned);
    let package = text(workspace.get("package").and_then(|package| package.get("version")));
    let dependency = |name: &str| {
        let found = workspace.get("dependencies").and_then(|all| all.get(name)?.get("version"));
        text(found).with_context(|| format!("the dependency on {name} has no version"))
    };
    let python = repository.text(PYTHON)?;
    let python =
        python.lines().find_map(|line| line.strip_prefix("__version__ = ")).map(|value| value.trim_matches('"'));
    Ok(vec![
        ("Cargo.toml", package.context("the workspace has no version")?),
        ("the dependency on brumate-json in Cargo.toml", dependency("brumate-json")?),
        ("the dependency on brumate-mcp-macros in Cargo.toml", dependency("brumate-mcp-macros")?),
        ("the dependency on brumate-mcp-oauth in Cargo.toml", dependency("brumate-mcp-oauth")?),
        (PYTHON, python.context("the Python package has no version")?.to_owned()),
    ])
}
