//! Layers: mounting, merging, reading, copying up.

use std::sync::Arc;

use zip::CompressionMethod::{Deflated, Stored};

use super::support::{archive, vfs, vfs_with};
use crate::limits::PAGE;
use crate::{Conflict, MountError, MountOptions, OpenFlags as O, VfsConfig, Wheel, Whence};
use brumate_abi::errno::Errno;

#[test]
fn several_archives_merge_into_one_directory() {
    let mut vfs = vfs();
    let one = archive(&[("ns/a.py", b"1"), ("one-1.0.dist-info/RECORD", b"")], Deflated);
    let two = archive(&[("ns/b.py", b"2"), ("ns/sub/c.py", b"3")], Deflated);
    let site = b"/lib/site-packages";
    let options = MountOptions { read_only: true, ..MountOptions::default() };
    vfs.mount_archive(site, b"one", &one, &options).unwrap();
    vfs.mount_archive(site, b"two", &two, &options).unwrap();
    assert_eq!(vfs.names("/lib/site-packages/ns").unwrap(), ["a.py", "b.py", "sub"]);
    assert_eq!(vfs.read_file_up_to("/lib/site-packages/ns/sub/c.py", 9).unwrap(), b"3");
    let (a, c) =
        (vfs.stat(b"/lib/site-packages/ns/a.py").unwrap(), vfs.stat(b"/lib/site-packages/ns/sub/c.py").unwrap());
    assert_eq!(a.dev, c.dev);
    assert_ne!(a.ino, c.ino);
    assert_ne!(a.dev, vfs.stat(b"/tmp").unwrap().dev);
    vfs.check().unwrap();
}

#[test]
fn conflicts_are_refused_replaced_or_kept_and_a_refusal_changes_nothing() {
    let old = archive(&[("a", b"old"), ("d/f", b"old")], Stored);
    let new = archive(&[("b", b"new"), ("d/f", b"new")], Stored);
    for (conflict, wanted) in [(Conflict::Replace, &b"new"[..]), (Conflict::Keep, b"old")] {
        let mut vfs = vfs();
        vfs.mount_archive(b"/m", b"old", &old, &MountOptions::default()).unwrap();
        vfs.mount_archive(b"/m", b"new", &new, &MountOptions { conflict, ..MountOptions::default() }).unwrap();
        assert_eq!(vfs.read_file_up_to("/m/d/f", 9).unwrap(), wanted);
        assert_eq!(vfs.read_file_up_to("/m/b", 9).unwrap(), b"new");
        vfs.check().unwrap();
    }
    let mut vfs = vfs();
    vfs.mount_archive(b"/m", b"old", &old, &MountOptions::default()).unwrap();
    let refused = vfs.mount_archive(b"/m", b"new", &new, &MountOptions::default());
    assert_eq!(refused, Err(MountError::Conflict { path: "d/f".to_owned() }));
    assert_eq!(vfs.names("/m").unwrap(), ["a", "d"]);
    // A file never replaces a directory, and a directory never replaces a file.
    let options = MountOptions { conflict: Conflict::Replace, ..MountOptions::default() };
    let clash = archive(&[("d", b"")], Stored);
    assert!(matches!(vfs.mount_archive(b"/m", b"clash", &clash, &options), Err(MountError::Conflict { .. })));
    let clash = archive(&[("a/x", b"")], Stored);
    assert!(matches!(vfs.mount_archive(b"/m", b"clash", &clash, &options), Err(MountError::Conflict { .. })));
    assert!(matches!(vfs.mount_archive(b"/m/a", b"clash", &clash, &options), Err(MountError::Target { .. })));
    vfs.check().unwrap();
}

#[test]
fn a_prefix_can_be_stripped() {
    let mut vfs = vfs();
    let wheel =
        archive(&[("p.data/purelib/m.py", b"1"), ("p.data/purelibx", b"2"), ("p.data/scripts/s", b"3")], Stored);
    let options = MountOptions { strip: b"p.data/purelib".to_vec(), ..MountOptions::default() };
    vfs.mount_archive(b"/site", b"p", &wheel, &options).unwrap();
    assert_eq!(vfs.names("/site").unwrap(), ["m.py"]);
}

