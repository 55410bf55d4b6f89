//! Every kind of wheel that is refused: which file is named, and why.

use super::builder::{Entry, Wheel};
use super::{name, problem, refuse};
use crate::wheel::WheelProblem as P;
use crate::wheel::limits::{MAX_FILE_BYTES, MAX_WHEEL_BYTES, UNMEASURED_BYTES};
use crate::wheel::{ReadAt, verify};

fn good() -> Entry {
    Entry::deflated("demo/__init__.py", b"x = 1\n")
}

/// Returns the problem of a wheel with one more entry, which the error must name.
fn of(entry: Entry) -> P {
    let shown = entry.name();
    let (file, problem) = problem(&Wheel::new(vec![good(), entry]));
    let file = file.expect("a file is named");
    let plain = shown.chars().all(|character| !character.is_control() && character != '\u{fffd}');
    assert!(!plain || file.trim_end_matches('/') == shown.trim_end_matches('/'), "{file} {shown}");
    problem
}

/// Returns the problem of a wheel whose end record or surroundings were changed.
fn around(change: impl FnOnce(&mut super::builder::End)) -> P {
    problem(&Wheel::new(vec![good()]).with(|wheel| change(&mut wheel.end))).1
}

#[test]
fn names() {
    assert_eq!(of(Entry::stored("/etc/passwd", b"x")), P::AbsoluteName);
    assert_eq!(of(Entry::stored("C:/a", b"x")), P::AbsoluteName);
    assert_eq!(of(Entry::stored("../a", b"x")), P::PathTraversal);
    assert_eq!(of(Entry::stored("demo/../../a", b"x")), P::PathTraversal);
    assert_eq!(of(Entry::directory("..")), P::PathTraversal);
    for name in ["demo\\a", "demo/a\0.py", "demo//a", "./a", "demo/\u{1b}[2J"] {
        assert!(matches!(of(Entry::stored(name, b"x")), P::InvalidName(_)), "{name:?}");
    }
    let unmarked = Entry::stored("demo/ä", b"x").both(|header| header.flags = 0);
    assert!(matches!(of(unmarked), P::InvalidName(_)));
    let broken = Entry::stored("demo/a", b"x").both(|header| {
        header.name = b"demo/\xff".to_vec();
        header.flags = 1 << 11;
    });
    assert!(matches!(of(broken), P::InvalidName(_)));
    let renamed = Entry::stored("demo/a", b"x").with(|entry| entry.central.extra = vec![0x75, 0x70, 1, 0, 1]);
    assert_eq!(of(renamed), P::Feature("a second name"));
}

#[test]
fn one_name_twice() {
    assert_eq!(of(good()), P::Duplicate);
    assert_eq!(of(Entry::stored("demo", b"x")), P::Duplicate);
    assert_eq!(of(Entry::stored("demo/__init__.py/a", b"x")), P::Duplicate);
    assert_eq!(of(Entry::stored("demo/__INIT__.py", b"x")), P::CaseCollision("demo/__init__.py".to_owned()));
    assert_eq!(of(Entry::stored("Demo/a.py", b"x")), P::CaseCollision("demo".to_owned()));
    // Different names in the archive, one place in site-packages.
    assert_eq!(of(Entry::stored("demo_pkg-1.2.data/purelib/demo/__init__.py", b"x")), P::Duplicate);
    assert_eq!(of(Entry::stored("demo_pkg-1.2.data/platlib/demo", b"x")), P::Duplicate);
}

#[test]
fn what_is_no_file() {
    let typed = |mode: u32| Entry::stored("demo/link", b"/etc/passwd").with(|entry| entry.attributes = mode << 16);
    assert_eq!(of(typed(0o120_777)), P::Symlink);
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644, 0o040_755] {
        assert_eq!(of(typed(mode)), P::SpecialFile, "{mode:o}");
    }
    assert_eq!(of(Entry::stored("demo/x", b"").with(|entry| entry.attributes = 0x10)), P::SpecialFile);
    assert_eq!(of(Entry::directory("demo/x").with(|entry| entry.attributes = 0o120_777 << 16)), P::Symlink);
    assert_eq!(of(Entry::directory("demo/x").with(|entry| entry.attributes = 0o100_644 << 16)), P::SpecialFile);
    let full = Entry::stored("demo/x/", b"content").with(|entry| entry.attributes = 0);
    assert_eq!(of(full), P::SpecialFile);
}

