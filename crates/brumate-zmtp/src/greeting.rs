//! The greeting: the 64 bytes that each side sends first.
//!
//! `FF 00*8 7F | major minor | mechanism, 20 bytes padded with 0 | as-server | 31 bytes of 0`

use crate::error::ProtocolError;

/// Bytes of a greeting.
pub(crate) const GREETING_BYTES: usize = 64;
/// Offset of the version.
const VERSION_AT: usize = 10;
/// Offset of the mechanism.
const MECHANISM_AT: usize = 12;
/// Name of the mechanism in its field.
const MECHANISM: &[u8; 20] = b"NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// Oldest version that is understood, and the one that is spoken.
const MAJOR: u8 = 3;

/// Returns the greeting of this side.
pub(crate) fn greeting() -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[VERSION_AT] = MAJOR;
    greeting[MECHANISM_AT..MECHANISM_AT + MECHANISM.len()].copy_from_slice(MECHANISM);
    greeting
}

/// Checks as much of a peer's greeting as has arrived.
pub(crate) fn check(arrived: &[u8]) -> Result<(), ProtocolError> {
    if arrived.first().is_some_and(|byte| *byte != 0xff) || arrived.get(9).is_some_and(|byte| byte & 1 == 0) {
        return Err(ProtocolError::Signature);
    }
    if let Some(major) = arrived.get(VERSION_AT).filter(|major| **major < MAJOR) {
        return Err(ProtocolError::Version(*major));
    }
    if arrived.iter().skip(MECHANISM_AT).zip(MECHANISM).any(|(byte, expected)| byte != expected) {
        return Err(ProtocolError::Mechanism);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_checked_as_far_as_it_has_arrived() {
        let whole = greeting();
        for end in 0..=whole.len() {
            check(&whole[..end]).unwrap();
        }
        let changed = |at: usize, byte: u8| {
            let mut greeting = greeting();
            greeting[at] = byte;
            // The bytes before it are right. This byte is enough to refuse.
            check(&greeting[..at]).unwrap();
            check(&greeting[..=at])
        };
        assert_eq!(changed(0, 1), Err(ProtocolError::Signature));
        assert_eq!(changed(9, 0), Err(ProtocolError::Signature));
        assert_eq!(changed(10, 1), Err(ProtocolError::Version(1)));
        assert_eq!(changed(10, 4), Ok(()));
        assert_eq!(changed(11, 1), Ok(()));
        assert_eq!(changed(12, b'P'), Err(ProtocolError::Mechanism));
        assert_eq!(changed(16, b'2'), Err(ProtocolError::Mechanism));
    }
}
