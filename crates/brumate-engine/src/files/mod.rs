//! The layout of the guest's file system: mounts, standard streams, granted host directories.

mod granted;
mod installs;
pub(crate) mod layers;
mod messages;
mod streams;

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

pub(crate) use granted::{Quota, join_host_directories, mount_host_directories};
pub(crate) use installs::Installs;
pub(crate) use messages::install_messages;
pub(crate) use streams::{EVENT_FD, connect_events, event_sink, set_stdin};

use crate::api::PACKAGES;
use crate::bundle;
use crate::caps::output::GuestOutput;
use brumate_vfs::device::Random;
use brumate_vfs::mount::Conflict;
use brumate_vfs::{
    Archive, ArchiveLimits, Device, INSTALLER, INSTALLER_LAYER, LayerBytes, MountOptions, Vfs, VfsConfig,
};

/// `sys.prefix`. The guest cannot change anything below it.
pub(crate) const PREFIX: &str = "/usr";
/// Standard library.
pub(crate) const STDLIB: &str = "/usr/lib/python3.14";
/// Wheels of the bundle.
pub(crate) const SITE_PACKAGES: &str = "/usr/lib/python3.14/site-packages";
/// Our driver.
pub(crate) const DRIVER: &str = "/usr/lib/brumate";
/// Home and working directory of the guest.
pub(crate) const HOME: &str = "/home/user";

/// Files of the driver, by the names of their layers.
pub(crate) type GuestFiles = Vec<(String, Vec<u8>)>;

/// Saved files that are inconsistent, or of another bundle; the text has the reason.
#[derive(Debug, thiserror::Error)]
#[error("files: {0}")]
pub(crate) struct DamagedFiles(String);

/// The file system of an interpreter about to boot.
///
/// # Errors
/// A text, when the embedded bundle is not what the build checked.
pub(crate) fn file_system(output: &Arc<Mutex<GuestOutput>>) -> Result<Vfs, String> {
    build(output).map_err(|error| format!("the guest's file system cannot be made: {error}"))
}

/// Checks a restored file system and opens its host files.
///
/// # Errors
/// When it contradicts itself.
pub(crate) fn reopen(vfs: &mut Vfs) -> Result<(), DamagedFiles> {
    vfs.reopen().map_err(|error| DamagedFiles(error.to_string()))
}

/// The file system out of an image, before [`reopen`]. Granted host directories are missing in it; standard input is empty.
///
/// # Errors
/// When it is damaged, or was made from another bundle.
pub(crate) fn restored(saved: &[u8], output: &Arc<Mutex<GuestOutput>>) -> Result<Vfs, DamagedFiles> {
    let vfs = postcard::from_bytes(saved).map_err(|error| DamagedFiles(error.to_string()))?;
    attached(vfs, output)
}

/// Returns the file system of a session from its difference to `base`, before [`reopen`]; as [`restored`].
///
/// # Errors
/// As [`restored`].
pub(crate) fn continued(base: Vfs, saved: &[u8], output: &Arc<Mutex<GuestOutput>>) -> Result<Vfs, DamagedFiles> {
    let vfs = Vfs::continue_from(base, saved).map_err(|error| DamagedFiles(error.to_string()))?;
    attached(vfs, output)
}

/// The driver's files of this process's image, which another version of Brumate may have made.
static OF_IMAGE: OnceLock<Vec<(String, LayerBytes)>> = OnceLock::new();

/// Lets file systems of this process be joined with the driver's files of its image. For a zygote, which has one image; its forks
/// inherit it.
pub(crate) fn set_guest_files(files: GuestFiles) {
    let own = |name: &str, content: &[u8]| bundle::GUEST.iter().any(|(path, bytes)| *path == name && *bytes == content);
    let others = files.into_iter().filter(|(name, content)| !own(name, content));
    // It is not set yet: a zygote loads one image.
    let _ = OF_IMAGE.set(others.map(|(name, content)| (name, Arc::new(content) as LayerBytes)).collect());
}

/// Joins a file system with the bundle, the clock and its devices.
fn attached(mut vfs: Vfs, output: &Arc<Mutex<GuestOutput>>) -> Result<Vfs, DamagedFiles> {
    vfs.set_clock(Box::new(crate::caps::clock::realtime));
    let layers = Layers::of_bundle().map_err(DamagedFiles)?;
    for (_, name, archive) in &layers.archives {
        vfs.attach_archive(name.as_bytes(), archive);
    }
    for (path, content) in bundle::GUEST {
        vfs.attach_file(path.as_bytes(), embedded(content));
    }
    vfs.attach_file(INSTALLER_LAYER, embedded(INSTALLER));
    // Files that this version has too are attached already.
    for (path, content) in OF_IMAGE.get().into_iter().flatten() {
        vfs.attach_file(path.as_bytes(), content.clone());
    }
    vfs.attach_own_devices();
    for (name, device) in random_devices() {
        vfs.attach_device(name.as_bytes(), device);
    }
    streams::attach(&mut vfs, output);
    Ok(vfs)
}