#[test]
fn a_layers_file_is_copied_up_by_the_first_write_and_only_then_charged() {
    let content: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    for method in [Stored, Deflated] {
        let mut vfs = vfs();
        let before = vfs.usage();
        vfs.mount_archive(b"/m", b"layer", &archive(&[("f", &content)], method), &MountOptions::default()).unwrap();
        let reader = vfs.open("/m/f", O::RDONLY).unwrap();
        let writer = vfs.open("/m/f", O::RDWR).unwrap();
        let mut buf = [0; 100];
        vfs.pread(reader, 50_000, &mut buf).unwrap();
        assert_eq!(buf[..], content[50_000..50_100]);
        assert_eq!(vfs.usage(), before, "opening and reading cost nothing");
        vfs.pwrite(writer, 99_999, b"zz").unwrap();
        assert_eq!(vfs.usage().bytes, 100_001u64.div_ceil(PAGE) * PAGE);
        let mut all = content.clone();
        all.truncate(99_999);
        all.extend(b"zz");
        assert_eq!(vfs.read_file_up_to("/m/f", 1 << 20).unwrap(), all, "seen through the name");
        assert_eq!(vfs.seek(reader, 0, Whence::End), Ok(100_001), "and through what was open before");
        vfs.unlink("/m/f").unwrap();
        vfs.close(reader).unwrap();
        vfs.close(writer).unwrap();
        assert_eq!(vfs.usage(), before);
    }
}

#[test]
fn a_copy_that_does_not_fit_changes_nothing_and_truncating_copies_only_what_stays() {
    let config = VfsConfig { quota_bytes: 10 * PAGE, ..VfsConfig::default() };
    let mut vfs = vfs_with(&config);
    let content = [3; 100_000];
    vfs.mount_archive(b"/m", b"layer", &archive(&[("f", &content)], Deflated), &MountOptions::default()).unwrap();
    let fd = vfs.open("/m/f", O::RDWR).unwrap();
    assert_eq!(vfs.write(fd, b"x"), Err(Errno::ENOSPC));
    assert_eq!(vfs.usage().bytes, 0);
    assert_eq!(vfs.read_file_up_to("/m/f", 1 << 20).unwrap(), content);
    vfs.ftruncate(fd, 5).unwrap();
    assert_eq!(vfs.usage().bytes, PAGE);
    assert_eq!(vfs.read_file_up_to("/m/f", 1 << 20).unwrap(), [3; 5]);
    let fd = vfs.open("/m/f", O::RDWR | O::TRUNC).unwrap();
    assert_eq!((vfs.fstat(fd).unwrap().size, vfs.usage().bytes), (0, 0));
}

#[test]
fn an_entry_larger_than_the_cache_is_still_read() {
    let config = VfsConfig { inflate_cache_bytes: 10, ..VfsConfig::default() };
    let mut vfs = vfs_with(&config);
    let (a, b) = ([1; 300_000], [2; 300_000]);
    vfs.mount_archive(b"/m", b"layer", &archive(&[("a", &a), ("b", &b)], Deflated), &MountOptions::default()).unwrap();
    let (a_fd, b_fd) = (vfs.open("/m/a", O::RDONLY).unwrap(), vfs.open("/m/b", O::RDONLY).unwrap());
    let mut buf = [0; 100_000];
    for _ in 0..3 {
        assert_eq!(vfs.read(a_fd, &mut buf), Ok(100_000));
        assert!(buf.iter().all(|&byte| byte == 1));
        assert_eq!(vfs.read(b_fd, &mut buf), Ok(100_000));
        assert!(buf.iter().all(|&byte| byte == 2));
    }
    assert_eq!(vfs.read(a_fd, &mut buf), Ok(0));
}

#[test]
fn corrupt_data_is_an_input_output_error() {
    let content: Vec<u8> = (0..2000u32).flat_map(|n| n.to_le_bytes()).collect();
    let mut bytes = super::support::zip(&[("a", &content)], Deflated);
    bytes[100] ^= 0x55;
    let mut vfs = vfs();
    let archive = crate::Archive::new(Arc::new(bytes)).unwrap();
    vfs.mount_archive(b"/m", b"layer", &archive, &MountOptions::default()).unwrap();
    assert_eq!(vfs.read_file_up_to("/m/a", 1 << 20), Err(Errno::EIO));
    let fd = vfs.open("/m/a", O::RDWR).unwrap();
    assert_eq!(vfs.write(fd, b"x"), Err(Errno::EIO));
    vfs.check().unwrap();
}

