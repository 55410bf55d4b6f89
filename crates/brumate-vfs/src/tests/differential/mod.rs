//! The same random calls on this file system and on the kernel's, with the same answers expected.
//!
//! Both sides work at the bottom of a long chain of directories, so that no `..` and no symbolic link the test makes
//! can climb out of the scratch directory: a path has few components and at most 40 links are followed.

mod calls;
mod descriptors;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use brumate_test_support::{Random, count, seed};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom};
use rustix::io::Errno as Host;

use crate::tests::support::vfs;
use crate::{OpenFlags as O, Stat, Vfs, Whence, at};
use brumate_abi::errno::Errno;

/// Levels between the scratch directory and where the calls start.
const NEST: usize = 300;
const CALLS_PER_RUN: usize = 1500;
const OPEN_MAX: usize = 8;

/// One open file on both sides.
struct Pair {
    host: OwnedFd,
    guest: i32,
    is_path: bool,
}

struct Bench {
    random: Random,
    vfs: Vfs,
    host_base: OwnedFd,
    guest_base: i32,
    open: Vec<Pair>,
    is_root: bool,
    is_tmpfs: bool,
    log: Vec<String>,
}

fn host_name(errno: Host) -> &'static str {
    const NAMES: &[(Host, &str)] = &[
        (Host::ACCESS, "EACCES"),
        (Host::AGAIN, "EAGAIN"),
        (Host::BADF, "EBADF"),
        (Host::BUSY, "EBUSY"),
        (Host::EXIST, "EEXIST"),
        (Host::FAULT, "EFAULT"),
        (Host::FBIG, "EFBIG"),
        (Host::INVAL, "EINVAL"),
        (Host::ISDIR, "EISDIR"),
        (Host::LOOP, "ELOOP"),
        (Host::NAMETOOLONG, "ENAMETOOLONG"),
        (Host::NODEV, "ENODEV"),
        (Host::NOENT, "ENOENT"),
        (Host::NOSPC, "ENOSPC"),
        (Host::NOTDIR, "ENOTDIR"),
        (Host::NOTEMPTY, "ENOTEMPTY"),
        (Host::NXIO, "ENXIO"),
        (Host::OPNOTSUPP, "EOPNOTSUPP"),
        (Host::PERM, "EPERM"),
        (Host::ROFS, "EROFS"),
        (Host::SPIPE, "ESPIPE"),
        (Host::XDEV, "EXDEV"),
    ];
    NAMES.iter().find(|(host, _)| *host == errno).map_or("other", |(_, name)| name)
}

fn host_answer<T>(result: Result<T, Host>, show: impl FnOnce(T) -> String) -> String {
    result.map_or_else(|errno| host_name(errno).to_owned(), show)
}

fn guest_answer<T>(result: Result<T, Errno>, show: impl FnOnce(T) -> String) -> String {
    result.map_or_else(|errno| errno.name().to_owned(), show)
}

fn host_flags(flags: u32) -> OFlags {
    let pairs = [
        (O::WRONLY, OFlags::WRONLY),
        (O::RDWR, OFlags::RDWR),
        (O::CREAT, OFlags::CREATE),
        (O::EXCL, OFlags::EXCL),
        (O::TRUNC, OFlags::TRUNC),
        (O::APPEND, OFlags::APPEND),
        (O::DIRECTORY, OFlags::DIRECTORY),
        (O::NOFOLLOW, OFlags::NOFOLLOW),
        (O::PATH, OFlags::PATH),
        (O::TMPFILE, OFlags::TMPFILE),
    ];
    let set = |&(guest, _): &(u32, OFlags)| flags & guest == guest;
    pairs.iter().filter(|pair| set(pair)).fold(OFlags::CLOEXEC, |all, (_, host)| all | *host)
}

