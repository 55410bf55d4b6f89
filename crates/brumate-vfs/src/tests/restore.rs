//! Saving, restoring, and state that was tampered with.

use std::sync::Arc;

use brumate_test_support::{Random, count, seed};
use zip::CompressionMethod::Deflated;

use super::support::{archive, vfs};
use crate::device::{Null, Sink, Zero};
use crate::restore::RestoreError;
use crate::{Archive, Family, Kind, MountOptions, OpenFlags as O, Vfs, Whence, at};
use brumate_abi::errno::Errno;

fn layer() -> Archive {
    archive(&[("a.py", b"print(1)"), ("p/b.py", b"print(2)")], Deflated)
}

/// Returns a file system with something of each kind in it.
fn busy() -> Vfs {
    let mut vfs = vfs();
    let read_only = MountOptions { read_only: true, ..MountOptions::default() };
    vfs.mount_archive(b"/lib", b"stdlib", &layer(), &read_only).unwrap();
    vfs.mount_file(b"/home/upload", b"upload", Arc::new(b"bytes"), 0o644).unwrap();
    vfs.install_device(0, b"stdin", O(O::RDONLY), Box::new(Null)).unwrap();
    vfs.install_device(1, b"stdout", O(O::WRONLY), Box::new(Sink(|data: &[u8]| Ok(data.len())))).unwrap();
    vfs.mkdir("/tmp/d").unwrap();
    vfs.symlink("d", "/tmp/l").unwrap();
    vfs.chdir(b"/tmp/d").unwrap();
    let fd = vfs.open("f", O::RDWR | O::CREAT).unwrap();
    vfs.write(fd, &[5; 70_000]).unwrap();
    vfs.ftruncate(fd, 1 << 33).unwrap();
    let unlinked = vfs.open("gone", O::RDWR | O::CREAT).unwrap();
    vfs.write(unlinked, b"still here").unwrap();
    vfs.unlink("gone").unwrap();
    let (_, writer) = vfs.pipe(O(0)).unwrap();
    vfs.write(writer, b"in the pipe").unwrap();
    let (_, end) = vfs.socket_pair(Family::Unix, Kind::Stream, O(0)).unwrap();
    vfs.send(end, b"in the socket", None).unwrap();
    vfs.dup(fd, 20, true).unwrap();
    vfs.mkdir("sub").unwrap();
    vfs.open("sub", O::DIRECTORY).unwrap();
    vfs.rmdir("sub").unwrap();
    let mapping = vfs.prepare_mapping(fd, 0, 100, true, true).unwrap();
    vfs.add_mapping(0x20000, mapping);
    vfs.umask(0o077);
    vfs.check().unwrap();
    vfs
}

fn attach(vfs: &mut Vfs) {
    vfs.set_clock(Box::new(|| 1_800_000_000_000_000_000));
    assert_eq!(vfs.attach_archive(b"stdlib", &layer()), 1);
    assert_eq!(vfs.attach_file(b"upload", Arc::new(b"bytes")), 1);
    for device in ["/dev/null", "stdin", "/dev/tty"] {
        assert!(vfs.attach_device(device.as_bytes(), Box::new(Null)));
    }
    assert!(vfs.attach_device(b"/dev/zero", Box::new(Zero { full: false })));
    assert!(vfs.attach_device(b"/dev/full", Box::new(Zero { full: true })));
    assert!(vfs.attach_device(b"stdout", Box::new(Sink(|data: &[u8]| Ok(data.len())))));
}

