//! Bounds-checked access to the guest's linear memory.
//!
//! Every address and length comes from the guest (through `ctypes` it can pass any number to any libc function),
//! so each access is checked against the memory's present size and answers `EFAULT` outside of it.

use crate::errno::Errno;

/// Longest path a call accepts, in bytes, counting the final NUL (`PATH_MAX` on Linux).
pub const PATH_MAX: usize = 4096;

/// The guest's linear memory for the time of one host call.
#[derive(Debug)]
pub struct GuestMemory<'a>(&'a mut [u8]);

macro_rules! scalars {
    ($($read:ident, $write:ident, $ty:ty;)*) => {$(
        #[doc = concat!("Reads a little-endian `", stringify!($ty), "` at `ptr`; `EFAULT` outside memory.")]
        pub fn $read(&self, ptr: u32) -> Result<$ty, Errno> {
            self.array(ptr).map(<$ty>::from_le_bytes)
        }

        #[doc = concat!("Writes a little-endian `", stringify!($ty), "` at `ptr`; `EFAULT` outside memory.")]
        pub fn $write(&mut self, ptr: u32, value: $ty) -> Result<(), Errno> {
            self.write(ptr, &value.to_le_bytes())
        }
    )*};
}

impl<'a> GuestMemory<'a> {
    /// Wraps the bytes of the linear memory.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    /// The `len` bytes at `ptr`. An empty range is valid anywhere, as for Linux system calls.
    ///
    /// # Errors
    /// `EFAULT` when a byte of the range is outside memory.
    pub fn slice(&self, ptr: u32, len: u32) -> Result<&[u8], Errno> {
        if len == 0 {
            return Ok(&[]);
        }
        let start = ptr as usize;
        let end = start.checked_add(len as usize).ok_or(Errno::EFAULT)?;
        self.0.get(start..end).ok_or(Errno::EFAULT)
    }

    /// The `len` bytes at `ptr`, writable.
    ///
    /// # Errors
    /// `EFAULT` when a byte of the range is outside memory.
    pub fn slice_mut(&mut self, ptr: u32, len: u32) -> Result<&mut [u8], Errno> {
        if len == 0 {
            return Ok(&mut []);
        }
        let start = ptr as usize;
        let end = start.checked_add(len as usize).ok_or(Errno::EFAULT)?;
        self.0.get_mut(start..end).ok_or(Errno::EFAULT)
    }

    /// Several ranges, each given as its address and its length in bytes, to be written to.
    ///
    /// # Errors
    /// `EFAULT` when a byte of a range is outside memory, or two of them overlap.
    pub fn disjoint_mut<const N: usize>(&mut self, ranges: [(u32, u32); N]) -> Result<[&mut [u8]; N], Errno> {
        let ranges = ranges.map(|(ptr, len)| ptr as usize..ptr as usize + len as usize);
        self.0.get_disjoint_mut(ranges).map_err(|_| Errno::EFAULT)
    }

