//! Sparse storage of a written file's bytes.
//!
//! A file is a map from chunk number to the chunk's stored prefix; whatever is not stored reads as zeros. So a file
//! extended to a terabyte costs nothing until bytes are written, and the quota counts exactly the pages stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::limits::{FILE_SIZE_MAX, PAGE};
use super::quota::Quota;
use brumate_abi::errno::Errno;

/// Bytes per chunk.
pub const CHUNK: u64 = 64 * 1024;

/// The stored bytes of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunks {
    len: u64,
    stored: BTreeMap<u64, Bytes>,
}

fn pages_of(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE)
}

impl Chunks {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Pages charged to the quota for this file.
    pub fn pages(&self) -> u64 {
        self.stored.values().map(|chunk| pages_of(chunk.len() as u64)).sum()
    }

    /// Whether every chunk is within bounds and within the file (for state read from outside).
    pub fn is_consistent(&self) -> bool {
        self.len <= FILE_SIZE_MAX
            && self.stored.iter().all(|(&index, chunk)| {
                let len = chunk.len() as u64;
                len > 0
                    && len <= CHUNK
                    && index.checked_mul(CHUNK).and_then(|at| at.checked_add(len)).is_some_and(|end| end <= self.len)
            })
    }

    /// Fills `buf` from `offset`; returns how many bytes lie before the end of the file.
    pub fn read_at(&self, offset: u64, buf: &mut [u8]) -> usize {
        if offset >= self.len {
            return 0;
        }
        let count = (buf.len() as u64).min(self.len - offset) as usize;
        let buf = &mut buf[..count];
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let within = (at % CHUNK) as usize;
            let span = (CHUNK as usize - within).min(count - done);
            let out = &mut buf[done..done + span];
            let stored = self.stored.get(&(at / CHUNK)).map_or(&[][..], |chunk| chunk.get(within..).unwrap_or(&[]));
            let have = stored.len().min(span);
            out[..have].copy_from_slice(&stored[..have]);
            out[have..].fill(0);
            done += span;
        }
        count
    }

    /// Stores `data` at `offset` as far as the quota allows; returns how many bytes were stored.
    ///
    /// # Errors
    /// `EFBIG` when the first byte lies beyond the largest offset, `ENOSPC` when not one byte fits.
    pub fn write_at(&mut self, offset: u64, data: &[u8], quota: &mut Quota) -> Result<usize, Errno> {
        if data.is_empty() {
            return Ok(0);
        }
        if offset >= FILE_SIZE_MAX {
            return Err(Errno::EFBIG);
        }
        let count = (data.len() as u64).min(FILE_SIZE_MAX - offset) as usize;
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let within = at % CHUNK;
            let wanted = (CHUNK - within).min((count - done) as u64);
            let index = at / CHUNK;
            let have = self.stored.get(&index).map_or(0, |chunk| chunk.len() as u64);
            let room = (pages_of(have) + quota.free_pages()).saturating_mul(PAGE);
            let end = (within + wanted).min(room);
            if end <= within {
                break;
            }
            let new_len = have.max(end);
            quota.charge_pages(pages_of(new_len) - pages_of(have))?;
            let chunk = self.stored.entry(index).or_default();
            grow(chunk, new_len as usize);
            let span = (end - within) as usize;
            chunk[within as usize..end as usize].copy_from_slice(&data[done..done + span]);
            done += span;
            self.len = self.len.max(offset + done as u64);
            if (span as u64) < wanted {
                break;
            }
        }
        if done == 0 { Err(Errno::ENOSPC) } else { Ok(done) }
    }

    /// Sets the length: cuts, or extends with a hole.
    ///
    /// # Errors
    /// `EFBIG` beyond the largest offset.
    pub fn set_len(&mut self, len: u64, quota: &mut Quota) -> Result<(), Errno> {
        if len > FILE_SIZE_MAX {
            return Err(Errno::EFBIG);
        }
        if len < self.len {
            let first_gone = len.div_ceil(CHUNK);
            for chunk in self.stored.split_off(&first_gone).into_values() {
                quota.release_pages(pages_of(chunk.len() as u64));
            }
            let within = (len % CHUNK) as usize;
            if within != 0
                && let Some(chunk) = self.stored.get_mut(&(len / CHUNK))
                && chunk.len() > within
            {
                quota.release_pages(pages_of(chunk.len() as u64) - pages_of(within as u64));
                chunk.truncate(within);
                chunk.shrink_to(within.next_power_of_two());
            }
        }
        self.len = len;
        Ok(())
    }

    /// Makes sure that `offset..offset + len` is stored, extending the file when needed (`fallocate`).
    ///
    /// # Errors
    /// `EFBIG` beyond the largest offset, `ENOSPC` beyond the quota; nothing is changed then.
    pub fn allocate(&mut self, offset: u64, len: u64, quota: &mut Quota) -> Result<(), Errno> {
        let end = offset.checked_add(len).filter(|&end| end <= FILE_SIZE_MAX).ok_or(Errno::EFBIG)?;
        // A range larger than all free pages and stored chunks can be refused before walking it.
        let stored_max = (self.stored.len() as u64).saturating_mul(CHUNK);
        if len > stored_max.saturating_add(quota.free_pages().saturating_mul(PAGE)) {
            return Err(Errno::ENOSPC);
        }
        let spans = |index: u64| (end - index * CHUNK).min(CHUNK);
        let (first, last) = (offset / CHUNK, end.div_ceil(CHUNK));
        let mut needed = 0;
        for index in first..last {
            let have = self.stored.get(&index).map_or(0, |chunk| chunk.len() as u64);
            needed += pages_of(spans(index).max(have)) - pages_of(have);
        }
        quota.charge_pages(needed)?;
        for index in first..last {
            let chunk = self.stored.entry(index).or_default();
            let new_len = (spans(index) as usize).max(chunk.len());
            grow(chunk, new_len);
        }
        self.len = self.len.max(end);
        Ok(())
    }

    /// Gives every page back.
    pub fn release(self, quota: &mut Quota) {
        quota.release_pages(self.pages());
    }

    /// Returns the first stored offset at or after `offset` (`SEEK_DATA`), `None` when only a hole follows.
    pub fn next_data(&self, offset: u64) -> Option<u64> {
        let first = offset / CHUNK;
        self.stored.range(first..).find_map(|(&index, chunk)| {
            let end = index * CHUNK + chunk.len() as u64;
            (offset < end).then_some(offset.max(index * CHUNK))
        })
    }

    /// Returns the first offset at or after `offset` that is not stored (`SEEK_HOLE`); the end of the file is one.
    pub fn next_hole(&self, offset: u64) -> u64 {
        let mut at = offset;
        while at < self.len {
            let within = at % CHUNK;
            let have = self.stored.get(&(at / CHUNK)).map_or(0, |chunk| chunk.len() as u64);
            if within >= have {
                break;
            }
            at += have - within;
            if have < CHUNK {
                break;
            }
        }
        at.min(self.len)
    }
}

