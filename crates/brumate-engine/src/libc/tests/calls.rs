//! Layouts, numbers and conventions of single calls.

use super::{Guest, MEMORY};
use crate::libc::{dirs, files, mmap, poll};
use brumate_abi::errno::Errno;
use brumate_vfs::at::FDCWD;

const O_CREAT_RDWR: i32 = 0x42;

fn create(guest: &mut Guest, name: &str, content: &[u8]) -> i32 {
    let (path, mode) = (guest.string(name), guest.words(&[0o644]));
    let fd = guest.call(|vfs, mem| files::openat(vfs, mem, FDCWD, path, O_CREAT_RDWR, mode));
    assert!(fd >= 0);
    let data = guest.put(content);
    let (iov, out) = (guest.words(&[data, content.len() as u32]), guest.space(4));
    assert_eq!(guest.call(|vfs, mem| files::fd_write(vfs, mem, fd, iov, 1, out)), 0);
    assert_eq!(guest.u32(out), content.len() as u32);
    fd
}

#[test]
fn stat_has_the_layout_of_libc() {
    let mut guest = Guest::new();
    let fd = create(&mut guest, "f", &[1; 5000]);
    let buf = guest.space(96);
    assert_eq!(guest.call(|vfs, mem| files::fstat64(vfs, mem, fd, buf)), 0);
    let stat = guest.vfs.fstat(fd).unwrap();
    assert_eq!(guest.u32(buf), stat.dev as u32);
    assert_eq!(guest.u32(buf + 4), 0o100_644);
    assert_eq!((guest.u32(buf + 8), guest.u32(buf + 12), guest.u32(buf + 16), guest.u32(buf + 20)), (1, 0, 0, 0));
    assert_eq!((guest.u64(buf + 24), guest.u32(buf + 32), guest.u32(buf + 36)), (5000, 4096, 16));
    assert_eq!((guest.u64(buf + 40), guest.u32(buf + 48)), (stat.atime.secs as u64, stat.atime.nanos));
    assert_eq!((guest.u64(buf + 56), guest.u32(buf + 64)), (stat.mtime.secs as u64, stat.mtime.nanos));
    assert_eq!((guest.u64(buf + 72), guest.u32(buf + 80)), (stat.ctime.secs as u64, stat.ctime.nanos));
    assert_eq!(guest.u64(buf + 88), stat.ino);
    let (path, empty) = (guest.string("/tmp/../tmp/f"), guest.string(""));
    for result in [
        guest.call(|vfs, mem| files::stat64(vfs, mem, path, buf)),
        guest.call(|vfs, mem| files::lstat64(vfs, mem, path, buf)),
        guest.call(|vfs, mem| files::newfstatat(vfs, mem, fd, empty, buf, 0x1000)),
    ] {
        assert_eq!((result, guest.u64(buf + 88)), (0, stat.ino));
    }
    assert_eq!(guest.call(|vfs, mem| files::stat64(vfs, mem, empty, buf)), Errno::ENOENT.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::stat64(vfs, mem, 0, buf)), Errno::EFAULT.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::fstat64(vfs, mem, 99, buf)), -8);
}

#[test]
fn statfs_has_the_layout_of_libc() {
    let mut guest = Guest::new();
    let (path, buf) = (guest.string("/"), guest.space(88));
    assert_eq!(guest.call(|vfs, mem| files::statfs64(vfs, mem, path, 64, buf)), Errno::EINVAL.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::statfs64(vfs, mem, path, 88, buf)), 0);
    assert_eq!((guest.u32(buf), guest.u32(buf + 4)), (0x0102_1994, 4096));
    assert_eq!((guest.u64(buf + 8), guest.u64(buf + 16), guest.u64(buf + 24)), (1024, 1024, 1024));
    assert_eq!((guest.u64(buf + 32), guest.u64(buf + 40)), (200, 200));
    assert_eq!((guest.u32(buf + 56), guest.u32(buf + 60), guest.u32(buf + 64)), (255, 4096, 0));
}

