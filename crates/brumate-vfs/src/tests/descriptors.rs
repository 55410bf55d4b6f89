//! Descriptors, pipes, mappings.

use super::support::{vfs, vfs_with};
use crate::limits::{OPEN_FILES_MAX, PAGE, PIPE_CAPACITY};
use crate::{OpenFlags as O, Readiness, VfsConfig, Whence, at};
use brumate_abi::errno::Errno;

#[test]
fn the_lowest_free_descriptor_is_used_and_there_is_a_last_one() {
    let mut vfs = vfs();
    for wanted in 0..OPEN_FILES_MAX as i32 {
        assert_eq!(vfs.open("/dev/null", O::RDONLY), Ok(wanted));
    }
    assert_eq!(vfs.open("/dev/null", O::RDONLY), Err(Errno::EMFILE));
    assert_eq!(vfs.open("/missing", O::RDONLY), Err(Errno::EMFILE));
    assert_eq!(vfs.dup(0, 0, false), Err(Errno::EMFILE));
    vfs.close(500).unwrap();
    assert_eq!(vfs.pipe(O(0)), Err(Errno::EMFILE), "one is not enough for a pipe");
    vfs.close(7).unwrap();
    assert_eq!(vfs.dup(0, 8, false), Ok(500));
    assert_eq!(vfs.open("/dev/null", O::RDONLY), Ok(7));
    vfs.check().unwrap();
}

#[test]
fn duplicates_share_offset_and_flags_but_not_close_on_exec() {
    let mut vfs = vfs();
    let fd = vfs.open("/tmp/f", O::RDWR | O::CREAT | O::CLOEXEC).unwrap();
    let twin = vfs.dup(fd, 10, false).unwrap();
    assert_eq!((fd, twin), (0, 10));
    vfs.write(fd, b"hello").unwrap();
    assert_eq!(vfs.seek(twin, 0, Whence::Current), Ok(5));
    vfs.set_status_flags(twin, O(O::APPEND | O::NONBLOCK)).unwrap();
    assert!(vfs.status_flags(fd).unwrap().has(O::APPEND));
    vfs.set_status_flags(fd, O(0)).unwrap();
    assert_eq!(vfs.status_flags(twin).unwrap(), O(O::RDWR), "flags are replaced, not added");
    assert_eq!((vfs.close_on_exec(fd), vfs.close_on_exec(twin)), (Ok(true), Ok(false)));
    vfs.close(fd).unwrap();
    assert_eq!(vfs.write(twin, b"!"), Ok(1));
    assert_eq!(vfs.dup3(twin, twin, false), Err(Errno::EINVAL));
    assert_eq!(vfs.dup3(twin, -1, false), Err(Errno::EBADF));
    assert_eq!(vfs.dup3(twin, OPEN_FILES_MAX as i32, false), Err(Errno::EBADF));
    assert_eq!(vfs.dup3(99, 3, false), Err(Errno::EBADF));
    assert_eq!(vfs.dup3(twin, 3, true), Ok(3));
    assert_eq!(vfs.dup(twin, -1, false), Err(Errno::EINVAL));
    assert_eq!(vfs.dup(twin, OPEN_FILES_MAX as i32, false), Err(Errno::EINVAL));
    vfs.check().unwrap();
}

#[test]
fn a_file_without_a_name_lives_while_it_is_open() {
    let mut vfs = vfs();
    let before = vfs.usage();
    let fd = vfs.open("/tmp/f", O::RDWR | O::CREAT).unwrap();
    vfs.write(fd, &[1; 10_000]).unwrap();
    vfs.unlink("/tmp/f").unwrap();
    assert_eq!(vfs.fstat(fd).unwrap().nlink, 0);
    assert_eq!(vfs.pwrite(fd, 10_000, b"x"), Ok(1));
    assert_eq!(vfs.pread(fd, 9_999, &mut [0; 10]), Ok(2));
    let unnamed = vfs.openat(at::FDCWD, b"/tmp", O(O::TMPFILE | O::RDWR), 0o600).unwrap();
    vfs.write(unnamed, b"data").unwrap();
    assert_eq!(vfs.names("/tmp").unwrap(), [""; 0]);
    assert_eq!(vfs.openat(at::FDCWD, b"/tmp", O(O::TMPFILE), 0o600), Err(Errno::EINVAL));
    vfs.close(fd).unwrap();
    vfs.close(unnamed).unwrap();
    assert_eq!(vfs.usage(), before);
}