/// Grows a chunk with zeros. The capacity doubles, for small files that grow line by line, but never exceeds a chunk.
fn grow(chunk: &mut Vec<u8>, len: usize) {
    if len > chunk.capacity() {
        let target = len.max(chunk.capacity().saturating_mul(2)).min(CHUNK as usize);
        chunk.reserve_exact(target.max(len) - chunk.len());
    }
    if len > chunk.len() {
        chunk.resize(len, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::VfsConfig;

    fn quota(pages: u64) -> Quota {
        Quota::new(&VfsConfig { quota_bytes: pages * PAGE, ..VfsConfig::default() })
    }

    #[test]
    fn a_huge_hole_costs_nothing_and_reads_as_zeros() {
        let mut quota = quota(4);
        let mut file = Chunks::default();
        file.set_len(1 << 40, &mut quota).unwrap();
        assert_eq!((file.len(), quota.usage().bytes), (1 << 40, 0));
        assert_eq!(
            file.write_at((1 << 40) - 1, b"xy", &mut quota),
            Err(Errno::ENOSPC),
            "64 KiB chunk prefix does not fit"
        );
        assert_eq!(file.write_at(1 << 30, b"xy", &mut quota), Ok(2));
        let mut buf = [9; 6];
        assert_eq!(file.read_at((1 << 30) - 2, &mut buf), 6);
        assert_eq!(buf, [0, 0, b'x', b'y', 0, 0]);
        assert_eq!(quota.usage().bytes, PAGE);
        file.set_len(1 << 30, &mut quota).unwrap();
        assert_eq!(quota.usage().bytes, 0);
    }

    #[test]
    fn writes_stop_exactly_at_the_quota() {
        let mut quota = quota(3);
        let mut file = Chunks::default();
        let data = vec![7; 5 * PAGE as usize];
        assert_eq!(file.write_at(0, &data, &mut quota), Ok(3 * PAGE as usize));
        assert_eq!(file.write_at(file.len(), b"z", &mut quota), Err(Errno::ENOSPC));
        assert_eq!(file.write_at(0, b"z", &mut quota), Ok(1), "stored pages can be rewritten when full");
        file.release(&mut quota);
        assert_eq!(quota.usage().bytes, 0);
    }

    #[test]
    fn cutting_and_extending_again_shows_zeros() {
        let mut quota = quota(100);
        let mut file = Chunks::default();
        file.write_at(CHUNK - 3, b"abcdef", &mut quota).unwrap();
        file.set_len(CHUNK - 1, &mut quota).unwrap();
        file.set_len(CHUNK + 3, &mut quota).unwrap();
        let mut buf = [1; 8];
        assert_eq!(file.read_at(CHUNK - 3, &mut buf), 6);
        assert_eq!(&buf[..6], b"ab\0\0\0\0");
        assert!(file.is_consistent());
    }

    #[test]
    fn allocate_is_all_or_nothing() {
        let mut quota = quota(20);
        let mut file = Chunks::default();
        assert_eq!(file.allocate(0, 1 << 50, &mut quota), Err(Errno::ENOSPC));
        assert_eq!(file.allocate(0, 21 * PAGE, &mut quota), Err(Errno::ENOSPC));
        assert_eq!((file.len(), quota.usage().bytes), (0, 0));
        file.allocate(0, 17 * PAGE, &mut quota).unwrap();
        assert_eq!((file.len(), quota.usage().bytes), (17 * PAGE, 17 * PAGE));
        assert_eq!(file.allocate(u64::MAX, 2, &mut quota), Err(Errno::EFBIG));
    }

    #[test]
    fn data_and_holes_are_found() {
        let mut quota = quota(1000);
        let mut file = Chunks::default();
        file.write_at(2 * CHUNK, &[1; CHUNK as usize + 10], &mut quota).unwrap();
        file.set_len(10 * CHUNK, &mut quota).unwrap();
        assert_eq!(file.next_data(0), Some(2 * CHUNK));
        assert_eq!(file.next_data(2 * CHUNK + 5), Some(2 * CHUNK + 5));
        assert_eq!(file.next_data(4 * CHUNK), None);
        assert_eq!(file.next_hole(0), 0);
        assert_eq!(file.next_hole(2 * CHUNK), 3 * CHUNK + 10);
        assert_eq!(file.next_hole(10 * CHUNK), 10 * CHUNK);
    }
}
