//! Wheels: file name, metadata, record, top-level modules.

use super::{bundle, pyc};
use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use brumate_packages::{MarkerEnvironment, Requirement};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Requirements that the bundle does without: who has it, what it is, and why.
const LEFT_OUT: [(&str, &str, &str); 1] = [(
    "ipython",
    "jedi",
    "for completion only, which no tool here asks for; every interpreter would start with its 5,600 files of stubs",
)];

/// Tags a wheel of the bundle may carry: the sandbox's ABI, or pure Python.
const TAGS: &[&str] = &["cp314-cp314-pyemscripten_2026_0_wasm32", "py3-none-any", "py2.py3-none-any"];

/// The parts of a wheel's file name (PEP 427).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileName<'a> {
    /// Project name, escaped.
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// `python-abi-platform`.
    pub(crate) tag: &'a str,
}

/// Splits a wheel's file name; wheels with a build number are refused.
pub(crate) fn file_name(file: &str) -> Result<FileName<'_>> {
    let stem = file.strip_suffix(".whl").with_context(|| format!("{file} is no wheel"))?;
    let mut parts = stem.splitn(3, '-');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(name), Some(version), Some(tag)) if tag.split('-').count() == 3 => Ok(FileName { name, version, tag }),
        _ => bail!("{file} is not named <name>-<version>-<python>-<abi>-<platform>.whl"),
    }
}

/// Whether the file name is that of a pure-Python wheel, which ships as published.
pub(crate) fn is_pure(file: &str) -> bool {
    file.ends_with("-none-any.whl")
}

/// A wheel in memory.
pub(crate) struct Wheel {
    /// Contents by member name, without directories.
    members: BTreeMap<String, Vec<u8>>,
    dist_info: String,
    metadata: Vec<(String, String)>,
}