#[test]
fn a_restored_file_system_goes_on_where_it_was() {
    let saved = postcard::to_stdvec(&busy()).unwrap();
    let mut vfs: Vfs = postcard::from_bytes(&saved).unwrap();
    assert!(matches!(vfs.reopen(), Err(RestoreError::NotAttached(_))));
    assert_eq!(vfs.attach_archive(b"stdlib", &archive(&[("a.py", b"other")], Deflated)), 0, "another archive");
    attach(&mut vfs);
    assert_eq!(vfs.unattached(), [""; 0]);
    vfs.reopen().unwrap();

    assert_eq!(vfs.getcwd().unwrap(), b"/tmp/d");
    assert_eq!(vfs.read_file_up_to("/lib/p/b.py", 99).unwrap(), b"print(2)");
    assert_eq!(vfs.read_file_up_to("/home/upload", 99).unwrap(), b"bytes");
    assert_eq!(vfs.open("/lib/new", O::WRONLY | O::CREAT), Err(Errno::EROFS));
    assert_eq!(vfs.seek(20, 0, Whence::Current), Ok(70_000));
    assert_eq!(vfs.close_on_exec(20), Ok(true));
    let mut buf = [0; 20];
    assert_eq!(vfs.pread(3, 0, &mut buf), Ok(10));
    assert_eq!(&buf[..10], b"still here");
    assert_eq!(vfs.read(4, &mut buf), Ok(11));
    assert_eq!(vfs.write(1, b"to stdout"), Ok(9));
    assert!(vfs.mapping_at(0x20000).is_some());
    assert_eq!(vfs.umask(0), 0o077);
    let before = vfs.stat(b"/tmp/d").unwrap();
    vfs.mkdir("after").unwrap();
    assert!(vfs.stat(b"/tmp/d").unwrap().mtime > before.mtime);
    vfs.check().unwrap();
    let again = postcard::to_stdvec(&vfs).unwrap();
    assert_eq!(postcard::from_bytes::<Vfs>(&again).unwrap().usage(), vfs.usage());
}

#[test]
fn time_does_not_run_backwards_after_a_restore() {
    let mut vfs: Vfs = postcard::from_bytes(&postcard::to_stdvec(&busy()).unwrap()).unwrap();
    attach(&mut vfs);
    vfs.set_clock(Box::new(|| 5));
    let last = vfs.stat(b"/tmp/d").unwrap().ctime;
    vfs.mkdir("/tmp/d/new").unwrap();
    assert!(vfs.stat(b"/tmp/d").unwrap().ctime > last);
}

#[test]
fn tampered_state_is_refused_or_harmless() {
    let saved = postcard::to_stdvec(&busy()).unwrap();
    let mut random = Random::new(seed());
    let (mut unreadable, mut refused, mut accepted) = (0, 0, 0);
    let rounds = count(750, 3000);
    for _ in 0..rounds {
        let mut bytes = saved.clone();
        for _ in 0..=random.below(4) {
            // The file's 70,000 bytes of content are the bulk; what matters is around them.
            let at = random.below(bytes.len() as u64) as usize;
            let at = if bytes[at] == 5 { random.below(2000) as usize } else { at };
            bytes[at] = random.next() as u8;
        }
        let Ok(mut vfs) = postcard::from_bytes::<Vfs>(&bytes) else {
            unreadable += 1;
            continue;
        };
        vfs.set_clock(Box::new(|| 1));
        vfs.attach_archive(b"stdlib", &layer());
        vfs.attach_file(b"upload", Arc::new(b"bytes"));
        for name in ["/dev/null", "stdin", "/dev/zero", "/dev/full", "/dev/tty", "stdout"] {
            vfs.attach_device(name.as_bytes(), Box::new(Null));
        }
        match vfs.reopen() {
            Err(_) => refused += 1,
            Ok(()) => {
                accepted += 1;
                exercise(&mut vfs);
            }
        }
    }
    assert!(
        unreadable > rounds / 30 && refused > rounds / 30 && accepted > rounds / 150,
        "{unreadable} {refused} {accepted}"
    );
}

/// Returns a file system at the baseline, from `saved`.
fn at_baseline(saved: &[u8]) -> Vfs {
    let mut vfs: Vfs = postcard::from_bytes(saved).unwrap();
    attach(&mut vfs);
    vfs.reopen().unwrap();
    vfs.begin_changes();
    vfs
}

/// Changes something of each kind.
fn change(vfs: &mut Vfs) {
    vfs.mkdir("/tmp/new").unwrap();
    let fd = vfs.open("/tmp/new/file", O::RDWR | O::CREAT).unwrap();
    vfs.write(fd, &[6; 5000]).unwrap();
    vfs.rename("/tmp/d", "/tmp/new/d").unwrap();
    vfs.unlink("/tmp/l").unwrap();
    vfs.open("/home/upload", O::WRONLY | O::TRUNC).unwrap();
    vfs.mkdir("/tmp/gone").unwrap();
    vfs.rmdir("/tmp/gone").unwrap();
    vfs.close(20).unwrap();
    vfs.pipe(O(0)).unwrap();
    vfs.unlink("/tmp/new/d/f").unwrap();
    vfs.check().unwrap();
}

