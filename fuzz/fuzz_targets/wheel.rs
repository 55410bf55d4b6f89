//! Any bytes as a wheel: reading never panics, and what is accepted is mounted with the same files and the same content.
//!
//! The first line is the wheel's file name, the rest the wheel.
#![no_main]

use std::sync::Arc;

use brumate_engine::vfs::{Archive, LayerBytes};
use brumate_packages::wheel::{WheelFileName, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(end) = input.iter().position(|&byte| byte == b'\n') else { return };
    let (line, bytes) = (&input[..end], &input[end + 1..]);
    let Some(name) = std::str::from_utf8(line).ok().and_then(|line| line.parse::<WheelFileName>().ok()) else { return };
    let Ok(contents) = verify(bytes, &name) else { return };
    let layer: LayerBytes = Arc::new(bytes.to_vec());
    let archive = Archive::new(layer).expect("what is accepted can be mounted");
    archive.verify().expect("and read");
    let mut mounted: Vec<(&[u8], u64)> = archive.files().collect();
    mounted.sort_unstable();
    let accepted: Vec<(&[u8], u64)> = contents.files.iter().map(|file| (file.path.as_bytes(), file.size)).collect();
    assert_eq!(mounted, accepted);
});