impl Wheel {
    /// Reads a wheel and finds its metadata.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let members = bundle::read_zip(path)?;
        let dist_infos: BTreeSet<&str> = members
            .keys()
            .filter_map(|name| name.split_once('/'))
            .map(|(top, _)| top)
            .filter(|top| top.ends_with(".dist-info"))
            .collect();
        let [dist_info] = dist_infos.into_iter().collect::<Vec<_>>()[..] else {
            bail!("{} has not exactly one .dist-info", path.display());
        };
        let dist_info = dist_info.to_owned();
        let metadata = members.get(&format!("{dist_info}/METADATA")).context("no METADATA")?;
        let metadata = headers(std::str::from_utf8(metadata).context("METADATA is no UTF-8")?);
        Ok(Self { members, dist_info, metadata })
    }

    /// The first METADATA header of that name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    fn headers<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.metadata.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Modules and packages that the wheel puts directly into `site-packages`.
    ///
    /// The metadata's own list (`Import-Name`, PEP 794) if there is one, else the files: a module
    /// file, or a directory that holds one at any depth (namespace packages have no `__init__`).
    pub(crate) fn import_names(&self) -> Vec<String> {
        let declared: BTreeSet<String> = self
            .headers("Import-Name")
            .chain(self.headers("Import-Namespace"))
            .filter_map(|value| value.split([';', '.']).next())
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        let names = if declared.is_empty() { self.top_level_modules() } else { declared };
        names.into_iter().collect()
    }

    fn top_level_modules(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for file in self.members.keys() {
            let Some(file) = self.site_packages_path(file) else {
                continue;
            };
            if !file.ends_with(".py") && !file.ends_with(".so") {
                continue;
            }
            let top = match file.split_once('/') {
                Some((directory, _)) => directory,
                None => file.split_once('.').map_or(file, |(stem, _)| stem),
            };
            let is_identifier = top.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && top.chars().all(|c| c.is_alphanumeric() || c == '_');
            if is_identifier {
                names.insert(top.to_owned());
            }
        }
        names
    }

    /// Returns the path of a member below `site-packages`. Returns `None` for metadata, scripts and data files.
    fn site_packages_path<'a>(&self, file: &'a str) -> Option<&'a str> {
        let (top, rest) = file.split_once('/').unwrap_or(("", file));
        if top == self.dist_info {
            None
        } else if top.ends_with(".data") {
            rest.strip_prefix("purelib/").or_else(|| rest.strip_prefix("platlib/"))
        } else {
            Some(file)
        }
    }

    /// Normalised names of the projects it requires in the sandbox, without extras and [`LEFT_OUT`].
    pub(crate) fn requires(&self) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        for requirement in self.headers("Requires-Dist") {
            let requirement: Requirement = requirement.parse()?;
            let name = requirement.name.as_str();
            let left_out = LEFT_OUT.iter().any(|(by, project, _)| self.header("Name") == Some(by) && name == *project);
            if requirement.applies_in(&MarkerEnvironment::default()) && !left_out {
                names.insert(name.to_owned());
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Checks the wheel against its own metadata and its file name.
    pub(crate) fn verify(&self, file: &FileName<'_>) -> Result<()> {
        for (key, said) in [("Name", file.name), ("Version", file.version)] {
            let value = self.header(key).with_context(|| format!("METADATA has no {key}"))?;
            ensure!(normalized(value) == normalized(said), "METADATA says {key} {value}, the file name {said}");
        }
        ensure!(TAGS.contains(&file.tag), "tag {} is not one of {TAGS:?}", file.tag);
        self.verify_tags(file.tag)?;
        self.verify_licence()?;
        self.verify_record()
    }

    /// The WHEEL file lists exactly the tags that the file name abbreviates (`py2.py3` is two).
    fn verify_tags(&self, tag: &str) -> Result<()> {
        let text = self.text("WHEEL")?;
        let found: BTreeSet<String> =
            headers(text).into_iter().filter(|(key, _)| key == "Tag").map(|(_, value)| value).collect();
        let parts: Vec<Vec<&str>> = tag.split('-').map(|part| part.split('.').collect()).collect();
        let mut expected = BTreeSet::new();
        for python in &parts[0] {
            for abi in &parts[1] {
                for platform in &parts[2] {
                    expected.insert(format!("{python}-{abi}-{platform}"));
                }
            }
        }
        ensure!(found == expected, "WHEEL has the tags {found:?}, the file name {expected:?}");
        Ok(())
    }

    fn verify_licence(&self) -> Result<()> {
        let present = self.members.keys().any(|name| {
            name.strip_prefix(&self.dist_info).is_some_and(|rest| {
                let rest = rest.to_ascii_uppercase();
                rest.contains("LICENSE") || rest.contains("LICENCE") || rest.contains("COPYING")
            })
        });
        ensure!(present, "no licence text in {}", self.dist_info);
        Ok(())
    }

    /// RECORD names every member once, with its size and SHA-256.
    fn verify_record(&self) -> Result<()> {
        let record_name = format!("{}/RECORD", self.dist_info);
        let mut unseen: BTreeSet<&str> = self.members.keys().map(String::as_str).collect();
        for line in self.text("RECORD")?.lines() {
            let (rest, size) = line.rsplit_once(',').context("short line in RECORD")?;
            let (name, hash) = rest.rsplit_once(',').context("short line in RECORD")?;
            let name = name.trim_matches('"');
            ensure!(unseen.remove(name), "RECORD names {name}, which is absent or named twice");
            if name == record_name {
                continue;
            }
            let data = &self.members[name];
            let digest = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bundle::sha256(data));
            ensure!(hash == format!("sha256={digest}"), "{name} differs from RECORD");
            ensure!(size == data.len().to_string(), "size of {name} differs from RECORD");
        }
        ensure!(unseen.is_empty(), "not in RECORD: {unseen:?}");
        Ok(())
    }

    fn text(&self, name: &str) -> Result<&str> {
        let name = format!("{}/{name}", self.dist_info);
        let data = self.members.get(&name).with_context(|| format!("no {name}"))?;
        std::str::from_utf8(data).with_context(|| format!("{name} is no UTF-8"))
    }

    /// Whether there is bytecode in the wheel itself.
    pub(crate) fn has_bytecode(&self) -> bool {
        self.members.keys().any(|name| name.ends_with(".pyc"))
    }

    /// Checks that every module has its bytecode, in the wheel or in `elsewhere`, an archive laid
    /// out like `site-packages`; returns the names used from there.
    pub(crate) fn check_bytecode(&self, elsewhere: &BTreeMap<String, Vec<u8>>) -> Result<BTreeSet<String>> {
        let mut used = BTreeSet::new();
        for (member, source) in &self.members {
            let Some(name) = self.site_packages_path(member) else {
                continue;
            };
            if !name.ends_with(".py") {
                continue;
            }
            let name = pyc::name(name);
            match (self.members.get(&pyc::name(member)), elsewhere.get(&name)) {
                (Some(bytecode), None) => pyc::check(&name, bytecode, source)?,
                (None, Some(bytecode)) => {
                    pyc::check(&name, bytecode, source)?;
                    used.insert(name);
                }
                (None, None) => bail!("no {name}"),
                (Some(_), Some(_)) => bail!("{name} is in two archives"),
            }
        }
        Ok(used)
    }
}

/// A project name in PEP 503's normal form.
pub(crate) fn normalized(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

/// The headers of an email-like text up to the first empty line; continuation lines are joined.
fn headers(text: &str) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            headers.push((key.to_owned(), value.trim().to_owned()));
        }
    }
    headers
}

/// The RECORD of a wheel with these members, its own line last.
#[cfg(test)]
pub(super) fn record(members: &[(&str, &[u8])], name: &str) -> String {
    let lines = members.iter().map(|(name, data)| {
        let digest = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bundle::sha256(data));
        format!("{name},sha256={digest},{}\n", data.len())
    });
    lines.collect::<String>() + name + ",,\n"
}

#[cfg(test)]
mod tests;