#[test]
fn directory_records_are_packed_and_aligned() {
    let mut guest = Guest::new();
    create(&mut guest, "a", b"");
    create(&mut guest, &"n".repeat(255), b"");
    let path = guest.string(".");
    let fd = guest.call(|vfs, mem| files::openat(vfs, mem, FDCWD, path, 0x1_0000, 0));
    let (buf, mut names) = (guest.space(300), Vec::new());
    loop {
        let count = guest.call(|vfs, mem| dirs::getdents64(vfs, mem, fd, buf, 300));
        assert!((0..=300).contains(&count));
        if count == 0 {
            break;
        }
        let mut at = buf;
        while at < buf + count as u32 {
            let length = u32::from(guest.memory[at as usize + 16]) + u32::from(guest.memory[at as usize + 17]) * 256;
            assert!(length.is_multiple_of(8) && at + length <= buf + count as u32);
            let name: Vec<u8> =
                guest.memory[at as usize + 19..].iter().copied().take_while(|&byte| byte != 0).collect();
            assert!(19 + name.len() < length as usize);
            names.push((String::from_utf8(name).unwrap(), guest.memory[at as usize + 18], guest.u64(at)));
            at += length;
        }
    }
    let shown: Vec<_> = names.iter().map(|(name, kind, _)| (name.len(), *kind)).collect();
    assert_eq!(shown, [(1, 4), (2, 4), (1, 8), (255, 8)]);
    assert_eq!(names[0].2, guest.vfs.stat(b".").unwrap().ino);
    assert_eq!(guest.call(|vfs, mem| files::fd_seek(vfs, mem, fd, 0, 0, buf)), 0);
    assert_eq!(guest.call(|vfs, mem| dirs::getdents64(vfs, mem, fd, buf, 20)), Errno::EINVAL.as_syscall());
}

