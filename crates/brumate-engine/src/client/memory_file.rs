//! Files in memory that jailed processes write, and checks of their content.

use crate::api::EngineError;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Largest compiled module, in bytes.
pub(super) const MAX_CODE: u64 = 1 << 30;

/// Makes a file in memory for a jailed process to write into.
pub(super) fn memory_file(name: &str) -> std::io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?)
}

/// Seals code that was compiled from a guest's bytes.
pub(super) fn seal(output: File, memory: u64) -> Result<Arc<File>, EngineError> {
    use rustix::fs::{SealFlags, SeekFrom, fcntl_add_seals, seek};
    fcntl_add_seals(&output, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)
        .map_err(std::io::Error::from)?;
    let failed =
        |reason: &str| EngineError::Compile { name: "a module of the guest".to_owned(), reason: reason.to_owned() };
    let length = output.metadata()?.len();
    if length > memory.min(MAX_CODE) {
        return Err(failed("too much code"));
    }
    // Reading a hole would allocate memory.
    if length > 0 && seek(&output, SeekFrom::Hole(0)).map_err(std::io::Error::from)? < length {
        return Err(failed("its code has holes"));
    }
    Ok(Arc::new(output))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// Returns a compiler's output, and the descriptor of it that the compiler keeps.
    fn output() -> (File, File) {
        let output = File::from(memory_file("module").unwrap());
        let theirs = output.try_clone().unwrap();
        (output, theirs)
    }

    #[test]
    fn a_compiler_cannot_change_what_was_taken_from_it() {
        let (output, mut theirs) = output();
        theirs.write_all(b"code").unwrap();
        let taken = seal(output, 4096).unwrap();
        theirs.write_at(b"evil", 0).unwrap_err();
        theirs.write_at(b"more", 4).unwrap_err();
        theirs.set_len(0).unwrap_err();
        theirs.set_len(1 << 30).unwrap_err();
        let mut content = [0; 4];
        taken.read_exact_at(&mut content, 0).unwrap();
        assert_eq!((&content, taken.metadata().unwrap().len()), (b"code", 4));
    }

    #[test]
    fn code_that_costs_more_than_its_run_may_have_is_refused() {
        let (output, mut theirs) = output();
        theirs.write_all(&[1; 4097]).unwrap();
        assert!(seal(output, 4096).unwrap_err().to_string().contains("too much code"));
        let (output, theirs) = self::output();
        theirs.set_len(1 << 20).unwrap();
        assert!(seal(output, 1 << 30).unwrap_err().to_string().contains("holes"));
    }
}
