//! Making, removing and renaming.

use zip::CompressionMethod;

use super::support::{archive, vfs, vfs_at_standstill};
use crate::{MountOptions, OpenFlags as O, Vfs, VfsConfig, at};
use brumate_abi::errno::Errno;

#[test]
fn a_mounted_archive_is_read_and_refuses_changes() {
    let mut vfs = vfs();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let files: [(&str, &[u8]); 3] =
            [("a.py", b"print(1)"), ("pkg/__init__.py", b""), ("pkg/data/x.bin", &[7; 200_000])];
        let options = MountOptions { read_only: true, ..MountOptions::default() };
        let path = format!("/lib/{method:?}");
        vfs.mount_archive(path.as_bytes(), b"layer", &archive(&files, method), &options).unwrap();
        assert_eq!(vfs.read_file_up_to(format!("{path}/a.py").as_bytes(), 1 << 20).unwrap(), b"print(1)");
        assert_eq!(vfs.read_file_up_to(format!("{path}/pkg/data/x.bin").as_bytes(), 1 << 20).unwrap(), [7; 200_000]);
        assert_eq!(vfs.names(&path).unwrap(), ["a.py", "pkg"]);
        assert_eq!(vfs.open(&format!("{path}/a.py"), O::RDWR), Err(Errno::EROFS));
        assert_eq!(vfs.open(&format!("{path}/new"), O::WRONLY | O::CREAT), Err(Errno::EROFS));
        assert_eq!(vfs.mkdir(&format!("{path}/pkg/__pycache__")), Err(Errno::EROFS));
        assert_eq!(vfs.unlink(&format!("{path}/a.py")), Err(Errno::EROFS));
        assert_eq!(vfs.rename(&format!("{path}/a.py"), &format!("{path}/b.py")), Err(Errno::EROFS));
        assert_eq!(vfs.rename(&format!("{path}/a.py"), "/tmp/b.py"), Err(Errno::EXDEV));
        assert_eq!(vfs.fchmodat(at::FDCWD, path.as_bytes(), 0, 0), Err(Errno::EROFS));
        assert_eq!(vfs.truncate(format!("{path}/a.py").as_bytes(), 0), Err(Errno::EROFS));
        assert_eq!(vfs.rmdir(&path), Err(Errno::EBUSY));
    }
    assert_eq!((vfs.usage().bytes, vfs.usage().inodes), (0, 0));
    vfs.check().unwrap();
}

#[test]
fn directory_times_change_strictly_even_when_the_clock_stands_still() {
    let mut vfs = vfs_at_standstill();
    let mut last = vfs.stat(b"/tmp").unwrap().mtime;
    let mut changed = |vfs: &mut Vfs| {
        let now = vfs.stat(b"/tmp").unwrap().mtime;
        assert!(now > last);
        last = now;
    };
    let fd = vfs.open("/tmp/a", O::WRONLY | O::CREAT).unwrap();
    changed(&mut vfs);
    vfs.write(fd, b"x").unwrap();
    vfs.rename("/tmp/a", "/tmp/b").unwrap();
    changed(&mut vfs);
    vfs.unlink("/tmp/b").unwrap();
    changed(&mut vfs);
    vfs.mkdir("/tmp/d").unwrap();
    changed(&mut vfs);
    vfs.rmdir("/tmp/d").unwrap();
    changed(&mut vfs);
}

#[test]
fn everything_removed_gives_the_whole_quota_back() {
    let mut vfs =
        super::support::vfs_with(&VfsConfig { quota_bytes: 1 << 20, quota_inodes: 10, ..VfsConfig::default() });
    let before = vfs.usage();
    vfs.mkdir("/tmp/d").unwrap();
    let fd = vfs.open("/tmp/d/f", O::WRONLY | O::CREAT).unwrap();
    assert_eq!(vfs.write(fd, &[1; 3 << 20]), Ok(1 << 20));
    assert_eq!(vfs.write(fd, b"x"), Err(Errno::ENOSPC));
    vfs.symlink(&"t".repeat(300), "/tmp/d/l").unwrap_err();
    vfs.ftruncate(fd, 5000).unwrap();
    vfs.symlink(&"t".repeat(300), "/tmp/d/l").unwrap();
    for n in 0..7 {
        vfs.mkdir(&format!("/tmp/n{n}")).unwrap();
    }
    assert_eq!(vfs.mkdir("/tmp/n8"), Err(Errno::ENOSPC));
    assert_eq!(vfs.open("/tmp/n8", O::WRONLY | O::CREAT), Err(Errno::ENOSPC));
    vfs.check().unwrap();
    for n in 0..7 {
        vfs.rmdir(&format!("/tmp/n{n}")).unwrap();
    }
    vfs.unlink("/tmp/d/l").unwrap();
    vfs.unlink("/tmp/d/f").unwrap();
    vfs.rmdir("/tmp/d").unwrap();
    assert_eq!((vfs.usage().bytes, vfs.usage().inodes), (8192, 1), "the open file still counts");
    vfs.close(fd).unwrap();
    assert_eq!(vfs.usage(), before);
    vfs.check().unwrap();
}