#[test]
fn encryption_methods_and_flags() {
    for flag in [1, 1 << 6, 1 << 13] {
        assert_eq!(of(Entry::stored("demo/a", b"x").both(|header| header.flags = flag)), P::Encrypted);
    }
    assert_eq!(of(Entry::stored("demo/a", b"x").both(|header| header.flags = 1 << 5)), P::Feature("unknown flags"));
    for method in [1, 9, 12, 14, 93, 99] {
        assert_eq!(of(Entry::stored("demo/a", b"x").both(|header| header.method = method)), P::Method(method));
    }
}

#[test]
fn bombs_and_sizes() {
    let zeros = vec![0; 1 << 20];
    let stated = |size: u32| Entry::deflated("demo/a", &zeros).both(|header| header.size = size);
    assert!(matches!(of(stated(5 << 20)), P::Bomb { .. }));
    assert!(matches!(of(stated(MAX_FILE_BYTES as u32 + 1)), P::TooMuch { .. }));
    assert_eq!(of(stated((1 << 20) - 1)), P::Corrupt("longer than stated"));
    assert_eq!(of(stated(1000)), P::Corrupt("longer than stated"));
    assert_eq!(of(stated((1 << 20) + 1)), P::Corrupt("shorter than stated"));
    assert_eq!(
        of(Entry::stored("demo/a", b"abc").both(|header| header.size = 4)),
        P::Corrupt("stored, but its two sizes differ")
    );
    // Each file within its ratio, all of them together not.
    let many = (0..UNMEASURED_BYTES / (1 << 20) + 1).map(|index| Entry::deflated(&format!("demo/{index}"), &zeros));
    let refused = refuse(&Wheel::new(many.collect()));
    assert!(matches!(refused.problem, P::Bomb { .. }) && refused.to_string().contains("bomb"), "{refused}");
    let total = (0..6).map(|index| {
        let huge = Entry::stored(&format!("demo/{index}"), b"");
        huge.both(|header| (header.method, header.packed, header.size) = (8, 1 << 20, 200 << 20))
    });
    assert!(matches!(problem(&Wheel::new(total.collect())).1, P::TooMuch { .. }));
}

#[test]
fn a_wheel_that_is_too_large_is_not_read() {
    struct Huge;
    impl ReadAt for Huge {
        fn size(&self) -> std::io::Result<u64> {
            Ok(MAX_WHEEL_BYTES + 1)
        }
        fn read_exact_at(&self, _: &mut [u8], _: u64) -> std::io::Result<()> {
            panic!("nothing is read")
        }
    }
    assert!(matches!(verify(&Huge, &name()).unwrap_err().problem, P::TooMuch { .. }));
}

#[test]
fn data_that_is_shared_or_elsewhere() {
    // Quoted overlap: a file whose data holds another one's header and data.
    let inner = super::builder::zip(&[Entry::stored("demo/b", b"inner")], &Default::default());
    let inner = inner[..30 + 6 + 5].to_vec();
    let outer = Entry::stored("demo/a", &inner);
    let start = 30 + "demo/a".len() as u32;
    let ghost = Entry::stored("demo/b", b"inner").with(|entry| (entry.offset, entry.is_ghost) = (Some(start), true));
    let (file, what) = problem(&Wheel::new(vec![]).with(|wheel| wheel.entries = vec![outer, ghost]));
    assert_eq!((file.as_deref(), what), (Some("demo/b"), P::Extent));
    // The same data under two names.
    let twin = good().both(|header| header.name = b"demo/__2nit__.py".to_vec()).with(|entry| {
        (entry.offset, entry.is_ghost) = (Some(0), true);
    });
    assert!(matches!(problem(&Wheel::new(vec![good(), twin])).1, P::Extent));
    let outside = Entry::stored("demo/a", b"x").with(|entry| (entry.offset, entry.is_ghost) = (Some(1 << 30), true));
    assert!(matches!(problem(&Wheel::new(vec![good(), outside])).1, P::ForeignBytes(_) | P::Extent));
    let long = Entry::deflated("demo/a", b"x").both(|header| header.packed = 1 << 20);
    assert_eq!(problem(&Wheel::new(vec![good(), long])).1, P::Extent);
}

