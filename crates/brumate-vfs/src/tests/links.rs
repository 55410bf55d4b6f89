//! Paths, symbolic links and their limits.

use super::support::vfs;
use crate::limits::{DIRECTORY_DEPTH_MAX, NAME_MAX, PATH_MAX, SYMLINKS_MAX};
use crate::{FileType, OpenFlags as O, at};
use brumate_abi::errno::Errno;

#[test]
fn forty_links_are_followed_and_no_more() {
    let mut vfs = vfs();
    vfs.chdir(b"/tmp").unwrap();
    vfs.write_file(b"/tmp/l0", b"end").unwrap();
    for n in 1..=SYMLINKS_MAX + 1 {
        vfs.symlink(&format!("l{}", n - 1), &format!("l{n}")).unwrap();
    }
    assert_eq!(vfs.read_file_up_to("/tmp/l40", 9).unwrap(), b"end");
    assert_eq!(vfs.read_file_up_to("/tmp/l41", 9), Err(Errno::ELOOP));
    vfs.symlink("b", "a").unwrap();
    vfs.symlink("a", "b").unwrap();
    assert_eq!(vfs.stat(b"a"), Err(Errno::ELOOP));
    assert_eq!(vfs.stat(b"a/x"), Err(Errno::ELOOP));
    assert_eq!(vfs.fstatat(at::FDCWD, b"a", at::SYMLINK_NOFOLLOW).unwrap().file_type(), FileType::Symlink);
}

#[test]
fn absolute_links_and_dots_stay_in_the_tree() {
    let mut vfs = vfs();
    vfs.write_file(b"/etc/passwd", b"guest's own").unwrap();
    vfs.mkdir("/tmp/d").unwrap();
    vfs.symlink("/etc", "/tmp/d/abs").unwrap();
    vfs.symlink("../../../../../../etc", "/tmp/d/up").unwrap();
    for path in
        ["/tmp/d/abs/passwd", "/tmp/d/up/passwd", "/../../etc/passwd", "//etc///passwd", "/tmp/d/abs/../etc/passwd"]
    {
        assert_eq!(vfs.read_file_up_to(path, 99).unwrap(), b"guest's own", "{path}");
    }
    vfs.symlink("/", "/tmp/root").unwrap();
    assert_eq!(vfs.rmdir("/tmp/root/"), Err(Errno::ENOTDIR));
    assert_eq!(vfs.stat(b"/tmp/root").unwrap().ino, vfs.stat(b"/").unwrap().ino);
    assert_eq!(vfs.mkdir("/tmp/root"), Err(Errno::EEXIST));
    assert_eq!(vfs.rmdir("/"), Err(Errno::EBUSY));
}

#[test]
fn names_and_paths_have_a_longest() {
    let mut vfs = vfs();
    vfs.chdir(b"/tmp").unwrap();
    vfs.mkdir(&"n".repeat(NAME_MAX)).unwrap();
    assert_eq!(vfs.mkdir(&"n".repeat(NAME_MAX + 1)), Err(Errno::ENAMETOOLONG));
    let longest = "./".repeat(PATH_MAX / 2 - 1) + "d";
    assert_eq!(longest.len(), PATH_MAX - 1);
    vfs.mkdir(&longest).unwrap();
    assert_eq!(vfs.mkdir(&(longest.clone() + "e")), Err(Errno::ENAMETOOLONG));
    assert_eq!(vfs.symlink(&"t".repeat(PATH_MAX), "l"), Err(Errno::ENAMETOOLONG));
    vfs.symlink(&"t".repeat(PATH_MAX - 1), "l").unwrap();
    assert_eq!(vfs.stat(b"l"), Err(Errno::ENAMETOOLONG), "the target's name, not the link, is too long");
    assert_eq!(vfs.mkdir(""), Err(Errno::ENOENT));
    assert_eq!(vfs.symlink("", "e"), Err(Errno::ENOENT));
}

#[test]
fn nesting_has_a_deepest() {
    let mut vfs = vfs();
    vfs.chdir(b"/tmp").unwrap();
    for _ in 1..DIRECTORY_DEPTH_MAX {
        vfs.mkdir("d").unwrap();
        vfs.chdir(b"d").unwrap();
    }
    assert_eq!(vfs.mkdir("d"), Err(Errno::ENAMETOOLONG));
    assert_eq!(vfs.getcwd(), Err(Errno::ENAMETOOLONG));
    vfs.write_file(b"file", b"files may still be here").unwrap();
    vfs.mkdir("/tmp/e").unwrap();
    vfs.mkdir("/tmp/e/f").unwrap();
    assert_eq!(vfs.rename("/tmp/e", "../e"), Err(Errno::ENAMETOOLONG), "two levels do not fit");
    vfs.rename("/tmp/e/f", "../f").unwrap();
    vfs.check().unwrap();
}

#[test]
fn a_removed_current_directory_has_no_path_but_still_a_parent() {
    let mut vfs = vfs();
    vfs.mkdir("/tmp/a").unwrap();
    vfs.mkdir("/tmp/a/b").unwrap();
    vfs.chdir(b"/tmp/a/b").unwrap();
    assert_eq!(vfs.getcwd().unwrap(), b"/tmp/a/b");
    vfs.rmdir("/tmp/a/b").unwrap();
    vfs.rmdir("/tmp/a").unwrap();
    assert_eq!(vfs.getcwd(), Err(Errno::ENOENT));
    assert_eq!(vfs.mkdir("x"), Err(Errno::ENOENT));
    assert_eq!(vfs.open("x", O::WRONLY | O::CREAT), Err(Errno::ENOENT));
    assert_eq!(vfs.stat(b".").unwrap().nlink, 0);
    assert_eq!(vfs.stat(b"..").unwrap().nlink, 0);
    assert_eq!(vfs.stat(b"../..").unwrap().ino, vfs.stat(b"/tmp").unwrap().ino);
    let fd = vfs.open(".", O::DIRECTORY).unwrap();
    assert_eq!(vfs.read_directory(fd, &mut |_| true), Err(Errno::ENOENT));
    vfs.close(fd).unwrap();
    vfs.check().unwrap();
    let inodes = vfs.usage().inodes;
    vfs.chdir(b"/").unwrap();
    assert_eq!(vfs.usage().inodes, inodes - 2, "both directories are gone now");
    vfs.check().unwrap();
}

#[test]
fn a_chain_of_links_cannot_blow_up() {
    let mut vfs = vfs();
    vfs.chdir(b"/tmp").unwrap();
    // Each link names the one before a hundred times: followed naively, that is 100 to the power of 30.
    vfs.symlink(".", "l0").unwrap();
    for n in 1..=30 {
        vfs.symlink(&format!("l{}/", n - 1).repeat(100), &format!("l{n}")).unwrap();
    }
    assert_eq!(vfs.stat(b"l30"), Err(Errno::ELOOP));
}