#[test]
fn fcntl_knows_what_it_knows_and_refuses_the_rest() {
    let mut guest = Guest::new();
    let fd = create(&mut guest, "f", b"");
    let fcntl = |guest: &mut Guest, command, argument: u32| {
        let va = guest.words(&[argument]);
        guest.call(|vfs, mem| files::fcntl64(vfs, mem, fd, command, va))
    };
    assert_eq!(fcntl(&mut guest, 0, 10), 10);
    assert_eq!((fcntl(&mut guest, 1030, 10), guest.vfs.close_on_exec(11)), (11, Ok(true)));
    assert_eq!((fcntl(&mut guest, 1, 0), fcntl(&mut guest, 2, 1), fcntl(&mut guest, 1, 0)), (0, 0, 1));
    assert_eq!(fcntl(&mut guest, 3, 0), 2);
    assert_eq!((fcntl(&mut guest, 4, 0xC00), fcntl(&mut guest, 3, 0)), (0, 0xC02));
    assert_eq!((fcntl(&mut guest, 4, 0x400), fcntl(&mut guest, 3, 0)), (0, 0x402));
    let lock = guest.words(&[1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((fcntl(&mut guest, 13, lock), fcntl(&mut guest, 14, lock)), (0, 0));
    assert_eq!((fcntl(&mut guest, 12, lock), guest.u32(lock)), (0, 2));
    for command in [5, 8, 9, 15, 16, 1024, 1031, 1033, -1, i32::MAX] {
        assert_eq!(fcntl(&mut guest, command, 0), Errno::EINVAL.as_syscall(), "{command}");
    }
    assert_eq!(guest.call(|vfs, mem| files::fcntl64(vfs, mem, 99, 0, 0)), Errno::EBADF.as_syscall());
}

#[test]
fn locks_of_a_process_need_a_file_that_is_open_for_them() {
    let mut guest = Guest::new();
    create(&mut guest, "f", b"");
    let path = guest.string("f");
    for (flags, read, write) in [(0, 0, -8), (1, -8, 0), (2, 0, 0)] {
        let fd = guest.call(|vfs, mem| files::openat(vfs, mem, FDCWD, path, flags, 0));
        let set = |guest: &mut Guest, kind: u32| {
            let lock = guest.words(&[kind, 0, 0, 0, 0, 0, 0, 0]);
            let va = guest.words(&[lock]);
            guest.call(|vfs, mem| files::fcntl64(vfs, mem, fd, 13, va))
        };
        assert_eq!((set(&mut guest, 0), set(&mut guest, 1), set(&mut guest, 2)), (read, write, 0), "{flags}");
        assert_eq!(set(&mut guest, 3), Errno::EINVAL.as_syscall());
    }
}

#[test]
fn the_driver_locks_open_files_and_makes_hard_links() {
    let mut guest = Guest::new();
    let one = create(&mut guest, "f", b"content");
    let path = guest.string("f");
    let two = guest.call(|vfs, mem| files::openat(vfs, mem, FDCWD, path, 0, 0));
    let flock = |guest: &mut Guest, fd, operation| {
        let va = guest.words(&[operation]);
        guest.call(|vfs, mem| files::fcntl64(vfs, mem, fd, 0x4272_0001, va))
    };
    assert_eq!(flock(&mut guest, one, 2), 0);
    assert_eq!(flock(&mut guest, two, 1 | 4), Errno::EAGAIN.as_syscall());
    assert_eq!(flock(&mut guest, two, 1), Errno::EDEADLK.as_syscall());
    assert_eq!((flock(&mut guest, one, 8), flock(&mut guest, two, 1 | 4)), (0, 0));
    let link = |guest: &mut Guest, words: [i32; 5], paths: &[u8]| {
        let block = guest.put(&[words.map(i32::to_le_bytes).concat(), paths.to_vec()].concat());
        let va = guest.words(&[block]);
        guest.call(|vfs, mem| files::ioctl(vfs, mem, one, 0x4272_0002, va))
    };
    assert_eq!(link(&mut guest, [FDCWD, FDCWD, 0, 1, 6], b"f/tmp/g"), 0);
    assert_eq!(guest.vfs.stat(b"g").unwrap().nlink, 2);
    assert_eq!(link(&mut guest, [FDCWD, FDCWD, 0, 1, 1], b"fg"), Errno::EEXIST.as_syscall());
    assert_eq!(link(&mut guest, [99, FDCWD, 0, 1, 1], b"fh"), Errno::EBADF.as_syscall());
    assert_eq!(link(&mut guest, [FDCWD, FDCWD, 0, 1, 0], b"f"), Errno::ENOENT.as_syscall());
    assert_eq!(link(&mut guest, [FDCWD, FDCWD, 0, 1, 2], b"fa\0"), Errno::EINVAL.as_syscall());
    assert_eq!(link(&mut guest, [FDCWD, FDCWD, 0, 4096, 1], b"fa"), Errno::ENAMETOOLONG.as_syscall());
    assert_eq!(link(&mut guest, [FDCWD, FDCWD, 0, -1, 1], b"fa"), Errno::ENAMETOOLONG.as_syscall());
    for block in [MEMORY as u32 - 20, MEMORY as u32, u32::MAX - 3] {
        let va = guest.words(&[block]);
        let answer = guest.call(|vfs, mem| files::ioctl(vfs, mem, one, 0x4272_0002, va));
        assert!(answer < 0, "{block}");
    }
}

#[test]
fn nothing_is_a_terminal() {
    let mut guest = Guest::new();
    create(&mut guest, "f", b"12345");
    let null = guest.string("/dev/null");
    assert_eq!(guest.call(|vfs, mem| files::openat(vfs, mem, FDCWD, null, 2, 0)), 3);
    let root = guest.string("/");
    assert_eq!(guest.call(|vfs, mem| files::openat(vfs, mem, FDCWD, root, 0, 0)), 4);
    let buf = guest.space(24);
    for (fd, wanted) in [(0, 0), (2, 4), (3, 0), (4, 3)] {
        assert_eq!(guest.call(|vfs, mem| files::fd_fdstat_get(vfs, mem, fd, buf)), 0);
        assert_eq!(guest.memory[buf as usize], wanted, "{fd}");
    }
    let (out, winsize) = (guest.space(4), 0x5413);
    let va = guest.words(&[out]);
    assert_eq!(guest.call(|vfs, mem| files::ioctl(vfs, mem, 1, winsize, va)), Errno::ENOTTY.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::ioctl(vfs, mem, 99, winsize, va)), Errno::EBADF.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::fd_seek(vfs, mem, 2, 1, 0, buf)), 0);
    assert_eq!((guest.call(|vfs, mem| files::ioctl(vfs, mem, 2, 0x541B, va)), guest.u32(out)), (0, 4));
}