#[test]
fn headers_that_differ() {
    let differ = |change: fn(&mut super::builder::Header)| {
        of(Entry::deflated("demo/a.py", b"content").with(|entry| change(&mut entry.local)))
    };
    assert_eq!(differ(|header| header.name = b"demo/b.py".to_vec()), P::HeaderMismatch("name"));
    assert_eq!(differ(|header| header.method = 0), P::HeaderMismatch("method"));
    assert_eq!(differ(|header| header.flags = 1 << 11), P::HeaderMismatch("flags"));
    assert_eq!(differ(|header| header.crc ^= 1), P::HeaderMismatch("checksum"));
    assert_eq!(differ(|header| header.size += 1), P::HeaderMismatch("size"));
    assert_eq!(differ(|header| header.packed -= 1), P::HeaderMismatch("packed size"));
    assert_eq!(differ(|header| header.size = 0), P::HeaderMismatch("size"));
    assert!(matches!(differ(|header| header.extra = vec![1, 2, 3]), P::Feature(_)));
    let descriptor = Entry::deflated("demo/a.py", b"content").both(|header| header.flags |= 8);
    let lying = descriptor.clone().with(|entry| entry.after = vec![0; 12]);
    assert_eq!(of(lying), P::HeaderMismatch("data descriptor"));
    assert_eq!(of(descriptor), P::ForeignBytes("behind its data"));
}

#[test]
fn bytes_that_belong_to_no_file() {
    let other = Wheel::new(vec![good()]).build();
    let foreign = |problem: P| assert!(matches!(problem, P::ForeignBytes(_)), "{problem:?}");
    foreign(around(|end| end.prefix = b"#!/bin/sh\n".to_vec()));
    foreign(around(|end| end.prefix = other.clone()));
    foreign(around(|end| (end.prefix, end.later_directory) = (other.clone(), -(other.len() as i64))));
    foreign(around(|end| end.before_directory = b"hidden".to_vec()));
    foreign(around(|end| end.after_directory = b"hidden".to_vec()));
    foreign(around(|end| end.comment = b"a comment".to_vec()));
    foreign(around(|end| end.comment = other.clone()));
    foreign(around(|end| end.trailing = b"\0".to_vec()));
    let gap = Entry::stored("demo/a", b"x").with(|entry| entry.after = b"gap".to_vec());
    foreign(problem(&Wheel::new(vec![gap, good()])).1);
}

#[test]
fn end_records_that_lie() {
    assert!(matches!(around(|end| end.more_entries = 1), P::NotAnArchive(_)));
    assert!(matches!(around(|end| end.more_entries = -1), P::NotAnArchive(_)));
    assert!(matches!(around(|end| end.longer_directory = 1), P::NotAnArchive(_)));
    assert!(matches!(around(|end| end.later_directory = 1), P::NotAnArchive(_)));
    assert!(matches!(around(|end| end.disk = 1), P::NotAnArchive(_)));
    assert!(matches!(around(|end| (end.zip64, end.more_entries) = (true, 1 << 40)), P::TooMuch { .. }));
    assert!(matches!(around(|end| (end.zip64, end.longer_directory) = (true, 1 << 40)), P::TooMuch { .. }));
    assert!(matches!(around(|end| (end.zip64, end.later_directory) = (true, i64::MAX / 2)), P::NotAnArchive(_)));
    for bytes in [&b""[..], b"PK\x05\x06", &[0; 22], b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
        assert!(matches!(verify(bytes, &name()).unwrap_err().problem, P::NotAnArchive(_)), "{bytes:?}");
    }
}

