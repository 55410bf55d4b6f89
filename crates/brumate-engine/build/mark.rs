//! The name of a bundle file, and the mark at its end. The mark says which file it is, and where it begins.
//!
//! The build script, the engine and `cargo xtask dist` use this module.
//!
//! ```text
//! bundle file   frames, one after the other; mark
//! mark          MAGIC, SHA-256 of the frames, length of the frames: u64, little-endian
//! ```

/// Name of a bundle file that is apart from its program.
pub(crate) const BUNDLE_FILE: &str = "brumate.bundle";

/// Beginning of a mark, with the version of the format.
const MAGIC: [u8; 16] = *b"brumate-bundle-1";

/// Length of a mark, in bytes.
pub(crate) const MARK_BYTES: usize = 16 + 32 + 8;

/// The mark of a bundle file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// SHA-256 of the frames.
    pub(crate) sha256: [u8; 32],
    /// Length of the frames, in bytes.
    pub(crate) length: u64,
}

impl Mark {
    /// Returns the mark as it is written.
    pub(crate) fn to_bytes(self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..48].copy_from_slice(&self.sha256);
        bytes[48..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Reads a mark; `None` if these bytes are none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Mark> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (sha256, length) = rest.split_at_checked(32)?;
        Some(Mark { sha256: sha256.try_into().ok()?, length: u64::from_le_bytes(length.try_into().ok()?) })
    }
}
