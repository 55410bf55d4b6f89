//! Files mapped into the guest's memory.
//!
//! WebAssembly memory cannot be mapped, so a mapping is a copy: filled when it is made, written back at `msync` and
//! `munmap` when it is shared and writable. A mapping keeps the file open on its own, for the descriptor may be closed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Vfs;
use super::fds::{DescriptionId, Target};
use super::flags::FileType;
use super::limits::MAPPINGS_MAX;
use brumate_abi::errno::Errno;

/// A file mapped into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// The open file; referenced by the mapping.
    pub description: DescriptionId,
    /// Offset of the mapping in the file.
    pub offset: u64,
    /// Length in bytes, as the guest requested it.
    pub length: u32,
    /// Whether changes go back to the file.
    pub write_back: bool,
}

/// Mappings by guest address.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Mappings {
    by_address: BTreeMap<u32, Mapping>,
}

impl Mappings {
    pub fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.by_address.values()
    }
}

impl Vfs {
    /// Checks that a file can be mapped and takes a reference to it. Give it to [`Self::add_mapping`] or
    /// [`Self::cancel_mapping`].
    ///
    /// # Errors
    /// Those of `mmap(2)`: `EBADF`, `EACCES` for a file not open for reading, or not for writing when changes are to
    /// go back; `ENODEV` for what is not a regular file; `ENOMEM` when there are too many mappings.
    pub fn prepare_mapping(
        &mut self,
        fd: i32,
        offset: u64,
        length: u32,
        shared: bool,
        writable: bool,
    ) -> Result<Mapping, Errno> {
        let flags = self.check_open(fd)?;
        if self.file_type(fd)? != FileType::Regular {
            return Err(Errno::ENODEV);
        }
        let write_back = shared && writable;
        if !flags.reads() || (write_back && !flags.writes()) {
            return Err(Errno::EACCES);
        }
        if self.mappings.by_address.len() >= MAPPINGS_MAX {
            return Err(Errno::ENOMEM);
        }
        let description = self.description_of(fd)?;
        self.retain(description)?;
        Ok(Mapping { description, offset, length, write_back })
    }

    /// Gives a prepared mapping up.
    pub fn cancel_mapping(&mut self, mapping: &Mapping) {
        self.release(mapping.description);
    }

    /// Fills `memory` with the file's bytes and zeros after its end.
    ///
    /// # Errors
    /// `EIO` when the file cannot be read.
    pub fn fill_mapping(&mut self, mapping: &Mapping, memory: &mut [u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < memory.len() {
            let at = mapping.offset.saturating_add(done as u64);
            match self.pread_description(mapping.description, at, &mut memory[done..])? {
                0 => break,
                count => done += count,
            }
        }
        memory[done..].fill(0);
        Ok(())
    }

    /// Records a mapping at its address. A mapping that is recorded there already (the guest has freed its memory
    /// without `munmap`) is dropped without being written back.
    pub fn add_mapping(&mut self, address: u32, mapping: Mapping) {
        if let Some(old) = self.mappings.by_address.insert(address, mapping) {
            self.release(old.description);
        }
    }

    /// Returns the mapping at an address.
    pub fn mapping_at(&self, address: u32) -> Option<Mapping> {
        self.mappings.by_address.get(&address).copied()
    }

    /// Forgets the mapping at an address and closes its file.
    pub fn remove_mapping(&mut self, address: u32) {
        if let Some(mapping) = self.mappings.by_address.remove(&address) {
            self.release(mapping.description);
        }
    }

    /// Writes a mapping's memory back to the file, up to the file's end: a mapping never extends a file. Blocks that
    /// are equal are not written, so that mapping a file and not changing it does not touch it.
    ///
    /// # Errors
    /// Those of writing: `ENOSPC`, `EROFS`, `EIO`.
    pub fn write_back(&mut self, mapping: &Mapping, memory: &[u8]) -> Result<(), Errno> {
        const BLOCK: usize = 64 * 1024;
        let length = self.description_length(mapping.description)?;
        let count = length.saturating_sub(mapping.offset).min(memory.len() as u64) as usize;
        let mut present = vec![0; BLOCK.min(count)];
        for (index, block) in memory[..count].chunks(BLOCK).enumerate() {
            let at = mapping.offset + (index * BLOCK) as u64;
            let mut read = 0;
            while read < block.len() {
                match self.pread_description(mapping.description, at + read as u64, &mut present[read..block.len()])? {
                    0 => break,
                    more => read += more,
                }
            }
            if present[..read] == *block {
                continue;
            }
            let mut written = 0;
            while written < block.len() {
                match self.pwrite_description(mapping.description, at + written as u64, &block[written..])? {
                    0 => return Err(Errno::EIO),
                    more => written += more,
                }
            }
        }
        Ok(())
    }

    fn description_length(&mut self, id: DescriptionId) -> Result<u64, Errno> {
        let description = self.descriptions.get_mut(id)?;
        if let Target::Host(target) = &mut description.target {
            return Ok(target.file.as_mut().ok_or(Errno::ESTALE)?.stat()?.size);
        }
        let node = description.node();
        Ok(self.stat_node(&node)?.size)
    }
}
