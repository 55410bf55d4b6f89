//! Reserve on the disk of a data directory. When the disk is full, it is room to remove sessions and to start.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::{DataDir, private_file};

/// Bytes of the reserve. The registry's log grows by some kilobytes with each removal, and its index takes 32 KiB.
const RESERVE_BYTES: u64 = 2 << 20;
/// Least bytes of a reserve that is worth a file.
const LEAST_BYTES: u64 = 64 << 10;

impl DataDir {
    /// Makes the reserve as large as it should be, or as the disk allows. A failure has no effect on sessions.
    pub(crate) fn keep_reserve(&self) {
        let kept = private_file(&self.root().join("reserve")).and_then(|file| fill(&file));
        if let Err(error) = kept {
            tracing::debug!(%error, "the data directory has no reserve");
        }
    }

    /// Gives the bytes of the reserve back to the disk; false if there are none.
    pub(crate) fn release_reserve(&self) -> bool {
        let open = File::options().write(true).open(self.root().join("reserve"));
        open.is_ok_and(|file| file.metadata().is_ok_and(|found| found.len() > 0) && file.set_len(0).is_ok())
    }
}

/// Allocates the bytes of the reserve.
fn fill(file: &File) -> io::Result<()> {
    let present = file.metadata()?.len();
    let mut wanted = RESERVE_BYTES;
    while wanted > present && wanted >= LEAST_BYTES {
        match allocate(file, wanted) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                file.set_len(present)?;
                wanted /= 2;
            }
            other => return other,
        }
    }
    Ok(())
}

fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; usize::try_from(bytes).unwrap_or(0)];
            file.write_all_at(&zeros, 0)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_reserve_takes_room_until_it_is_released() {
        let parent = tempfile::tempdir().unwrap();
        let directory = DataDir::lock(parent.path()).unwrap();
        assert!(!directory.release_reserve());
        for _ in 0..2 {
            directory.keep_reserve();
            let found = std::fs::metadata(parent.path().join("reserve")).unwrap();
            assert!(found.len() == RESERVE_BYTES && found.blocks() * 512 >= RESERVE_BYTES, "{found:?}");
        }
        assert!(directory.release_reserve() && !directory.release_reserve());
        assert_eq!(std::fs::metadata(parent.path().join("reserve")).unwrap().blocks(), 0);
    }
}
