//! Listing directories while they change.

use std::collections::BTreeSet;

use super::support::vfs;
use crate::{FileType, OpenFlags as O, Vfs, Whence};
use brumate_abi::errno::Errno;

/// Takes up to `count` names from the descriptor's position.
fn take(vfs: &mut Vfs, fd: i32, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    vfs.read_directory(fd, &mut |entry| {
        if names.len() == count {
            return false;
        }
        names.push(String::from_utf8_lossy(entry.name).into_owned());
        true
    })
    .unwrap();
    names
}

fn fill(vfs: &mut Vfs, count: usize) {
    vfs.mkdir("/tmp/d").unwrap();
    for n in 0..count {
        vfs.mkdir(&format!("/tmp/d/{n}")).unwrap();
    }
}

#[test]
fn everything_is_listed_once_while_it_is_removed() {
    let mut vfs = vfs();
    fill(&mut vfs, 100);
    let fd = vfs.open("/tmp/d", O::DIRECTORY).unwrap();
    let mut seen = BTreeSet::new();
    loop {
        let names = take(&mut vfs, fd, 7);
        if names.is_empty() {
            break;
        }
        for name in names {
            if name != "." && name != ".." {
                vfs.rmdir(&format!("/tmp/d/{name}")).unwrap();
            }
            assert!(seen.insert(name));
        }
    }
    assert_eq!(seen.len(), 102);
    vfs.rmdir("/tmp/d").unwrap();
}

#[test]
fn a_program_that_renames_what_it_lists_comes_to_an_end() {
    let mut vfs = vfs();
    fill(&mut vfs, 20);
    let fd = vfs.open("/tmp/d", O::DIRECTORY).unwrap();
    let mut seen = Vec::new();
    loop {
        let names = take(&mut vfs, fd, 3);
        if names.is_empty() {
            break;
        }
        for name in names.into_iter().filter(|name| !name.starts_with('.')) {
            vfs.rename(&format!("/tmp/d/{name}"), &format!("/tmp/d/new-{name}")).unwrap();
            seen.push(name);
        }
    }
    assert_eq!(seen.len(), 20);
    vfs.seek(fd, 0, Whence::Set).unwrap();
    assert_eq!(take(&mut vfs, fd, 100).len(), 22, "after rewinding the new names are there");
    assert_eq!(take(&mut vfs, fd, 100), [""; 0]);
}

#[test]
fn seeking_to_a_cookie_continues_after_its_entry() {
    let mut vfs = vfs();
    fill(&mut vfs, 10);
    let fd = vfs.open("/tmp/d", O::DIRECTORY).unwrap();
    let mut entries = Vec::new();
    vfs.read_directory(fd, &mut |entry| {
        entries.push((entry.cookie, entry.name.to_vec()));
        true
    })
    .unwrap();
    for (index, (cookie, _)) in entries.iter().enumerate() {
        vfs.seek(fd, *cookie as i64, Whence::Set).unwrap();
        let rest = take(&mut vfs, fd, 100);
        assert_eq!(rest.len(), entries.len() - index - 1);
    }
    assert_eq!(vfs.seek(fd, 0, Whence::End), Err(Errno::EINVAL));
    assert_eq!(vfs.seek(fd, i64::MAX, Whence::Set), Ok(i64::MAX as u64));
    assert_eq!(take(&mut vfs, fd, 100), [""; 0]);
}

#[test]
fn descriptors_that_share_an_offset_share_the_listing() {
    let mut vfs = vfs();
    fill(&mut vfs, 5);
    let fd = vfs.open("/tmp/d", O::DIRECTORY).unwrap();
    let twin = vfs.dup(fd, 0, false).unwrap();
    assert_eq!(take(&mut vfs, fd, 4), [".", "..", "0", "1"]);
    assert_eq!(take(&mut vfs, twin, 2), ["2", "3"]);
    assert_eq!(take(&mut vfs, fd, 9), ["4"]);
}

#[test]
fn numbers_and_types_are_those_of_stat() {
    let mut vfs = vfs();
    vfs.mkdir("/tmp/d").unwrap();
    vfs.write_file(b"/tmp/f", b"").unwrap();
    vfs.symlink("f", "/tmp/l").unwrap();
    let fd = vfs.open("/tmp", O::DIRECTORY).unwrap();
    let mut entries = Vec::new();
    vfs.read_directory(fd, &mut |entry| {
        entries.push((String::from_utf8_lossy(entry.name).into_owned(), entry.ino, entry.file_type));
        true
    })
    .unwrap();
    assert_eq!(entries.len(), 5);
    for (name, ino, file_type) in entries {
        let stat = vfs.fstatat(fd, name.as_bytes(), crate::at::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!((stat.ino, stat.file_type()), (ino, file_type), "{name}");
    }
    let file = vfs.open("/tmp/f", O::RDONLY).unwrap();
    assert_eq!(vfs.read_directory(file, &mut |_| true), Err(Errno::ENOTDIR));
    assert_eq!(vfs.fstat(fd).unwrap().file_type(), FileType::Directory);
}
