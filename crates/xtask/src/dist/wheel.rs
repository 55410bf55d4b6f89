//! The wheel for PyPI: the Python package, and the binary as a script (PEP 427, PEP 491).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::archive::{Entry, zip};
use super::{Release, SUMMARY, files_below};
use crate::workspace;

/// Makes the wheel. A static binary runs with every C library, so it has tags of both. `server` is its name in
/// the registry of MCP servers.
pub(super) fn make(release: &Release, server: &str, out: &Path) -> Result<PathBuf> {
    let Release { version, .. } = release;
    let package = workspace::root().join("python");
    let arch = release.architecture.name();
    let tags = [format!("manylinux_2_17_{arch}.manylinux2014_{arch}"), format!("musllinux_1_1_{arch}")];
    let name = format!("brumate-{version}-py3-none-{}.whl", tags.join("."));
    let info = format!("brumate-{version}.dist-info");

    let mut files: Vec<(String, Vec<u8>, bool)> = Vec::new();
    for (path, bytes) in files_below(&package.join("src"))? {
        files.push((path, bytes, false));
    }
    files.push((format!("brumate-{version}.data/scripts/brumate"), release.binary.clone(), true));
    for (document, bytes) in release.documents.iter().filter(|(document, _)| *document != "README.md") {
        files.push((format!("{info}/licenses/{document}"), bytes.clone(), false));
    }
    let project: toml::Table = std::fs::read_to_string(package.join("pyproject.toml"))?.parse()?;
    // By this line the registry of MCP servers knows that name and package belong together.
    let readme = std::fs::read_to_string(package.join("README.md"))? + &format!("\n<!-- mcp-name: {server} -->\n");
    files.push((format!("{info}/METADATA"), metadata(version, &project, &readme)?.into_bytes(), false));
    files.push((format!("{info}/entry_points.txt"), entry_points(&project)?.into_bytes(), false));
    let mut wheel = "Wheel-Version: 1.0\nGenerator: brumate xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    for platform in tags.iter().flat_map(|tag| tag.split('.')) {
        writeln!(wheel, "Tag: py3-none-{platform}")?;
    }
    files.push((format!("{info}/WHEEL"), wheel.into_bytes(), false));
    let mut record = String::new();
    for (path, bytes, _) in &files {
        writeln!(record, "{path},sha256={},{}", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len())?;
    }
    writeln!(record, "{info}/RECORD,,")?;
    files.push((format!("{info}/RECORD"), record.into_bytes(), false));

    let path = out.join(name);
    let entries: Vec<Entry<'_>> = files
        .iter()
        .map(|(path, bytes, executable)| Entry { path: path.clone(), bytes, executable: *executable })
        .collect();
    zip(&path, &entries)?;
    Ok(path)
}

fn metadata(version: &str, project: &toml::Table, readme: &str) -> Result<String> {
    let project = project["project"].as_table().context("pyproject.toml has [project]")?;
    let text = |key: &str| project[key].as_str().with_context(|| format!("pyproject.toml has {key}"));
    let mut lines = format!(
        "Metadata-Version: 2.4\nName: brumate\nVersion: {version}\nSummary: {SUMMARY}\nLicense-Expression: {}\nRequires-Python: {}\n",
        text("license")?,
        text("requires-python")?
    );
    for document in super::DOCUMENTS.iter().filter(|document| **document != "README.md") {
        writeln!(lines, "License-File: {document}")?;
    }
    let list = |key: &str| project[key].as_array().with_context(|| format!("pyproject.toml has {key}"));
    let words: Vec<&str> = list("keywords")?.iter().filter_map(toml::Value::as_str).collect();
    writeln!(lines, "Keywords: {}", words.join(","))?;
    for classifier in list("classifiers")?.iter().filter_map(toml::Value::as_str) {
        writeln!(lines, "Classifier: {classifier}")?;
    }
    Ok(format!("{lines}Description-Content-Type: text/markdown\n\n{readme}"))
}

fn entry_points(project: &toml::Table) -> Result<String> {
    let scripts = project["project"]["scripts"].as_table().context("pyproject.toml has scripts")?;
    let mut lines = "[console_scripts]\n".to_owned();
    for (name, target) in scripts {
        writeln!(lines, "{name} = {}", target.as_str().context("a script is a text")?)?;
    }
    Ok(lines)
}
