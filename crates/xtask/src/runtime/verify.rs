//! `cargo xtask runtime verify`: the files against the lock and against themselves.

use super::bundle;
use super::lock_file::{Entry, FileKind, LOCK_VERSION, Lock, Origin, Registry};
use super::pyc;
use super::wheel::{self, Wheel};
use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read as _};
use std::path::Path;

/// Checks the bundle in `runtime`; reports every fault found, then fails if there was one.
pub(crate) fn run(runtime: &Path) -> Result<()> {
    let lock = Lock::load(runtime)?;
    let faults = faults(runtime, &lock)?;
    for fault in &faults {
        println!("{fault}");
    }
    if !faults.is_empty() {
        bail!("{} faults in {}", faults.len(), runtime.display());
    }
    let size: u64 = lock.files.iter().map(|entry| entry.size).sum();
    println!("{} files, {size} bytes: as locked", lock.files.len());
    Ok(())
}

fn faults(runtime: &Path, lock: &Lock) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    if lock.version != LOCK_VERSION {
        faults.push(format!("the lock has version {}, not {LOCK_VERSION}", lock.version));
    }
    let present = bundle::files(runtime)?;
    let mut locked = BTreeSet::new();
    for entry in &lock.files {
        if !locked.insert(entry.file.clone()) {
            faults.push(format!("{}: two entries in the lock", entry.file));
        }
    }
    faults.extend(present.difference(&locked).map(|file| format!("{file}: not in the lock")));
    faults.extend(locked.difference(&present).map(|file| format!("{file}: missing")));
    let present_entries = || lock.files.iter().filter(|entry| present.contains(&entry.file));
    let pinned = pinned_sources(runtime)?;
    let mut pycache = Pycache::default();
    if let Some(entry) = present_entries().find(|entry| entry.kind == FileKind::Pycache) {
        pycache.members = bundle::read_zip(&runtime.join(&entry.file))?;
    }
    for entry in present_entries() {
        if let Err(error) = check(runtime, lock, entry, &mut pycache) {
            faults.push(format!("{}: {error:#}", entry.file));
        }
        let unknown = entry
            .origin
            .iter()
            .filter(|origin| matches!(origin.from, Registry::Pypi | Registry::Debian) && !pinned.contains(*origin));
        faults
            .extend(unknown.map(|origin| format!("{}: the recipes do not pin its origin {}", entry.file, origin.file)));
    }
    if faults.is_empty() {
        // A faulty wheel accounts for none of its bytecode: only now is the rest astray.
        let stray = pycache.members.keys().filter(|name| !pycache.used.contains(*name));
        faults.extend(stray.map(|name| format!("{name}: bytecode of no module in a wheel")));
    }
    Ok(faults)
}

/// The sources that the recipes fetch by digest, and those whose digests they recorded.
fn pinned_sources(runtime: &Path) -> Result<Vec<Origin>> {
    let recipes = runtime.join("recipes");
    let mut sources = Vec::new();
    for (from, list) in
        [(Registry::Pypi, "sources.sha256"), (Registry::Debian, "toolchain.txt"), (Registry::Debian, "fonts.sha256")]
    {
        let path = recipes.join(list);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // sha256sum's format; the record of the tools has lines of other kinds too.
        let lines = text.lines().filter_map(|line| line.split_once("  "));
        sources.extend(lines.map(|(sha256, file)| Origin { from, file: file.to_owned(), sha256: sha256.to_owned() }));
    }
    Ok(sources)
}

/// The bytecode of the wheels that have none inside, and which of it some wheel's module accounts for.
#[derive(Default)]
struct Pycache {
    members: BTreeMap<String, Vec<u8>>,
    used: BTreeSet<String>,
}

fn check(runtime: &Path, lock: &Lock, entry: &Entry, pycache: &mut Pycache) -> Result<()> {
    let path = runtime.join(&entry.file);
    let data = std::fs::read(&path)?;
    ensure!(data.len() as u64 == entry.size, "{} bytes, locked {}", data.len(), entry.size);
    let digest = bundle::sha256_hex(&data);
    ensure!(digest == entry.sha256, "SHA-256 {digest}, locked {}", entry.sha256);
    ensure!(!entry.licence.is_empty(), "no licence in the lock");
    ensure!(!entry.origin.is_empty(), "no origin in the lock");
    for origin in &entry.origin {
        check_origin(runtime, lock, origin)?;
    }
    match entry.kind {
        FileKind::Interpreter => interpreter_files(&data).map(drop),
        FileKind::Stdlib => check_stdlib(runtime, lock, &data),
        FileKind::Pycache => Ok(()), // each member is checked with its wheel
        FileKind::Wheel => check_wheel(&path, lock, entry, pycache),
    }
}