#[test]
fn zip64_that_contradicts() {
    let bytes = Wheel::new(vec![good()]).with(|wheel| wheel.end.zip64 = true).build();
    let end = bytes.len() - 22;
    let patched = |at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        verify(&bytes[..], &name()).unwrap_err().problem
    };
    assert!(matches!(patched(end + 8, &[9, 0]), P::NotAnArchive(_)));
    assert_eq!(patched(end + 8, &[9, 0, 9, 0]), P::Zip64("the two end records differ"));
    assert_eq!(patched(end + 16, &[9, 0, 0, 0]), P::Zip64("the two end records differ"));
    assert!(matches!(patched(end - 20, b"XX"), P::Zip64(_)));
    assert!(matches!(patched(end - 12, &[0; 8]), P::Zip64(_)));
    assert!(matches!(patched(end - 76 + 4, &[45]), P::Zip64(_)));
    let field = |change: fn(&mut Entry)| of(Entry::stored("demo/a", b"abc").with(change));
    assert!(matches!(field(|entry| entry.central.size = u32::MAX), P::Zip64(_)));
    let unneeded = |entry: &mut Entry| entry.central.extra = [&[1, 0, 8, 0][..], &[9; 8]].concat();
    assert!(matches!(field(unneeded), P::Zip64(_)));
    let other = |entry: &mut Entry| {
        entry.central.size = u32::MAX;
        entry.central.extra = [&[1, 0, 8, 0][..], &4_u64.to_le_bytes()].concat();
    };
    assert_eq!(field(other), P::Corrupt("stored, but its two sizes differ"));
    let twice = |entry: &mut Entry| entry.central.extra = [1, 0, 0, 0, 1, 0, 0, 0].to_vec();
    assert_eq!(field(twice), P::Zip64("two fields"));
}

#[test]
fn corrupt_data() {
    let of_data = |change: fn(&mut Vec<u8>)| {
        of(Entry::deflated("demo/a", b"some content, some content").with(|entry| change(&mut entry.data)))
    };
    assert!(matches!(of_data(|data| data[0] ^= 0xff), P::Corrupt(_)));
    assert_eq!(of(Entry::stored("demo/a", b"abc").with(|entry| entry.data[0] = b'X')), P::Corrupt("wrong checksum"));
    let padded = Entry::deflated("demo/a", b"abc").with(|entry| {
        entry.data.push(0);
        entry.local.packed += 1;
        entry.central.packed += 1;
    });
    assert_eq!(of(padded), P::Corrupt("bytes behind its packed data"));
    let cut = Entry::deflated("demo/a", b"abc").with(|entry| {
        entry.data.pop();
        entry.local.packed -= 1;
        entry.central.packed -= 1;
    });
    assert_eq!(of(cut), P::Corrupt("its packed data ends too early"));
}