#[test]
fn vectors_stop_at_the_first_short_buffer_and_are_bounded() {
    let mut guest = Guest::new();
    let fd = create(&mut guest, "f", b"0123456789");
    let (a, b, c, out) = (guest.space(4), guest.space(8), guest.space(8), guest.space(8));
    let iov = guest.words(&[a, 4, b, 8, c, 8]);
    assert_eq!(guest.call(|vfs, mem| files::fd_pread(vfs, mem, fd, iov, 3, 0, out)), 0);
    assert_eq!(guest.u32(out), 10);
    assert_eq!(&guest.memory[b as usize..b as usize + 8], b"456789\xEE\xEE");
    assert_eq!(guest.memory[c as usize], 0xEE);
    assert_eq!(guest.call(|vfs, mem| files::fd_pwrite(vfs, mem, fd, iov, 2, 10, out)), 0);
    assert_eq!(guest.vfs.fstat(fd).unwrap().size, 22);
    assert_eq!(guest.call(|vfs, mem| files::fd_read(vfs, mem, fd, iov, 1025, out)), Errno::EINVAL.as_wasi());
    assert_eq!(guest.call(|vfs, mem| files::fd_read(vfs, mem, fd, iov, -1, out)), Errno::EINVAL.as_wasi());
    assert_eq!(guest.call(|vfs, mem| files::fd_read(vfs, mem, 99, iov, 0, out)), Errno::EBADF.as_wasi());
    assert_eq!(guest.call(|vfs, mem| files::fd_read(vfs, mem, fd, u32::MAX - 4, 1, out)), Errno::EFAULT.as_wasi());
    assert_eq!(guest.call(|vfs, mem| files::fd_read(vfs, mem, fd, iov, 1, u32::MAX)), Errno::EFAULT.as_wasi());
    // The second buffer is invalid: the bytes of the first one count.
    let iov = guest.words(&[a, 4, u32::MAX - 8, 100]);
    assert_eq!(guest.call(|vfs, mem| files::fd_pread(vfs, mem, fd, iov, 2, 0, out)), 0);
    assert_eq!(guest.u32(out), 4);
    assert_eq!(guest.call(|vfs, mem| files::fd_seek(vfs, mem, fd, -100, 1, out)), Errno::EINVAL.as_wasi());
    assert_eq!(guest.call(|vfs, mem| files::fd_seek(vfs, mem, fd, 0, 9, out)), Errno::EINVAL.as_wasi());
    assert_eq!((guest.call(|vfs, mem| files::fd_seek(vfs, mem, fd, -2, 2, out)), guest.u64(out)), (0, 20));
}

