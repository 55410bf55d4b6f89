//! Wheels made for the purpose: what is read from them and which faults are found.

use super::*;
use std::io::Write as _;
use zip::write::SimpleFileOptions;

const METADATA: &str = "\
Metadata-Version: 2.1
Name: Demo.Package
Version: 1.0
License: a text
  that goes on
Requires-Dist: python-dateutil>=2.8.2
Requires-Dist: Zope.Interface [extra] ; python_version >= \"3.14\"
Requires-Dist: colorama; sys_platform == \"win32\"
Requires-Dist: pytest>=7; extra == \"test\"

Requires-Dist: from-the-description
";

const WHEEL: &str = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\n";

/// The members of a sound wheel, without RECORD.
fn sound() -> Vec<(&'static str, &'static str)> {
    vec![
        ("demo/__init__.py", "x = 1\n"),
        ("demo/data.json", "{}"),
        ("demo_ns/inner/mod.py", ""),
        ("_demo.cpython-314-wasm32-emscripten.so", "\0asm"),
        ("single.py", ""),
        ("assets/logo.svg", "<svg/>"),
        ("demo_package-1.0.data/data/share/page.1", ""),
        ("demo_package-1.0.data/purelib/late.py", ""),
        ("demo_package-1.0.dist-info/METADATA", METADATA),
        ("demo_package-1.0.dist-info/WHEEL", WHEEL),
        ("demo_package-1.0.dist-info/licenses/LICENSE", "do what you like"),
    ]
}

fn record(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    super::record(&members, "demo_package-1.0.dist-info/RECORD")
}

fn wheel_with(members: &[(&str, &str)], record: &str) -> Wheel {
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    let mut archive = zip::ZipWriter::new(file.reopen().expect("reopened"));
    let record = ("demo_package-1.0.dist-info/RECORD", record);
    for (name, text) in members.iter().chain([&record]) {
        archive.start_file(*name, SimpleFileOptions::default()).expect("member");
        archive.write_all(text.as_bytes()).expect("written");
    }
    archive.finish().expect("finished");
    Wheel::open(file.path()).expect("readable")
}

const FILE: &str = "demo_package-1.0-py2.py3-none-any.whl";

fn fault(members: &[(&str, &str)], record: &str) -> String {
    let wheel = wheel_with(members, record);
    let error = wheel.verify(&file_name(FILE).expect("a wheel's name"));
    error.expect_err("a fault is found").to_string()
}

#[test]
fn file_names_are_split_at_their_hyphens() {
    let name = file_name("numpy-2.4.6-cp314-cp314-pyemscripten_2026_0_wasm32.whl").expect("valid");
    assert_eq!((name.name, name.version), ("numpy", "2.4.6"));
    assert_eq!(name.tag, "cp314-cp314-pyemscripten_2026_0_wasm32");
    for wrong in ["numpy-2.4.6.tar.gz", "numpy-2.4.6-py3-none.whl", "a-1-1build-py3-none-any.whl"] {
        assert!(file_name(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn names_and_requirements_come_from_files_and_metadata() {
    let wheel = wheel_with(&sound(), &record(&sound()));
    assert_eq!(wheel.import_names(), ["_demo", "demo", "demo_ns", "late", "single"]);
    assert_eq!(wheel.requires().expect("markers understood"), ["python-dateutil", "zope-interface"]);
    assert_eq!(wheel.header("license"), Some("a text\nthat goes on"));
}

/// Returns what a wheel requires whose one requirement has the marker.
fn required_if(marker: &str) -> Result<Vec<String>> {
    let mut members = sound();
    let metadata = format!("Name: Demo.Package\nVersion: 1.0\nRequires-Dist: other ; {marker}\n");
    members[8].1 = &metadata;
    wheel_with(&members, "").requires()
}

#[test]
fn markers_seen_in_wheels_decide_what_is_required() {
    for (marker, expected) in [
        ("sys_platform == \"emscripten\"", true),
        ("sys_platform == \"win32\"", false),
        ("python_version >= '3.14'", true),
        ("python_version < \"3.14\"", false),
        ("python_version > '3.9'", true),
        ("python_version >= '3.14rc1'", true),
        ("python_version ~= '3.9'", true),
        ("python_full_version >= '3.14.2' and python_full_version < '3.15'", true),
        ("extra == 'test'", false),
        ("(os_name == 'nt' or sys_platform != 'win32') and extra != 'test'", true),
        ("'linux' in sys_platform", false),
        ("platform_machine not in 'x86_64 aarch64'", true),
    ] {
        let names = required_if(marker).expect(marker);
        assert_eq!(names, if expected { vec!["other"] } else { vec![] }, "{marker}");
    }
}

#[test]
fn a_marker_that_is_not_understood_is_an_error() {
    for marker in [
        "",
        "python_version",
        "python_version >=",
        "colour == 'red'",
        "os_name == 'posix' junk",
        "(os_name == 'posix'",
        "os_name === 'posix",
    ] {
        assert!(required_if(marker).is_err(), "{marker}");
    }
}

#[test]
fn declared_import_names_are_preferred() {
    let mut members = sound();
    let metadata = "Name: Demo.Package\nVersion: 1.0\nImport-Name: demo\nImport-Name: _demo ; private\n";
    members[8].1 = metadata;
    assert_eq!(wheel_with(&members, "").import_names(), ["_demo", "demo"]);
}

#[test]
fn a_sound_wheel_passes() {
    let wheel = wheel_with(&sound(), &record(&sound()));
    wheel.verify(&file_name(FILE).expect("valid")).expect("no fault");
}

#[test]
fn a_wheel_that_differs_from_its_record_is_refused() {
    let sound = sound();
    let mut changed = sound.clone();
    changed[0].1 = "x = 2\n";
    assert_eq!(fault(&changed, &record(&sound)), "demo/__init__.py differs from RECORD");
    assert!(fault(&sound, &record(&sound[1..])).starts_with("not in RECORD"));
    assert!(fault(&sound[1..], &record(&sound)).contains("absent or named twice"));
}

#[test]
fn a_wheel_that_contradicts_its_name_is_refused() {
    for (index, text, part) in [
        (8, "Name: other\nVersion: 1.0\n", "METADATA says Name other"),
        (8, "Name: demo-package\nVersion: 1.1\n", "METADATA says Version 1.1"),
        (9, "Wheel-Version: 1.0\nTag: py3-none-any\n", "WHEEL has the tags"),
    ] {
        let mut members = sound();
        members[index].1 = text;
        let fault = fault(&members, &record(&members));
        assert!(fault.contains(part), "{fault}");
    }
}

#[test]
fn a_wheel_without_licence_text_is_refused() {
    let mut members = sound();
    members.retain(|(name, _)| !name.ends_with("LICENSE"));
    assert!(fault(&members, &record(&members)).contains("no licence text"));
}

#[test]
fn every_module_needs_bytecode_of_its_own_source() {
    let wheel = wheel_with(&sound(), &record(&sound()));
    assert!(wheel.check_bytecode(&BTreeMap::new()).is_err());
    let mut elsewhere = BTreeMap::new();
    for (name, source) in sound() {
        let name = name.strip_prefix("demo_package-1.0.data/purelib/").unwrap_or(name);
        if name.ends_with(".py") {
            elsewhere.insert(pyc::name(name), pyc::sample(source.as_bytes()));
        }
    }
    let used = wheel.check_bytecode(&elsewhere).expect("complete");
    assert_eq!(used.len(), elsewhere.len());
    elsewhere.insert(pyc::name("single.py"), pyc::sample(b"other = 1\n"));
    assert!(wheel.check_bytecode(&elsewhere).is_err());
}