#[test]
fn changes_on_top_of_the_base_are_the_whole() {
    let base = postcard::to_stdvec(&busy()).unwrap();
    let mut vfs = at_baseline(&base);
    assert!(vfs.is_unchanged());
    // Repeated, because a file system that continues from changes must save all of its changes as well.
    for round in 0..3 {
        if round != 1 {
            change(&mut vfs);
            vfs.rename("/tmp/new/d", "/tmp/d").unwrap();
            vfs.rename("/tmp/new", &format!("/tmp/{round}")).unwrap();
            vfs.symlink("d", "/tmp/l").unwrap();
            vfs.dup(3, 20, true).unwrap();
            vfs.open("/tmp/d/f", O::RDWR | O::CREAT).unwrap();
        }
        let whole = postcard::to_stdvec(&vfs).unwrap();
        let saved = vfs.save_changes().unwrap();
        assert_eq!(postcard::to_stdvec(&vfs).unwrap(), whole, "saving changes nothing");
        let mut other = Vfs::continue_from(at_baseline(&base), &saved).unwrap();
        attach(&mut other);
        other.reopen().unwrap();
        other.check().unwrap();
        assert_eq!(postcard::to_stdvec(&other).unwrap(), whole);
        vfs = other;
    }
}

#[test]
fn tampered_changes_are_refused_or_hold_as_a_whole() {
    let base = postcard::to_stdvec(&busy()).unwrap();
    let mut changed = at_baseline(&base);
    change(&mut changed);
    let saved = changed.save_changes().unwrap();
    let mut random = Random::new(seed());
    let (mut unreadable, mut refused, mut accepted) = (0, 0, 0);
    let rounds = count(1500, 6000);
    for _ in 0..rounds {
        let mut bytes = saved.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            let at = if matches!(bytes[at], 5 | 6) { random.below(3000) as usize } else { at };
            bytes[at] = random.next() as u8;
        }
        let Ok(mut vfs) = Vfs::continue_from(at_baseline(&base), &bytes) else {
            unreadable += 1;
            continue;
        };
        vfs.set_clock(Box::new(|| 1));
        vfs.attach_archive(b"stdlib", &layer());
        vfs.attach_file(b"upload", Arc::new(b"bytes"));
        for name in ["/dev/null", "stdin", "/dev/zero", "/dev/full", "/dev/tty", "stdout"] {
            vfs.attach_device(name.as_bytes(), Box::new(Null));
        }
        let partial = vfs.reopen();
        if !matches!(partial, Err(RestoreError::NotAttached(_))) {
            assert_eq!(partial.is_ok(), vfs.check().is_ok(), "{partial:?} {:?}", vfs.check());
        }
        match partial {
            Err(_) => refused += 1,
            Ok(()) => {
                accepted += 1;
                exercise(&mut vfs);
            }
        }
    }
    assert!(
        unreadable > rounds / 60 && refused > rounds / 120 && accepted > rounds / 300,
        "{unreadable} {refused} {accepted}"
    );
}

/// Uses a part of everything. Results do not matter; it must not panic, and the structure must stay consistent.
fn exercise(vfs: &mut Vfs) {
    let since = vfs.last_change();
    let _ = vfs.changed_files(since, None, 1000);
    for path in ["/lib/a.py", "/home/upload", "/tmp/d/f", "/tmp/l", "..", "."] {
        let _ = vfs.read_file_up_to(path, 1 << 20);
        let _ = vfs.fstatat(at::FDCWD, path.as_bytes(), at::SYMLINK_NOFOLLOW);
        let _ = vfs.rename(path, "/tmp/renamed");
    }
    for fd in 0..30 {
        let _ = vfs.read(fd, &mut [0; 10]);
        let _ = vfs.write(fd, b"x");
        let _ = vfs.read_directory(fd, &mut |_| true);
        let _ = vfs.close(fd);
    }
    vfs.remove_mapping(0x20000);
    let _ = vfs.chdir(b"/");
    vfs.check().unwrap();
}
