//! Files between the server and the guest.

use super::hosts::{Fake, Thing};
use super::support::{vfs, vfs_at_standstill, vfs_with};
use crate::{OpenFlags as O, SetTime, Timestamp, Vfs, VfsConfig, at};
use brumate_abi::errno::Errno;

fn names(vfs: &mut Vfs, directory: &str) -> Vec<String> {
    vfs.list_files(directory.as_bytes(), 1000).unwrap().into_iter().map(|file| file.path).collect()
}

fn write(vfs: &mut Vfs, path: &str, content: &[u8]) {
    vfs.write_file_at(path.as_bytes(), 0, content, true).unwrap();
}

fn read(vfs: &mut Vfs, path: &str) -> Vec<u8> {
    vfs.read_file_at(path.as_bytes(), 0, 1 << 20).unwrap().0
}

#[test]
fn what_is_written_is_listed_and_read() {
    let mut vfs = vfs();
    write(&mut vfs, "/home/b/c.txt", b"hello");
    write(&mut vfs, "/home/b-c", b"");
    write(&mut vfs, "/home/a/../a/x", b"");
    for hidden in ["/home/.hidden", "/home/.git/config", "/home/b/__pycache__/m.pyc"] {
        write(&mut vfs, hidden, b"");
    }
    vfs.symlinkat(b"/home/b", at::FDCWD, b"/home/link").unwrap();
    vfs.symlinkat(b"c.txt", at::FDCWD, b"/home/b/link").unwrap();
    vfs.write_file_at(b"/home/\xff\xfe", 0, b"", true).unwrap();
    assert_eq!(names(&mut vfs, "/home"), ["a/x", "b-c", "b/c.txt"]);
    assert_eq!(names(&mut vfs, "/home/link/"), ["c.txt"]);
    let (bytes, size) = vfs.read_file_at(b"/home/./b/../b/link", 1, 3).unwrap();
    assert_eq!((&bytes[..], size), (&b"ell"[..], 5));
    assert_eq!(vfs.read_file_at(b"/home/b/c.txt", 5, 9).unwrap(), (Vec::new(), 5));
    assert_eq!(vfs.read_file_at(b"/home/b/c.txt", u64::MAX, usize::MAX).unwrap(), (Vec::new(), 5));
    assert_eq!(vfs.list_files(b"/home", 2), Err(Errno::EOVERFLOW));
    assert_eq!(vfs.list_files(b"/home/b/c.txt", 2), Err(Errno::ENOTDIR));
    assert_eq!(vfs.list_files(b"/home/none", 2), Err(Errno::ENOENT));
}

#[test]
fn pieces_are_put_together() {
    let mut vfs = vfs();
    write(&mut vfs, "/f", b"a longer text that was there before");
    write(&mut vfs, "/f", b"abc");
    vfs.write_file_at(b"/f", 3, b"def", false).unwrap();
    vfs.write_file_at(b"/f", 1, b"XY", false).unwrap();
    assert_eq!(read(&mut vfs, "/f"), b"aXYdef");
    vfs.write_file_at(b"/f", 4, b"!", true).unwrap();
    assert_eq!(read(&mut vfs, "/f"), b"aXYd!");
    vfs.write_file_at(b"/f", 7, b"", true).unwrap();
    assert_eq!(read(&mut vfs, "/f"), b"aXYd!\0\0");
    vfs.write_file_at(b"/empty", 0, b"", false).unwrap();
    assert_eq!(read(&mut vfs, "/empty"), b"");
}

#[test]
fn what_cannot_be_is_refused() {
    let mut vfs = vfs();
    vfs.mkdir("/d").unwrap();
    write(&mut vfs, "/f", b"1");
    assert_eq!(vfs.write_file_at(b"/d", 0, b"1", true), Err(Errno::EISDIR));
    assert_eq!(vfs.write_file_at(b"/f/x", 0, b"1", true), Err(Errno::ENOTDIR));
    assert_eq!(vfs.write_file_at(b"/dev/zero", 0, b"1", true), Err(Errno::EINVAL));
    assert_eq!(vfs.write_file_at(b"/f", u64::MAX, b"1", false), Err(Errno::EFBIG));
    assert_eq!(vfs.read_file_at(b"/dev/zero", 0, 1), Err(Errno::EINVAL));
    assert_eq!(vfs.read_file_at(b"/d", 0, 1), Err(Errno::EISDIR));
    assert_eq!(vfs.remove_file(b"/d"), Err(Errno::EISDIR));
    assert_eq!(vfs.remove_file(b"/none"), Err(Errno::ENOENT));
    assert_eq!(vfs.remove_tree(b"/f"), Err(Errno::ENOTDIR));
    assert_eq!(read(&mut vfs, "/f"), b"1");
}

#[test]
fn the_quota_holds() {
    let mut vfs = vfs_with(&VfsConfig { quota_bytes: 64 << 10, quota_inodes: 20, ..VfsConfig::default() });
    assert_eq!(vfs.write_file_at(b"/f", 0, &[1; 65 << 10], true), Err(Errno::ENOSPC));
    vfs.remove_file(b"/f").unwrap();
    write(&mut vfs, "/f", &[1; 64 << 10]);
    vfs.remove_file(b"/f").unwrap();
    let deep = "/d".repeat(30) + "/f";
    assert_eq!(vfs.write_file_at(deep.as_bytes(), 0, b"", true), Err(Errno::ENOSPC));
    vfs.remove_tree(b"/d").unwrap();
    assert_eq!(vfs.usage().inodes, 1);
}

