//! Granted host directories, over a hostile stand-in for the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::support::vfs;
use crate::bytes::Bytes;
use crate::{
    FileType, HostDir, HostEntry, HostFile, HostStat, MountError, OpenFlags as O, SetTime, Timestamp, Vfs, Whence, at,
};
use brumate_abi::errno::Errno;

#[derive(Clone)]
pub(super) enum Thing {
    File(Vec<u8>),
    Directory,
    Link(Vec<u8>),
}

/// A host directory in memory. It refuses paths that are not clean, and links, as a real one must.
#[derive(Clone, Default)]
pub(super) struct Fake {
    pub(super) things: Arc<Mutex<BTreeMap<Vec<u8>, Thing>>>,
    pub(super) read_only: bool,
}

impl Fake {
    pub(super) fn new(things: &[(&str, Thing)]) -> Self {
        let things = things.iter().map(|(path, thing)| (path.as_bytes().to_vec(), thing.clone()));
        Self { things: Arc::new(Mutex::new(things.collect())), read_only: false }
    }

    fn get(&self, path: &[u8]) -> Result<Thing, Errno> {
        if path.is_empty() {
            return Ok(Thing::Directory);
        }
        let things = self.things.lock().unwrap();
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            match things.get(&path[..at]) {
                Some(Thing::Directory) => {}
                Some(Thing::Link(_)) => panic!("asked to walk through a link"),
                _ => return Err(Errno::ENOTDIR),
            }
        }
        for name in path.split(|&b| b == b'/') {
            assert!(!matches!(name, b"" | b"." | b".."), "unclean path {}", path.escape_ascii());
        }
        things.get(path).cloned().ok_or(Errno::ENOENT)
    }
}

fn stat(thing: &Thing) -> HostStat {
    let (file_type, size) = match thing {
        Thing::File(content) => (FileType::Regular, content.len() as u64),
        Thing::Directory => (FileType::Directory, 0),
        Thing::Link(target) => (FileType::Symlink, target.len() as u64),
    };
    let time = Timestamp::default();
    HostStat { ino: 1, file_type, permissions: 0o644, nlink: 1, size, blocks: 0, atime: time, mtime: time, ctime: time }
}

impl HostDir for Fake {
    fn open(&mut self, path: &[u8], flags: O, _permissions: u32) -> Result<Box<dyn HostFile>, Errno> {
        match self.get(path) {
            Err(Errno::ENOENT) if flags.has(O::CREAT) => {
                self.things.lock().unwrap().insert(path.to_vec(), Thing::File(Vec::new()));
            }
            Ok(Thing::File(_)) => {}
            Ok(_) => return Err(Errno::ELOOP),
            Err(errno) => return Err(errno),
        }
        let mut file = FakeFile { things: self.things.clone(), path: path.to_vec() };
        if flags.has(O::TRUNC) {
            file.set_len(0)?;
        }
        Ok(Box::new(file))
    }

    fn lstat(&mut self, path: &[u8]) -> Result<HostStat, Errno> {
        let ino = path.iter().fold(1, |ino: u64, byte| ino.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        Ok(HostStat { ino, ..stat(&self.get(path)?) })
    }

    fn read_dir(&mut self, path: &[u8]) -> Result<Vec<HostEntry>, Errno> {
        let things = self.things.lock().unwrap();
        let mut entries = Vec::new();
        for (name, thing) in things.iter() {
            let relative = if path.is_empty() {
                Some(&name[..])
            } else {
                name.strip_prefix(path).and_then(|n| n.strip_prefix(b"/"))
            };
            if let Some(relative) = relative.filter(|relative| !relative.contains(&b'/')) {
                entries.push(HostEntry { name: relative.into(), ino: 1, file_type: stat(thing).file_type });
            }
        }
        // A compromised host.
        for bad in [&b""[..], b".", b"..", b"a/b", b"nul\0"] {
            entries.push(HostEntry { name: Bytes(bad.to_vec()), ino: 1, file_type: FileType::Regular });
        }
        Ok(entries)
    }

    fn read_link(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.get(path)? {
            Thing::Link(target) => Ok(target),
            _ => Err(Errno::EINVAL),
        }
    }

    fn create_dir(&mut self, path: &[u8], _permissions: u32) -> Result<(), Errno> {
        assert!(self.get(path).is_err());
        self.things.lock().unwrap().insert(path.to_vec(), Thing::Directory);
        Ok(())
    }

    fn remove_file(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.get(path)?;
        self.things.lock().unwrap().remove(path);
        Ok(())
    }

    fn remove_dir(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.remove_file(path)
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        let thing = self.get(from)?;
        let mut things = self.things.lock().unwrap();
        things.remove(from);
        things.insert(to.to_vec(), thing);
        Ok(())
    }

    fn set_times(&mut self, path: &[u8], _atime: SetTime, _mtime: SetTime) -> Result<(), Errno> {
        self.get(path).map(drop)
    }

    fn set_permissions(&mut self, path: &[u8], _permissions: u32) -> Result<(), Errno> {
        self.get(path).map(drop)
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }
}

struct FakeFile {
    things: Arc<Mutex<BTreeMap<Vec<u8>, Thing>>>,
    path: Vec<u8>,
}

impl FakeFile {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T, Errno> {
        match self.things.lock().unwrap().get_mut(&self.path) {
            Some(Thing::File(content)) => Ok(work(content)),
            _ => Err(Errno::ESTALE),
        }
    }
}

impl HostFile for FakeFile {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Errno> {
        self.with(|content| {
            let tail = content.get(offset as usize..).unwrap_or(&[]);
            let count = tail.len().min(buf.len());
            buf[..count].copy_from_slice(&tail[..count]);
            count
        })
    }

    fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        self.with(|content| {
            let end = offset as usize + data.len();
            content.resize(content.len().max(end), 0);
            content[offset as usize..end].copy_from_slice(data);
            data.len()
        })
    }

    fn stat(&mut self) -> Result<HostStat, Errno> {
        self.with(|content| stat(&Thing::File(content.clone())))
    }

    fn set_len(&mut self, len: u64) -> Result<(), Errno> {
        self.with(|content| content.resize(len as usize, 0))
    }

    fn set_times(&mut self, _atime: SetTime, _mtime: SetTime) -> Result<(), Errno> {
        Ok(())
    }

    fn set_permissions(&mut self, _permissions: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

fn mounted() -> (Vfs, Fake) {
    let fake = Fake::new(&[
        ("data", Thing::Directory),
        ("data/f.csv", Thing::File(b"1,2".to_vec())),
        ("abs", Thing::Link(b"/etc".to_vec())),
        ("up", Thing::Link(b"../../..".to_vec())),
        ("inside", Thing::Link(b"data/f.csv".to_vec())),
        ("loop", Thing::Link(b"loop".to_vec())),
    ]);
    let mut vfs = vfs();
    vfs.write_file(b"/etc/passwd", b"guest's own").unwrap();
    vfs.mount_host(b"//mnt/host/", Box::new(fake.clone())).unwrap();
    (vfs, fake)
}

#[test]
fn files_are_read_and_written_in_place() {
    let (mut vfs, fake) = mounted();
    assert_eq!(vfs.read_file_up_to("/mnt/host/data/f.csv", 99).unwrap(), b"1,2");
    assert_eq!(vfs.read_file_up_to("/mnt/host/inside", 99).unwrap(), b"1,2");
    let fd = vfs.open("/mnt/host/data/new", O::RDWR | O::CREAT | O::APPEND).unwrap();
    vfs.write(fd, b"one").unwrap();
    vfs.seek(fd, 0, Whence::Set).unwrap();
    vfs.write(fd, b"two").unwrap();
    assert_eq!((vfs.fstat(fd).unwrap().size, vfs.seek(fd, 0, Whence::End)), (6, Ok(6)));
    assert_eq!(vfs.pread(fd, 1, &mut [0; 9]), Ok(5));
    vfs.ftruncate(fd, 1).unwrap();
    vfs.rename("/mnt/host/data/new", "/mnt/host/moved").unwrap();
    assert!(matches!(fake.get(b"moved"), Ok(Thing::File(content)) if content == b"o"));
    vfs.mkdir("/mnt/host/d").unwrap();
    vfs.rmdir("/mnt/host/d").unwrap();
    vfs.unlink("/mnt/host/moved").unwrap();
    assert_eq!(vfs.usage().bytes, 4096, "host files are not charged");
    vfs.check().unwrap();
}

#[test]
fn links_and_dots_are_resolved_in_the_guests_tree() {
    let (mut vfs, _) = mounted();
    assert_eq!(vfs.read_file_up_to("/mnt/host/abs/passwd", 99).unwrap(), b"guest's own");
    assert_eq!(vfs.read_file_up_to("/mnt/host/up/etc/passwd", 99).unwrap(), b"guest's own");
    assert_eq!(vfs.read_file_up_to("/mnt/host/data/../../../etc/passwd", 99).unwrap(), b"guest's own");
    assert_eq!(vfs.stat(b"/mnt/host/..").unwrap().ino, vfs.stat(b"/mnt").unwrap().ino);
    assert_eq!(vfs.stat(b"/mnt/host/loop"), Err(Errno::ELOOP));
    assert_eq!(vfs.open("/mnt/host/inside", O::RDONLY | O::NOFOLLOW), Err(Errno::ELOOP));
    assert_eq!(vfs.readlinkat(at::FDCWD, b"/mnt/host/abs").unwrap(), b"/etc");
    vfs.chdir(b"/mnt/host/data").unwrap();
    assert_eq!(vfs.getcwd().unwrap(), b"/mnt/host/data");
    assert_eq!(vfs.read_file_up_to("f.csv", 9).unwrap(), b"1,2");
    vfs.chdir(b"../..").unwrap();
    assert_eq!(vfs.getcwd().unwrap(), b"/mnt");
}

#[test]
fn what_would_cross_or_mislead_is_refused() {
    let (mut vfs, _) = mounted();
    assert_eq!(vfs.rename("/mnt/host/data/f.csv", "/tmp/f"), Err(Errno::EXDEV));
    assert_eq!(vfs.rename("/etc/passwd", "/mnt/host/f"), Err(Errno::EXDEV));
    assert_eq!(vfs.rename("/mnt/host/data", "/mnt/host/data/x"), Err(Errno::EINVAL));
    assert_eq!(vfs.symlink("/etc", "/mnt/host/l"), Err(Errno::EPERM));
    assert_eq!(vfs.rmdir("/mnt/host"), Err(Errno::EBUSY));
    assert_eq!(vfs.rename("/mnt/host", "/mnt/other"), Err(Errno::EBUSY));
    assert_eq!(vfs.openat(at::FDCWD, b"/mnt/host", O(O::TMPFILE | O::RDWR), 0o600), Err(Errno::EISDIR));
    let again = vfs.mount_host(b"/mnt/host", Box::new(Fake::default()));
    assert!(matches!(again, Err(MountError::Target { .. })));
    assert!(matches!(vfs.mount_host(b"/etc", Box::new(Fake::default())), Err(MountError::Target { .. })));
    assert!(matches!(vfs.mount_host(b"/", Box::new(Fake::default())), Err(MountError::Target { .. })));
    vfs.check().unwrap();
}

#[test]
fn listings_hold_only_names_that_can_be() {
    let (mut vfs, _) = mounted();
    assert_eq!(vfs.names("/mnt/host").unwrap(), ["abs", "data", "inside", "loop", "up"]);
    assert_eq!(vfs.names("/mnt/host/data").unwrap(), ["f.csv"]);
}

#[test]
fn a_read_only_grant_is_read_only() {
    let mut vfs = vfs();
    let fake = Fake { read_only: true, ..Fake::new(&[("f", Thing::File(b"1".to_vec())), ("d", Thing::Directory)]) };
    vfs.mount_host(b"/mnt", Box::new(fake)).unwrap();
    assert_eq!(vfs.read_file_up_to("/mnt/f", 9).unwrap(), b"1");
    for flags in [O::WRONLY, O::RDWR, O::RDONLY | O::TRUNC] {
        assert_eq!(vfs.open("/mnt/f", flags), Err(Errno::EROFS));
    }
    assert_eq!(vfs.open("/mnt/new", O::WRONLY | O::CREAT), Err(Errno::EROFS));
    assert_eq!(vfs.mkdir("/mnt/new"), Err(Errno::EROFS));
    assert_eq!(vfs.unlink("/mnt/f"), Err(Errno::EROFS));
    assert_eq!(vfs.rmdir("/mnt/d"), Err(Errno::EROFS));
    assert_eq!(vfs.rename("/mnt/f", "/mnt/g"), Err(Errno::EROFS));
    assert_eq!(vfs.truncate(b"/mnt/f", 0), Err(Errno::EROFS));
    assert_eq!(vfs.fchmodat(at::FDCWD, b"/mnt/f", 0, 0), Err(Errno::EROFS));
    assert_eq!(vfs.utimensat(at::FDCWD, b"/mnt/f", SetTime::Now, SetTime::Now, 0), Err(Errno::EROFS));
    assert_eq!(vfs.faccessat(at::FDCWD, b"/mnt/f", 2, 0), Err(Errno::EROFS));
    assert!(vfs.statfs(b"/mnt").unwrap().read_only);
}

#[test]
fn open_host_files_go_on_after_a_restore() {
    let (mut vfs, fake) = mounted();
    let fd = vfs.open("/mnt/host/data/f.csv", O::RDWR).unwrap();
    vfs.seek(fd, 2, Whence::Set).unwrap();
    let gone = vfs.open("/mnt/host/data/gone", O::RDWR | O::CREAT | O::EXCL).unwrap();
    vfs.unlink("/mnt/host/data/gone").unwrap();
    vfs.chdir(b"/mnt/host/data").unwrap();
    let mut vfs: Vfs = postcard::from_bytes(&postcard::to_stdvec(&vfs).unwrap()).unwrap();
    vfs.set_clock(Box::new(|| 1));
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"] {
        assert!(vfs.attach_device(device.as_bytes(), Box::new(crate::device::Null)));
    }
    assert_eq!(vfs.unattached(), ["/mnt/host"]);
    assert!(!vfs.attach_host(b"/mnt/other", Box::new(fake.clone())));
    assert!(vfs.attach_host(b"/mnt/host", Box::new(fake)));
    vfs.reopen().unwrap();
    let mut buf = [0; 9];
    assert_eq!((vfs.read(fd, &mut buf), buf[0]), (Ok(1), b'2'));
    assert_eq!(vfs.read(gone, &mut buf), Err(Errno::ESTALE));
    assert_eq!(vfs.read_file_up_to("f.csv", 9).unwrap(), b"1,2");
}
