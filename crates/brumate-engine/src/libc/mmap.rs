//! Mapped files: `_mmap_js`, `_munmap_js`, `_msync_js`.
//!
//! The memory of a mapping is allocated by the guest's own allocator, which only the engine can call. So `_mmap_js` is
//! in two halves: [`mmap_prepare`], then the engine allocates, then [`mmap_fill`] (or [`mmap_cancel`]).

use brumate_abi::errno::{Errno, syscall_unit};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{Mapping, Vfs};

const MAP_TYPE: i32 = 0xf;
const MAP_SHARED: i32 = 1;
const MAP_PRIVATE: i32 = 2;
const MAP_SHARED_VALIDATE: i32 = 3;
const PROT_WRITE: i32 = 2;
/// Unit of offsets in libc's `mmap`.
const OFFSET_UNIT: u64 = 4096;

/// Checks the arguments of `_mmap_js` and takes a reference to the file. The engine then allocates
/// [`Mapping::length`] bytes on a multiple of 65536.
///
/// # Errors
/// Those of `mmap(2)`; the engine returns [`Errno::as_syscall`].
pub(crate) fn mmap_prepare(
    vfs: &mut Vfs,
    length: u32,
    prot: i32,
    flags: i32,
    fd: i32,
    offset: i64,
) -> Result<Mapping, Errno> {
    let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
    if length == 0 || !offset.is_multiple_of(OFFSET_UNIT) || offset.checked_add(length.into()).is_none() {
        return Err(Errno::EINVAL);
    }
    let shared = match flags & MAP_TYPE {
        MAP_SHARED | MAP_SHARED_VALIDATE => true,
        MAP_PRIVATE => false,
        _ => return Err(Errno::EINVAL),
    };
    vfs.prepare_mapping(fd, offset, length, shared, prot & PROT_WRITE != 0)
}

/// Cancels a prepared mapping whose memory could not be allocated (`ENOMEM` for the guest).
pub(crate) fn mmap_cancel(vfs: &mut Vfs, mapping: Mapping) {
    vfs.cancel_mapping(&mapping);
}

/// Second half of `_mmap_js`: fills the allocated memory and writes the two results.
///
/// # Errors
/// `EFAULT`, `EIO`. The mapping is gone then and the engine frees the memory.
pub(crate) fn mmap_fill(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    mapping: Mapping,
    address: u32,
    out_allocated: u32,
    out_address: u32,
) -> Result<(), Errno> {
    let filled = (|| {
        vfs.fill_mapping(&mapping, mem.slice_mut(address, mapping.length)?)?;
        mem.write_u32(out_allocated, 1)?;
        mem.write_u32(out_address, address)
    })();
    match filled {
        Ok(()) => vfs.add_mapping(address, mapping),
        Err(_) => vfs.cancel_mapping(&mapping),
    }
    filled
}

fn write_back(vfs: &mut Vfs, mem: &GuestMemory<'_>, address: u32, length: u32, mapping: &Mapping) -> Result<(), Errno> {
    if !mapping.write_back {
        return Ok(());
    }
    vfs.write_back(mapping, mem.slice(address, length.min(mapping.length))?)
}

/// `_msync_js`. Its other arguments (protection, flags, descriptor, offset) are libc's copy of the mapping's data. The
/// record of the file system is used instead, because the descriptor may be closed by now, or refer to another file.
pub(crate) fn msync(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, address: u32, length: u32) -> i32 {
    syscall_unit((|| {
        let mapping = vfs.mapping_at(address).ok_or(Errno::EINVAL)?;
        write_back(vfs, mem, address, length, &mapping)
    })())
}

/// `_munmap_js`: writes back and removes the mapping. As on Linux, it does not fail if the file system is full; a
/// program learns that from `msync`. libc frees the memory afterwards.
pub(crate) fn munmap(vfs: &mut Vfs, mem: &mut GuestMemory<'_>, address: u32, length: u32) -> i32 {
    syscall_unit((|| {
        let mapping = vfs.mapping_at(address).ok_or(Errno::EINVAL)?;
        let written = write_back(vfs, mem, address, length, &mapping);
        vfs.remove_mapping(address);
        written.or_else(|errno| if errno == Errno::EFAULT { Err(errno) } else { Ok(()) })
    })())
}
