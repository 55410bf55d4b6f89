//! `cargo xtask runtime lock`: the lock from the files.

use super::bundle;
use super::lock_file::{Entry, FileKind, HEADER, LOCK_NAME, LOCK_VERSION, Lock, Origin, Registry};
use super::wheel::{self, Wheel};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Regenerates the lock of the bundle in `runtime`.
///
/// A licence is kept from the old entry of the same project and kind, else taken from the wheel's
/// `License-Expression`. The origins of compiled wheels are kept likewise.
pub(crate) fn run(runtime: &Path) -> Result<()> {
    let old = if runtime.join(LOCK_NAME).exists() { Lock::load(runtime)? } else { Lock::default() };
    let kept: BTreeMap<(FileKind, String), Entry> =
        old.files.into_iter().map(|entry| ((entry.kind, wheel::normalized(&entry.name)), entry)).collect();
    let mut files = Vec::new();
    let mut without_bytecode = BTreeSet::new();
    for file in bundle::files(runtime)? {
        let (mut entry, has_bytecode) = describe(runtime, &file).with_context(|| file.clone())?;
        if entry.kind == FileKind::Wheel && !has_bytecode {
            without_bytecode.insert(file.clone());
        }
        if let Some(old) = kept.get(&(entry.kind, wheel::normalized(&entry.name))) {
            if !old.licence.is_empty() {
                entry.licence.clone_from(&old.licence);
            }
            // A pure wheel of our own does not ship as somebody published it.
            let own = old.origin.iter().any(|origin| origin.from == Registry::Own);
            if own || entry.origin.is_empty() {
                entry.origin.clone_from(&old.origin);
            }
        }
        files.push(entry);
    }
    derive_origins(&mut files, &without_bytecode);
    for entry in &files {
        if entry.licence.is_empty() || entry.origin.is_empty() {
            println!("{}: set its licence and origin in {LOCK_NAME}", entry.file);
        }
    }
    let count = files.len();
    let lock = Lock { version: LOCK_VERSION, files };
    std::fs::write(runtime.join(LOCK_NAME), lock.render(HEADER))?;
    println!("{LOCK_NAME}: {count} files");
    Ok(())
}

/// Sets the origins of the archives that are made from other files of the bundle.
fn derive_origins(files: &mut [Entry], without_bytecode: &BTreeSet<String>) {
    let sources = |wanted: &dyn Fn(&Entry) -> bool| -> Vec<Origin> {
        let sources = files.iter().filter(|entry| wanted(entry));
        sources.map(|entry| published(Registry::Bundle, &entry.file, &entry.sha256)).collect()
    };
    let package = sources(&|entry| entry.kind == FileKind::Interpreter);
    let compiled = sources(&|entry| without_bytecode.contains(&entry.file));
    for entry in files {
        match entry.kind {
            FileKind::Stdlib => entry.origin.clone_from(&package),
            FileKind::Pycache => entry.origin.clone_from(&compiled),
            FileKind::Interpreter | FileKind::Wheel => {}
        }
    }
}

/// Returns the entry of one file with what the file itself says, and whether it is a wheel with bytecode inside.
fn describe(runtime: &Path, file: &str) -> Result<(Entry, bool)> {
    let path = runtime.join(file);
    let data = std::fs::read(&path)?;
    let mut entry = Entry {
        name: String::new(),
        version: String::new(),
        kind: FileKind::Wheel,
        file: file.to_owned(),
        sha256: bundle::sha256_hex(&data),
        size: data.len() as u64,
        licence: String::new(),
        import_names: Vec::new(),
        requires: Vec::new(),
        origin: Vec::new(),
    };
    if let Some(base) = file.strip_prefix("wheels/") {
        let wheel = Wheel::open(&path)?;
        entry.name = wheel.header("Name").context("METADATA has no Name")?.to_owned();
        entry.version = wheel.header("Version").context("METADATA has no Version")?.to_owned();
        entry.licence = wheel.header("License-Expression").unwrap_or_default().to_owned();
        entry.import_names = wheel.import_names();
        entry.requires = wheel.requires()?;
        if wheel::is_pure(file) {
            // It ships as published.
            entry.origin.push(published(Registry::Pypi, base, &entry.sha256));
        }
        return Ok((entry, wheel.has_bytecode()));
    }
    let (kind, name, version) = match file.strip_suffix(".tgz").and_then(|s| s.rsplit_once('-')) {
        Some((name, version)) => (FileKind::Interpreter, name, version),
        None if file == "python_stdlib.zip" => (FileKind::Stdlib, "python-stdlib", PYTHON_VERSION),
        None if file == "pycache-site.zip" => (FileKind::Pycache, "pycache-site", PYTHON_VERSION),
        None => bail!("no kind is known for this file"),
    };
    if kind == FileKind::Interpreter {
        entry.origin.push(published(Registry::Npm, file, &entry.sha256));
    }
    entry.kind = kind;
    entry.name = name.to_owned();
    entry.version = version.to_owned();
    Ok((entry, false))
}

/// An origin; for a file that ships as published, the file itself.
fn published(from: Registry, file: &str, sha256: &str) -> Origin {
    Origin { from, file: file.to_owned(), sha256: sha256.to_owned() }
}

/// CPython's version in the interpreter's npm package.
const PYTHON_VERSION: &str = "3.14.2";