#[test]
fn every_change_has_another_stamp() {
    let mut vfs = vfs_at_standstill();
    let stamp = |vfs: &mut Vfs| vfs.list_files(b"/h", 9).unwrap()[0].stamp;
    write(&mut vfs, "/h/f", b"1");
    let mut stamps = vec![stamp(&mut vfs)];
    assert_eq!(stamp(&mut vfs), stamps[0], "looking is no change");
    let changes: [fn(&mut Vfs); 4] = [
        |vfs| write(vfs, "/h/f", b"2"),
        |vfs| {
            let fd = vfs.open("/h/f", O::WRONLY).unwrap();
            vfs.write(fd, b"3").unwrap();
            vfs.close(fd).unwrap();
        },
        // The guest may set the times to what they were.
        |vfs| {
            let time = SetTime::To(Timestamp::default());
            vfs.utimensat(at::FDCWD, b"/h/f", time, time, 0).unwrap();
        },
        |vfs| {
            vfs.remove_file(b"/h/f").unwrap();
            write(vfs, "/h/f", b"3");
        },
    ];
    for change in changes {
        change(&mut vfs);
        stamps.push(stamp(&mut vfs));
    }
    let count = stamps.len();
    stamps.sort_unstable();
    stamps.dedup();
    assert_eq!(stamps.len(), count);
}

#[test]
fn a_tree_is_removed_and_the_directory_stays() {
    let mut vfs = vfs();
    write(&mut vfs, "/kept", b"1");
    write(&mut vfs, "/h/a/b/c", b"1");
    write(&mut vfs, "/h/.x", b"1");
    vfs.symlinkat(b"/kept", at::FDCWD, b"/h/link").unwrap();
    vfs.symlinkat(b"/", at::FDCWD, b"/h/root").unwrap();
    let before = vfs.usage().inodes;
    vfs.remove_tree(b"/h/a/..").unwrap();
    assert_eq!(vfs.usage().inodes, before - 6);
    assert!(vfs.stat(b"/h/a").is_err() && vfs.stat(b"/h").is_ok());
    assert_eq!(read(&mut vfs, "/kept"), b"1");
}

#[test]
fn what_is_sealed_stays() {
    let mut vfs = vfs();
    write(&mut vfs, "/h/sealed/f", b"1");
    write(&mut vfs, "/h/free", b"1");
    vfs.seal(b"/h/sealed").unwrap();
    assert_eq!(vfs.write_file_at(b"/h/sealed/f", 0, b"2", true), Err(Errno::EROFS));
    assert_eq!(vfs.write_file_at(b"/h/sealed/new/f", 0, b"2", true), Err(Errno::EROFS));
    assert_eq!(vfs.remove_tree(b"/h"), Err(Errno::EROFS));
    assert_eq!(names(&mut vfs, "/h"), ["sealed/f"]);
}

#[test]
fn grants_are_reached_by_name_only() {
    let host = Fake::new(&[
        ("f", Thing::File(b"host".to_vec())),
        ("d", Thing::Directory),
        ("d/g", Thing::File(b"".to_vec())),
        ("link", Thing::Link(b"/etc/passwd".to_vec())),
    ]);
    let mut vfs = vfs();
    vfs.mount_host(b"/h/host", Box::new(host.clone())).unwrap();
    write(&mut vfs, "/h/own", b"1");
    assert_eq!(names(&mut vfs, "/h"), ["own"]);
    assert_eq!(names(&mut vfs, "/h/host"), ["d/g", "f"]);
    assert_eq!(vfs.read_file_at(b"/h/host/f", 1, 2).unwrap(), (b"os".to_vec(), 4));
    assert_eq!(vfs.read_file_at(b"/h/host/link", 0, 2), Err(Errno::ENOENT));
    vfs.remove_tree(b"/h").unwrap();
    assert_eq!(names(&mut vfs, "/h/host"), ["d/g", "f"]);
    write(&mut vfs, "/h/host/new/n", b"new");
    write(&mut vfs, "/h/host/f", b"f");
    assert_eq!(read(&mut vfs, "/h/host/new/n"), b"new");
    assert_eq!(read(&mut vfs, "/h/host/f"), b"f");
    vfs.remove_file(b"/h/host/f").unwrap();
    assert_eq!(names(&mut vfs, "/h/host"), ["d/g", "new/n"]);
    vfs.remove_tree(b"/h/host").unwrap();
    assert_eq!(names(&mut vfs, "/h/host"), Vec::<String>::new());

    let mut vfs = super::support::vfs();
    vfs.mount_host(b"/h", Box::new(Fake { read_only: true, ..host })).unwrap();
    assert_eq!(vfs.write_file_at(b"/h/f", 0, b"1", true), Err(Errno::EROFS));
    assert_eq!(vfs.write_file_at(b"/h/new/f", 0, b"1", true), Err(Errno::EROFS));
}
