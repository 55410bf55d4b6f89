//! A small bundle of its own, locked, then damaged in every way the lock must notice.

use super::*;
use crate::runtime::{lock, lock_file::LOCK_NAME, pyc};
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;
use zip::write::SimpleFileOptions;

const WHEEL: &str = "wheels/demo-1.0-py3-none-any.whl";

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in members {
        archive.start_file(*name, SimpleFileOptions::default()).expect("member");
        archive.write_all(data).expect("written");
    }
    archive.finish().expect("finished").into_inner()
}

fn package(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, data) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *data).expect("appended");
    }
    archive.into_inner().and_then(GzEncoder::finish).expect("compressed")
}

fn wheel(source: &[u8]) -> Vec<u8> {
    let metadata = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nLicense-Expression: MIT\n";
    let mut members: Vec<(&str, &[u8])> = vec![
        ("demo.py", source),
        ("demo-1.0.dist-info/METADATA", metadata),
        ("demo-1.0.dist-info/WHEEL", b"Tag: py3-none-any\n"),
        ("demo-1.0.dist-info/LICENSE", b"do what you like"),
    ];
    let record = crate::runtime::wheel::record(&members, "demo-1.0.dist-info/RECORD");
    members.push(("demo-1.0.dist-info/RECORD", record.as_bytes()));
    zip(&members)
}

/// A sound bundle with its lock: one module in the library, one pure wheel.
fn bundle() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("temporary directory");
    let runtime = directory.path();
    std::fs::create_dir(runtime.join("wheels")).expect("created");
    let library = zip(&[("this.py", b"import that\n")]);
    let package = package(&[
        ("package/pyodide.asm.wasm", b"\0asm"),
        ("package/python_stdlib.zip", &library),
        ("package/package.json", b"{}"),
    ]);
    let stdlib =
        zip(&[("this.py", b"import that\n"), ("__pycache__/this.cpython-314.pyc", &pyc::sample(b"import that\n"))]);
    let site = zip(&[("__pycache__/demo.cpython-314.pyc", &pyc::sample(b"x = 1\n"))]);
    for (file, data) in [
        ("pyodide-314.0.7.tgz", package),
        ("python_stdlib.zip", stdlib),
        ("pycache-site.zip", site),
        (WHEEL, wheel(b"x = 1\n")),
    ] {
        std::fs::write(runtime.join(file), data).expect("written");
    }
    std::fs::create_dir(runtime.join("recipes")).expect("created");
    let pin = format!("{}  {}\n", bundle::sha256_hex(&wheel(b"x = 1\n")), &WHEEL["wheels/".len()..]);
    std::fs::write(runtime.join("recipes/sources.sha256"), pin).expect("written");
    std::fs::write(runtime.join("recipes/toolchain.txt"), "# tools\nclang 21\n").expect("written");
    std::fs::write(runtime.join("recipes/fonts.sha256"), "").expect("written");
    lock::run(runtime).expect("locked");
    let path = runtime.join(LOCK_NAME);
    let text = std::fs::read_to_string(&path).expect("lock");
    std::fs::write(&path, text.replace("licence = \"\"", "licence = \"MPL-2.0\"")).expect("written");
    directory
}

/// The only fault after `damage`.
fn fault(damage: impl FnOnce(&Path)) -> String {
    let directory = bundle();
    damage(directory.path());
    let lock = Lock::load(directory.path()).expect("lock");
    let mut faults = faults(directory.path(), &lock).expect("checked");
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}

/// Puts `data` in a file's place and locks that.
fn replace(runtime: &Path, file: &str, data: &[u8]) {
    std::fs::write(runtime.join(file), data).expect("written");
    lock::run(runtime).expect("locked");
}

#[test]
fn a_sound_bundle_has_no_fault_and_keeps_its_licences_when_locked_again() {
    let directory = bundle();
    run(directory.path()).expect("sound");
    let before = std::fs::read_to_string(directory.path().join(LOCK_NAME)).expect("lock");
    lock::run(directory.path()).expect("locked");
    let after = std::fs::read_to_string(directory.path().join(LOCK_NAME)).expect("lock");
    assert_eq!(before, after);
    assert!(after.contains("licence = \"MPL-2.0\"") && after.contains("licence = \"MIT\""));
}

#[test]
fn files_and_entries_must_match() {
    let extra = fault(|runtime| std::fs::write(runtime.join("wheels/extra"), "").expect("written"));
    assert_eq!(extra, "wheels/extra: not in the lock");
    let changed = fault(|runtime| {
        let path = runtime.join("pyodide-314.0.7.tgz");
        let mut data = std::fs::read(&path).expect("read");
        data[4] ^= 1; // the gzip header's time: still readable
        std::fs::write(path, data).expect("written");
    });
    assert!(changed.contains("SHA-256"), "{changed}");
    let missing = fault(|runtime| {
        std::fs::remove_file(runtime.join(WHEEL)).expect("removed");
        let site = zip(&[]);
        replace_keeping_lock(runtime, &site);
    });
    assert_eq!(missing, format!("{WHEEL}: missing"));
}

/// An empty archive of bytecode, with the wheel's entry still in the lock.
fn replace_keeping_lock(runtime: &Path, site: &[u8]) {
    let path = runtime.join(LOCK_NAME);
    let text = std::fs::read_to_string(&path).expect("lock");
    let old = Lock::load(runtime).expect("lock");
    let entry = old.files.iter().find(|entry| entry.kind == FileKind::Pycache).expect("entry");
    let text = text.replace(&entry.sha256, &bundle::sha256_hex(site));
    let text = text.replace(&format!("size = {}", entry.size), &format!("size = {}", site.len()));
    std::fs::write(path, text).expect("written");
    std::fs::write(runtime.join(&entry.file), site).expect("written");
}

#[test]
fn bytecode_must_belong_to_its_source() {
    let stale = fault(|runtime| {
        let site = zip(&[("__pycache__/demo.cpython-314.pyc", &pyc::sample(b"x = 2\n"))]);
        replace(runtime, "pycache-site.zip", &site);
    });
    assert!(stale.contains("compiled from another source"), "{stale}");
    let stray = fault(|runtime| {
        let name = "__pycache__/demo.cpython-314.pyc";
        let sample = pyc::sample(b"x = 1\n");
        let site = zip(&[(name, &sample), ("__pycache__/gone.cpython-314.pyc", &sample)]);
        replace(runtime, "pycache-site.zip", &site);
    });
    assert!(stray.contains("bytecode of no module"), "{stray}");
}

#[test]
fn origins_must_be_what_the_recipes_fetch() {
    let other = fault(|runtime| {
        let pin = format!("{}  demo-1.0-py3-none-any.whl\n", "0".repeat(64));
        std::fs::write(runtime.join("recipes/sources.sha256"), pin).expect("written");
    });
    assert!(other.contains("do not pin its origin demo-1.0"), "{other}");
}

#[test]
fn the_library_must_be_the_published_one() {
    for (name, source) in [("this.py", &b"import os\n"[..]), ("more.py", b"import that\n")] {
        let fault = fault(|runtime| {
            let sample = pyc::sample(b"import that\n");
            let mut members: Vec<(&str, &[u8])> = vec![("__pycache__/this.cpython-314.pyc", &sample), (name, source)];
            if name != "this.py" {
                members.push(("this.py", b"import that\n"));
            }
            replace(runtime, "python_stdlib.zip", &zip(&members));
        });
        assert!(fault.starts_with("python_stdlib.zip: "), "{fault}");
    }
}
