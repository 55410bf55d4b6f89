//! Caches that share the compiled modules of the tests' common cache, and images that somebody has changed.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const PAGE: usize = 4096;

/// A cache of its own with the compiled modules of the common one.
pub(crate) fn cache() -> tempfile::TempDir {
    let place = tempfile::tempdir_in(brumate_test_support::cache_directory().parent().unwrap()).unwrap();
    link_tree(&brumate_test_support::cache_directory(), place.path());
    for image in images(place.path()) {
        std::fs::remove_file(image).unwrap();
    }
    place
}

fn link_tree(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            std::fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
            link_tree(&entry.path(), &target);
        } else {
            // One that is just being replaced is made again.
            let _ = std::fs::hard_link(entry.path(), target);
        }
    }
}

pub(crate) fn images(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache.join("images")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "image")).collect()
}

fn number(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    unreachable!()
}

fn crc(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|index| (0..8).fold(index, |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())))
        .collect();
    !bytes.iter().fold(!0, |crc, byte| (crc >> 8) ^ table[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// An image whose memory `change` has changed, with a header that says so.
pub(crate) fn changed_image(image: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut at = 8;
    number(image, &mut at);
    let id = at + 32..at + 64;
    at = id.end;
    let (memory, metadata, _pages) = (number(image, &mut at), number(image, &mut at), number(image, &mut at));
    let before = at;
    number(image, &mut at);
    let rest = image[at..PAGE].to_vec();
    let mut content = image[PAGE..].to_vec();
    change(&mut content[..memory as usize]);
    let mut header = image[..before].to_vec();
    header[id].copy_from_slice(&Sha256::digest(&content[..(memory + metadata) as usize]));
    let mut crc = crc(&content);
    while crc >= 0x80 {
        header.push(crc as u8 | 0x80);
        crc >>= 7;
    }
    header.push(crc as u8);
    header.extend(rest);
    header.resize(PAGE, 0);
    [header, content].concat()
}