    /// Where it begins, for host code that works with pointers into ranges that it has checked.
    pub fn base(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// Copies `bytes` to `ptr`.
    ///
    /// # Errors
    /// `EFAULT` when the destination is not wholly inside memory; nothing is written then.
    pub fn write(&mut self, ptr: u32, bytes: &[u8]) -> Result<(), Errno> {
        let len = u32::try_from(bytes.len()).map_err(|_| Errno::EFAULT)?;
        self.slice_mut(ptr, len)?.copy_from_slice(bytes);
        Ok(())
    }

    /// The bytes of the NUL-terminated string at `ptr`, without the NUL.
    ///
    /// # Errors
    /// `EFAULT` when memory ends before the NUL; `ENAMETOOLONG` when the first `max` bytes hold no NUL.
    pub fn c_str(&self, ptr: u32, max: usize) -> Result<&[u8], Errno> {
        let tail = self.0.get(ptr as usize..).ok_or(Errno::EFAULT)?;
        let window = &tail[..tail.len().min(max)];
        match window.iter().position(|&b| b == 0) {
            Some(end) => Ok(&window[..end]),
            None if window.len() == max => Err(Errno::ENAMETOOLONG),
            None => Err(Errno::EFAULT),
        }
    }

    /// A path argument. Address 0 is no path, although WebAssembly could read there.
    ///
    /// # Errors
    /// `EFAULT` outside memory, `ENAMETOOLONG` for a path of `PATH_MAX` bytes or more.
    pub fn path(&self, ptr: u32) -> Result<&[u8], Errno> {
        if ptr == 0 { Err(Errno::EFAULT) } else { self.c_str(ptr, PATH_MAX) }
    }

    /// The first variadic argument: `va` points at the block of arguments, 0 when there are none.
    ///
    /// # Errors
    /// `EFAULT` outside memory.
    pub fn vararg(&self, va: u32) -> Result<u32, Errno> {
        if va == 0 { Ok(0) } else { self.read_u32(va) }
    }

    scalars! {
        read_u8, write_u8, u8;
        read_u16, write_u16, u16;
        read_i16, write_i16, i16;
        read_u32, write_u32, u32;
        read_i32, write_i32, i32;
        read_u64, write_u64, u64;
        read_i64, write_i64, i64;
    }

    fn array<const N: usize>(&self, ptr: u32) -> Result<[u8; N], Errno> {
        let start = ptr as usize;
        let end = start.checked_add(N).ok_or(Errno::EFAULT)?;
        let bytes = self.0.get(start..end).ok_or(Errno::EFAULT)?;
        bytes.try_into().map_err(|_| Errno::EFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_round_trip_and_are_little_endian() {
        let mut bytes = [0u8; 32];
        let mut mem = GuestMemory::new(&mut bytes);
        mem.write_u32(0, 0x0102_0304).unwrap();
        assert_eq!(mem.slice(0, 4).unwrap(), [4, 3, 2, 1]);
        mem.write_i64(8, -5).unwrap();
        assert_eq!(mem.read_i64(8), Ok(-5));
        mem.write_i16(3, -2).unwrap();
        assert_eq!(mem.read_u16(3), Ok(0xfffe));
    }

    #[test]
    fn every_access_outside_is_efault() {
        let mut bytes = [1u8; 16];
        let mut mem = GuestMemory::new(&mut bytes);
        assert_eq!(mem.read_u8(16), Err(Errno::EFAULT));
        assert_eq!(mem.read_u64(9), Err(Errno::EFAULT));
        assert_eq!(mem.read_u64(u32::MAX), Err(Errno::EFAULT));
        assert_eq!(mem.write_u32(13, 1), Err(Errno::EFAULT));
        assert_eq!(mem.write(15, b"ab"), Err(Errno::EFAULT));
        assert_eq!(mem.slice(u32::MAX, u32::MAX), Err(Errno::EFAULT));
        assert!(mem.slice(u32::MAX, 0).unwrap().is_empty());
        assert!(bytes.iter().all(|&b| b == 1), "a refused write changes nothing");
    }

    #[test]
    fn strings_end_at_the_nul_the_limit_or_the_end_of_memory() {
        let mut bytes = *b"abc\0defg";
        let mem = GuestMemory::new(&mut bytes);
        assert_eq!(mem.c_str(0, 4), Ok(&b"abc"[..]));
        assert_eq!(mem.c_str(0, 3), Err(Errno::ENAMETOOLONG));
        assert_eq!(mem.c_str(4, 100), Err(Errno::EFAULT));
        assert_eq!(mem.c_str(4, 4), Err(Errno::ENAMETOOLONG));
        assert_eq!(mem.c_str(9, 4), Err(Errno::EFAULT));
        assert_eq!(mem.c_str(3, 1), Ok(&b""[..]));
    }
}
