//! Every call with arguments of a hostile guest: nothing panics, nothing breaks.

use super::{Guest, MEMORY};
use crate::caps::network::Network;
use crate::libc::sockets::{calls, names, private};
use crate::libc::{dirs, files, mmap, poll};
use brumate_vfs::at::FDCWD;
use brumate_vfs::{DirectoryEntry, FileType, OpenFlags, at};

/// Reproducible arguments; most of them are invalid but pass the first check.
struct Arguments {
    state: u64,
    paths: Vec<u32>,
    /// Socket addresses, their lengths.
    addresses: Vec<(u32, u32)>,
}

impl Arguments {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state >> 20
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next() as usize % choices.len()]
    }

    fn fd(&mut self) -> i32 {
        let any = self.next() as i32;
        let near = (self.next() % 24) as i32;
        self.of(&[near, near, near, near, near, near, FDCWD, -1, 1023, 1024, any])
    }

    fn ptr(&mut self) -> u32 {
        let inside = self.next() as u32 % MEMORY as u32;
        let edge = MEMORY as u32 - self.next() as u32 % 64;
        self.of(&[inside, inside, inside, edge, 0, u32::MAX, u32::MAX - 7])
    }

    fn path(&mut self) -> u32 {
        let known = self.next() as usize % self.paths.len();
        let known = self.paths[known];
        let any = self.ptr();
        self.of(&[known, known, known, known, known, any])
    }

    fn address(&mut self) -> (u32, u32) {
        let known = self.next() as usize % self.addresses.len();
        let (at, length) = self.addresses[known];
        let any = self.ptr();
        let short = self.next() as u32 % 130;
        (self.of(&[at, at, at, at, any]), self.of(&[length, length, length, short, 0, u32::MAX]))
    }

    fn length(&mut self) -> i64 {
        let small = (self.next() % 100_000) as i64;
        let any = self.next() as i64;
        self.of(&[small, small, small, 0, 1, -1, 4096, i64::MAX, i64::MIN, 1 << 40, any])
    }

    fn int(&mut self) -> i32 {
        let any = self.next() as u32 as i32;
        let bits = (self.next() & 0x67_ffff) as i32;
        self.of(&[0, 1, 2, 3, 4, 8, 64, 300, 1030, -1, i32::MAX, i32::MIN, any, bits, bits, bits])
    }
}

