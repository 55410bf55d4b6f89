//! Calls with paths.

use std::os::fd::OwnedFd;

use rustix::fs::{Access, AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno as Host;

use super::{Bench, OPEN_MAX, Pair, guest_answer, host_answer, host_flags};
use crate::{OpenFlags as O, SetTime, Timestamp, at};
use brumate_abi::errno::Errno;

impl Bench {
    pub(super) fn step(&mut self) {
        match self.random.below(100) {
            0..=17 => self.call_open(),
            18..=27 => self.call_mkdir(),
            28..=31 => self.call_symlink(),
            32..=34 => self.call_link(),
            35..=41 => self.call_unlink(),
            42..=47 => self.call_rmdir(),
            48..=58 => self.call_rename(),
            59..=65 => self.call_stat(),
            66..=68 => self.call_readlink(),
            69..=71 => self.call_chmod(),
            72..=73 => self.call_access(),
            74..=75 => self.call_truncate(),
            76..=77 => self.call_times(),
            _ => self.call_on_descriptor(),
        }
    }

    pub(super) fn call_open(&mut self) {
        let (start, dirfd) = self.start();
        let (path, flags, mode) = (self.path(), self.open_flags(), self.mode());
        let host = rustix::fs::openat(self.host_fd(start), &*path, host_flags(flags), Mode::from_raw_mode(mode));
        let guest = self.vfs.openat(dirfd, path.as_bytes(), O(flags), mode);
        let call = format!("openat({start:?}, {path:?}, {flags:#x}, {mode:o})");
        let opened = guest.as_ref().ok().copied();
        let host_fd = host.as_ref().ok().is_some();
        self.compare(
            call,
            host_answer(host.as_ref().copied_err(), |()| "ok".into()),
            guest_answer(guest, |_| "ok".into()),
        );
        if let (true, Some(guest)) = (host_fd, opened) {
            let is_path = flags & O::PATH != 0;
            // Directories reached through something open could climb further each time.
            let keeps = start.is_none() && self.open.len() < OPEN_MAX;
            match (keeps, host) {
                (true, Ok(host)) => self.open.push(Pair { host, guest, is_path }),
                _ => self.vfs.close(guest).unwrap(),
            }
        }
    }

    fn call_mkdir(&mut self) {
        let (start, dirfd) = self.start();
        let (path, mode) = (self.path(), self.mode() | 0o700);
        let host = rustix::fs::mkdirat(self.host_fd(start), &*path, Mode::from_raw_mode(mode));
        let guest = self.vfs.mkdirat(dirfd, path.as_bytes(), mode);
        self.compare_unit(format!("mkdirat({start:?}, {path:?}, {mode:o})"), host, guest);
    }

    fn compare_unit(&mut self, call: String, host: Result<(), Host>, guest: Result<(), Errno>) {
        self.compare(call, host_answer(host, |()| "ok".into()), guest_answer(guest, |()| "ok".into()));
    }

    fn call_symlink(&mut self) {
        let (start, dirfd) = self.start();
        let (target, path) = (self.path(), self.path());
        let host = rustix::fs::symlinkat(&*target, self.host_fd(start), &*path);
        let guest = self.vfs.symlinkat(target.as_bytes(), dirfd, path.as_bytes());
        self.compare_unit(format!("symlinkat({target:?}, {start:?}, {path:?})"), host, guest);
    }

    fn call_unlink(&mut self) {
        let (start, dirfd) = self.start();
        let path = self.path();
        let host = rustix::fs::unlinkat(self.host_fd(start), &*path, AtFlags::empty());
        let guest = self.vfs.unlinkat(dirfd, path.as_bytes(), 0);
        self.compare_unit(format!("unlinkat({start:?}, {path:?})"), host, guest);
    }

    fn call_rmdir(&mut self) {
        let (start, dirfd) = self.start();
        let path = self.path();
        let host = rustix::fs::unlinkat(self.host_fd(start), &*path, AtFlags::REMOVEDIR);
        let guest = self.vfs.unlinkat(dirfd, path.as_bytes(), at::REMOVEDIR);
        self.compare_unit(format!("rmdir({start:?}, {path:?})"), host, guest);
    }

    fn call_rename(&mut self) {
        let ((old_start, old_fd), (new_start, new_fd)) = (self.start(), self.start());
        let (old, new) = (self.path(), self.path());
        let host = rustix::fs::renameat(self.host_fd(old_start), &*old, self.host_fd(new_start), &*new);
        let guest = self.vfs.renameat(old_fd, old.as_bytes(), new_fd, new.as_bytes());
        self.compare_unit(format!("renameat({old_start:?}, {old:?}, {new_start:?}, {new:?})"), host, guest);
    }

    fn call_link(&mut self) {
        let ((old_start, old_fd), (new_start, new_fd)) = (self.start(), self.start());
        let (old, new) = (self.path(), self.path());
        let follow = self.random.below(2) == 0;
        let (host_flags, flags) =
            if follow { (AtFlags::SYMLINK_FOLLOW, at::SYMLINK_FOLLOW) } else { (AtFlags::empty(), 0) };
        let host = rustix::fs::linkat(self.host_fd(old_start), &*old, self.host_fd(new_start), &*new, host_flags);
        let guest = self.vfs.linkat(old_fd, old.as_bytes(), new_fd, new.as_bytes(), flags);
        self.compare_unit(format!("linkat({old_start:?}, {old:?}, {new_start:?}, {new:?}, {flags:#x})"), host, guest);
    }

    fn call_stat(&mut self) {
        let (start, dirfd) = self.start();
        let path = self.path();
        let (host_flags, flags) = [
            (AtFlags::empty(), 0),
            (AtFlags::SYMLINK_NOFOLLOW, at::SYMLINK_NOFOLLOW),
            (AtFlags::EMPTY_PATH, at::EMPTY_PATH),
        ][self.random.below(3) as usize];
        let host = rustix::fs::statat(self.host_fd(start), &*path, host_flags);
        let guest = self.vfs.fstatat(dirfd, path.as_bytes(), flags);
        let (host, guest) =
            (host_answer(host, |stat| self.host_stat(&stat)), guest_answer(guest, |stat| self.guest_stat(&stat)));
        self.compare(format!("fstatat({start:?}, {path:?}, {flags:#x})"), host, guest);
    }

    fn call_readlink(&mut self) {
        let (start, dirfd) = self.start();
        let path = self.path();
        let host = rustix::fs::readlinkat(self.host_fd(start), &*path, Vec::new());
        let guest = self.vfs.readlinkat(dirfd, path.as_bytes());
        let host = host_answer(host, |target| format!("{target:?}"));
        let guest = guest_answer(guest, |target| format!("{:?}", std::ffi::CString::new(target).unwrap()));
        self.compare(format!("readlinkat({start:?}, {path:?})"), host, guest);
    }

    fn call_chmod(&mut self) {
        let (start, dirfd) = self.start();
        let (path, mode) = (self.path(), self.mode());
        let host = rustix::fs::chmodat(self.host_fd(start), &*path, Mode::from_raw_mode(mode), AtFlags::empty());
        let guest = self.vfs.fchmodat(dirfd, path.as_bytes(), mode, 0);
        self.compare_unit(format!("chmod({start:?}, {path:?}, {mode:o})"), host, guest);
    }

    fn call_access(&mut self) {
        let (start, dirfd) = self.start();
        let (path, mode) = (self.path(), self.random.below(8) as u32);
        let access = Access::from_bits_retain(mode);
        let host = rustix::fs::accessat(self.host_fd(start), &*path, access, AtFlags::empty());
        let guest = self.vfs.faccessat(dirfd, path.as_bytes(), mode, 0);
        self.compare_unit(format!("faccessat({start:?}, {path:?}, {mode})"), host, guest);
    }

    /// There is no `truncateat`: the file is opened and cut.
    fn call_truncate(&mut self) {
        let (path, length) = (self.path(), self.random.below(300_000));
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let host = rustix::fs::openat(&self.host_base, &*path, flags, Mode::empty());
        let host = host.and_then(|fd| rustix::fs::ftruncate(fd, length));
        let guest = self.vfs.openat(self.guest_base, path.as_bytes(), O(O::WRONLY), 0).and_then(|fd| {
            let result = self.vfs.ftruncate(fd, length as i64);
            self.vfs.close(fd).and(result)
        });
        self.compare_unit(format!("truncate({path:?}, {length})"), host, guest);
    }

    fn call_times(&mut self) {
        let (start, dirfd) = self.start();
        let (path, secs) = (self.path(), self.random.below(1 << 33) as i64);
        let omit = self.random.below(2) == 0;
        let flags = if self.random.below(2) == 0 { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: if omit { UTIME_OMIT } else { 7 } },
            last_modification: Timespec { tv_sec: secs, tv_nsec: 5 },
        };
        let host = rustix::fs::utimensat(self.host_fd(start), &*path, &times, flags);
        let atime = if omit { SetTime::Omit } else { SetTime::To(Timestamp { secs: 0, nanos: 7 }) };
        let mtime = SetTime::To(Timestamp { secs, nanos: 5 });
        let guest = self.vfs.utimensat(dirfd, path.as_bytes(), atime, mtime, flags.bits());
        let done = guest.is_ok();
        self.compare_unit(format!("utimensat({start:?}, {path:?}, {secs}, {flags:?})"), host, guest);
        if done {
            let host = rustix::fs::statat(self.host_fd(start), &*path, flags).map(|stat| stat.st_mtime);
            let guest = self.vfs.fstatat(dirfd, path.as_bytes(), flags.bits()).map(|stat| stat.mtime.secs);
            let (host, guest) = (host_answer(host, |t| t.to_string()), guest_answer(guest, |t| t.to_string()));
            self.compare(format!("mtime of {path:?}"), host, guest);
        }
    }
}

/// Borrowing view of a result whose value does not matter.
trait CopiedErr {
    fn copied_err(self) -> Result<(), Host>;
}

impl CopiedErr for Result<&OwnedFd, &Host> {
    fn copied_err(self) -> Result<(), Host> {
        self.map(|_| ()).map_err(|errno| *errno)
    }
}
