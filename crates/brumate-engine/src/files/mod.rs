//! The guest's file system as Brumate arranges it: what is mounted where, standard streams, granted host directories.

mod granted;
mod streams;

use std::sync::{Arc, Mutex};

pub(crate) use granted::mount_host_directories;
pub(crate) use streams::{event_sink, set_stdin};

use crate::bundle;
use crate::caps::output::Output;
use crate::vfs::device::Random;
use crate::vfs::mount::Conflict;
use crate::vfs::{Archive, LayerBytes, MountOptions, Vfs, VfsConfig};

/// Standard library.
pub(crate) const STDLIB: &str = "/lib/python3.14";
/// Wheels of the bundle.
pub(crate) const SITE_PACKAGES: &str = "/lib/python3.14/site-packages";
/// Our driver.
pub(crate) const DRIVER: &str = "/lib/brumate";
/// Home and working directory of the guest.
pub(crate) const HOME: &str = "/home/user";

/// The file system of an interpreter about to boot.
///
/// # Errors
/// A text, when the embedded bundle is not what the build checked.
pub(crate) fn file_system(output: &Arc<Mutex<Output>>) -> Result<Vfs, String> {
    build(output).map_err(|error| format!("the guest's file system cannot be made: {error}"))
}

fn build(output: &Arc<Mutex<Output>>) -> Result<Vfs, Box<dyn std::error::Error>> {
    let clock = Box::new(|| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
    });
    let mut vfs = Vfs::new(&VfsConfig::default(), clock)?;
    for name in ["/dev/urandom", "/dev/random"] {
        // A failing generator leaves zeros in a buffer: no worse than the buffer's content before.
        vfs.add_device(
            name.as_bytes(),
            0x0109,
            Box::new(Random(|bytes: &mut [u8]| {
                let _ = crate::caps::random(bytes);
            })),
        )?;
    }

    let stdlib = Archive::new(embedded(bundle::STDLIB.bytes))?;
    vfs.mount_archive(STDLIB.as_bytes(), b"stdlib", &stdlib, &MountOptions::default())?;
    vfs.create_directories(format!("{STDLIB}/lib-dynload").as_bytes(), 0o755)?;
    for wheel in bundle::wheels() {
        let archive = Archive::new(embedded(wheel.bytes))?;
        let options = MountOptions { conflict: Conflict::Replace, ..MountOptions::default() };
        vfs.mount_archive(SITE_PACKAGES.as_bytes(), wheel.file.as_bytes(), &archive, &options)?;
    }
    let bytecode = Archive::new(embedded(bundle::PYCACHE.bytes))?;
    let options = MountOptions { conflict: Conflict::Keep, ..MountOptions::default() };
    vfs.mount_archive(SITE_PACKAGES.as_bytes(), b"pycache-site", &bytecode, &options)?;
    vfs.seal(STDLIB.as_bytes())?;

    for (path, content) in bundle::GUEST {
        vfs.mount_file(format!("{DRIVER}/{path}").as_bytes(), path.as_bytes(), embedded(content), 0o644)?;
    }
    vfs.seal(DRIVER.as_bytes())?;

    vfs.create_directories(HOME.as_bytes(), 0o755)?;
    vfs.chdir(HOME.as_bytes())?;
    streams::install(&mut vfs, output)?;
    Ok(vfs)
}

fn embedded(bytes: &'static [u8]) -> LayerBytes {
    Arc::new(bytes)
}
