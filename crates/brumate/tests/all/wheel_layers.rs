//! What `brumate-packages` accepts as a wheel, the engine mounts, with the same files; bytes that two readers could
//! understand differently are accepted by neither.

use std::sync::Arc;

use brumate_packages::wheel::{WheelContents, WheelFileName, verify};
use brumate_test_support::{Random, count, seed};
use brumate_vfs::{Archive, LayerBytes};

/// Mutations of each wheel.
fn mutations() -> u64 {
    count(1000, 4000)
}

/// Larger wheels are not mutated: each mutation reads all of it.
const MUTATED_BYTES: usize = 40_000;

fn bundled_wheels() -> Vec<(WheelFileName, Vec<u8>)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime/wheels");
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

fn check_mounted(bytes: &[u8], contents: &WheelContents) {
    let layer: LayerBytes = Arc::new(bytes.to_vec());
    let archive = Archive::new(layer).unwrap_or_else(|error| panic!("{}: {error}", contents.summary.file_name));
    archive.verify().unwrap();
    let mut mounted: Vec<(&[u8], u64)> = archive.files().collect();
    mounted.sort_unstable();
    let accepted: Vec<(&[u8], u64)> = contents.files.iter().map(|file| (file.path.as_bytes(), file.size)).collect();
    assert_eq!(mounted, accepted);
}

#[test]
fn bundled_wheels_mount_as_they_were_described() {
    let wheels = bundled_wheels();
    assert!(wheels.len() >= 30);
    for (name, bytes) in wheels {
        check_mounted(&bytes, &verify(&bytes[..], &name).unwrap());
    }
}

#[test]
fn damaged_wheels_mount_as_they_are_described_or_are_refused() {
    let (mut accepted, mut refused) = (0, 0);
    let mut random = Random::new(seed());
    for (name, original) in bundled_wheels().into_iter().filter(|(_, bytes)| bytes.len() <= MUTATED_BYTES) {
        // Names, sizes and offsets are in the last part.
        let directory = original.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        for _ in 0..mutations() {
            let mut bytes = original.clone();
            let at = directory + random.index(bytes.len() - directory);
            bytes[at] = [0, 1, 0xff, 0x80, b'/', b'.', random.index(256) as u8][random.index(7)];
            match verify(&bytes[..], &name) {
                Ok(contents) => {
                    check_mounted(&bytes, &contents);
                    accepted += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}
