//! Packages for MCP's clients and its registry: the bundle `brumate-VERSION-ARCH-linux.mcpb`, and `server.json`.
//!
//! The bundle is written after MCPB's manifest 0.3, `server.json` after the registry's schema of 2025-12-11.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::archive::{Entry, zip};
use super::{Release, SUMMARY, hex};

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// The tool of `brumate stdio`, and what it does.
const TOOL: (&str, &str) =
    ("run_python_code", "Runs Python code in a fresh interpreter and returns its output and its value");

/// Makes the bundle: a zip archive with a manifest.
pub(super) fn bundle(release: &Release, out: &Path) -> Result<PathBuf> {
    let manifest = serde_json::to_vec_pretty(&manifest(release))?;
    let mut entries = vec![
        Entry { path: "manifest.json".to_owned(), bytes: &manifest, executable: false },
        Entry { path: "server/brumate".to_owned(), bytes: &release.binary, executable: true },
    ];
    for (document, bytes) in &release.documents {
        entries.push(Entry { path: (*document).to_owned(), bytes, executable: false });
    }
    let path = out.join(format!("brumate-{}-{}-linux.mcpb", release.version, release.architecture.name()));
    zip(&path, &entries)?;
    Ok(path)
}

fn manifest(release: &Release) -> Value {
    json!({
        "manifest_version": "0.3",
        "name": "brumate",
        "display_name": "Brumate",
        "version": release.version,
        "description": SUMMARY,
        "author": {"name": "The Brumate authors"},
        "server": {
            "type": "binary",
            "entry_point": "server/brumate",
            "mcp_config": {"command": "${__dirname}/server/brumate", "args": ["stdio"]},
        },
        "tools": [{"name": TOOL.0, "description": TOOL.1}],
        "keywords": ["python", "sandbox", "numpy", "pandas", "agents"],
        "license": "Apache-2.0 OR MIT",
        "compatibility": {"platforms": ["linux"]},
    })
}

/// Makes `server.json`. `name` is the server's name in the registry. `releases` is the URL of the files of a release; without it
/// `server.json` does not contain the bundles.
///
/// # Errors
/// The registry does not accept the name.
pub(super) fn server(
    release: &Release,
    name: &str,
    releases: Option<&str>,
    bundles: &[PathBuf],
    out: &Path,
) -> Result<PathBuf> {
    ensure!(is_server_name(name), "`{name}`: a server's name is a reversed domain, a slash and a name");
    let version = &release.version;
    let start = json!([{"type": "positional", "value": "stdio"}]);
    let package = |registry: &str, hint: &str| {
        json!({
            "registryType": registry,
            "identifier": "brumate",
            "version": version,
            "runtimeHint": hint,
            "transport": {"type": "stdio"},
            "packageArguments": start,
        })
    };
    let mut packages = vec![package("pypi", "uvx"), package("npm", "npx")];
    for (releases, bundle) in
        releases.into_iter().flat_map(|releases| bundles.iter().map(move |bundle| (releases, bundle)))
    {
        let file = bundle.file_name().and_then(|name| name.to_str()).context("the bundle has a name")?;
        packages.push(json!({
            "registryType": "mcpb",
            "identifier": format!("{}/{file}", releases.trim_end_matches('/')),
            "version": version,
            "fileSha256": hex(&Sha256::digest(std::fs::read(bundle)?)),
            "transport": {"type": "stdio"},
        }));
    }
    let server = json!({
        "$schema": SCHEMA,
        "name": name,
        "title": "Brumate",
        "description": SUMMARY,
        "version": version,
        "packages": packages,
    });
    let path = out.join("server.json");
    std::fs::write(&path, serde_json::to_string_pretty(&server)? + "\n")?;
    Ok(path)
}

/// Returns whether the registry's schema accepts a name: letters, digits, dots and dashes, one slash, and the same with underscores.
fn is_server_name(name: &str) -> bool {
    let is = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|sign| sign.is_ascii_alphanumeric() || more.contains(sign))
    };
    name.len() <= 200 && name.split_once('/').is_some_and(|(space, server)| is(space, ".-") && is(server, "._-"))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::dist::tests::release;

    fn made(releases: Option<&str>) -> (tempfile::TempDir, PathBuf, Value) {
        let out = tempfile::tempdir().unwrap();
        let bundle = bundle(&release(), out.path()).unwrap();
        let path =
            server(&release(), "org.example/brumate", releases, std::slice::from_ref(&bundle), out.path()).unwrap();
        let server = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        (out, bundle, server)
    }

    /// What MCPB's manifest 0.3 asks for, and nothing that it does not know.
    #[test]
    fn a_bundle_has_its_manifest_and_the_program() {
        let (_out, path, _) = made(None);
        let mut archive = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
        let program = archive.by_name("server/brumate").unwrap();
        assert_eq!(program.unix_mode().unwrap() & 0o777, 0o755);
        drop(program);
        let mut text = String::new();
        archive.by_name("manifest.json").unwrap().read_to_string(&mut text).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        for key in ["manifest_version", "name", "version", "description"] {
            assert!(manifest[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
        }
        assert!(manifest["author"]["name"].is_string());
        assert_eq!(manifest["server"]["type"], "binary");
        let entry = manifest["server"]["entry_point"].as_str().unwrap();
        assert!(archive.by_name(entry).is_ok());
        assert_eq!(manifest["server"]["mcp_config"]["command"], format!("${{__dirname}}/{entry}"));
    }

    #[test]
    fn the_same_bundle_every_time() {
        let (_first, one, _) = made(None);
        let (_second, other, _) = made(None);
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    }

    /// What the registry's schema asks for.
    #[test]
    fn a_server_is_described_as_the_registry_takes_it() {
        let (_out, bundle, server) = made(Some("https://example.org/v1.2.3/"));
        assert_eq!(server["$schema"], SCHEMA);
        assert!((1..=100).contains(&server["description"].as_str().unwrap().len()), "the schema's bounds");
        assert_eq!((&server["name"], &server["version"]), (&"org.example/brumate".into(), &"1.2.3".into()));
        let packages = server["packages"].as_array().unwrap();
        for package in packages {
            for key in ["registryType", "identifier", "version"] {
                assert!(package[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {package}");
            }
            assert_eq!(package["transport"]["type"], "stdio");
        }
        let last = packages.last().unwrap();
        let file = bundle.file_name().unwrap().to_str().unwrap();
        assert_eq!(last["identifier"], format!("https://example.org/v1.2.3/{file}"));
        assert_eq!(last["fileSha256"], hex(&Sha256::digest(std::fs::read(&bundle).unwrap())));
    }

    #[test]
    fn without_an_address_the_bundle_is_not_named() {
        let (_out, _, server) = made(None);
        let kinds: Vec<_> =
            server["packages"].as_array().unwrap().iter().map(|package| &package["registryType"]).collect();
        assert_eq!(kinds, ["pypi", "npm"]);
    }

    #[test]
    fn names_that_the_registry_refuses_are_refused() {
        for name in ["brumate", "org.example/a/b", "/brumate", "org.example/", "org_example/brumate", "org.example/ä"]
        {
            assert!(!is_server_name(name), "{name}");
        }
        assert!(is_server_name("io.github.some-one/brumate_1.0"));
    }
}
