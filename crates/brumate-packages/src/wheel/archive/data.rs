//! Decompression with limits: never more than the stated size, never more than a buffer at a time.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::super::WheelProblem;
use super::{Compression, Entry, ReadAt, io_problem};

/// Bytes that are read, and decompressed, at a time.
const BUFFER: usize = 64 << 10;

/// Decompresses `entry` into `sink` and checks its size and checksum.
pub(super) fn unpack<R: ReadAt + ?Sized>(
    source: &R,
    entry: &Entry,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), WheelProblem> {
    let mut sink = CheckedSink { crc: Crc::new(), size: entry.size, seen: 0, sink };
    match entry.compression {
        Compression::Stored => copy(source, entry, &mut sink)?,
        Compression::Deflated => inflate(source, entry, &mut sink)?,
    }
    if sink.seen != entry.size {
        return Err(WheelProblem::Corrupt("shorter than stated"));
    }
    if sink.crc.sum() != entry.crc {
        return Err(WheelProblem::Corrupt("wrong checksum"));
    }
    Ok(())
}

/// Forwards pieces up to the stated size.
struct CheckedSink<'a> {
    crc: Crc,
    size: u64,
    seen: u64,
    sink: &'a mut dyn FnMut(&[u8]),
}

impl CheckedSink<'_> {
    fn take(&mut self, piece: &[u8]) -> Result<(), WheelProblem> {
        self.seen += piece.len() as u64;
        if self.seen > self.size {
            return Err(WheelProblem::Corrupt("longer than stated"));
        }
        self.crc.update(piece);
        (self.sink)(piece);
        Ok(())
    }
}

fn copy<R: ReadAt + ?Sized>(source: &R, entry: &Entry, sink: &mut CheckedSink<'_>) -> Result<(), WheelProblem> {
    let mut reader = CompressedReader::new(source, entry);
    while let Some(piece) = reader.next()? {
        sink.take(piece)?;
    }
    Ok(())
}

fn inflate<R: ReadAt + ?Sized>(source: &R, entry: &Entry, sink: &mut CheckedSink<'_>) -> Result<(), WheelProblem> {
    let bad = WheelProblem::Corrupt;
    let mut reader = CompressedReader::new(source, entry);
    let mut decoder = Decompress::new(false);
    let mut output = vec![0; BUFFER.min(usize::try_from(entry.size).unwrap_or(BUFFER) + 1)];
    let mut ended = false;
    while let Some(mut piece) = reader.next()? {
        if ended {
            return Err(bad("bytes behind its packed data"));
        }
        loop {
            let (read, written) = (decoder.total_in(), decoder.total_out());
            let status = decoder
                .decompress(piece, &mut output, FlushDecompress::None)
                .map_err(|_| bad("it cannot be unpacked"))?;
            let (read, written) = ((decoder.total_in() - read) as usize, (decoder.total_out() - written) as usize);
            piece = &piece[read..];
            sink.take(&output[..written])?;
            match status {
                Status::StreamEnd if piece.is_empty() => {
                    ended = true;
                    break;
                }
                Status::StreamEnd => return Err(bad("bytes behind its packed data")),
                // All input is used and the output buffer is not full, so the decoder is empty as well.
                _ if piece.is_empty() && written < output.len() => break,
                _ if read == 0 && written == 0 => return Err(bad("it cannot be unpacked")),
                _ => {}
            }
        }
    }
    if ended { Ok(()) } else { Err(bad("its packed data ends too early")) }
}

/// Compressed bytes of a file, a buffer at a time.
struct CompressedReader<'a, R: ?Sized> {
    source: &'a R,
    at: u64,
    left: u64,
    buffer: Vec<u8>,
}

impl<'a, R: ReadAt + ?Sized> CompressedReader<'a, R> {
    fn new(source: &'a R, entry: &Entry) -> Self {
        let length = usize::try_from(entry.packed).unwrap_or(BUFFER).min(BUFFER);
        Self { source, at: entry.start, left: entry.packed, buffer: vec![0; length] }
    }

    fn next(&mut self) -> Result<Option<&[u8]>, WheelProblem> {
        let length = usize::try_from(self.left).unwrap_or(BUFFER).min(self.buffer.len());
        if length == 0 {
            return Ok(None);
        }
        let piece = &mut self.buffer[..length];
        self.source.read_exact_at(piece, self.at).map_err(|error| io_problem(&error))?;
        self.at += length as u64;
        self.left -= length as u64;
        Ok(Some(piece))
    }
}