#[test]
fn times_are_set_as_asked() {
    let mut guest = Guest::new();
    let fd = create(&mut guest, "f", b"");
    let path = guest.string("f");
    let before = guest.vfs.fstat(fd).unwrap();
    let times = guest.words(&[0, 0, 0x3fff_fffe, 0, 5, 1, 999_999_999, 0]);
    assert_eq!(guest.call(|vfs, mem| files::utimensat(vfs, mem, FDCWD, path, times, 0)), 0);
    let stat = guest.vfs.fstat(fd).unwrap();
    assert_eq!((stat.atime, stat.mtime.secs, stat.mtime.nanos), (before.atime, 5 + (1 << 32), 999_999_999));
    assert_eq!(guest.call(|vfs, mem| files::utimensat(vfs, mem, fd, 0, 0, 0)), 0);
    assert!(guest.vfs.fstat(fd).unwrap().atime > before.atime);
    let bad = guest.words(&[0, 0, 1_000_000_000, 0, 0, 0, 0, 0]);
    assert_eq!(guest.call(|vfs, mem| files::utimensat(vfs, mem, FDCWD, path, bad, 0)), Errno::EINVAL.as_syscall());
    let omit = guest.words(&[0, 0, 0x3fff_fffe, 0, 0, 0, 0x3fff_fffe, 0]);
    let missing = guest.string("missing");
    assert_eq!(guest.call(|vfs, mem| files::utimensat(vfs, mem, FDCWD, missing, omit, 0)), 0);
}

#[test]
fn getcwd_needs_room_for_the_nul() {
    let mut guest = Guest::new();
    let buf = guest.space(16);
    assert_eq!(guest.call(|vfs, mem| dirs::getcwd(vfs, mem, buf, 5)), 5);
    assert_eq!(&guest.memory[buf as usize..buf as usize + 6], b"/tmp\0\xEE");
    assert_eq!(guest.call(|vfs, mem| dirs::getcwd(vfs, mem, buf, 4)), Errno::ERANGE.as_syscall());
    assert_eq!(guest.call(|vfs, mem| dirs::getcwd(vfs, mem, buf, 0)), Errno::EINVAL.as_syscall());
}

#[test]
fn poll_tells_what_is_ready() {
    let mut guest = Guest::new();
    let fds = guest.space(8);
    assert_eq!(guest.call(|vfs, mem| files::pipe(vfs, mem, fds)), 0);
    let (reader, writer) = (guest.u32(fds), guest.u32(fds + 4));
    let (input, output) = (1u32, 4u32);
    let table = guest.words(&[reader, input, writer, output, 99, input, u32::MAX, input, reader, output]);
    assert_eq!(guest.call(|vfs, mem| poll::poll_ready(vfs, mem, table, 5)), 2);
    let revents = |guest: &Guest, index: u32| guest.u32(table + index * 8 + 4) >> 16;
    assert_eq!([0, 1, 2, 3, 4].map(|index| revents(&guest, index)), [0, 4, 32, 0, 0]);
    guest.vfs.write(writer as i32, b"x").unwrap();
    guest.vfs.close(writer as i32).unwrap();
    assert_eq!(guest.call(|vfs, mem| poll::poll_ready(vfs, mem, table, 2)), 2);
    assert_eq!([0, 1].map(|index| revents(&guest, index)), [1 | 16, 32]);
    assert_eq!(guest.call(|vfs, mem| poll::poll_ready(vfs, mem, table, 5000)), Errno::EINVAL.as_syscall());
    assert_eq!(guest.call(|vfs, mem| poll::poll_ready(vfs, mem, u32::MAX - 3, 1)), Errno::EFAULT.as_syscall());
    assert_eq!(guest.call(|vfs, mem| poll::poll_ready(vfs, mem, u32::MAX, 0)), 0);
}

#[test]
fn a_bad_address_leaves_no_pipe_behind() {
    let mut guest = Guest::new();
    assert_eq!(guest.call(|vfs, mem| files::pipe(vfs, mem, u32::MAX - 2)), Errno::EFAULT.as_syscall());
    assert_eq!(guest.vfs.pipe(brumate_vfs::OpenFlags(0)), Ok((2, 3)));
}