fn step(guest: &mut Guest, a: &mut Arguments) {
    let (fd, fd2, ptr, ptr2, path, path2) = (a.fd(), a.fd(), a.ptr(), a.ptr(), a.path(), a.path());
    let (n, m, x, y) = (a.int(), a.int(), a.length(), a.length());
    let which = a.next() % 70;
    if which >= 46 {
        return socket_step(guest, a, which);
    }
    guest.call(|vfs, mem| match which {
        0..=5 => files::openat(vfs, mem, fd, path, n, ptr),
        6 => files::stat64(vfs, mem, path, ptr),
        7 => files::lstat64(vfs, mem, path, ptr),
        8 => files::fstat64(vfs, mem, fd, ptr),
        9 => files::newfstatat(vfs, mem, fd, path, ptr, n),
        10 => files::faccessat(vfs, mem, fd, path, n, m),
        11 => files::readlinkat(vfs, mem, fd, path, ptr, n),
        12 => files::symlinkat(vfs, mem, path, fd, path2),
        13 => files::unlinkat(vfs, mem, fd, path, n),
        14..=15 => files::renameat(vfs, mem, fd, path, fd2, path2),
        16 => files::ftruncate64(vfs, fd, x),
        17 => files::truncate64(vfs, mem, path, x),
        18 => files::fallocate(vfs, fd, n & 1, x, y),
        19 => files::chmod(vfs, mem, path, n),
        20 => files::fchmod(vfs, fd, n),
        21 => files::fchmodat2(vfs, mem, fd, path, n, m),
        22 => files::utimensat(vfs, mem, fd, path, ptr, n),
        23 => files::statfs64(vfs, mem, path, 88, ptr),
        24 => files::fstatfs64(vfs, mem, fd, n, ptr),
        25 => files::fcntl64(vfs, mem, fd, n, ptr),
        26 => files::ioctl(vfs, mem, fd, n, ptr),
        27 => files::dup(vfs, fd),
        28 => files::dup3(vfs, fd, fd2, n),
        29 => files::pipe(vfs, mem, ptr),
        30 => files::fd_read(vfs, mem, fd, ptr, n, ptr2),
        31 => files::fd_write(vfs, mem, fd, ptr, n, ptr2),
        32 => files::fd_pread(vfs, mem, fd, ptr, n, x, ptr2),
        33 => files::fd_pwrite(vfs, mem, fd, ptr, n, x, ptr2),
        34 => files::fd_seek(vfs, mem, fd, x, n, ptr),
        35 => files::fd_close(vfs, fd),
        36 => files::fd_fdstat_get(vfs, mem, fd, ptr) + files::fd_sync(vfs, fd),
        37 => dirs::getcwd(vfs, mem, ptr, n),
        38 => dirs::chdir(vfs, mem, path),
        39 => dirs::fchdir(vfs, fd),
        40 => dirs::mkdirat(vfs, mem, fd, path, n),
        41 => dirs::rmdir(vfs, mem, path),
        42 => dirs::getdents64(vfs, mem, fd, ptr, n),
        43 => poll::poll_ready(vfs, mem, ptr, n as u32),
        44 => match mmap::mmap_prepare(vfs, x as u32, n, m, fd, y & !4095) {
            Ok(mapping) if n & 1 == 0 => {
                mmap::mmap_cancel(vfs, mapping);
                0
            }
            Ok(mapping) => mmap::mmap_fill(vfs, mem, mapping, ptr & !0xf_ffff, ptr, ptr2).map_or(-1, |()| 0),
            Err(errno) => errno.as_syscall(),
        },
        _ => mmap::msync(vfs, mem, ptr & !0xf_ffff, x as u32) + mmap::munmap(vfs, mem, ptr & !0xf_ffff, x as u32),
    });
}

