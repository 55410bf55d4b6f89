//! Paths, symbolic links, hard links and their limits.

use super::support::{archive, vfs, vfs_with};
use crate::limits::{DIRECTORY_DEPTH_MAX, LINKS_MAX, NAME_MAX, PATH_MAX, SYMLINKS_MAX};
use crate::{FileType, MountOptions, OpenFlags as O, Vfs, VfsConfig, at};
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

fn link(vfs: &mut Vfs, old: &str, new: &str) -> Result<(), Errno> {
    vfs.linkat(at::FDCWD, old.as_bytes(), at::FDCWD, new.as_bytes(), 0)
}

#[test]
fn names_of_one_file_are_counted_and_stored_once() {
    let mut vfs = vfs();
    vfs.chdir(b"/tmp").unwrap();
    vfs.write_file(b"/tmp/a", &[7; 100_000]).unwrap();
    let before = vfs.usage();
    link(&mut vfs, "a", "b").unwrap();
    vfs.mkdir("d").unwrap();
    link(&mut vfs, "b", "d/c").unwrap();
    vfs.check().unwrap();
    let usage = vfs.usage();
    assert_eq!((usage.bytes, usage.inodes), (before.bytes, before.inodes + 3), "a name counts, its content does not");
    let (a, c) = (vfs.stat(b"a").unwrap(), vfs.stat(b"d/c").unwrap());
    assert_eq!((a.ino, a.nlink), (c.ino, 3));
    let fd = vfs.open("b", O::WRONLY | O::APPEND).unwrap();
    vfs.write(fd, b"more").unwrap();
    assert_eq!(vfs.stat(b"a").unwrap().size, 100_004);
    // Renaming one name of a file to another does nothing.
    vfs.rename("a", "b").unwrap();
    assert_eq!(vfs.stat(b"a").unwrap().nlink, 3);
    vfs.rename("a", "e").unwrap();
    vfs.check().unwrap();
    vfs.unlink("b").unwrap();
    vfs.unlink("d/c").unwrap();
    vfs.check().unwrap();
    assert_eq!((vfs.fstat(fd).unwrap().nlink, vfs.usage().inodes), (1, before.inodes + 1));
    vfs.unlink("e").unwrap();
    assert_eq!((vfs.fstat(fd).unwrap().nlink, vfs.usage().bytes > 0), (0, true), "it is still open");
    vfs.close(fd).unwrap();
    vfs.check().unwrap();
    assert_eq!(vfs.usage().bytes, 0);
}

#[test]
fn what_cannot_be_linked_is_refused() {
    let mut vfs = vfs();
    vfs.chdir(b"/tmp").unwrap();
    let writable = MountOptions::default();
    vfs.mount_archive(b"/site", b"site", &archive(&[("m.py", b"1")], zip::CompressionMethod::Stored), &writable)
        .unwrap();
    vfs.write_file(b"/tmp/a", b"a").unwrap();
    vfs.write_file(b"/site/own", b"a").unwrap();
    vfs.mkdir("d").unwrap();
    vfs.symlink("a", "s").unwrap();
    vfs.symlink("nowhere", "broken").unwrap();
    for (old, new, errno) in [
        ("none", "x", Errno::ENOENT),
        ("a", "none/x", Errno::ENOENT),
        ("a", "d", Errno::EEXIST),
        ("a", "a", Errno::EEXIST),
        ("a", "x/", Errno::ENOENT),
        ("a/", "x", Errno::ENOTDIR),
        ("d", "x", Errno::EPERM),
        ("/dev/null", "x", Errno::EPERM),
        ("/site/m.py", "/site/x", Errno::EXDEV),
        ("/proc/self/fd", "x", Errno::EXDEV),
    ] {
        assert_eq!(link(&mut vfs, old, new).unwrap_err(), errno, "{old} {new}");
    }
    // A symbolic link is linked itself, unless it is to be followed.
    link(&mut vfs, "broken", "broken2").unwrap();
    let followed =
        |vfs: &mut Vfs, old: &[u8], new: &[u8]| vfs.linkat(at::FDCWD, old, at::FDCWD, new, at::SYMLINK_FOLLOW);
    assert_eq!(followed(&mut vfs, b"broken", b"x").unwrap_err(), Errno::ENOENT);
    followed(&mut vfs, b"s", b"a2").unwrap();
    assert_eq!(vfs.stat(b"a").unwrap().nlink, 2);
    assert_eq!(vfs.linkat(at::FDCWD, b"a", at::FDCWD, b"x", 1).unwrap_err(), Errno::EINVAL);
    vfs.check().unwrap();
}

