//! Tests of the packages, made of a small binary.

use std::collections::BTreeMap;
use std::io::Read as _;

use super::*;

/// A release of a program that is no real one.
pub(super) fn release() -> Release {
    let (program, bundle_file) = (b"a program".to_vec(), b"packages");
    Release {
        architecture: Architecture::Aarch64,
        version: "1.2.3".to_owned(),
        time: 7,
        bundle_start: program.len(),
        binary: [&program[..], bundle_file].concat(),
        packages: 133,
        documents: vec![("NOTICE", b"text".to_vec()), ("README.md", b"text".to_vec())],
        completions: Vec::new(),
        manual: Vec::new(),
    }
}

/// Returns the files of a zip archive: mode and content.
fn unzipped(path: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut files = BTreeMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        files.insert(file.name().unwrap().into_owned(), (file.unix_mode().unwrap() & 0o777, bytes));
    }
    files
}

/// Returns the files of a gzipped tar archive.
fn untarred(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(entry.path().unwrap().display().to_string(), bytes);
    }
    files
}

#[test]
fn the_wheel_of_the_program_requires_that_of_its_packages() {
    let out = tempfile::tempdir().unwrap();
    let program = wheel::program(&release(), "org.example/brumate", out.path()).unwrap();
    let bundle = wheel::bundle(&release(), out.path()).unwrap();
    let tags = "py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64";
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(name(&program), format!("brumate-1.2.3-{tags}.whl"));
    assert_eq!(name(&bundle), format!("brumate_bundle-1.2.3-{tags}.whl"));

    let (program, bundle) = (unzipped(&program), unzipped(&bundle));
    assert_eq!(program["brumate-1.2.3.data/scripts/brumate"], (0o755, b"a program".to_vec()));
    assert_eq!(bundle["brumate_bundle/brumate.bundle"], (0o644, b"packages".to_vec()));
    assert!(bundle.contains_key("brumate_bundle/__init__.py") && !program.contains_key("brumate_bundle/__init__.py"));
    let text = |files: &BTreeMap<String, (u32, Vec<u8>)>, name: &str| String::from_utf8(files[name].1.clone()).unwrap();
    let metadata = text(&program, "brumate-1.2.3.dist-info/METADATA");
    assert!(metadata.contains("\nName: brumate\n") && metadata.contains("\nRequires-Dist: brumate-bundle==1.2.3\n"));
    let metadata = text(&bundle, "brumate_bundle-1.2.3.dist-info/METADATA");
    assert!(metadata.contains("\nName: brumate-bundle\n") && metadata.contains("Summary: The 133 packages"));
    assert!(!metadata.contains("Requires-Dist"), "{metadata}");
    assert!(!bundle.contains_key("brumate_bundle-1.2.3.dist-info/entry_points.txt"));
    for (files, stem) in [(&program, "brumate-1.2.3"), (&bundle, "brumate_bundle-1.2.3")] {
        let record = text(files, &format!("{stem}.dist-info/RECORD"));
        assert_eq!(record.lines().count(), files.len(), "{record}");
        assert!(files.contains_key(&format!("{stem}.dist-info/licenses/NOTICE")));
    }
}

#[test]
fn the_npm_package_of_the_program_requires_that_of_its_packages() {
    let out = tempfile::tempdir().unwrap();
    let program = untarred(&npm::program(&release(), out.path()).unwrap());
    let bundle = untarred(&npm::bundle(&release(), out.path()).unwrap());
    let manifest = |files: &BTreeMap<String, Vec<u8>>| -> serde_json::Value {
        serde_json::from_slice(&files["package/package.json"]).unwrap()
    };
    assert_eq!(
        (&program["package/brumate"][..], &bundle["package/brumate.bundle"][..]),
        (&b"a program"[..], &b"packages"[..])
    );
    let bundle = manifest(&bundle);
    assert_eq!(manifest(&program)["dependencies"], serde_json::json!({bundle["name"].as_str().unwrap(): "1.2.3"}));
    assert_eq!(bundle["name"], "@brumate/bundle-linux-arm64");
    assert_eq!((&bundle["version"], &bundle["cpu"][0]), (&"1.2.3".into(), &"arm64".into()));
}

#[test]
fn what_is_one_file_has_the_whole_binary() {
    let out = tempfile::tempdir().unwrap();
    let whole = release().binary;
    let archive = untarred(&archive::make(&release(), out.path()).unwrap());
    assert_eq!(archive["brumate-1.2.3-aarch64-linux/brumate"], whole);
    let bundle = unzipped(&mcp::bundle(&release(), out.path()).unwrap());
    assert_eq!(bundle["server/brumate"], (0o755, whole.clone()));
    let debian = std::fs::read(debian::make(&release(), out.path()).unwrap()).unwrap();
    let data = debian.windows(16).position(|name| name == b"data.tar.gz     ").unwrap() + 60;
    std::fs::write(out.path().join("data"), &debian[data..]).unwrap();
    let files = untarred(&out.path().join("data"));
    let program = files.iter().find(|(path, _)| path.ends_with("usr/bin/brumate")).unwrap();
    assert_eq!(*program.1, whole);
}

#[test]
fn a_file_beyond_its_limit_is_refused_with_its_size() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("brumate-1.whl");
    let file = std::fs::File::create(&path).unwrap();
    // The wheel that PyPI did not take.
    file.set_len(104_865_831).unwrap();
    let text = check_size(&path, MAX_PYPI_BYTES, "a file on PyPI").unwrap_err().to_string();
    for part in ["brumate-1.whl has 104865831 bytes, 8231 more", "100 MiB for a file on PyPI"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    file.set_len(MAX_PYPI_BYTES).unwrap();
    check_size(&path, MAX_PYPI_BYTES, "a file on PyPI").unwrap();
    check_size(&path, MAX_PROGRAM_BYTES, "a package of the program").unwrap_err();
}
