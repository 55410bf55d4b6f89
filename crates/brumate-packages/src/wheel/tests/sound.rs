//! What build tools make.

use super::builder::{Entry, Wheel};
use super::{accept, name};
use crate::wheel::{NativeFormat, Scheme, collisions, verify};

fn package() -> Vec<Entry> {
    vec![
        Entry::deflated("demo/__init__.py", b"x = 1\n"),
        Entry::stored("demo/empty.py", b""),
        Entry::deflated("demo/zeros.bin", &[0; 200_000]),
    ]
}

#[test]
fn contents_are_listed() {
    let mut entries = package();
    entries.push(Entry::directory("demo/data"));
    entries.push(Entry::stored("demo/_native.cpython-314-wasm32-emscripten.so", b"\0asm\x01\0\0\0"));
    entries.push(Entry::stored("top.py", b""));
    entries.push(Entry::deflated("demo_pkg-1.2.data/purelib/demo/more.py", b"y = 2\n"));
    entries.push(Entry::deflated("demo_pkg-1.2.data/scripts/run", b"#!python\n"));
    entries.push(Entry::deflated("demo_pkg-1.2.data/data/share/man/demo.1", b".TH\n"));
    entries.push(Entry::deflated("demo_pkg-1.2.dist-info/entry_points.txt", b"[console_scripts]\nrun = demo:main\n"));
    let wheel = Wheel::new(entries);
    let contents = accept(&wheel);
    let summary = &contents.summary;
    assert_eq!(summary.distribution(), ("Demo.Pkg", "1.2"));
    assert_eq!(summary.import_names, ["demo", "top"]);
    assert_eq!(summary.entry_points[0].value, "demo:main");
    assert_eq!(summary.library_directories, ["demo_pkg-1.2.data/purelib"]);
    assert_eq!(summary.native_modules.len(), 1);
    assert_eq!(summary.native_modules[0].format, NativeFormat::Wasm);
    assert_eq!((summary.bytes, summary.file_count), (wheel.build().len() as u64, 12));
    assert!(summary.unpacked_bytes > 200_000 && summary.wheel.root_is_purelib);
    let file = |path: &str| contents.files.iter().find(|file| file.path == path).unwrap();
    let moved = file("demo_pkg-1.2.data/purelib/demo/more.py");
    assert_eq!((moved.site_packages_path(), moved.size), (Some("demo/more.py"), 6));
    let script = file("demo_pkg-1.2.data/scripts/run");
    assert_eq!((script.scheme, script.site_packages_path(), script.scheme_path()), (Scheme::Scripts, None, "run"));
    assert_eq!(file("demo/empty.py").sha256[..2], [0xe3, 0xb0]);
    assert!(contents.files.is_sorted_by(|a, b| a.path < b.path));
}

#[test]
fn data_descriptors_and_zip64_are_read() {
    for (wide, signed) in [(false, false), (false, true), (true, false), (true, true)] {
        let entry = Entry::deflated("demo/__init__.py", b"x = 1\n");
        let mut after = if signed { b"PK\x07\x08".to_vec() } else { Vec::new() };
        after.extend_from_slice(&entry.central.crc.to_le_bytes());
        for number in [entry.central.packed, entry.central.size] {
            after.extend_from_slice(&number.to_le_bytes());
            after.extend_from_slice(if wide { &[0; 4] } else { &[] });
        }
        let streamed = entry.both(|header| header.flags |= 8).with(|entry| {
            entry.after = after;
            (entry.local.crc, entry.local.packed, entry.local.size) = (0, 0, 0);
        });
        accept(&Wheel::new(vec![streamed]));
    }
    // As Python's zipfile writes with force_zip64.
    let roomy = Entry::stored("demo/a.py", b"abc").with(|entry| {
        (entry.local.packed, entry.local.size) = (u32::MAX, u32::MAX);
        entry.local.extra = [&[1, 0, 16, 0][..], &3_u64.to_le_bytes(), &3_u64.to_le_bytes()].concat();
    });
    accept(&Wheel::new(vec![roomy]));
    let central = Entry::stored("demo/a.py", b"abc").with(|entry| {
        entry.central.size = u32::MAX;
        entry.central.extra = [&[1, 0, 8, 0][..], &3_u64.to_le_bytes()].concat();
    });
    accept(&Wheel::new(vec![central]));
    accept(&Wheel::new(package()).with(|wheel| wheel.end.zip64 = true));
}

#[test]
fn harmless_differences_are_accepted() {
    accept(&Wheel::new(vec![]));
    accept(&Wheel::new(package()).with(|wheel| wheel.metadata = wheel.metadata.replace("1.2", "v1.2.0")));
    accept(&Wheel::new(package()).with(|wheel| wheel.dist_info = "Demo.Pkg-1.2.dist-info".to_owned()));
    accept(&Wheel::new(vec![Entry::deflated("demo/größe.txt", b"x")]));
    accept(&Wheel::new(vec![Entry::stored("demo_pkg-1.2.dist-info/RECORD.jws", b"{}")]));
    accept(&Wheel::new(package()).with(|wheel| wheel.record = |record| record.replace('\n', "\r\n")));
    // Vendored projects keep their metadata below the package.
    accept(&Wheel::new(vec![Entry::stored("demo/_vendor/six-1.17.0.dist-info/METADATA", b"x")]));
    let build = "demo_pkg-1.2-3-py3-none-any.whl".parse().unwrap();
    assert!(verify(&Wheel::new(package()).build()[..], &build).is_ok());
}

#[test]
fn wheels_of_the_bundle_are_accepted() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime/wheels");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let contents = verify(&std::fs::File::open(&path).unwrap(), &name).unwrap_or_else(|error| panic!("{error}"));
        assert!(contents.summary.native_modules.iter().all(|module| module.format == NativeFormat::Wasm));
        assert!(!contents.summary.import_names.is_empty(), "{name}");
        count += 1;
    }
    assert!(count >= 30);
    assert_eq!(name().to_string(), super::FILE_NAME);
}

#[test]
fn wheels_that_get_in_each_others_way() {
    let files = |entries: Vec<Entry>| accept(&Wheel::new(entries)).files;
    let one =
        files(vec![Entry::stored("ns/a.py", b"1"), Entry::stored("tests/__init__.py", b""), Entry::stored("x", b"")]);
    let two = files(vec![
        Entry::stored("ns/b.py", b"1"),
        Entry::stored("demo_pkg-1.2.data/platlib/ns/a.py", b"2"),
        Entry::stored("tests/__init__.py", b""),
        Entry::stored("x/y.py", b""),
    ]);
    let found = collisions([("one", &one[..]), ("two", &two[..])]);
    let of = |path: &str| found.iter().find(|collision| collision.path == path).map(|collision| collision.is_same);
    assert_eq!(of("ns/a.py"), Some(false));
    assert_eq!(of("tests/__init__.py"), Some(true));
    assert_eq!(of("x"), Some(false));
    assert_eq!([of("ns"), of("ns/b.py"), of("tests")], [None; 3], "namespaces are shared");
    assert_eq!(found[0].wheels, ["one", "two"]);
    assert_eq!(collisions([("one", &one[..])]), []);
}