#[test]
fn mapped_files_are_filled_and_written_back() {
    let mut guest = Guest::new();
    let fd = create(&mut guest, "f", &[3; 100]);
    let mapping = guest.call(|vfs, _| mmap::mmap_prepare(vfs, 200, 3, 1, fd, 0)).unwrap();
    let (block, allocated, address) = (guest.space(200), guest.space(4), guest.space(4));
    guest.call(|vfs, mem| mmap::mmap_fill(vfs, mem, mapping, block, allocated, address)).unwrap();
    assert_eq!((guest.u32(allocated), guest.u32(address)), (1, block));
    assert_eq!((guest.memory[block as usize + 99], guest.memory[block as usize + 100]), (3, 0));
    guest.vfs.close(fd).unwrap();
    guest.memory[block as usize] = 9;
    assert_eq!(guest.call(|vfs, mem| mmap::msync(vfs, mem, block, 200)), 0);
    assert_eq!(guest.vfs.read_file_up_to("f", 999).unwrap()[..2], [9, 3]);
    guest.memory[block as usize + 1] = 8;
    assert_eq!(guest.call(|vfs, mem| mmap::munmap(vfs, mem, block, 200)), 0);
    assert_eq!(guest.vfs.read_file_up_to("f", 999).unwrap()[..3], [9, 8, 3]);
    assert_eq!(guest.vfs.read_file_up_to("f", 999).unwrap().len(), 100);
    assert_eq!(guest.call(|vfs, mem| mmap::munmap(vfs, mem, block, 200)), Errno::EINVAL.as_syscall());
    let fd = create(&mut guest, "f", b"");
    for (length, flags, offset) in [(0, 1, 0), (10, 0, 0), (10, 1, 100), (10, 1, -4096), (10, 1, i64::MAX)] {
        let refused = guest.call(|vfs, _| mmap::mmap_prepare(vfs, length, 3, flags, fd, offset));
        assert_eq!(refused, Err(Errno::EINVAL), "{length} {flags} {offset}");
    }
    let mapping = guest.call(|vfs, _| mmap::mmap_prepare(vfs, 200, 3, 1, fd, 0)).unwrap();
    let bad = guest.call(|vfs, mem| mmap::mmap_fill(vfs, mem, mapping, u32::MAX - 50, allocated, address));
    assert_eq!(bad, Err(Errno::EFAULT));
    guest.vfs.check().unwrap();
}

#[test]
fn refusals_that_python_relies_on() {
    let mut guest = Guest::new();
    let path = guest.string("x");
    assert_eq!(guest.call(|vfs, mem| files::mknodat(vfs, mem, FDCWD, path, 0, 0)), Errno::EPERM.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::faccessat(vfs, mem, FDCWD, path, 8, 0)), Errno::EINVAL.as_syscall());
    assert_eq!(guest.call(|vfs, mem| files::unlinkat(vfs, mem, FDCWD, path, 1)), Errno::EINVAL.as_syscall());
    let fd = create(&mut guest, "f", b"");
    assert_eq!(files::dup3(&mut guest.vfs, fd, 9, 1), Errno::EINVAL.as_syscall());
    assert_eq!(files::fallocate(&mut guest.vfs, fd, 1, 0, 1), Errno::EOPNOTSUPP.as_syscall());
    assert_eq!(files::fallocate(&mut guest.vfs, fd, 0, 0, 5), 0);
    assert_eq!((files::fadvise64(&mut guest.vfs, fd, 0, 0, 0), files::fdatasync(&mut guest.vfs, fd)), (0, 0));
    assert_eq!(files::fadvise64(&mut guest.vfs, 99, 0, 0, 0), Errno::EBADF.as_syscall());
    assert_eq!((files::umask_js(&mut guest.vfs, 0o1027), files::umask_js(&mut guest.vfs, 0)), (0o022, 0o027));
    let buf = guest.space(8);
    let (target, link) = (guest.string("target"), guest.string("link"));
    assert_eq!(guest.call(|vfs, mem| files::symlinkat(vfs, mem, target, FDCWD, link)), 0);
    assert_eq!(guest.call(|vfs, mem| files::readlinkat(vfs, mem, FDCWD, link, buf, 3)), 3);
    assert_eq!(&guest.memory[buf as usize..buf as usize + 4], b"tar\xEE");
    assert_eq!(guest.call(|vfs, mem| files::readlinkat(vfs, mem, FDCWD, link, buf, 0)), Errno::EINVAL.as_syscall());
}
