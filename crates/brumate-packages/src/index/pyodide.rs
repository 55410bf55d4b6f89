//! Wheels of a Pyodide distribution, from its `pyodide-lock.json`.

use std::collections::HashMap;
use std::sync::Arc;

use pep440_rs::Version;
use serde::Deserialize;
use url::Url;

use crate::index::error::url_for_error;
use crate::index::file::{IndexFile, Origin, sha256};
use crate::index::html;
use crate::index::metadata::Metadata;
use crate::marker::PYTHON_VERSION;
use crate::name::DistributionName;
use crate::requirement::Requirement;
use crate::wheel::WheelFileName;

/// File name of the lock in a distribution.
pub(crate) const FILE: &str = "pyodide-lock.json";

#[derive(Deserialize)]
struct Lock {
    info: Info,
    packages: HashMap<String, Package>,
}

#[derive(Deserialize)]
struct Info {
    python: String,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    file_name: String,
    #[serde(default)]
    sha256: String,
    package_type: String,
    #[serde(default)]
    depends: Vec<String>,
}

/// Packages of one Pyodide distribution, one version each.
#[derive(Debug)]
pub(crate) struct PyodideLock {
    files: HashMap<DistributionName, IndexFile>,
}

impl PyodideLock {
    /// Parses a lock with the URL `base`.
    ///
    /// Takes packages that are wheels for the sandbox and need no shared library of the distribution: such libraries
    /// are not wheels, and cannot be installed here.
    pub(crate) fn parse(body: &[u8], base: &Url) -> Result<Self, String> {
        let lock: Lock = serde_json::from_slice(body).map_err(|error| format!("not a Pyodide lock: {error}"))?;
        if !lock.info.python.starts_with(&format!("{PYTHON_VERSION}.")) {
            return Err(format!("it is for Python {}; this one is Python {PYTHON_VERSION}", lock.info.python));
        }
        let origin = Arc::new(Origin::Pyodide(url_for_error(base)));
        let kinds: HashMap<DistributionName, &str> = lock
            .packages
            .values()
            .filter_map(|package| Some((DistributionName::new(&package.name)?, package.package_type.as_str())))
            .collect();
        let mut files = HashMap::new();
        for package in lock.packages.values().filter(|package| package.package_type == "package") {
            let Some(name) = DistributionName::new(&package.name) else { continue };
            let depends: Vec<DistributionName> =
                package.depends.iter().filter_map(|depends| DistributionName::new(depends)).collect();
            if depends.iter().any(|depends| kinds.get(depends) == Some(&"shared_library")) {
                continue;
            }
            let file = file(package, &name, &depends, &kinds, base, &origin);
            files.extend(file.map(|file| (name, file)));
        }
        Ok(Self { files })
    }

    pub(crate) fn file(&self, name: &DistributionName) -> Option<&IndexFile> {
        self.files.get(name)
    }
}

fn file(
    package: &Package,
    name: &DistributionName,
    depends: &[DistributionName],
    kinds: &HashMap<DistributionName, &str>,
    base: &Url,
    origin: &Arc<Origin>,
) -> Option<IndexFile> {
    let url = base.join(&package.file_name).ok()?;
    let filename = html::filename(&url)?;
    let wheel: WheelFileName = filename.parse().ok()?;
    let version: Version = package.version.parse().ok()?;
    if wheel.name != *name || wheel.version != version {
        return None;
    }
    // Parts of the standard library that the distribution ships separately belong to the sandbox's interpreter.
    let requires = depends.iter().filter(|depends| kinds.get(depends) != Some(&"cpython_module")).map(Requirement::any);
    let known = Metadata {
        name: name.clone(),
        version,
        requires: requires.collect(),
        requires_python: None,
        extras: Vec::new(),
    };
    Some(IndexFile {
        // A wheel without a digest could not be verified.
        sha256: Some(sha256(&package.sha256)?),
        known: Some(Arc::new(known)),
        ..IndexFile::new(filename, url, origin.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(python: &str) -> Result<PyodideLock, String> {
        let digest = "c".repeat(64);
        let entry = |name: &str, file: &str, kind: &str, depends: &str| {
            format!(
                r#""{name}": {{"name": "{name}", "version": "1.0", "file_name": "{file}", "sha256": "{digest}",
                    "package_type": "{kind}", "depends": [{depends}], "imports": []}}"#
            )
        };
        let tag = "cp314-cp314-pyemscripten_2026_0_wasm32";
        let packages = [
            entry("native", &format!("native-1.0-{tag}.whl"), "package", "\"pure\", \"ssl\""),
            entry("pure", "pure-1.0-py3-none-any.whl", "package", ""),
            entry("ssl", "ssl-1.0.zip", "cpython_module", ""),
            entry("lib", "lib-1.0.zip", "shared_library", ""),
            entry("linked", &format!("linked-1.0-{tag}.whl"), "package", "\"lib\""),
        ];
        let text = format!(r#"{{"info": {{"python": "{python}"}}, "packages": {{{}}}}}"#, packages.join(","));
        PyodideLock::parse(text.as_bytes(), &Url::parse("https://p.example/v1/full/").expect("a URL"))
    }

    #[test]
    fn takes_wheels_that_need_no_shared_library() {
        let lock = read("3.14.2").expect("valid");
        let file = |name| lock.file(&DistributionName::new(name).expect("a name"));
        let native = file("native").expect("taken");
        assert!(native.url.as_str().starts_with("https://p.example/v1/full/native-1.0-cp314"));
        let requires: Vec<String> =
            native.known.as_ref().expect("known").requires.iter().map(ToString::to_string).collect();
        assert_eq!(requires, ["pure"]);
        assert!(file("pure").is_some() && file("ssl").is_none() && file("linked").is_none());
    }

    #[test]
    fn another_python_is_refused() {
        assert!(read("3.13.2").expect_err("refused").contains("3.13.2"));
    }
}
