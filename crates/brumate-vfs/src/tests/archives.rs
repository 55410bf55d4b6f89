//! Hostile and odd archives.

use std::sync::Arc;

use brumate_test_support::{Random, count, seed};
use zip::CompressionMethod::{Deflated, Stored};

use super::support::{archive, zip};
use crate::{Archive, ArchiveError, ArchiveLimits, EntryProblem};

fn open(bytes: Vec<u8>) -> Result<Archive, ArchiveError> {
    Archive::new(Arc::new(bytes))
}

/// Returns the problem of the one bad entry, and the name it is reported with.
fn problem(bytes: Vec<u8>) -> (String, EntryProblem) {
    match open(bytes) {
        Err(ArchiveError::Entry { entry, problem }) => (entry, problem),
        other => panic!("expected a bad entry, got {other:?}"),
    }
}

/// Replaces every occurrence of a name: writers refuse to make these archives, so they are made by patching.
fn renamed(bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes;
    let mut found = 0;
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            found += 1;
        }
    }
    assert_eq!(found, 2, "local header and directory");
    bytes
}

/// Offset of the first header of the central directory.
fn central(bytes: &[u8]) -> usize {
    (0..bytes.len()).find(|&at| bytes[at..].starts_with(b"PK\x01\x02")).unwrap()
}