#[test]
fn own_files_missing_or_contradicting() {
    let with = |change: fn(&mut Wheel)| problem(&Wheel::new(vec![good()]).with(change));
    for missing in ["METADATA", "WHEEL", "RECORD"] {
        let (file, what) = problem(&Wheel::new(vec![good()]).with(|wheel| wheel.without = missing));
        assert_eq!((file.unwrap(), what), (format!("demo_pkg-1.2.dist-info/{missing}"), P::Missing));
    }
    let contradicts = |(file, problem): (Option<String>, P), field: &str| {
        assert!(
            file.is_some() && matches!(problem, P::Contradiction { field: found, .. } if found == field),
            "{problem:?}"
        );
    };
    contradicts(with(|wheel| wheel.metadata = wheel.metadata.replace("Demo.Pkg", "other")), "name");
    contradicts(with(|wheel| wheel.metadata = wheel.metadata.replace("1.2", "1.3")), "version");
    contradicts(with(|wheel| wheel.dist_info = "other-1.2.dist-info".to_owned()), "name");
    contradicts(with(|wheel| wheel.dist_info = "demo_pkg-1.3.dist-info".to_owned()), "version");
    contradicts(problem(&Wheel::new(vec![Entry::stored("other-1.2.data/purelib/a", b"")])), "name");
    assert_eq!(problem(&Wheel::new(vec![Entry::stored("other-1.2.dist-info/METADATA", b"")])).1, P::DistInfo(2));
    let hidden = Entry::stored("demo_pkg-1.2.data/purelib/pip-99.dist-info/METADATA", b"");
    assert_eq!(problem(&Wheel::new(vec![hidden])).1, P::DistInfo(2));
    assert!(matches!(with(|wheel| wheel.wheel = wheel.wheel.replace("1.0", "2.0")).1, P::Newer { .. }));
    assert!(matches!(with(|wheel| wheel.wheel = wheel.wheel.replace("true", "perhaps")).1, P::Syntax(_)));
    assert!(matches!(with(|wheel| wheel.metadata = wheel.metadata.replace("2.1", "3.0")).1, P::Newer { .. }));
    assert_eq!(of(Entry::stored("demo_pkg-1.2.data/etc/passwd", b"")), P::DataScheme);
    assert!(matches!(of(Entry::stored("demo_pkg-1.2.dist-info/entry_points.txt", b"x")), P::Syntax(_)));
    let archive = super::builder::zip(&[good()], &Default::default());
    assert_eq!(verify(&archive[..], &name()).unwrap_err().problem, P::DistInfo(0));
    let build = "demo_pkg-1.2-3-py3-none-any.whl".parse().unwrap();
    let other = Wheel::new(vec![good()]).with(|wheel| wheel.wheel.push_str("Build: 4\n"));
    assert!(matches!(verify(&other.build()[..], &build).unwrap_err().problem, P::Contradiction { field: "build", .. }));
}

#[test]
fn records_that_do_not_hold() {
    let with = |change: fn(String) -> String| problem(&Wheel::new(vec![good()]).with(|wheel| wheel.record = change));
    let file = |path: &str| Some(path.to_owned());
    let without_first: fn(String) -> String = |record| record.split_once('\n').unwrap().1.to_owned();
    assert_eq!(with(without_first), (file("demo/__init__.py"), P::Unlisted));
    let without_hash: fn(String) -> String =
        |record| format!("demo/__init__.py,,6\n{}", record.split_once('\n').unwrap().1);
    assert_eq!(with(without_hash), (file("demo/__init__.py"), P::Unlisted));
    assert_eq!(with(|record| format!("demo/gone.py,,\n{record}")), (file("demo/gone.py"), P::ListedMissing));
    assert_eq!(with(|record| format!("../../etc/passwd,,\n{record}")), (file("../../etc/passwd"), P::ListedMissing));
    assert_eq!(with(|record| record.replacen("sha256=", "sha256=A", 1)).0, file("demo_pkg-1.2.dist-info/RECORD"));
    let other_hash: fn(String) -> String = |record| {
        let (first, rest) = record.split_once('\n').unwrap();
        let (path, _) = first.split_once(",sha256=").unwrap();
        format!("{path},sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,6\n{rest}")
    };
    assert_eq!(with(other_hash), (file("demo/__init__.py"), P::RecordMismatch("hash")));
    assert_eq!(
        with(|record| record.replacen(",6\n", ",7\n", 1)),
        (file("demo/__init__.py"), P::RecordMismatch("size"))
    );
    assert!(matches!(with(|record| record.replacen("sha256=", "md5=", 1)).1, P::RecordLine { line: 1, .. }));
}

#[test]
fn texts_of_strangers_stay_readable() {
    let error = refuse(&Wheel::new(vec![Entry::stored(&format!("demo/\u{202e}{}", "a".repeat(400)), b"x")]));
    assert!(error.to_string().len() < 1000 && error.to_string().contains("\\u{202e}"), "{error}");
}
