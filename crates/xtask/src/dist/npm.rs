//! The npm packages: `brumate`, whose command starts the program of the package for this platform, `@brumate/linux-ARCH`. That one needs
//! `@brumate/bundle-linux-ARCH`, which has the program's packages.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::archive::{Entry, gzip, tar};
use super::mark::BUNDLE_FILE;
use super::{Release, SUMMARY};

/// Finds the platform's package and becomes its binary, as far as Node can.
const LAUNCHER: &str = r#"#!/usr/bin/env node
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname } = require("node:path");

const name = `@brumate/${process.platform}-${process.arch}`;
const env = { ...process.env };
let binary = env.BRUMATE_BINARY;
if (!binary) {
  try {
    binary = require.resolve(`${name}/brumate`);
  } catch {
    console.error(`brumate: there is no package ${name}: Brumate runs on Linux, on x64 and arm64; elsewhere use its container image`);
    process.exit(1);
  }
  if (!env.BRUMATE_BUNDLE_FILE) {
    const bundle = `@brumate/bundle-${process.platform}-${process.arch}/brumate.bundle`;
    try {
      env.BRUMATE_BUNDLE_FILE = require.resolve(bundle, { paths: [dirname(binary)] });
    } catch {
      // The program says where it has looked, and what to install.
    }
  }
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`brumate: ${binary} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
"#;

/// Returns the fields of every package's manifest.
fn common(release: &Release) -> Value {
    json!({"version": release.version, "description": SUMMARY, "license": "(Apache-2.0 OR MIT)"})
}

/// Makes the package with the program.
pub(super) fn program(release: &Release, out: &Path) -> Result<PathBuf> {
    let bundle = format!("@brumate/bundle-linux-{}", release.architecture.node());
    let own = json!({"dependencies": {bundle: release.version}});
    of_platform(release, out, "linux", own, ("brumate", release.program(), true))
}

/// Makes the package with the program's packages.
pub(super) fn bundle(release: &Release, out: &Path) -> Result<PathBuf> {
    let own = json!({"description": release.bundle_summary()});
    of_platform(release, out, "bundle-linux", own, (BUNDLE_FILE, release.bundle_file(), false))
}

/// Makes a package of one file for the platform.
fn of_platform(
    release: &Release,
    out: &Path,
    kind: &str,
    own: Value,
    (file, bytes, executable): (&str, &[u8], bool),
) -> Result<PathBuf> {
    let arch = release.architecture.node();
    let platform = json!({"name": format!("@brumate/{kind}-{arch}"), "os": ["linux"], "cpu": [arch], "files": [file]});
    let manifest = merged(&merged(&common(release), platform), own);
    let name = format!("brumate-{kind}-{arch}-{}.tgz", release.version);
    package(release, out, &name, &manifest, (file, bytes, executable))
}

/// Makes the package with the command. `server` is its name in the registry of MCP servers, which looks for it in the manifest.
pub(super) fn launcher(release: &Release, server: &str, out: &Path) -> Result<PathBuf> {
    let version = &release.version;
    let manifest = merged(
        &common(release),
        json!({
            "name": "brumate",
            "mcpName": server,
            "bin": {"brumate": "brumate.js"},
            "files": ["brumate.js"],
            "engines": {"node": ">=20"},
            "keywords": ["mcp", "python", "sandbox", "agents"],
            "optionalDependencies": {"@brumate/linux-x64": version, "@brumate/linux-arm64": version},
        }),
    );
    package(release, out, &format!("brumate-{version}.tgz"), &manifest, ("brumate.js", LAUNCHER.as_bytes(), true))
}

fn merged(common: &Value, own: Value) -> Value {
    let (mut all, own) = (common.clone(), own);
    if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
        all.extend(own);
    }
    all
}

fn package(
    release: &Release,
    out: &Path,
    name: &str,
    manifest: &Value,
    (file, bytes, executable): (&str, &[u8], bool),
) -> Result<PathBuf> {
    let manifest = serde_json::to_vec_pretty(manifest)?;
    let mut entries = vec![
        Entry { path: "package/package.json".to_owned(), bytes: &manifest, executable: false },
        Entry { path: format!("package/{file}"), bytes, executable },
    ];
    for (document, bytes) in &release.documents {
        entries.push(Entry { path: format!("package/{document}"), bytes, executable: false });
    }
    let path = out.join(name);
    std::fs::write(&path, gzip(&tar(&entries, release.time)?)?)?;
    Ok(path)
}