impl Bench {
    fn new(seed: u64, scratch: &Path) -> Self {
        let mut vfs = vfs();
        vfs.mkdir("/w").unwrap();
        let mut guest_base = vfs.open("/w", O::PATH).unwrap();
        let directory = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut host_base = rustix::fs::open(scratch, directory, Mode::empty()).unwrap();
        for _ in 0..NEST {
            rustix::fs::mkdirat(&host_base, "n", Mode::RWXU).unwrap();
            host_base = rustix::fs::openat(&host_base, "n", directory, Mode::empty()).unwrap();
            vfs.mkdirat(guest_base, b"n", 0o700).unwrap();
            let below = vfs.openat(guest_base, b"n", O(O::DIRECTORY), 0).unwrap();
            vfs.close(guest_base).unwrap();
            guest_base = below;
        }
        let is_tmpfs = rustix::fs::fstatfs(&host_base).unwrap().f_type as u64 == 0x0102_1994;
        let is_root = rustix::process::geteuid().is_root();
        Self {
            random: Random::new(seed),
            vfs,
            host_base,
            guest_base,
            open: Vec::new(),
            is_root,
            is_tmpfs,
            log: Vec::new(),
        }
    }

    fn compare(&mut self, call: String, host: String, guest: String) {
        let call = call.replace(&"x".repeat(250), "X").replace(&"a/".repeat(1024), "A/");
        self.log.push(format!("{call} = {host}"));
        if host != guest {
            let from = self.log.len().saturating_sub(60);
            panic!("{}\nkernel: {host}\nguest:  {guest}", self.log[from..].join("\n"));
        }
    }

    fn name(&mut self) -> String {
        match self.random.below(60) {
            0 => "x".repeat(255),
            1 => "x".repeat(256),
            2..=4 => ".".to_owned(),
            5..=8 => "..".to_owned(),
            n => ["a", "b", "c", "d", "e"][n as usize % 5].to_owned(),
        }
    }

    fn path(&mut self) -> String {
        if self.random.below(60) == 0 {
            return String::new();
        }
        if self.random.below(300) == 0 {
            return "a/".repeat(2048);
        }
        let mut path = self.name();
        let more = [0, 0, 0, 1, 1, 2, 3][self.random.below(7) as usize];
        for _ in 0..more {
            path.push_str(if self.random.below(12) == 0 { "//" } else { "/" });
            path.push_str(&self.name());
        }
        if self.random.below(8) == 0 {
            path.push_str(if self.random.below(4) == 0 { "//" } else { "/" });
        }
        path
    }

    fn mode(&mut self) -> u32 {
        let modes: &[u32] = if self.is_root {
            &[0o700, 0o600, 0o400, 0o200, 0o100, 0, 0o4700, 0o1700, 0o2700, 0o500]
        } else {
            &[0o700, 0o1700]
        };
        modes[self.random.below(modes.len() as u64) as usize]
    }

    fn open_flags(&mut self) -> u32 {
        let mut flags = [O::RDONLY, O::WRONLY, O::RDWR, O::RDWR][self.random.below(4) as usize];
        for (flag, one_in) in [
            (O::CREAT, 2),
            (O::EXCL, 6),
            (O::TRUNC, 6),
            (O::APPEND, 8),
            (O::DIRECTORY, 6),
            (O::NOFOLLOW, 6),
            (O::PATH, 12),
            (O::TMPFILE, 40),
        ] {
            if self.random.below(one_in) == 0 {
                flags |= flag;
            }
        }
        // What O_EXCL means without O_CREAT is undefined, and with O_TMPFILE something else.
        if flags & O::CREAT == 0 { flags & !O::EXCL } else { flags }
    }

    /// A directory to start from: usually the base, sometimes whatever is open (also files, for their errors).
    fn start(&mut self) -> (Option<usize>, i32) {
        if !self.open.is_empty() && self.random.below(5) == 0 {
            let index = self.random.below(self.open.len() as u64) as usize;
            return (Some(index), self.open[index].guest);
        }
        (None, self.guest_base)
    }

