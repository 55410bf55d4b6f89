//! The trailer of a session on disk: it shows that the file is complete.
//!
//! A machine writes the payload; after it follows a trailer of [`TRAILER_BYTES`]. A session without a trailer that
//! matches its length and its bytes is invalid. Machines write trailers too: a trailer proves that the payload is
//! complete, not that it is harmless.

use std::io::{self, Write};

/// Size of the trailer, in bytes.
pub(crate) const TRAILER_BYTES: usize = 32;

const MAGIC: [u8; 8] = *b"brumate\x1d";

/// The trailer of a session on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Number of changes of the session so far: of two files of one session, the one with the higher number is newer.
    pub(crate) generation: u64,
    /// Bytes of payload.
    pub(crate) payload: u64,
    /// CRC-32 of those.
    pub(crate) crc: u32,
}

impl Trailer {
    pub(crate) fn encode(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.payload.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.crc.to_le_bytes());
        let check = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Decodes a trailer. `None` if it is none, or damaged.
    pub(crate) fn decode(bytes: &[u8; TRAILER_BYTES]) -> Option<Trailer> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let (crc, check) = (word(24) as u32, (word(24) >> 32) as u32);
        let whole = bytes[..8] == MAGIC && check == crc32fast::hash(&bytes[..28]);
        whole.then(|| Trailer { generation: word(8), payload: word(16), crc })
    }
}

/// Counts and checksums what is written through it.
pub(crate) struct Sealing<W> {
    to: W,
    payload: u64,
    crc: crc32fast::Hasher,
}

impl<W: Write> Sealing<W> {
    pub(crate) fn new(to: W) -> Sealing<W> {
        Sealing { to, payload: 0, crc: crc32fast::Hasher::new() }
    }

    /// Returns the trailer for the bytes written so far, and the writer.
    pub(crate) fn finish(self, generation: u64) -> (Trailer, W) {
        (Trailer { generation, payload: self.payload, crc: self.crc.finalize() }, self.to)
    }

    /// Writes the trailer after the payload.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn seal(self, generation: u64) -> io::Result<Trailer> {
        let (trailer, mut to) = self.finish(generation);
        to.write_all(&trailer.encode())?;
        to.flush()?;
        Ok(trailer)
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.payload += count as u64;
        self.crc.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_fits_its_payload_and_nothing_else() {
        let mut file = Vec::new();
        let mut sealing = Sealing::new(&mut file);
        sealing.write_all(b"payload").unwrap();
        let trailer = sealing.seal(u64::MAX).unwrap();
        assert_eq!(trailer, Trailer { generation: u64::MAX, payload: 7, crc: crc32fast::hash(b"payload") });
        let end = *file.last_chunk().unwrap();
        assert_eq!(Trailer::decode(&end), Some(trailer));
        for bit in 0..TRAILER_BYTES * 8 {
            let mut changed = end;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Trailer::decode(&changed), None, "bit {bit}");
        }
    }
}