/// The archives of the bundle.
struct Layers {
    /// Mount point, name and archive of each. A later archive does not replace existing files, except for wheels.
    archives: Vec<(&'static str, &'static str, Archive)>,
}

impl Layers {
    /// The bundle's archives are read once; forks inherit the result.
    fn of_bundle() -> Result<&'static Layers, String> {
        static LAYERS: OnceLock<Result<Layers, String>> = OnceLock::new();
        let layers = LAYERS.get_or_init(|| Layers::read().map_err(|error| error.to_string()));
        layers.as_ref().map_err(Clone::clone)
    }

    fn read() -> Result<Layers, Box<dyn std::error::Error>> {
        // The build has checked them.
        let listed = |bytes| Archive::listed(embedded(bytes), &ArchiveLimits::default());
        let mut archives = vec![(STDLIB, "stdlib", listed(bundle::STDLIB.content.bytes())?)];
        for wheel in bundle::wheels() {
            archives.push((SITE_PACKAGES, wheel.file, listed(wheel.content.bytes())?));
        }
        archives.push((SITE_PACKAGES, BYTECODE, listed(bundle::PYCACHE.content.bytes())?));
        Ok(Layers { archives })
    }
}

/// Name of the layer that holds the wheels' bytecode.
const BYTECODE: &str = "pycache-site";

fn random_devices() -> impl Iterator<Item = (&'static str, Box<dyn Device>)> {
    ["/dev/urandom", "/dev/random"].into_iter().map(|name| {
        // A failing generator leaves zeros in a buffer: no worse than the buffer's content before.
        let fill = |bytes: &mut [u8]| {
            let _ = crate::caps::random(bytes);
        };
        (name, Box::new(Random(fill)) as Box<dyn Device>)
    })
}

fn build(output: &Arc<Mutex<GuestOutput>>) -> Result<Vfs, Box<dyn std::error::Error>> {
    let mut vfs = Vfs::new(&VfsConfig::default(), Box::new(crate::caps::clock::realtime))?;
    for (name, device) in random_devices() {
        vfs.add_device(name.as_bytes(), 0x0109, device)?;
    }
    for (place, name, archive) in &Layers::of_bundle()?.archives {
        let conflict = if *name == BYTECODE { Conflict::Keep } else { Conflict::Replace };
        let options = MountOptions { conflict, ..MountOptions::default() };
        vfs.mount_archive(place.as_bytes(), name.as_bytes(), archive, &options)?;
        if *place == STDLIB {
            vfs.create_directories(format!("{STDLIB}/lib-dynload").as_bytes(), 0o755)?;
        }
    }
    // Layers are merged into it later, and the guest must not change them either.
    vfs.create_directories(PACKAGES.as_bytes(), 0o755)?;

    for (path, content) in bundle::GUEST {
        vfs.mount_file(format!("{DRIVER}/{path}").as_bytes(), path.as_bytes(), embedded(content), 0o644)?;
    }
    vfs.seal(PREFIX.as_bytes())?;
    // As on a system whose `/usr` is merged: the directory has both names.
    vfs.create_link(b"/lib", b"usr/lib")?;

    vfs.create_directories(HOME.as_bytes(), 0o755)?;
    vfs.create_directories(crate::api::WORKSPACE.as_bytes(), 0o755)?;
    vfs.chdir(HOME.as_bytes())?;
    streams::install(&mut vfs, output)?;
    Ok(vfs)
}

fn embedded(bytes: &'static [u8]) -> LayerBytes {
    Arc::new(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_another_driver_brings_its_files_along() {
        let output = Arc::new(Mutex::new(GuestOutput::new()));
        let (name, content) = ("_brumate/of_another_version.py", b"print('old')");
        let mut vfs = build(&output).unwrap();
        vfs.mount_file(format!("{HOME}/old.py").as_bytes(), name.as_bytes(), embedded(content), 0o644).unwrap();
        let saved = postcard::to_allocvec(&vfs).unwrap();
        let mut without = restored(&saved, &output).unwrap();
        let error = reopen(&mut without).unwrap_err().to_string();
        assert!(error.contains("of_another_version.py` is not attached"), "{error}");
        let own = bundle::GUEST[0];
        set_guest_files(vec![(own.0.to_owned(), own.1.to_vec()), (name.to_owned(), content.to_vec())]);
        assert_eq!(OF_IMAGE.get().map(Vec::len), Some(1), "what this version has as well is not kept twice");
        let mut with = restored(&saved, &output).unwrap();
        reopen(&mut with).unwrap();
        let (bytes, _) = with.read_file_at(format!("{HOME}/old.py").as_bytes(), 0, 99).unwrap();
        assert_eq!(bytes, content);
    }
}