    fn host_fd(&self, start: Option<usize>) -> BorrowedFd<'_> {
        start.map_or(self.host_base.as_fd(), |index| self.open[index].host.as_fd())
    }

    fn host_stat(&self, stat: &rustix::fs::Stat) -> String {
        let is_directory = stat.st_mode & 0o170_000 == 0o040_000;
        let nlink = if is_directory && !self.is_tmpfs { "any".to_owned() } else { stat.st_nlink.to_string() };
        let size = if is_directory { 0 } else { stat.st_size };
        format!("{:o} links {nlink} size {size}", stat.st_mode)
    }

    fn guest_stat(&self, stat: &Stat) -> String {
        let is_directory = stat.mode & 0o170_000 == 0o040_000;
        let nlink = if is_directory && !self.is_tmpfs { "any".to_owned() } else { stat.nlink.to_string() };
        let size = if is_directory { 0 } else { stat.size };
        format!("{:o} links {nlink} size {size}", stat.mode)
    }

    /// Compares the whole trees below the scratch directory.
    fn compare_trees(&mut self, scratch: &Path) {
        let directory = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let host = rustix::fs::open(scratch, directory, Mode::empty()).unwrap();
        let guest = self.vfs.open("/w", O::DIRECTORY).unwrap();
        let mut pending = vec![("".to_owned(), host, guest)];
        while let Some((path, host, guest)) = pending.pop() {
            let names = host_list(host.as_fd()).unwrap();
            let seen = guest_list(&mut self.vfs, guest).unwrap();
            self.compare(format!("list {path}"), format!("{names:?}"), format!("{seen:?}"));
            for name in names.keys().filter(|name| !matches!(&name[..], "." | "..")) {
                let (theirs, ours) = (
                    rustix::fs::statat(&host, &**name, AtFlags::SYMLINK_NOFOLLOW).unwrap(),
                    self.vfs.fstatat(guest, name.as_bytes(), at::SYMLINK_NOFOLLOW).unwrap(),
                );
                let (theirs, ours) = (self.host_stat(&theirs), self.guest_stat(&ours));
                let is_file = theirs.starts_with("10");
                let is_directory = theirs.starts_with("4");
                self.compare(format!("stat {path}/{name}"), theirs, ours);
                if is_directory {
                    let below = rustix::fs::openat(&host, &**name, directory, Mode::empty()).unwrap();
                    let guest_below = self.vfs.openat(guest, name.as_bytes(), O(O::DIRECTORY), 0).unwrap();
                    pending.push((format!("{path}/{name}"), below, guest_below));
                } else if is_file {
                    let file = rustix::fs::openat(&host, &**name, OFlags::CLOEXEC, Mode::empty()).unwrap();
                    let (mut theirs, mut ours) = (vec![0; 1 << 20], vec![0; 1 << 20]);
                    let n = rustix::io::pread(&file, &mut theirs[..], 0).unwrap();
                    let file = self.vfs.openat(guest, name.as_bytes(), O(O::RDONLY), 0).unwrap();
                    let m = self.vfs.pread(file, 0, &mut ours).unwrap();
                    self.vfs.close(file).unwrap();
                    let (theirs, ours) = (checksum(&theirs[..n]), checksum(&ours[..m]));
                    self.compare(format!("content {path}/{name}"), format!("{n} {theirs}"), format!("{m} {ours}"));
                }
            }
            self.vfs.close(guest).unwrap();
        }
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

type Listing = BTreeMap<String, u8>;

fn host_list(fd: BorrowedFd<'_>) -> Result<Listing, Host> {
    if let Err(Host::BADF) = rustix::fs::seek(fd, SeekFrom::Start(0)) {
        return Err(Host::BADF);
    }
    let mut buffer = Vec::with_capacity(4096);
    let mut entries = RawDir::new(fd, buffer.spare_capacity_mut());
    let mut listing = Listing::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let kind = match entry.file_type() {
            rustix::fs::FileType::Directory => 4,
            rustix::fs::FileType::RegularFile => 8,
            rustix::fs::FileType::Symlink => 10,
            _ => 0,
        };
        listing.insert(entry.file_name().to_string_lossy().into_owned(), kind);
    }
    Ok(listing)
}

fn guest_list(vfs: &mut Vfs, fd: i32) -> Result<Listing, Errno> {
    vfs.seek(fd, 0, Whence::Set)?;
    let mut listing = Listing::new();
    vfs.read_directory(fd, &mut |entry| {
        listing.insert(String::from_utf8_lossy(entry.name).into_owned(), entry.file_type.dirent());
        true
    })?;
    Ok(listing)
}

#[test]
fn random_calls_answer_as_the_kernel_does() {
    let first = seed();
    for seed in first..first + count(4, 16) {
        let scratch = if Path::new("/dev/shm").is_dir() {
            tempfile::tempdir_in("/dev/shm").unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        let mut bench = Bench::new(seed, scratch.path());
        for call in 0..CALLS_PER_RUN {
            bench.step();
            if call % 100 == 0 {
                bench.vfs.check().unwrap();
            }
        }
        bench.compare_trees(scratch.path());
        bench.vfs.check().unwrap();
    }
}