fn check_origin(runtime: &Path, lock: &Lock, origin: &Origin) -> Result<()> {
    let digits = origin.sha256.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
    ensure!(digits && origin.sha256.len() == 64, "origin {}: no SHA-256", origin.file);
    if origin.from == Registry::Bundle {
        let source = lock.files.iter().find(|entry| entry.file == origin.file);
        let source = source.with_context(|| format!("made from {}, which is absent", origin.file))?;
        ensure!(source.sha256 == origin.sha256, "made from another {} than the one locked: rebuild it", origin.file);
    }
    if origin.from == Registry::Own {
        let source = std::fs::read(runtime.join(&origin.file)).with_context(|| format!("no {}", origin.file))?;
        let digest = bundle::sha256_hex(&source);
        ensure!(origin.sha256 == digest, "made from another {} than the one there: rebuild it", origin.file);
    }
    Ok(())
}

/// The files of the npm package the engine needs, by name inside `package/`.
fn interpreter_files(tarball: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut archive = tar::Archive::new(GzDecoder::new(tarball));
    for member in archive.entries()? {
        let mut member = member?;
        let path = member.path()?.to_string_lossy().into_owned();
        let Some(name) = path.strip_prefix("package/") else {
            continue;
        };
        if ["pyodide.asm.wasm", "python_stdlib.zip", "package.json"].contains(&name) {
            let mut data = Vec::new();
            member.read_to_end(&mut data)?;
            found.insert(name.to_owned(), data);
        }
    }
    ensure!(found.len() == 3, "the package lacks a file: only {:?}", found.keys());
    Ok(found)
}

/// Every published file unchanged, plus bytecode for every module, and nothing else.
fn check_stdlib(runtime: &Path, lock: &Lock, data: &[u8]) -> Result<()> {
    let interpreter = lock.files.iter().find(|entry| entry.kind == FileKind::Interpreter);
    let interpreter = interpreter.context("the lock has no interpreter")?;
    let package = interpreter_files(&std::fs::read(runtime.join(&interpreter.file))?)?;
    let published = bundle::read_archive(Cursor::new(&package["python_stdlib.zip"]))?;
    let mut ours = bundle::read_archive(Cursor::new(data))?;
    for (name, source) in &published {
        ensure!(ours.remove(name).as_ref() == Some(source), "{name} differs from the package's");
        if name.ends_with(".py") {
            let name = pyc::name(name);
            let bytecode = ours.remove(&name).with_context(|| format!("no {name}"))?;
            pyc::check(&name, &bytecode, source)?;
        }
    }
    ensure!(ours.is_empty(), "not in the package: {:?}", ours.keys());
    Ok(())
}

fn check_wheel(path: &Path, lock: &Lock, entry: &Entry, pycache: &mut Pycache) -> Result<()> {
    let base = entry.file.strip_prefix("wheels/").context("a wheel outside wheels/")?;
    let name = wheel::file_name(base)?;
    let wheel = Wheel::open(path)?;
    wheel.verify(&name)?;
    ensure!(wheel.header("Name") == Some(entry.name.as_str()), "the lock has another name");
    ensure!(wheel.header("Version") == Some(entry.version.as_str()), "the lock has another version");
    ensure!(wheel.import_names() == entry.import_names, "the lock has other import_names");
    ensure!(!entry.import_names.is_empty(), "it provides no module");
    ensure!(wheel.requires()? == entry.requires, "the lock has other requires");
    // A wheel of our own has no other source of its name.
    if entry.origin.iter().all(|origin| origin.from != Registry::Own) {
        let source = entry.origin.iter().find(|origin| origin.from == Registry::Pypi);
        let source = source.context("no PyPI file among its origins")?;
        let stem = wheel::normalized(&format!("{}-{}", entry.name, entry.version));
        ensure!(wheel::normalized(&source.file).starts_with(&stem), "made from {}, another version", source.file);
    }
    for required in &entry.requires {
        let mut wheels = lock.files.iter().filter(|other| other.kind == FileKind::Wheel);
        let found = wheels.any(|other| wheel::normalized(&other.name) == *required);
        ensure!(found, "it requires {required}, which is not in the bundle");
    }
    pycache.used.append(&mut wheel.check_bytecode(&pycache.members)?);
    Ok(())
}

#[cfg(test)]
mod tests;
