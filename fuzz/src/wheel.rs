//! Any bytes as a wheel.

use std::sync::Arc;

use brumate_packages::wheel::{WheelFileName, verify};
use brumate_vfs::{Archive, LayerBytes};

/// Reads a wheel: the first line is its file name, the rest its bytes.
///
/// Reading never panics, and what is accepted is mounted with the same files and sizes, and can be read. Returns whether
/// the wheel was accepted.
pub fn run(input: &[u8]) -> bool {
    let Some(end) = input.iter().position(|&byte| byte == b'\n') else { return false };
    let (line, bytes) = (&input[..end], &input[end + 1..]);
    let Some(name) = std::str::from_utf8(line).ok().and_then(|line| line.parse::<WheelFileName>().ok()) else {
        return false;
    };
    let Ok(contents) = verify(bytes, &name) else { return false };
    let layer: LayerBytes = Arc::new(bytes.to_vec());
    let archive = Archive::new(layer).expect("what is accepted can be mounted");
    archive.verify().expect("what is mounted can be read");
    let mut mounted: Vec<(&[u8], u64)> = archive.files().collect();
    mounted.sort_unstable();
    let accepted: Vec<(&[u8], u64)> = contents.files.iter().map(|file| (file.path.as_bytes(), file.size)).collect();
    assert_eq!(mounted, accepted);
    true
}
