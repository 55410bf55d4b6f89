//! Tests of the calls as the guest makes them: through memory.

mod calls;
mod hostile;
mod sockets;

use std::sync::atomic::{AtomicU64, Ordering};

use brumate_abi::memory::GuestMemory;
use brumate_vfs::device::Null;
use brumate_vfs::{OpenFlags, Vfs, VfsConfig};

/// Size of the guest memory of the tests.
const MEMORY: usize = 1 << 20;

/// A small guest: a file system and a memory in which arguments are laid out.
struct Guest {
    vfs: Vfs,
    memory: Vec<u8>,
    next: u32,
}

impl Guest {
    fn new() -> Self {
        let ticks = AtomicU64::new(1_700_000_000_000_000_000);
        let clock = Box::new(move || ticks.fetch_add(1000, Ordering::Relaxed));
        let mut vfs =
            Vfs::new(&VfsConfig { quota_bytes: 1 << 22, quota_inodes: 200, ..VfsConfig::default() }, clock).unwrap();
        for (fd, name, flags) in [(0, "stdin", OpenFlags::RDONLY), (1, "stdout", OpenFlags::WRONLY)] {
            vfs.install_device(fd, name.as_bytes(), OpenFlags(flags), Box::new(Null)).unwrap();
        }
        vfs.chdir(b"/tmp").unwrap();
        Self { vfs, memory: vec![0; MEMORY], next: 64 }
    }

    /// Puts bytes into memory; their address.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.next;
        self.next += (bytes.len() as u32).next_multiple_of(16) + 16;
        self.memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        at
    }

    fn string(&mut self, text: &str) -> u32 {
        self.put(&[text.as_bytes(), b"\0"].concat())
    }

    /// An array of 32-bit words.
    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)
    }

    fn space(&mut self, size: usize) -> u32 {
        self.put(&vec![0xEE; size])
    }

    /// Makes a call with the memory.
    fn call<T>(&mut self, call: impl FnOnce(&mut Vfs, &mut GuestMemory<'_>) -> T) -> T {
        call(&mut self.vfs, &mut GuestMemory::new(&mut self.memory))
    }

    fn u32(&self, at: u32) -> u32 {
        u32::from_le_bytes(self.memory[at as usize..at as usize + 4].try_into().unwrap())
    }

    fn u64(&self, at: u32) -> u64 {
        u64::from_le_bytes(self.memory[at as usize..at as usize + 8].try_into().unwrap())
    }
}