#[test]
fn inode_numbers_are_never_used_again() {
    let mut vfs = vfs();
    let mut last = 0;
    for _ in 0..10 {
        vfs.write_file(b"/tmp/f", b"").unwrap();
        let ino = vfs.stat(b"/tmp/f").unwrap().ino;
        assert!(ino > last);
        last = ino;
        vfs.unlink("/tmp/f").unwrap();
    }
}

#[test]
fn pipes_carry_bytes_and_never_wait() {
    let mut vfs = vfs();
    let (reader, writer) = vfs.pipe(O(O::CLOEXEC)).unwrap();
    let mut buf = [0; 10];
    assert_eq!(vfs.read(reader, &mut buf), Err(Errno::EAGAIN));
    assert_eq!(vfs.write(writer, b"abc"), Ok(3));
    assert_eq!(vfs.readable_bytes(reader), Ok(3));
    assert_eq!(vfs.poll(reader).unwrap(), Readiness::READABLE);
    assert_eq!(vfs.read(reader, &mut buf), Ok(3));
    assert_eq!((vfs.write(reader, b"x"), vfs.read(writer, &mut buf)), (Err(Errno::EBADF), Err(Errno::EBADF)));
    assert_eq!(vfs.seek(reader, 0, Whence::Current), Err(Errno::ESPIPE));
    assert_eq!(vfs.pread(reader, 0, &mut buf), Err(Errno::ESPIPE));
    assert_eq!(vfs.pwrite(writer, 0, b"x"), Err(Errno::ESPIPE));

    assert_eq!(vfs.write(writer, &vec![1; PIPE_CAPACITY - 100]), Ok(PIPE_CAPACITY - 100));
    assert_eq!(vfs.poll(writer).unwrap(), Readiness(0));
    assert_eq!(vfs.write(writer, &[2; 200]), Err(Errno::EAGAIN), "a short write goes whole or not at all");
    assert_eq!(vfs.write(writer, &[2; 5000]), Ok(100));
    assert_eq!(vfs.write(writer, b"x"), Err(Errno::EAGAIN));
    let mut all = vec![0; 2 * PIPE_CAPACITY];
    assert_eq!(vfs.read(reader, &mut all), Ok(PIPE_CAPACITY));

    let twin = vfs.dup(writer, 0, false).unwrap();
    vfs.close(writer).unwrap();
    assert_eq!(vfs.read(reader, &mut buf), Err(Errno::EAGAIN));
    vfs.close(twin).unwrap();
    assert_eq!(vfs.poll(reader).unwrap(), Readiness(Readiness::HUP));
    assert_eq!(vfs.read(reader, &mut buf), Ok(0));
    let (reader, writer) = vfs.pipe(O(0)).unwrap();
    vfs.close(reader).unwrap();
    assert_eq!(vfs.write(writer, b"x"), Err(Errno::EPIPE));
    assert_eq!(vfs.poll(writer).unwrap().0 & Readiness::ERR, Readiness::ERR);
    vfs.check().unwrap();
}

#[test]
fn offsets_do_not_overflow() {
    let mut vfs = vfs();
    let fd = vfs.open("/tmp/f", O::RDWR | O::CREAT).unwrap();
    assert_eq!(vfs.seek(fd, i64::MAX, Whence::Set), Ok(i64::MAX as u64));
    assert_eq!(vfs.seek(fd, 1, Whence::Current), Err(Errno::EINVAL));
    assert_eq!(vfs.write(fd, b"x"), Err(Errno::EFBIG));
    assert_eq!(vfs.read(fd, &mut [0; 9]), Ok(0));
    assert_eq!(vfs.seek(fd, -1, Whence::Set), Err(Errno::EINVAL));
    assert_eq!(vfs.pread(fd, -1, &mut [0; 9]), Err(Errno::EINVAL));
    assert_eq!(vfs.ftruncate(fd, -1), Err(Errno::EINVAL));
    vfs.ftruncate(fd, i64::MAX).unwrap();
    assert_eq!(vfs.fallocate(fd, 0, i64::MAX, 1), Err(Errno::EFBIG));
    assert_eq!(vfs.fallocate(fd, 0, 0, 1 << 50), Err(Errno::ENOSPC));
    assert_eq!(vfs.usage().bytes, 0);
    assert_eq!(vfs.seek(fd, 0, Whence::Data), Err(Errno::ENXIO));
    assert_eq!(vfs.seek(fd, 5, Whence::Hole), Ok(5));
}

