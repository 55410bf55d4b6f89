//! Tests of the unpacked bundle.

use std::io::{Cursor, Write};

use super::*;

#[allow(dead_code, clippy::disallowed_methods, reason = "the build script's module")]
#[path = "../../../build/pack.rs"]
mod packer;

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A pack of archives as the build makes it.
fn packed(archives: &[Vec<u8>]) -> (Packed, Vec<std::ops::Range<usize>>) {
    let mut pack = packer::Pack::default();
    let ranges = archives.iter().map(|archive| pack.add_archive(archive, &|_| true).unwrap()).collect();
    let (length, made) = pack.finish(1).unwrap();
    let (mut bytes, mut frames) = (Vec::new(), Vec::new());
    for frame in made {
        let start = bytes.len();
        bytes.extend(frame.packed);
        frames.push(Frame { start, end: bytes.len(), length: frame.length });
    }
    (Packed { bytes: bytes.leak(), frames: frames.leak(), length, key: "" }, ranges)
}

#[test]
fn unpacked_archives_hold_what_was_packed() {
    let noise: Vec<u8> = (0..100_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let wheel: &[(&str, &[u8])] =
        &[("a/b.py", b"b = 1"), ("a/c.so", &noise), ("a/__init__.py", b""), ("a-1.dist-info/RECORD", b"x")];
    let bytecode: &[(&str, &[u8])] =
        &[("a/__pycache__/b.cpython-314.pyc", b"b = 1, compiled"), ("z/__pycache__/z.cpython-314.pyc", b"z")];
    let (packed, ranges) = packed(&[archive(wheel), archive(bytecode)]);
    let file = tempfile::tempfile().unwrap();
    unpack(&packed, &file).unwrap();
    let unpacked = Unpacked::new(file, &packed).unwrap();
    for (range, entries) in ranges.into_iter().zip([wheel, bytecode]) {
        assert_eq!(range.start % 4096, 0);
        let bytes = unpacked.mapped.bytes()[range].to_vec();
        let read = brumate_vfs::Archive::new(std::sync::Arc::new(bytes)).unwrap();
        let names: Vec<&[u8]> = read.files().map(|(name, _)| name).collect();
        assert_eq!(names, entries.iter().map(|(name, _)| name.as_bytes()).collect::<Vec<_>>());
        for (name, content) in entries {
            assert_eq!(read.read(name.as_bytes()).unwrap().as_deref(), Some(*content), "{name}");
        }
    }
}

#[test]
fn a_damaged_pack_is_an_error() {
    let (mut packed, _) = packed(&[archive(&[("a.py", b"a")])]);
    packed.bytes = &packed.bytes[..packed.bytes.len() - 1];
    let cut = [Frame { start: 0, end: packed.bytes.len(), length: packed.frames[0].length }];
    packed.frames = Vec::from(cut).leak();
    unpack(&packed, &tempfile::tempfile().unwrap()).unwrap_err();
    let file = tempfile::tempfile().unwrap();
    assert!(scatter(&[9, 0, 0, 0, 1], &file).is_none());
    Unpacked::new(file, &packed).unwrap_err();
}

#[test]
fn only_what_nobody_used_for_long_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let old = SystemTime::now() - KEPT_UNUSED - NOTED_EVERY;
    let now = SystemTime::now();
    for (name, time) in [("old.bundle", old), ("old.other", old), ("new.bundle", now), (".unpacking-a", now)] {
        File::create(directory.path().join(name)).unwrap().set_modified(time).unwrap();
    }
    note_use(&File::open(directory.path().join("old.other")).unwrap());
    remove_unused(directory.path());
    let left =
        ["old.bundle", "old.other", "new.bundle", ".unpacking-a"].map(|name| directory.path().join(name).exists());
    assert_eq!(left, [false, true, true, false]);
    let age = std::fs::metadata(directory.path().join("old.other")).unwrap().modified().unwrap().elapsed();
    assert!(age.unwrap() < NOTED_EVERY, "its use is noted");
}