#[test]
fn uploads_are_files_over_bytes_that_stay_where_they_are() {
    let mut vfs = vfs();
    vfs.mount_file(b"/home/user/data.csv", b"upload-1", Arc::new(b"a,b\n"), 0o644).unwrap();
    assert_eq!(vfs.stat(b"/home/user/data.csv").unwrap().mode, 0o100_644);
    vfs.mount_file(b"/home/user/data.csv", b"upload-2", Arc::new(b"c,d\n".to_vec()), 0o600).unwrap();
    assert_eq!(vfs.read_file_up_to("/home/user/data.csv", 9).unwrap(), b"c,d\n");
    let fd = vfs.open("/home/user/data.csv", O::WRONLY | O::APPEND).unwrap();
    vfs.write(fd, b"e,f\n").unwrap();
    assert_eq!(vfs.read_file_up_to("/home/user/data.csv", 9).unwrap(), b"c,d\ne,f\n");
    assert_eq!(vfs.read_file_up_to("/home/user/data.csv", 7), Err(Errno::EFBIG));
    for path in [&b"/home/user"[..], b"/home/..", b"/", b"/dev/null/x"] {
        assert!(matches!(vfs.mount_file(path, b"x", Arc::new([]), 0o644), Err(MountError::Target { .. })));
    }
    vfs.check().unwrap();
}

#[test]
fn changed_files_are_found_exactly() {
    let mut vfs = super::support::vfs_at_standstill();
    vfs.mount_file(b"/home/user/old", b"upload", Arc::new(b"1"), 0o644).unwrap();
    vfs.write_file(b"/home/user/d/kept", b"1").unwrap();
    let mark = vfs.last_change();
    vfs.write_file(b"/home/user/d/new", b"22").unwrap();
    let fd = vfs.open("/home/user/old", O::WRONLY | O::APPEND).unwrap();
    vfs.write(fd, b"2").unwrap();
    let (found, more) = vfs.changed_files(mark, None, 10);
    let paths: Vec<_> = found.iter().map(|file| (&file.path[..], file.size)).collect();
    assert_eq!((paths, more), (vec![("/home/user/d/new", 2), ("/home/user/old", 2)], 0));
    let (found, more) = vfs.changed_files(mark, None, 1);
    assert_eq!((&found[0].path[..], found.len(), more), ("/home/user/d/new", 1, 1));
    assert_eq!(vfs.changed_files(mark, Some(b"/home/user/d"), 10).0[0].path, "/home/user/old");
    let mark = vfs.last_change();
    assert_eq!(vfs.changed_files(mark, None, 10), (vec![], 0));
    vfs.rename("/home/user/d/kept", "/home/user/moved").unwrap();
    vfs.write_file(b"/home/user/.cache/x", b"1").unwrap();
    vfs.write_file(b"/home/user/__pycache__/x.pyc", b"1").unwrap();
    let found = vfs.changed_files(mark, Some(b"/nowhere"), 10).0;
    assert_eq!(found.iter().map(|file| &file.path[..]).collect::<Vec<_>>(), ["/home/user/moved"]);
    vfs.write_file(b"/sealed/x", b"1").unwrap();
    vfs.seal(b"/sealed").unwrap();
    assert_eq!(vfs.changed_files(mark, None, 10).0.len(), 1);
    let mark = vfs.last_change();
    let files = [("w-1.dist-info/RECORD", &b""[..]), ("w-1.data/data/share/x", b"1"), ("w-1.data/data/share/y", b"1")];
    let wheel = Wheel { name: b"w".to_vec(), archive: archive(&files, Deflated), bytecode: None };
    vfs.mount_wheel(b"/packages", &wheel).unwrap();
    vfs.write_file(b"/share/y", b"2").unwrap();
    let found = vfs.changed_files(mark, None, 10).0;
    assert_eq!(found.iter().map(|file| &file.path[..]).collect::<Vec<_>>(), ["/share/y"]);
}