#[test]
fn mappings_keep_their_file_and_write_back_what_changed() {
    let mut vfs = vfs();
    let fd = vfs.open("/tmp/f", O::RDWR | O::CREAT).unwrap();
    vfs.write(fd, &[1; 5000]).unwrap();
    let mapping = vfs.prepare_mapping(fd, 4096, 4096, true, true).unwrap();
    let mut memory = [9; 4096];
    vfs.fill_mapping(&mapping, &mut memory).unwrap();
    assert!(memory[..904].iter().all(|&byte| byte == 1) && memory[904..].iter().all(|&byte| byte == 0));
    vfs.add_mapping(0x10000, mapping);
    vfs.close(fd).unwrap();
    vfs.unlink("/tmp/f").unwrap();
    assert_eq!(vfs.usage().bytes, 2 * PAGE, "the mapping keeps the file");
    memory[0] = 7;
    memory[1000] = 7;
    vfs.write_back(&mapping, &memory).unwrap();
    let mut again = [0; 4096];
    vfs.fill_mapping(&mapping, &mut again).unwrap();
    assert_eq!((again[0], again[1000]), (7, 0), "nothing is written past the end of the file");
    vfs.check().unwrap();
    vfs.remove_mapping(0x10000);
    assert_eq!((vfs.usage().bytes, vfs.mapping_at(0x10000)), (0, None));

    let fd = vfs.open("/tmp/g", O::RDONLY | O::CREAT).unwrap();
    assert_eq!(vfs.prepare_mapping(fd, 0, 10, true, true), Err(Errno::EACCES));
    let private = vfs.prepare_mapping(fd, 0, 10, false, true).unwrap();
    assert!(!private.write_back);
    vfs.cancel_mapping(&private);
    let null = vfs.open("/dev/null", O::RDWR).unwrap();
    assert_eq!(vfs.prepare_mapping(null, 0, 10, true, true), Err(Errno::ENODEV));
    vfs.check().unwrap();
}

#[test]
fn an_unchanged_mapping_leaves_the_file_untouched() {
    let mut vfs = vfs();
    vfs.write_file(b"/tmp/f", &[1; 5000]).unwrap();
    let before = vfs.stat(b"/tmp/f").unwrap();
    let fd = vfs.open("/tmp/f", O::RDWR).unwrap();
    let mapping = vfs.prepare_mapping(fd, 0, 5000, true, true).unwrap();
    vfs.write_back(&mapping, &[1; 5000]).unwrap();
    assert_eq!(vfs.stat(b"/tmp/f").unwrap().mtime, before.mtime);
    vfs.cancel_mapping(&mapping);
}

#[test]
fn a_full_file_system_says_so_and_recovers() {
    let mut vfs = vfs_with(&VfsConfig { quota_bytes: 4 * PAGE, ..VfsConfig::default() });
    assert_eq!(vfs.write_file(b"/tmp/f", &[1; 20_000]), Err(Errno::ENOSPC));
    assert_eq!(vfs.stat(b"/tmp/f").unwrap().size, 4 * PAGE);
    let statfs = vfs.statfs(b"/tmp").unwrap();
    assert_eq!((statfs.blocks, statfs.blocks_free), (4, 0));
    vfs.unlink("/tmp/f").unwrap();
    vfs.write_file(b"/tmp/f", &[1; 16_000]).unwrap();
    vfs.set_quota(PAGE, 100);
    assert_eq!(vfs.write_file(b"/tmp/g", b"x"), Err(Errno::ENOSPC), "over a lowered limit nothing more fits");
    assert_eq!(vfs.read_file_up_to("/tmp/f", 1 << 20).unwrap().len(), 16_000);
}