#[test]
fn names_of_a_file_are_bounded() {
    let mut vfs = vfs_with(&VfsConfig { quota_inodes: 10, ..VfsConfig::default() });
    vfs.chdir(b"/tmp").unwrap();
    vfs.write_file(b"/tmp/a", b"a").unwrap();
    let made = (0..20).take_while(|number| link(&mut vfs, "a", &number.to_string()).is_ok()).count();
    assert_eq!((made, vfs.usage().inodes), (9, 10));
    assert_eq!(link(&mut vfs, "a", "x").unwrap_err(), Errno::ENOSPC);
    vfs.set_quota(1 << 30, 1 << 20);
    let made = (10..).take_while(|number| link(&mut vfs, "a", &number.to_string()).is_ok()).count();
    assert_eq!((made + 10) as u32, LINKS_MAX);
    assert_eq!(link(&mut vfs, "a", "x").unwrap_err(), Errno::EMLINK);
}

#[test]
fn hard_links_are_kept_in_saved_state_and_changes_of_them_are_checked() {
    let mut base = vfs();
    base.write_file(b"/tmp/a", b"a").unwrap();
    base.mkdir("/tmp/d").unwrap();
    link(&mut base, "/tmp/a", "/tmp/d/b").unwrap();
    let image = postcard::to_allocvec(&base).unwrap();
    let again = || {
        let mut vfs: Vfs = postcard::from_bytes(&image).unwrap();
        vfs.check().unwrap();
        vfs.begin_changes();
        vfs
    };
    type Change = fn(&mut Vfs);
    let changes: [Change; 6] = [
        |vfs| link(vfs, "/tmp/a", "/tmp/c").unwrap(),
        |vfs| vfs.unlink("/tmp/d/b").unwrap(),
        |vfs| vfs.unlink("/tmp/a").unwrap(),
        |vfs| vfs.rename("/tmp/a", "/tmp/d/c").unwrap(),
        |vfs| (vfs.unlink("/tmp/a").unwrap(), vfs.unlink("/tmp/d/b").unwrap()).1,
        |vfs| vfs.write_file(b"/tmp/d/other", b"o").unwrap(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut vfs = again();
        change(&mut vfs);
        let saved = vfs.save_changes().unwrap();
        let restored = Vfs::continue_from(again(), &saved).unwrap();
        restored.check().unwrap_or_else(|error| panic!("{number}: {error}"));
        restored.check_changes(&again().baseline()).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    // A count that is not the number of names is refused.
    let mut vfs = again();
    let id = vfs.place_of(b"/tmp/a").unwrap();
    for links in [0, 1, 3, u32::MAX] {
        vfs.inodes.get_mut(crate::inode::InodeId(id)).unwrap().links = links;
        assert!(vfs.check().is_err() && vfs.check_changes(&again().baseline()).is_err(), "{links}");
    }
}

#[test]
fn locks_belong_to_open_files() {
    use crate::lock::operation::{EXCLUSIVE, NONBLOCK, SHARED, UNLOCK};
    let mut vfs = vfs();
    let (one, two) = (vfs.open("/tmp/f", O::RDWR | O::CREAT).unwrap(), vfs.open("/tmp/f", O::RDONLY).unwrap());
    let shares = vfs.dup(one, 0, false).unwrap();
    vfs.flock(one, EXCLUSIVE).unwrap();
    vfs.flock(shares, EXCLUSIVE | NONBLOCK).unwrap();
    assert_eq!(vfs.flock(two, SHARED | NONBLOCK), Err(Errno::EAGAIN));
    assert_eq!(vfs.flock(two, EXCLUSIVE), Err(Errno::EDEADLK), "nobody could give it back");
    assert_eq!(vfs.status_flags(one).unwrap().0, O::RDWR, "locks are not seen");
    vfs.set_status_flags(one, O(O::APPEND | 1 << 30)).unwrap();
    vfs.close(one).unwrap();
    assert_eq!(vfs.flock(two, SHARED | NONBLOCK), Err(Errno::EAGAIN), "a duplicate still has it");
    // A restored file system has the lock.
    let mut vfs: Vfs = postcard::from_bytes(&postcard::to_allocvec(&vfs).unwrap()).unwrap();
    assert_eq!(vfs.flock(two, SHARED | NONBLOCK), Err(Errno::EAGAIN));
    vfs.close(shares).unwrap();
    vfs.flock(two, SHARED).unwrap();
    let three = vfs.open("/tmp/f", O::RDWR | 3 << 29).unwrap();
    assert_eq!(vfs.flock(two, EXCLUSIVE | NONBLOCK), Ok(()), "flags of the guest lock nothing");
    vfs.flock(two, SHARED).unwrap();
    vfs.flock(three, SHARED | NONBLOCK).unwrap();
    // A change that fails loses the lock, as on Linux.
    assert_eq!(vfs.flock(three, EXCLUSIVE | NONBLOCK), Err(Errno::EAGAIN));
    vfs.flock(two, EXCLUSIVE | NONBLOCK).unwrap();
    vfs.flock(two, UNLOCK).unwrap();
    vfs.flock(three, EXCLUSIVE | NONBLOCK).unwrap();
    let path = vfs.open("/tmp/f", O::PATH).unwrap();
    assert_eq!(vfs.flock(path, SHARED), Err(Errno::EBADF));
    assert_eq!(vfs.flock(two, 3), Err(Errno::EINVAL));
    assert_eq!(vfs.flock(99, SHARED), Err(Errno::EBADF));
}