#[test]
fn good_archives_are_read() {
    for method in [Stored, Deflated] {
        let text = b"some text ".repeat(1000);
        let files: [(&str, &[u8]); 4] = [("a/b.txt", &text), ("empty", b""), ("d/", b""), ("a/c/d", b"x")];
        let archive = archive(&files, method);
        assert_eq!((archive.file_count(), archive.total_bytes()), (3, 10_001));
        assert_eq!(archive.read(b"a/b.txt").unwrap().unwrap(), text);
        assert_eq!(archive.read(b"empty").unwrap().unwrap(), b"");
        assert_eq!(archive.read(b"a/c").unwrap(), None);
        archive.verify().unwrap();
        assert_eq!(archive.files().map(|(path, _)| path).collect::<Vec<_>>(), [&b"a/b.txt"[..], b"empty", b"a/c/d"]);
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (name, wanted) in [
        ("../../x", EntryProblem::PathTraversal),
        ("a/../xx", EntryProblem::PathTraversal),
        ("aaaa/..", EntryProblem::PathTraversal),
        ("/etc/xx", EntryProblem::AbsoluteName),
        ("C:/x/xx", EntryProblem::AbsoluteName),
        ("a\\b/../", EntryProblem::InvalidName),
        ("a/./b/c", EntryProblem::InvalidName),
        ("aa//b/c", EntryProblem::InvalidName),
        ("./a/b/c", EntryProblem::InvalidName),
        ("a\0b/c/d", EntryProblem::InvalidName),
    ] {
        let patched = renamed(zip(&[("NNNNNNN", b"data")], Stored), "NNNNNNN", name);
        let (entry, found) = problem(patched);
        assert_eq!(found, wanted, "{name:?}");
        assert_eq!(entry, name.as_bytes().escape_ascii().to_string());
    }
    let long = "n".repeat(256);
    assert_eq!(problem(zip(&[(&long, b"")], Stored)).1, EntryProblem::InvalidName);
    let deep = "d/".repeat(70) + "f";
    assert_eq!(problem(zip(&[(&deep, b"")], Stored)).1, EntryProblem::InvalidName);
}

#[test]
fn two_readings_of_a_name_are_refused() {
    let twice = renamed(zip(&[("AAAA", b"1"), ("BBBB", b"2")], Stored), "BBBB", "AAAA");
    assert_eq!(problem(twice).1, EntryProblem::Duplicate);
    let file_then_directory = renamed(zip(&[("AAAA", b"1"), ("BBBB/c", b"2")], Stored), "BBBB/c", "AAAA/c");
    assert_eq!(problem(file_then_directory).1, EntryProblem::Duplicate);
    let directory_then_file = renamed(zip(&[("AAAA/c", b"1"), ("BBBB", b"2")], Stored), "BBBB", "AAAA");
    assert_eq!(problem(directory_then_file).1, EntryProblem::Duplicate);
    let mut local_differs = zip(&[("AAAA", b"1")], Stored);
    local_differs[30] = b'Z';
    assert_eq!(problem(local_differs).1, EntryProblem::HeaderMismatch);
}

#[test]
fn links_and_special_files_are_refused() {
    for (mode, wanted) in [
        (0xA1FFu32, EntryProblem::Symlink),
        (0x21FF, EntryProblem::SpecialFile),
        (0x41FF, EntryProblem::SpecialFile),
        (0xC1FF, EntryProblem::SpecialFile),
    ] {
        let mut bytes = zip(&[("link", b"/etc/passwd")], Stored);
        let at = central(&bytes) + 38;
        bytes[at..at + 4].copy_from_slice(&(mode << 16).to_le_bytes());
        assert_eq!(problem(bytes), ("link".to_owned(), wanted));
    }
}

#[test]
fn encrypted_and_unknown_methods_are_refused() {
    let mut bytes = zip(&[("a", b"1")], Stored);
    let at = central(&bytes);
    bytes[at + 8] |= 1;
    assert_eq!(problem(bytes).1, EntryProblem::Encrypted);
    let mut bytes = zip(&[("a", b"1")], Stored);
    bytes[at + 10] = 12;
    assert_eq!(problem(bytes).1, EntryProblem::Method(12));
}

#[test]
fn bombs_are_refused() {
    let limits = ArchiveLimits { entries: 3, entry_bytes: 1000, total_bytes: 1500, ..ArchiveLimits::default() };
    let open = |bytes: Vec<u8>| Archive::with_limits(Arc::new(bytes), &limits).map(drop);
    let too_many: Vec<(&str, &[u8])> = ["a", "b", "c", "d"].map(|name| (name, &b""[..])).to_vec();
    assert!(matches!(open(zip(&too_many, Stored)), Err(ArchiveError::TooLarge { what: "entries", limit: 3 })));
    let large = zip(&[("a", &[0; 1001])], Deflated);
    assert!(matches!(open(large), Err(ArchiveError::Entry { problem: EntryProblem::TooLarge(1001), .. })));
    let together = zip(&[("a", &[0; 900]), ("b", &[0; 900])], Deflated);
    assert!(matches!(open(together), Err(ArchiveError::TooLarge { what: "bytes", limit: 1500 })));
    let deep = zip(&[("a/b/c/d/e/f/g/h", b"")], Stored);
    assert!(matches!(open(deep), Err(ArchiveError::TooLarge { what: "directories", .. })));

    // A size that deflate cannot reach is wrong, whatever the limits are.
    let mut lie = zip(&[("a", &[7; 100])], Deflated);
    let at = central(&lie) + 24;
    lie[at..at + 4].copy_from_slice(&100_000_000u32.to_le_bytes());
    assert_eq!(problem(lie).1, EntryProblem::ImpossibleRatio);

    // Two entries over the same bytes: the overlapping bomb.
    let mut overlap = zip(&[("aaaa", &[1; 64]), ("aaab", &[1; 64])], Stored);
    let first = central(&overlap);
    let second = first + 46 + 4;
    overlap[second + 42..second + 46].copy_from_slice(&0u32.to_le_bytes());
    overlap[second + 49] = b'a';
    overlap[first + 49] = b'c';
    assert!(matches!(problem(overlap).1, EntryProblem::HeaderMismatch | EntryProblem::BadExtent));
}

#[test]
fn data_that_is_not_as_promised_is_corrupt() {
    for method in [Stored, Deflated] {
        let content: Vec<u8> = (0..2000u32).flat_map(|n| n.to_le_bytes()).collect();
        let mut bytes = zip(&[("a", &content)], method);
        bytes[100] ^= 0x55;
        let archive = open(bytes).unwrap();
        let corrupt = ArchiveError::Entry { entry: "a".to_owned(), problem: EntryProblem::Corrupt };
        assert_eq!(archive.verify(), Err(corrupt.clone()));
        assert_eq!(archive.read(b"a"), Err(corrupt));
    }
    // Shorter and longer than stated.
    for size in [99u32, 101] {
        let mut bytes = zip(&[("a", &[7; 100])], Deflated);
        let at = central(&bytes) + 24;
        bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
        assert!(open(bytes).unwrap().verify().is_err(), "{size}");
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    assert!(matches!(open(Vec::new()), Err(ArchiveError::NotAnArchive(_))));
    assert!(matches!(open(vec![0; 100_000]), Err(ArchiveError::NotAnArchive(_))));
    let mut prefixed = b"#!/bin/sh\n".to_vec();
    prefixed.extend(zip(&[("a", b"1")], Stored));
    assert!(open(prefixed).is_err(), "offsets that do not fit are not guessed at");
    let mut trailing = zip(&[("a", b"1")], Stored);
    trailing.push(0);
    assert!(matches!(open(trailing), Err(ArchiveError::NotAnArchive(_))));
}

#[test]
fn damaged_archives_never_panic() {
    let files: [(&str, &[u8]); 3] = [("a/b", b"some text"), ("c", &[9; 3000]), ("d/e/f", b"")];
    let original = zip(&files, Deflated);
    let mut random = Random::new(seed());
    let (mut refused, mut corrupt) = (0, 0_u64);
    let rounds = count(1000, 4000);
    for _ in 0..rounds {
        let mut bytes = original.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        match open(bytes) {
            Err(_) => refused += 1,
            Ok(archive) => corrupt += u64::from(archive.verify().is_err()),
        }
    }
    assert!(refused > rounds / 4 && corrupt > rounds / 80, "{refused} refused, {corrupt} corrupt");
}
