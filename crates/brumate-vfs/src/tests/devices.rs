//! Devices, standard streams, `/proc/self/fd`.

use std::sync::{Arc, Mutex};

use super::support::vfs;
use crate::device::{Null, Random, Sink};
use crate::{FileType, OpenFlags as O, Readiness, Vfs, Whence, at};
use brumate_abi::errno::Errno;

fn with_output(vfs: &mut Vfs) -> Arc<Mutex<Vec<u8>>> {
    let written = Arc::new(Mutex::new(Vec::new()));
    let output = written.clone();
    let sink = Sink(move |data: &[u8]| {
        output.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    });
    vfs.install_device(0, b"stdin", O(O::RDONLY), Box::new(Null)).unwrap();
    vfs.install_device(1, b"stdout", O(O::WRONLY), Box::new(sink)).unwrap();
    written
}

#[test]
fn standard_devices_do_what_they_do_on_linux() {
    let mut vfs = vfs();
    let mut buf = [7; 8];
    let fd = vfs.open("/dev/null", O::RDWR).unwrap();
    assert_eq!((vfs.read(fd, &mut buf), vfs.write(fd, b"abc")), (Ok(0), Ok(3)));
    assert_eq!(vfs.seek(fd, 100, Whence::Set), Ok(0));
    assert_eq!((vfs.ftruncate(fd, 0), vfs.fsync(fd)), (Err(Errno::EINVAL), Err(Errno::EINVAL)));
    assert_eq!(vfs.open("/dev/null", O::WRONLY | O::CREAT | O::TRUNC), Ok(1));
    let fd = vfs.open("/dev/zero", O::RDONLY).unwrap();
    assert_eq!((vfs.read(fd, &mut buf), buf), (Ok(8), [0; 8]));
    let fd = vfs.open("/dev/full", O::RDWR).unwrap();
    assert_eq!(vfs.write(fd, b"abc"), Err(Errno::ENOSPC));
    vfs.add_device(b"/dev/urandom", 0x109, Box::new(Random(|buf: &mut [u8]| buf.fill(4)))).unwrap();
    let fd = vfs.open("/dev/urandom", O::RDONLY).unwrap();
    assert_eq!((vfs.pread(fd, 10, &mut buf), buf), (Ok(8), [4; 8]));
    let stat = vfs.stat(b"/dev/urandom").unwrap();
    assert_eq!((stat.file_type(), stat.rdev), (FileType::Character, 0x109));
    assert_eq!(vfs.faccessat(at::FDCWD, b"/dev/null", 1, 0), Err(Errno::EACCES));
    assert!(vfs.add_device(b"/dev/null", 0, Box::new(Null)).is_err());
    vfs.check().unwrap();
}

#[test]
fn there_is_no_terminal() {
    let mut vfs = vfs();
    for flags in [O::RDONLY, O::RDWR, O::WRONLY | O::CREAT | O::TRUNC, O::WRONLY | O::CREAT | O::APPEND] {
        assert_eq!(vfs.open("/dev/tty", flags), Err(Errno::ENXIO), "{flags:#x}");
    }
    assert_eq!(vfs.open("/dev/tty", O::WRONLY | O::CREAT | O::EXCL), Err(Errno::EEXIST));
    let stat = vfs.stat(b"/dev/tty").unwrap();
    assert_eq!((stat.file_type(), stat.rdev, stat.size), (FileType::Character, 0x500, 0));
    assert_eq!(vfs.open("/dev/tty", O::PATH), Ok(0), "nothing is opened");
    vfs.check().unwrap();
}

#[test]
fn standard_streams_are_streams() {
    let mut vfs = vfs();
    let written = with_output(&mut vfs);
    vfs.write(1, b"one ").unwrap();
    assert_eq!(vfs.fstat(1).unwrap().file_type(), FileType::Fifo);
    assert_eq!(vfs.seek(1, 0, Whence::Current), Err(Errno::ESPIPE));
    assert_eq!(vfs.read(1, &mut [0; 3]), Err(Errno::EBADF));
    assert_eq!(vfs.poll(1).unwrap(), Readiness::WRITABLE);
    let twin = vfs.dup(1, 5, false).unwrap();
    vfs.close(1).unwrap();
    vfs.write(twin, b"two ").unwrap();
    vfs.dup3(twin, 1, false).unwrap();
    let by_path = vfs.open("/dev/stdout", O::WRONLY).unwrap();
    vfs.write(by_path, b"three").unwrap();
    assert_eq!(written.lock().unwrap().as_slice(), b"one two three");
    vfs.check().unwrap();
}

#[test]
fn a_device_can_be_exchanged_under_its_name() {
    let mut vfs = vfs();
    with_output(&mut vfs);
    let twin = vfs.dup(0, 3, false).unwrap();
    vfs.install_device(0, b"stdin", O(O::RDONLY), Box::new(Random(|buf: &mut [u8]| buf.fill(b'x')))).unwrap();
    let mut buf = [0; 3];
    assert_eq!((vfs.read(0, &mut buf), buf), (Ok(3), *b"xxx"));
    assert_eq!(vfs.read(twin, &mut buf), Ok(3));
    vfs.check().unwrap();
}

#[test]
fn open_descriptors_are_seen_and_opened_again_below_proc() {
    let mut vfs = vfs();
    with_output(&mut vfs);
    let fd = vfs.open("/tmp/file", O::RDWR | O::CREAT).unwrap();
    vfs.write(fd, b"content").unwrap();
    assert_eq!(vfs.names("/proc/self/fd").unwrap(), ["0", "1", "2", "3"], "the one that lists is 3");
    assert_eq!(vfs.readlinkat(at::FDCWD, b"/proc/self/fd/2").unwrap(), b"/tmp/file");
    assert_eq!(vfs.read_file_up_to("/dev/fd/2", 99).unwrap(), b"content", "a new offset");
    assert_eq!(vfs.stat(b"/dev/fd/2").unwrap().ino, vfs.fstat(fd).unwrap().ino);
    for bad in ["/dev/fd/9", "/dev/fd/02", "/dev/fd/x", "/dev/fd/-1", "/dev/fd/4294967296"] {
        assert_eq!(vfs.open(bad, O::RDONLY), Err(Errno::ENOENT), "{bad}");
    }
    assert_eq!(vfs.stat(b"/dev/fd/2/x"), Err(Errno::ENOTDIR));
    vfs.mkdir("/tmp/d").unwrap();
    vfs.write_file(b"/tmp/d/inner", b"1").unwrap();
    let directory = vfs.open("/tmp/d", O::DIRECTORY).unwrap();
    assert_eq!(vfs.read_file_up_to(format!("/dev/fd/{directory}/inner"), 9).unwrap(), b"1");
    vfs.unlink("/tmp/file").unwrap();
    assert_eq!(vfs.read_file_up_to("/dev/fd/2", 99).unwrap(), b"content", "also without a name");
    assert!(vfs.readlinkat(at::FDCWD, b"/dev/fd/2").unwrap().ends_with(b" (deleted)"));
    assert_eq!(vfs.unlink("/proc/self/fd/2"), Err(Errno::EROFS));
    assert_eq!(vfs.open("/proc/self/fd/new", O::WRONLY | O::CREAT), Err(Errno::EACCES));
    assert_eq!(vfs.mkdir("/proc/x"), Err(Errno::EROFS));
    assert_eq!(vfs.rename("/proc/self/fd/2", "/tmp/x"), Err(Errno::EXDEV));
    vfs.check().unwrap();
}
