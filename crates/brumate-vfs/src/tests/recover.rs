//! Files out of saved changes whose base is gone.

use std::collections::BTreeMap;

use super::support::vfs;
use crate::restore::RestoreError;
use crate::{OpenFlags as O, Piece, Vfs, recover};

fn write(vfs: &mut Vfs, path: &str, offset: u64, bytes: &[u8]) {
    vfs.write_file_at(path.as_bytes(), offset, bytes, false).unwrap();
}

/// Returns a file system with more files in its base, so that slots differ.
fn base(more: usize) -> Vfs {
    let mut vfs = vfs();
    for number in 0..more {
        write(&mut vfs, &format!("/lib{number}"), 0, b"");
    }
    vfs.create_directories(b"/work", 0o755).unwrap();
    vfs.check().unwrap();
    vfs.begin_changes();
    vfs
}

fn recovered(saved: &[u8], place: Option<u32>) -> BTreeMap<String, (u64, Vec<u8>)> {
    let mut files = BTreeMap::<String, (u64, Vec<u8>)>::new();
    let count = recover(saved, place, |piece: Piece| {
        let file = files.entry(piece.path).or_default();
        file.0 = piece.offset + piece.bytes.len() as u64;
        file.1.extend(piece.bytes);
        Ok::<(), RestoreError>(())
    });
    assert_eq!(count.unwrap(), files.len());
    files
}

#[test]
fn files_are_found_without_the_base() {
    let mut vfs = base(0);
    write(&mut vfs, "/tmp/scratch", 0, b"no");
    write(&mut vfs, "/work/a.txt", 0, b"hello");
    write(&mut vfs, "/work/deep/er/b.bin", 0, &[7; 3 << 20]);
    write(&mut vfs, "/work/sparse", 5 << 30, b"end");
    write(&mut vfs, "/work/empty", 0, b"");
    vfs.symlink("/etc/passwd", "/work/link").unwrap();
    vfs.open("/work/gone", O::WRONLY | O::CREAT).unwrap();
    vfs.unlink("/work/gone").unwrap();
    let saved = vfs.save_changes().unwrap();
    // With its own slot, with the slot of another version, and without one.
    for place in [vfs.place_of(b"/work"), base(9).place_of(b"/work"), base(9).place_of(b"/tmp"), None] {
        let files = recovered(&saved, place);
        assert_eq!(files.keys().collect::<Vec<_>>(), ["a.txt", "deep/er/b.bin", "empty", "sparse"]);
        assert_eq!((&files["a.txt"].1[..], files["deep/er/b.bin"].0), (&b"hello"[..], 3 << 20));
        assert_eq!(files["sparse"].0, (5 << 30) + 3);
        assert!(files["sparse"].1.len() < 1 << 20 && files["sparse"].1.ends_with(b"end"));
    }
}

#[test]
fn names_of_one_file_are_given_as_links() {
    let mut vfs = base(0);
    write(&mut vfs, "/work/b", 0, b"hello");
    vfs.mkdir("/work/d").unwrap();
    for name in ["/work/a", "/work/d/c"] {
        vfs.link_file(b"/work/b", name.as_bytes()).unwrap();
    }
    let saved = vfs.save_changes().unwrap();
    let (mut links, mut bytes) = (BTreeMap::new(), Vec::<u8>::new());
    let mut other = base(3);
    recover(&saved, None, |piece: Piece| {
        let path = format!("/work/{}", piece.path);
        bytes.extend(&piece.bytes);
        let written = match &piece.link_to {
            Some(first) => other.link_file(format!("/work/{first}").as_bytes(), path.as_bytes()),
            None => other.write_file_at(path.as_bytes(), piece.offset, &piece.bytes, piece.last),
        };
        written.unwrap();
        links.extend(piece.link_to.map(|first| (piece.path, first)));
        Ok::<(), RestoreError>(())
    })
    .unwrap();
    assert_eq!(bytes, b"hello", "the content is given once");
    assert_eq!(links.into_iter().collect::<Vec<_>>(), [("b", "a"), ("d/c", "a")].map(|(a, b)| (a.into(), b.into())));
    assert_eq!(other.stat(b"/work/d/c").unwrap().nlink, 3);
}

#[test]
fn nothing_and_damage_are_no_files() {
    let mut vfs = base(0);
    let saved = vfs.save_changes().unwrap();
    assert!(recovered(&saved, None).is_empty());
    write(&mut vfs, "/work/a.txt", 0, b"hello");
    let saved = vfs.save_changes().unwrap();
    for end in 0..saved.len() {
        let found = recover(&saved[..end], None, |_| Ok::<(), RestoreError>(()));
        assert!(found.is_err(), "{end}");
    }
}
