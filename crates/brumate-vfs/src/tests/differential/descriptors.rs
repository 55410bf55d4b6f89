//! Calls on what is open.

use std::os::fd::AsFd;

use rustix::fs::{FallocateFlags, Mode, OFlags, SeekFrom};

use super::{Bench, Pair, checksum, guest_answer, guest_list, host_answer, host_list};
use crate::Whence;

impl Bench {
    pub(super) fn call_on_descriptor(&mut self) {
        if self.open.is_empty() {
            return self.call_open();
        }
        let index = self.random.below(self.open.len() as u64) as usize;
        let Pair { guest: fd, is_path, .. } = self.open[index];
        let offset = self.random.below(200_000);
        let longest = if self.random.below(4) == 0 { 70_000 } else { 300 };
        let length = self.random.below(longest) as usize;
        let mode = self.mode();
        let kind = self.random.below(13);
        let host_fd = self.open[index].host.as_fd();
        let (call, host, guest) = match kind {
            0..=1 => {
                let (mut theirs, mut ours) = (vec![0; length], vec![0; length]);
                let host = rustix::io::read(host_fd, &mut theirs[..]);
                let guest = self.vfs.read(fd, &mut ours);
                let show = |n: usize, buf: &[u8]| format!("{n} {:x}", checksum(&buf[..n]));
                (
                    format!("read({index}, {length})"),
                    host_answer(host, |n| show(n, &theirs)),
                    guest_answer(guest, |n| show(n, &ours)),
                )
            }
            2..=3 => {
                let data = self.random.bytes(length);
                let host = rustix::io::write(host_fd, &data);
                let guest = self.vfs.write(fd, &data);
                (
                    format!("write({index}, {length})"),
                    host_answer(host, |n| n.to_string()),
                    guest_answer(guest, |n| n.to_string()),
                )
            }
            4 => {
                let (mut theirs, mut ours) = (vec![0; length], vec![0; length]);
                let host = rustix::io::pread(host_fd, &mut theirs[..], offset);
                let guest = self.vfs.pread(fd, offset as i64, &mut ours);
                let show = |n: usize, buf: &[u8]| format!("{n} {:x}", checksum(&buf[..n]));
                (
                    format!("pread({index}, {offset}, {length})"),
                    host_answer(host, |n| show(n, &theirs)),
                    guest_answer(guest, |n| show(n, &ours)),
                )
            }
            5 => {
                // Linux's pwrite obeys O_APPEND, POSIX's and ours does not.
                let flags = rustix::fs::fcntl_getfl(host_fd).unwrap();
                if flags.contains(OFlags::APPEND) {
                    return;
                }
                let data = self.random.bytes(length);
                let host = rustix::io::pwrite(host_fd, &data, offset);
                let guest = self.vfs.pwrite(fd, offset as i64, &data);
                (
                    format!("pwrite({index}, {offset}, {length})"),
                    host_answer(host, |n| n.to_string()),
                    guest_answer(guest, |n| n.to_string()),
                )
            }
            6 => {
                let distance = offset as i64 - 100_000;
                let (from, whence) = [
                    (SeekFrom::Start(offset), Whence::Set),
                    (SeekFrom::Current(distance), Whence::Current),
                    (SeekFrom::End(distance), Whence::End),
                ][self.random.below(3) as usize];
                let is_directory = self.vfs.fstat(fd).unwrap().mode & 0o170_000 == 0o040_000;
                // Positions in directories differ between file systems.
                if is_directory && !is_path {
                    return;
                }
                let guest = self.vfs.seek(fd, if whence == Whence::Set { offset as i64 } else { distance }, whence);
                let host = rustix::fs::seek(host_fd, from);
                (
                    format!("lseek({index}, {from:?})"),
                    host_answer(host, |n| n.to_string()),
                    guest_answer(guest, |n| n.to_string()),
                )
            }
            7 => {
                let host = rustix::fs::ftruncate(host_fd, offset);
                let guest = self.vfs.ftruncate(fd, offset as i64);
                (
                    format!("ftruncate({index}, {offset})"),
                    host_answer(host, |()| "ok".into()),
                    guest_answer(guest, |()| "ok".into()),
                )
            }
            8 => {
                let host = rustix::fs::fstat(host_fd);
                let guest = self.vfs.fstat(fd);
                (
                    format!("fstat({index})"),
                    host_answer(host, |s| self.host_stat(&s)),
                    guest_answer(guest, |s| self.guest_stat(&s)),
                )
            }
            9 => {
                let host = rustix::fs::fallocate(host_fd, FallocateFlags::empty(), offset, length as u64);
                let guest = self.vfs.fallocate(fd, 0, offset as i64, length as i64);
                (
                    format!("fallocate({index}, {offset}, {length})"),
                    host_answer(host, |()| "ok".into()),
                    guest_answer(guest, |()| "ok".into()),
                )
            }
            10 => {
                let host = rustix::fs::fchmod(host_fd, Mode::from_raw_mode(mode));
                let guest = self.vfs.fchmod(fd, mode);
                (
                    format!("fchmod({index}, {mode:o})"),
                    host_answer(host, |()| "ok".into()),
                    guest_answer(guest, |()| "ok".into()),
                )
            }
            11 => {
                let host = host_list(host_fd);
                let guest = guest_list(&mut self.vfs, fd);
                (
                    format!("getdents({index})"),
                    host_answer(host, |l| format!("{l:?}")),
                    guest_answer(guest, |l| format!("{l:?}")),
                )
            }
            _ => {
                let closed = self.open.swap_remove(index);
                self.vfs.close(closed.guest).unwrap();
                (format!("close({index})"), String::new(), String::new())
            }
        };
        self.compare(call, host, guest);
    }
}
