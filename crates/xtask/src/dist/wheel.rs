//! The wheels for PyPI (PEP 427, PEP 491): `brumate` has the Python package, and the program as a script; `brumate-bundle` has the
//! program's packages. The first requires the second in the same version.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::archive::{Entry, zip};
use super::mark::BUNDLE_FILE;
use super::{DOCUMENTS, Release, SUMMARY, files_below};
use crate::workspace;

/// Name of the wheel with the packages, and name of the module in it.
const BUNDLE: (&str, &str) = ("brumate-bundle", "brumate_bundle");

/// A file of a wheel: path, content, whether it is a program.
type File = (String, Vec<u8>, bool);

/// Contents of a wheel, besides those that all wheels have.
struct Wheel {
    /// Name of the project.
    name: &'static str,
    summary: String,
    requires: Option<String>,
    readme: String,
    entry_points: Option<String>,
    files: Vec<File>,
}

/// Makes the wheel of the program. `server` is its name in the registry of MCP servers.
pub(super) fn program(release: &Release, server: &str, out: &Path) -> Result<PathBuf> {
    let package = workspace::root().join("python");
    let mut files = sources(&package)?;
    let script = format!("brumate-{}.data/scripts/brumate", release.version);
    files.push((script, release.program().to_vec(), true));
    // By this line the registry of MCP servers knows that name and package belong together.
    let readme = std::fs::read_to_string(package.join("README.md"))? + &format!("\n<!-- mcp-name: {server} -->\n");
    let wheel = Wheel {
        name: "brumate",
        summary: SUMMARY.to_owned(),
        requires: Some(format!("{}=={}", BUNDLE.0, release.version)),
        readme,
        entry_points: Some(entry_points(&project()?)?),
        files,
    };
    make(release, wheel, out)
}

/// Makes the wheel of the program's packages.
pub(super) fn bundle(release: &Release, out: &Path) -> Result<PathBuf> {
    let package = workspace::root().join("python/bundle");
    let mut files = sources(&package)?;
    files.push((format!("{}/{BUNDLE_FILE}", BUNDLE.1), release.bundle_file().to_vec(), false));
    let wheel = Wheel {
        name: BUNDLE.0,
        summary: release.bundle_summary(),
        requires: None,
        readme: std::fs::read_to_string(package.join("README.md"))?,
        entry_points: None,
        files,
    };
    make(release, wheel, out)
}

/// Returns the Python files of a package.
fn sources(package: &Path) -> Result<Vec<File>> {
    Ok(files_below(&package.join("src"))?.into_iter().map(|(path, bytes)| (path, bytes, false)).collect())
}

fn project() -> Result<toml::Table> {
    Ok(std::fs::read_to_string(workspace::root().join("python/pyproject.toml"))?.parse()?)
}

/// Writes a wheel. A static binary runs with every C library, so it has tags of both.
fn make(release: &Release, wheel: Wheel, out: &Path) -> Result<PathBuf> {
    let arch = release.architecture.name();
    let tags = [format!("manylinux_2_17_{arch}.manylinux2014_{arch}"), format!("musllinux_1_1_{arch}")];
    let stem = format!("{}-{}", wheel.name.replace('-', "_"), release.version);
    let info = format!("{stem}.dist-info");
    let metadata = metadata(&release.version, &project()?, &wheel)?;

    let mut files = wheel.files;
    for (document, bytes) in release.documents.iter().filter(|(document, _)| *document != "README.md") {
        files.push((format!("{info}/licenses/{document}"), bytes.clone(), false));
    }
    files.push((format!("{info}/METADATA"), metadata.into_bytes(), false));
    if let Some(entry_points) = wheel.entry_points {
        files.push((format!("{info}/entry_points.txt"), entry_points.into_bytes(), false));
    }
    let mut text = "Wheel-Version: 1.0\nGenerator: brumate xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    for platform in tags.iter().flat_map(|tag| tag.split('.')) {
        writeln!(text, "Tag: py3-none-{platform}")?;
    }
    files.push((format!("{info}/WHEEL"), text.into_bytes(), false));
    let mut record = String::new();
    for (path, bytes, _) in &files {
        writeln!(record, "{path},sha256={},{}", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len())?;
    }
    writeln!(record, "{info}/RECORD,,")?;
    files.push((format!("{info}/RECORD"), record.into_bytes(), false));

    let path = out.join(format!("{stem}-py3-none-{}.whl", tags.join(".")));
    let entries: Vec<Entry<'_>> = files
        .iter()
        .map(|(path, bytes, executable)| Entry { path: path.clone(), bytes, executable: *executable })
        .collect();
    zip(&path, &entries)?;
    Ok(path)
}

fn metadata(version: &str, project: &toml::Table, wheel: &Wheel) -> Result<String> {
    let project = project["project"].as_table().context("pyproject.toml has [project]")?;
    let text = |key: &str| project[key].as_str().with_context(|| format!("pyproject.toml has {key}"));
    let mut lines = format!(
        "Metadata-Version: 2.4\nName: {}\nVersion: {version}\nSummary: {}\nLicense-Expression: {}\nRequires-Python: {}\n",
        wheel.name,
        wheel.summary,
        text("license")?,
        text("requires-python")?
    );
    if let Some(requirement) = &wheel.requires {
        writeln!(lines, "Requires-Dist: {requirement}")?;
    }
    for document in DOCUMENTS.iter().filter(|document| **document != "README.md") {
        writeln!(lines, "License-File: {document}")?;
    }
    let list = |key: &str| project[key].as_array().with_context(|| format!("pyproject.toml has {key}"));
    let words: Vec<&str> = list("keywords")?.iter().filter_map(toml::Value::as_str).collect();
    writeln!(lines, "Keywords: {}", words.join(","))?;
    for classifier in list("classifiers")?.iter().filter_map(toml::Value::as_str) {
        writeln!(lines, "Classifier: {classifier}")?;
    }
    Ok(format!("{lines}Description-Content-Type: text/markdown\n\n{}", wheel.readme))
}

fn entry_points(project: &toml::Table) -> Result<String> {
    let scripts = project["project"]["scripts"].as_table().context("pyproject.toml has scripts")?;
    let mut lines = "[console_scripts]\n".to_owned();
    for (name, target) in scripts {
        writeln!(lines, "{name} = {}", target.as_str().context("a script is a text")?)?;
    }
    Ok(lines)
}
