//! Damaged copies of inputs.

use crate::Input;

/// Adds damaged copies of the input of this name: cut off, with a byte changed, a piece twice, and something behind it.
pub(crate) fn add(inputs: &mut Vec<Input>, name: &str) {
    let (_, bytes) = inputs.iter().find(|(other, _)| other == name).expect("an input of this name");
    let bytes = bytes.clone();
    let (third, middle) = (bytes.len() / 3, bytes.len() / 2);
    let mut changed = bytes.clone();
    changed[middle] ^= 0x80;
    let mut filled = bytes.clone();
    filled[third..middle].fill(0xff);
    for (how, damaged) in [
        ("cut", bytes[..middle].to_vec()),
        ("last-byte-missing", bytes[..bytes.len() - 1].to_vec()),
        ("changed", changed),
        ("filled", filled),
        ("twice", [&bytes[..middle], &bytes[third..]].concat()),
        ("trailing", [&bytes[..], b"trailing"].concat()),
    ] {
        inputs.push((format!("{name}-{how}"), damaged));
    }
}
