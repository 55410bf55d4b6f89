//! The bill of materials: `brumate-VERSION-ARCH-linux.cdx.json`, in CycloneDX 1.6. The crates that are linked into the binary, and the files of
//! `runtime/` that are embedded in it.
//!
//! The file contains no time, and its serial number is a hash of its content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::architecture::Architecture;
use super::hex;
use crate::runtime::{Entry, FileKind, Lock, Registry};
use crate::{process, workspace};

/// Characters that are percent-encoded in a package URL.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'+').add(b'@').add(b'?').add(b'#').add(b'%').add(b'/');

/// Makes the file. Needs cargo, and the registry's packages where cargo keeps them.
///
/// # Errors
/// When cargo fails, or a lock cannot be read.
pub(super) fn make(version: &str, architecture: Architecture, out: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &architecture.target()]);
    let metadata = serde_json::from_str(&process::output(cargo.current_dir(workspace::root()))?)?;
    let lock: toml::Table = std::fs::read_to_string(workspace::root().join("Cargo.lock"))?.parse()?;
    let linked = LinkedCrates::of(&metadata, &checksums(&lock))?;
    let bundle = Lock::load(&workspace::runtime())?;
    let path = out.join(format!("brumate-{version}-{}-linux.cdx.json", architecture.name()));
    let mut text = serde_json::to_string_pretty(&document(version, linked, &bundle))?;
    text.push('\n');
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Returns the whole document.
fn document(version: &str, linked: LinkedCrates, bundle: &Lock) -> Value {
    let root = purl("cargo", "brumate", version);
    let mut components = linked.components;
    components.extend(bundle.files.iter().map(embedded));
    let mut dependencies = linked.dependencies;
    for dependency in &mut dependencies {
        if dependency["ref"] == root.as_str()
            && let Some(on) = dependency["dependsOn"].as_array_mut()
        {
            on.extend(bundle.files.iter().map(|entry| Value::from(purl_of(entry))));
        }
    }
    let content = json!([components, dependencies]).to_string();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": format!("urn:uuid:{}", uuid(&Sha256::digest(content))),
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "brumate",
                "version": version,
                "description": super::SUMMARY,
                "licenses": licences("Apache-2.0 OR MIT"),
                "purl": root,
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

/// The crates that are linked into the binary.
struct LinkedCrates {
    components: Vec<Value>,
    /// Of the binary itself as well.
    dependencies: Vec<Value>,
}

impl LinkedCrates {
    /// Goes through what `cargo metadata` says, from the package `brumate`. Macros and what builds need are not linked.
    fn of(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<LinkedCrates> {
        let list = |value: &Value| value.as_array().cloned().context("a list of cargo's metadata");
        let text = |value: &Value| value.as_str().map(str::to_owned).context("a text of cargo's metadata");
        let mut packages = BTreeMap::new();
        for package in list(&metadata["packages"])? {
            packages.insert(text(&package["id"])?, package);
        }
        let mut nodes = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"])? {
            nodes.insert(text(&node["id"])?, list(&node["deps"])?);
        }
        let root = packages.iter().find(|(_, package)| package["name"] == "brumate");
        let mut open = vec![root.context("there is a package `brumate`")?.0.clone()];
        let mut found = BTreeMap::new();
        while let Some(id) = open.pop() {
            if found.contains_key(&id) {
                continue;
            }
            let mut on = BTreeSet::new();
            for dependency in nodes.get(&id).context("cargo resolves each package")? {
                let other = text(&dependency["pkg"])?;
                let package = packages.get(&other).context("cargo describes each package")?;
                if is_linked(dependency) && !is_macro(package) {
                    on.insert(other.clone());
                    open.push(other);
                }
            }
            found.insert(id, on);
        }
        let reference = |id: &str| -> Result<String> {
            Ok(purl("cargo", &text(&packages[id]["name"])?, &text(&packages[id]["version"])?))
        };
        let mut linked = LinkedCrates { components: Vec::new(), dependencies: Vec::new() };
        for (id, on) in &found {
            let on: Vec<String> = on.iter().map(|id| reference(id)).collect::<Result<_>>()?;
            linked.dependencies.push(json!({"ref": reference(id)?, "dependsOn": on}));
            let package = &packages[id];
            if package["name"] == "brumate" {
                continue;
            }
            let (name, version) = (text(&package["name"])?, text(&package["version"])?);
            let mut component = json!({
                "type": "library",
                "bom-ref": reference(id)?,
                "name": name,
                "version": version,
                "purl": reference(id)?,
            });
            if let Some(licence) = package["license"].as_str() {
                component["licenses"] = licences(licence);
            }
            if let Some(checksum) = checksums.get(&(name, version)) {
                component["hashes"] = hashes(checksum);
            }
            linked.components.push(component);
        }
        Ok(linked)
    }
}

/// Returns whether a dependency is linked: it is not for the build or for tests.
fn is_linked(dependency: &Value) -> bool {
    dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.flat_map(|target| target["kind"].as_array().into_iter().flatten()).any(|kind| kind == "proc-macro")
}

/// Returns the digests of `Cargo.lock` by name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let known = packages.filter_map(|package| {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    });
    known.collect()
}

/// Returns the component of a file of `runtime/`, with the sources of Debian that it was made from.
fn embedded(entry: &Entry) -> Value {
    let mut component = json!({
        "type": if entry.kind == FileKind::Interpreter { "platform" } else { "library" },
        "bom-ref": purl_of(entry),
        "name": entry.name,
        "version": entry.version,
        "hashes": hashes(&entry.sha256),
        "purl": purl_of(entry),
    });
    if !entry.licence.is_empty() {
        component["licenses"] = licences(&entry.licence);
    }
    let sources = entry.origin.iter().filter(|origin| origin.from == Registry::Debian);
    let inside: Vec<Value> = sources.filter_map(|origin| source(entry, &origin.file, &origin.sha256)).collect();
    if !inside.is_empty() {
        component["components"] = inside.into();
    }
    component
}