fn socket_step(guest: &mut Guest, a: &mut Arguments, which: u64) {
    let (fd, ptr, ptr2, n, m) = (a.fd(), a.ptr(), a.ptr(), a.int(), a.int());
    let (address, length) = a.address();
    let (domain, kind) = (a.of(&[1, 2, 10, 1, 2, 16]), a.of(&[1, 2, 1, 2, 3, 0x8_0801]));
    let (level, size) = (a.of(&[1, 0, 6, 17, 41, n]), a.of(&[0, 1, 100, 5000, 300_000, u32::MAX]));
    let result = guest.call(|vfs, mem| match which {
        46..=49 => calls::socket(vfs, domain, kind, a.of(&[0, 0, 0, 6, 17, n])),
        50 => calls::pair(vfs, domain, kind, 0).map(|(fd, _)| fd),
        51..=53 => calls::bind(vfs, mem, fd, address, length),
        54..=55 => calls::listen(vfs, fd, n),
        56..=58 => calls::connect(vfs, &mut Network::default(), mem, fd, address, length),
        59 => calls::accept(vfs, mem, fd, ptr, ptr2, a.of(&[0, 0x8_0000, n])),
        60 => calls::name(vfs, mem, fd, ptr, ptr2, n & 1 == 0),
        61 => calls::get_option(vfs, mem, fd, level, m, ptr, ptr2),
        62 => calls::shutdown(vfs, fd, a.of(&[0, 1, 2, n])),
        63..=64 => calls::receive(vfs, mem, fd, (ptr, size), n, (ptr2, address)),
        65 => calls::gather(vfs, mem, fd, ptr, n).map(|_| 0),
        66 => calls::receive_message(vfs, mem, fd, ptr, n),
        67 => vfs.write(fd, &vec![7; size.min(400_000) as usize]).map(|count| count as i32),
        68 => names::find(mem, ptr, ptr2, address).map(|_| 0).or(Ok(0)),
        _ => {
            // The block of a private call, with a number that there is, mostly.
            let _outside = mem.write_u32(ptr, a.of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
            private::Block::read(mem, ptr).and_then(|block| block.try_call(vfs, mem, fd))
        }
    });
    assert!(result.is_ok_and(|value| value >= 0) || result.is_err());
}

/// Lays out an address of each kind.
fn addresses(guest: &mut Guest) -> Vec<(u32, u32)> {
    let v4 = |ip: [u8; 4], port: u16| [&[2, 0][..], &port.to_be_bytes(), &ip, &[0; 8]].concat();
    let v6 = |last: u8, port: u16| [&[10, 0][..], &port.to_be_bytes(), &[0; 19], &[last], &[0; 4]].concat();
    let unix = |path: &[u8]| [&[1, 0][..], path].concat();
    let all = [
        v4([127, 0, 0, 1], 80),
        v4([0; 4], 80),
        v4([127, 0, 0, 1], 0),
        v4([8, 8, 8, 8], 53),
        v6(1, 80),
        v6(0, 0),
        unix(b"/tmp/s\0"),
        unix(b"a"),
        unix(b"\0abstract"),
        unix(b""),
        vec![0, 0, 0, 0],
    ];
    all.iter().map(|bytes| (guest.put(bytes), bytes.len() as u32)).collect()
}

#[test]
fn no_argument_breaks_anything() {
    for seed in 1..=24 {
        let mut guest = Guest::new();
        let names = [
            "a",
            "b",
            "a/b",
            "a/c/",
            "..",
            ".",
            "/",
            "/tmp/x",
            "l",
            "l/a",
            "/dev/null",
            "/dev/fd/3",
            "/proc/self/fd",
            "/proc/self/fd/5",
            "/dev/zero",
            "",
            "//a//b//",
        ];
        let long = "p/".repeat(3000);
        let paths = names.iter().copied().chain([&long[..]]).map(|name| guest.string(name)).collect();
        let before = guest.vfs.usage();
        let addresses = addresses(&mut guest);
        let mut arguments = Arguments { state: seed, paths, addresses };
        for call in 0..4000 {
            step(&mut guest, &mut arguments);
            if call % 250 == 0 {
                guest.vfs.check().unwrap();
                // The guest overwrites its own memory as well.
                let at = arguments.next() as usize % (MEMORY / 2) + MEMORY / 2 - 64;
                guest.memory[at] = arguments.next() as u8;
            }
        }
        guest.vfs.check().unwrap();
        empty(&mut guest);
        assert_eq!(guest.vfs.usage(), before, "everything can be removed and gives its quota back");
    }
}

/// Closes and removes everything but `/proc`, which is mounted and cannot be removed.
fn empty(guest: &mut Guest) {
    for fd in 0..1024 {
        files::fd_close(&mut guest.vfs, fd);
    }
    guest.vfs.remove_mapping(0);
    guest.vfs.chdir(b"/").unwrap();
    let mut directories = vec![Vec::new()];
    let mut index = 0;
    while index < directories.len() {
        let directory = directories[index].clone();
        index += 1;
        let path = if directory.is_empty() { b"/" } else { &directory[..] };
        let fd = guest.vfs.openat(FDCWD, path, OpenFlags(OpenFlags::DIRECTORY), 0).unwrap();
        let mut entries = Vec::new();
        let mut collect = |entry: DirectoryEntry<'_>| {
            entries.push((entry.name.to_vec(), entry.file_type));
            true
        };
        guest.vfs.read_directory(fd, &mut collect).unwrap();
        guest.vfs.close(fd).unwrap();
        for (name, file_type) in entries {
            let path = [&directory[..], b"/", &name].concat();
            if matches!(&name[..], b"." | b"..") || path == b"/proc" {
                continue;
            }
            if file_type == FileType::Directory {
                directories.push(path);
            } else {
                guest.vfs.unlinkat(FDCWD, &path, 0).unwrap();
            }
        }
    }
    for directory in directories.iter().skip(1).rev() {
        guest.vfs.unlinkat(FDCWD, directory, at::REMOVEDIR).unwrap();
    }
    guest.vfs.check().unwrap();
}
