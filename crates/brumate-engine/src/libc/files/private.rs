//! Calls that the C library of the interpreter lacks. The driver makes them with `fcntl` and `ioctl`, by numbers that no
//! system uses.

use brumate_abi::errno::Errno;
use brumate_abi::memory::{GuestMemory, PATH_MAX};
use brumate_vfs::Vfs;

/// Command of `fcntl`: `flock(2)`. The argument is the operation.
pub(super) const FLOCK: i32 = 0x4272_0001;

/// Request of `ioctl` on any open file: `linkat(2)`. The argument is a block: two directory descriptors, flags, the lengths
/// of both paths, each with four bytes, and the paths.
pub(super) const LINK: u32 = 0x4272_0002;

/// Bytes of the block before the paths.
const HEAD: u32 = 20;

/// Answers [`LINK`].
pub(super) fn link(vfs: &mut Vfs, mem: &GuestMemory<'_>, block: u32) -> Result<(), Errno> {
    let word = |index: u32| mem.read_u32(block.wrapping_add(index * 4));
    let (old_dirfd, new_dirfd, flags, old_length, new_length) = (word(0)?, word(1)?, word(2)?, word(3)?, word(4)?);
    if old_length as usize >= PATH_MAX || new_length as usize >= PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    let start = block.checked_add(HEAD).ok_or(Errno::EFAULT)?;
    let old = mem.slice(start, old_length)?;
    let new = mem.slice(start.checked_add(old_length).ok_or(Errno::EFAULT)?, new_length)?;
    if old.contains(&0) || new.contains(&0) {
        return Err(Errno::EINVAL);
    }
    vfs.linkat(old_dirfd as i32, old, new_dirfd as i32, new, flags)
}