/// Returns the component of a package of Debian that a file was made from, `openssl_3.5.7.orig.tar.gz`.
fn source(entry: &Entry, file: &str, sha256: &str) -> Option<Value> {
    let (name, rest) = file.split_once('_')?;
    let version = rest.split_once(".orig.").or_else(|| rest.split_once('_'))?.0;
    let purl = purl("deb/debian", name, version);
    Some(json!({
        "type": "library",
        "bom-ref": format!("{}#{name}", purl_of(entry)),
        "name": name,
        "version": version,
        "hashes": hashes(sha256),
        "purl": purl,
    }))
}

/// Returns the package URL of a file: of its project, where it was published.
fn purl_of(entry: &Entry) -> String {
    let file = entry.file.rsplit('/').next().unwrap_or_default();
    if entry.origin.iter().any(|origin| origin.from == Registry::Pypi) {
        let name = entry.name.to_lowercase().replace(['_', '.'], "-");
        return format!("{}?file_name={}", purl("pypi", &name, &entry.version), utf8_percent_encode(file, ENCODED));
    }
    let kind = if entry.kind == FileKind::Interpreter { "npm" } else { "generic" };
    purl(kind, &entry.name, &entry.version)
}

fn purl(kind: &str, name: &str, version: &str) -> String {
    format!("pkg:{kind}/{}@{}", utf8_percent_encode(name, ENCODED), utf8_percent_encode(version, ENCODED))
}

/// Returns the list of one SPDX expression. Old crates have a slash for `OR`.
fn licences(expression: &str) -> Value {
    let words = expression.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ");
    json!([{"expression": words}])
}

fn hashes(sha256: &str) -> Value {
    json!([{"alg": "SHA-256", "content": sha256}])
}

/// Returns a UUID of version 8 (RFC 9562) with the first bytes of a digest.
fn uuid(digest: &[u8]) -> String {
    let mut bytes = digest[..16].to_vec();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex(&bytes);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (String, Value) {
        let out = tempfile::tempdir().unwrap();
        let path = make(env!("CARGO_PKG_VERSION"), Architecture::Aarch64, out.path()).unwrap();
        assert!(path.ends_with(concat!("brumate-", env!("CARGO_PKG_VERSION"), "-aarch64-linux.cdx.json")));
        let text = std::fs::read_to_string(path).unwrap();
        (text.clone(), serde_json::from_str(&text).unwrap())
    }

    fn find<'a>(components: &'a [Value], name: &str) -> Option<&'a Value> {
        components.iter().find(|component| component["name"] == name)
    }

    /// What the schema of CycloneDX 1.6 asks for, and what makes an entry of use.
    #[test]
    fn each_component_is_complete_and_named_once() {
        let (text, bom) = made();
        assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
        let serial = bom["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
        assert_eq!(serial.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(bom["metadata"]["component"]["type"], "application");
        let components = bom["components"].as_array().unwrap();
        let mut references = BTreeSet::from([bom["metadata"]["component"]["bom-ref"].as_str().unwrap()]);
        for component in components {
            let all = [component].into_iter().chain(component["components"].as_array().into_iter().flatten());
            for part in all {
                for key in ["type", "name", "version", "purl", "bom-ref"] {
                    assert!(part[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {part}");
                }
                assert!(references.insert(part["bom-ref"].as_str().unwrap()), "twice: {part}");
            }
            assert_eq!(component["licenses"].as_array().unwrap().len(), 1, "{component}");
            let own = component["name"].as_str().unwrap().starts_with("brumate");
            let hash = component["hashes"][0]["content"].as_str();
            assert!(own || hash.is_some_and(|hash| hash.len() == 64), "{component}");
        }
        for dependency in bom["dependencies"].as_array().unwrap() {
            let on = dependency["dependsOn"].as_array().unwrap();
            for reference in on.iter().chain([&dependency["ref"]]) {
                assert!(references.contains(reference.as_str().unwrap()), "{reference}");
            }
        }
        assert_eq!(made().0, text, "the same every time");
    }

    #[test]
    fn what_is_linked_is_listed_and_what_builds_is_not() {
        let (_, bom) = made();
        let components = bom["components"].as_array().unwrap();
        for name in ["wasmtime", "brumate-engine", "pyodide", "python-stdlib", "pandas"] {
            assert!(find(components, name).is_some(), "{name}");
        }
        for name in ["brumate", "xtask", "serde_derive", "cc"] {
            assert!(find(components, name).is_none(), "{name}");
        }
        let numpy = find(components, "numpy").unwrap();
        assert!(numpy["purl"].as_str().unwrap().starts_with("pkg:pypi/numpy@"), "{numpy}");
        assert!(find(numpy["components"].as_array().unwrap(), "openblas").is_some(), "{numpy}");
    }

    #[test]
    fn names_versions_and_licences_are_written_as_they_must_be() {
        assert_eq!(purl("deb/debian", "zlib", "1.3.dfsg+really1"), "pkg:deb/debian/zlib@1.3.dfsg%2Breally1");
        assert_eq!(licences("MIT/Apache-2.0"), json!([{"expression": "MIT OR Apache-2.0"}]));
        assert_eq!(uuid(&[0xff; 32]), "ffffffff-ffff-8fff-bfff-ffffffffffff");
    }
}
