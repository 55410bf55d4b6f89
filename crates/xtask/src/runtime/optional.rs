//! `runtime/optional`: wheels that are not embedded. Their lock, and its verification.

use super::bundle;
use super::lock_file::{Entry, Kind, LOCK_VERSION, Lock, Origin, Registry};
use super::wheel::{self, Wheel};
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The directory below `runtime/`, and its lock.
const DIRECTORY: &str = "optional";
const LOCK_NAME: &str = "optional.lock.toml";

/// The recipes' list of what they fetch for these wheels.
const SOURCES: &str = "recipes/optional.sha256";

const HEADER: &str = "\
# Wheels that are not in the binary: `--find-links` reads this directory. Written by `cargo xtask runtime lock`, checked by
# `cargo xtask runtime verify`. `licence` (an SPDX expression) and the origins of what was compiled are set by hand and kept.
";

/// Reads the lock of the optional wheels.
pub(crate) fn load(runtime: &Path) -> Result<Lock> {
    Lock::read(&runtime.join(DIRECTORY).join(LOCK_NAME))
}

/// Regenerates the lock; hand-set licences and origins are kept.
pub(crate) fn lock(runtime: &Path) -> Result<()> {
    let path = runtime.join(DIRECTORY).join(LOCK_NAME);
    let old = if path.exists() { Lock::read(&path)? } else { Lock::default() };
    let kept: BTreeMap<String, Entry> =
        old.files.into_iter().map(|entry| (wheel::normalized(&entry.name), entry)).collect();
    let mut files = Vec::new();
    for file in present(runtime)? {
        let mut entry = describe(runtime, &file).with_context(|| file.clone())?;
        if let Some(old) = kept.get(&wheel::normalized(&entry.name)) {
            if !old.licence.is_empty() {
                entry.licence.clone_from(&old.licence);
            }
            if entry.origin.is_empty() {
                entry.origin.clone_from(&old.origin);
            }
        }
        if entry.licence.is_empty() || entry.origin.is_empty() {
            println!("{}: set its licence and origin in {LOCK_NAME}", entry.file);
        }
        files.push(entry);
    }
    let count = files.len();
    std::fs::write(&path, Lock { version: LOCK_VERSION, files }.render(HEADER))?;
    println!("{LOCK_NAME}: {count} files");
    Ok(())
}

/// Checks every wheel against the lock and against itself; reports every fault, then fails if there was one.
pub(crate) fn verify(runtime: &Path) -> Result<()> {
    let lock = load(runtime)?;
    let bundled = Lock::load(runtime)?;
    let faults = faults(runtime, &lock, &bundled)?;
    for fault in &faults {
        println!("{fault}");
    }
    if !faults.is_empty() {
        bail!("{} faults in {}", faults.len(), runtime.join(DIRECTORY).display());
    }
    println!("{} optional wheels: as locked", lock.files.len());
    Ok(())
}

fn faults(runtime: &Path, lock: &Lock, bundled: &Lock) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let present = present(runtime)?;
    let locked: BTreeSet<String> = lock.files.iter().map(|entry| entry.file.clone()).collect();
    faults.extend(present.difference(&locked).map(|file| format!("{file}: not in the lock")));
    faults.extend(locked.difference(&present).map(|file| format!("{file}: missing")));
    let mut pinned = origins(Registry::Pypi, &runtime.join(SOURCES))?;
    pinned.extend(origins(Registry::Debian, &runtime.join("recipes/toolchain.txt"))?);
    let mut names: BTreeSet<String> = BTreeSet::new();
    names.extend(lock.files.iter().chain(&bundled.files).map(|entry| wheel::normalized(&entry.name)));
    for entry in lock.files.iter().filter(|entry| present.contains(&entry.file)) {
        if let Err(error) = check(runtime, entry, &names) {
            faults.push(format!("{}: {error:#}", entry.file));
        }
        let unknown = entry.origin.iter().filter(|origin| !pinned.contains(origin));
        faults
            .extend(unknown.map(|origin| format!("{}: the recipes do not pin its origin {}", entry.file, origin.file)));
    }
    Ok(faults)
}

fn check(runtime: &Path, entry: &Entry, names: &BTreeSet<String>) -> Result<()> {
    let fresh = describe(runtime, &entry.file)?;
    ensure!(fresh.sha256 == entry.sha256, "SHA-256 {}, locked {}", fresh.sha256, entry.sha256);
    ensure!(fresh.size == entry.size, "{} bytes, locked {}", fresh.size, entry.size);
    ensure!(fresh.name == entry.name && fresh.version == entry.version, "the lock has another name or version");
    ensure!(fresh.import_names == entry.import_names, "the lock has other import_names");
    ensure!(fresh.requires == entry.requires, "the lock has other requires");
    ensure!(!entry.licence.is_empty(), "no licence in the lock");
    let source = entry.origin.iter().find(|origin| origin.from == Registry::Pypi);
    let source = source.context("no PyPI file among its origins")?;
    let stem = wheel::normalized(&format!("{}-{}", entry.name, entry.version));
    ensure!(wheel::normalized(&source.file).starts_with(&stem), "made from {}, another version", source.file);
    for required in &entry.requires {
        ensure!(names.contains(required), "it requires {required}, which is neither here nor in the bundle");
    }
    let path = runtime.join(DIRECTORY).join(&entry.file);
    Wheel::open(&path)?.verify(&wheel::file_name(&entry.file)?)
}

fn present(runtime: &Path) -> Result<BTreeSet<String>> {
    let directory = runtime.join(DIRECTORY);
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != LOCK_NAME && !name.ends_with(".md") {
            files.insert(name);
        }
    }
    Ok(files)
}

fn describe(runtime: &Path, file: &str) -> Result<Entry> {
    let path = runtime.join(DIRECTORY).join(file);
    let data = std::fs::read(&path)?;
    let wheel = Wheel::open(&path)?;
    let sha256 = bundle::sha256_hex(&data);
    let mut origin = Vec::new();
    if wheel::is_pure(file) {
        // It ships as published.
        origin.push(Origin { from: Registry::Pypi, file: file.to_owned(), sha256: sha256.clone() });
    }
    Ok(Entry {
        name: wheel.header("Name").context("METADATA has no Name")?.to_owned(),
        version: wheel.header("Version").context("METADATA has no Version")?.to_owned(),
        kind: Kind::Wheel,
        file: file.to_owned(),
        sha256,
        size: data.len() as u64,
        licence: wheel.header("License-Expression").unwrap_or_default().to_owned(),
        import_names: wheel.import_names(),
        requires: wheel.requires()?,
        origin,
    })
}

/// The entries of a list in sha256sum's format; lines of other kinds are passed over.
fn origins(from: Registry, path: &Path) -> Result<Vec<Origin>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    Ok(lines.map(|(sha256, file)| Origin { from, file: file.to_owned(), sha256: sha256.to_owned() }).collect())
}
