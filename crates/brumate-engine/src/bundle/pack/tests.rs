//! Tests of the unpacked bundle.

use std::io::{Cursor, Write};

use sha2::{Digest, Sha256};

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

/// A pack of archives as the build makes it: a whole one.
fn packed(archives: &[Vec<u8>]) -> (Packed, Vec<std::ops::Range<usize>>) {
    let (packed, ranges, _) = split(archives, false);
    (packed, ranges)
}

/// A pack of archives as the build makes it, the first of the core and the others of the packages; and the bundle file if it is split.
fn split(archives: &[Vec<u8>], is_split: bool) -> (Packed, Vec<std::ops::Range<usize>>, Vec<u8>) {
    let mut pack = packer::Pack::default();
    let parts = std::iter::once(packer::Part::Core).chain(std::iter::repeat(packer::Part::Packages));
    let ranges =
        parts.zip(archives).map(|(part, archive)| pack.add_archive(part, archive, &|_| true).unwrap()).collect();
    let (length, made) = pack.finish(1).unwrap();
    let (mut inside, mut outside, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for frame in made {
        let is_apart = is_split && frame.part == packer::Part::Packages;
        let bytes = if is_apart { &mut outside } else { &mut inside };
        let (start, sha256) = (bytes.len(), Sha256::digest(&frame.packed).into());
        bytes.extend(frame.packed);
        frames.push(Frame { is_apart, start, end: bytes.len(), length: frame.length, sha256 });
    }
    let mark = Mark { sha256: Sha256::digest(&outside).into(), length: outside.len() as u64 };
    outside.extend(mark.to_bytes());
    let apart = is_split.then_some(mark);
    (Packed { bytes: inside.leak(), frames: frames.leak(), length, key: "", apart }, ranges, outside)
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
    unpack(&packed, None, &file).unwrap();
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

/// A program and its bundle file make the same image as a whole program.
#[test]
fn a_split_pack_needs_its_bundle_file_and_no_other() {
    let archives = [archive(&[("os.py", b"os = 1")]), archive(&[("a.py", b"a = 1"), ("b.so", &[7; 5000])])];
    let (whole, _) = packed(&archives);
    let (packed, _, bundle_file) = split(&archives, true);
    assert!(packed.frames.iter().any(|frame| frame.is_apart) && packed.frames.iter().any(|frame| !frame.is_apart));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("any name");
    let image = |packed: &Packed, bundle_file: Option<&BundleFile>| {
        let file = tempfile::tempfile().unwrap();
        unpack(packed, bundle_file, &file).map(|()| Unpacked::new(file, packed).unwrap().mapped.bytes().to_vec())
    };
    std::fs::write(&path, &bundle_file).unwrap();
    let found = bundle_file::find(packed.apart.as_ref(), Some(&path)).unwrap().unwrap();
    assert_eq!(image(&packed, Some(&found)).unwrap(), image(&whole, None).unwrap());
    assert!(bundle_file::find(whole.apart.as_ref(), Some(&path)).unwrap().is_none(), "a whole program looks for none");

    // One bit of the frames, under the mark that is right.
    let mut damaged = bundle_file.clone();
    damaged[9] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    let found = bundle_file::find(packed.apart.as_ref(), Some(&path)).unwrap().unwrap();
    let error = image(&packed, Some(&found)).unwrap_err();
    assert!(matches!(error, UnpackError::File(BundleError::Unusable { .. })), "{error}");
    let (_, _, other) = split(&archives[..1], true);
    std::fs::write(&path, other).unwrap();
    bundle_file::find(packed.apart.as_ref(), Some(&path)).unwrap_err();
}

#[test]
fn a_damaged_pack_is_an_error() {
    let (mut packed, _) = packed(&[archive(&[("a.py", b"a")])]);
    packed.bytes = &packed.bytes[..packed.bytes.len() - 1];
    let Frame { length, sha256, .. } = packed.frames[0];
    packed.frames = vec![Frame { is_apart: false, start: 0, end: packed.bytes.len(), length, sha256 }].leak();
    unpack(&packed, None, &tempfile::tempfile().unwrap()).unwrap_err();
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
