//! Wheels that the server sends to a machine: maps their descriptors, mounts them, unmounts them, and joins them again
//! when a session resumes.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::api::{LayerId, PACKAGES};
use crate::cache_dir::hex;
use crate::memory::Mapped;
use crate::wire::{LayerInfo, LayerProblem, Origin};
use brumate_vfs::{Archive, ArchiveLimits, Vfs, Wheel};

/// A layer's archives, mapped, or the error of the archive.
#[derive(Debug)]
pub(crate) struct GivenLayer {
    id: LayerId,
    archives: Result<(Archive, Option<Archive>), String>,
}

impl GivenLayer {
    /// Takes the descriptors of a layer: its archive's, and its bytecode's if it has any. `None` when one is missing.
    pub(crate) fn receive(info: LayerInfo, fds: &mut impl Iterator<Item = OwnedFd>) -> Option<GivenLayer> {
        let archive = fds.next()?;
        let bytecode = if info.bytecode { Some(fds.next()?) } else { None };
        // Bytecode only saves time: if it cannot be read, it is not used.
        let archives = open(archive).map(|archive| (archive, bytecode.and_then(|fd| open(fd).ok())));
        Some(GivenLayer { id: info.id, archives })
    }
}

fn open(fd: OwnedFd) -> Result<Archive, String> {
    let file = File::from(fd);
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let mapped = Mapped::new(&file, 0, length).map_err(|error| error.to_string())?;
    // The cache has checked it. A machine that opens many archives for one run reads only the pages it needs.
    Archive::listed(Arc::new(mapped), &ArchiveLimits::default()).map_err(|error| error.to_string())
}

/// Beginning of the name that a wheel's layer has in saved state; its digest and its file name follow.
const WHEEL: &str = "wheel/";

fn wheel_name(id: &LayerId) -> Vec<u8> {
    format!("{WHEEL}{}/{}", hex(&id.sha256), id.name).into_bytes()
}

/// Beginning of the name of its bytecode's; the digest follows.
const BYTECODE: &str = "bytecode/";

fn bytecode_name(id: &LayerId) -> Vec<u8> {
    format!("{BYTECODE}{}", hex(&id.sha256)).into_bytes()
}

/// Returns the layer with that name in saved state.
fn parse_name(name: &[u8]) -> Option<LayerId> {
    let (digest, name) = std::str::from_utf8(name).ok()?.strip_prefix(WHEEL)?.split_once('/')?;
    let mut sha256 = [0; 32];
    if digest.len() != 2 * sha256.len() {
        return None;
    }
    for (byte, digits) in sha256.iter_mut().zip(digest.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(LayerId { name: name.to_owned(), sha256 })
}

/// Unmounts the layers `remove` and mounts the others.
///
/// # Errors
/// For the first layer that cannot be mounted. The tree is as before then, except for files of `remove` that another
/// wheel had replaced.
pub(crate) fn mount(vfs: &mut Vfs, given: Vec<GivenLayer>, remove: &[LayerId]) -> Result<(), LayerProblem> {
    let mut wheels = Vec::new();
    for GivenLayer { id, archives } in given {
        let (archive, bytecode) = archives.map_err(|reason| LayerProblem { name: id.name.clone(), reason })?;
        let bytecode = bytecode.map(|archive| (bytecode_name(&id), archive));
        wheels.push((id.clone(), Wheel { name: wheel_name(&id), archive, bytecode }));
    }
    let gone: Vec<Wheel> = remove.iter().filter_map(|id| mounted(vfs, id)).collect();
    for wheel in &gone {
        unmount(vfs, wheel);
    }
    for (number, (id, wheel)) in wheels.iter().enumerate() {
        let is_new = !vfs.has_layer(&wheel.name);
        if let Err(error) = vfs.mount_wheel(PACKAGES.as_bytes(), wheel) {
            wheels[..number].iter().for_each(|(_, wheel)| unmount(vfs, wheel));
            if is_new {
                unmount(vfs, wheel);
            }
            for wheel in &gone {
                // It was mounted before, so it fits.
                let _ = vfs.mount_wheel(PACKAGES.as_bytes(), wheel);
            }
            return Err(LayerProblem { name: id.name.clone(), reason: error.to_string() });
        }
    }
    Ok(())
}

/// Returns the mounted wheel with this id.
fn mounted(vfs: &Vfs, id: &LayerId) -> Option<Wheel> {
    let (name, bytecode) = (wheel_name(id), bytecode_name(id));
    let archive = vfs.mounted_archive(&name)?;
    let bytecode = vfs.mounted_archive(&bytecode).map(|archive| (bytecode, archive));
    Some(Wheel { name, archive, bytecode })
}

fn unmount(vfs: &mut Vfs, wheel: &Wheel) {
    // The tree is consistent, so nothing of the wheel can be missing.
    let _ = vfs.unmount_wheel(PACKAGES.as_bytes(), &wheel.name);
    if let Some((name, _)) = &wheel.bytecode {
        let _ = vfs.unmount_wheel(PACKAGES.as_bytes(), name);
    }
}

/// Joins a file system that was hibernated with the layers it had.
///
/// # Errors
/// For the first layer that is missing or damaged.
pub(crate) fn join(vfs: &mut Vfs, given: &[GivenLayer]) -> Result<(), LayerProblem> {
    for GivenLayer { id, archives } in given {
        match archives {
            Ok((archive, bytecode)) => {
                vfs.attach_wheel(&wheel_name(id), archive);
                if let Some(bytecode) = bytecode {
                    vfs.attach_archive(&bytecode_name(id), bytecode);
                }
            }
            Err(reason) => return Err(LayerProblem { name: id.name.clone(), reason: reason.clone() }),
        }
    }
    let unattached: Vec<Vec<u8>> = vfs.unattached_layers().map(<[u8]>::to_vec).collect();
    for name in unattached {
        match parse_name(&name) {
            Some(id) => return Err(LayerProblem { name: id.name, reason: "it is not there".to_owned() }),
            // Python uses the source.
            None if name.starts_with(BYTECODE.as_bytes()) => vfs.abandon_layer(&name),
            // A layer of the bundle: opening the file system reports it.
            None => {}
        }
    }
    Ok(())
}

/// The layers that are mounted.
pub(crate) fn present(vfs: &Vfs) -> Vec<LayerId> {
    vfs.layer_names().filter_map(parse_name).collect()
}

/// Returns the layer, and the path in it, of the file at `path`, if it is still the layer's file.
pub(crate) fn origin(vfs: &Vfs, path: &str) -> Option<Origin> {
    let (name, entry) = vfs.layer_of(path.as_bytes())?;
    Some(Origin { layer: parse_name(&name)?, path: String::from_utf8(entry).ok()? })
}

/// The content of a file of a layer.
///
/// # Errors
/// When the layer is not there, or has no such file.
pub(crate) fn read(vfs: &Vfs, origin: &Origin) -> Result<Vec<u8>, String> {
    let Origin { layer, path } = origin;
    let read = vfs.read_layer(&wheel_name(layer), path.as_bytes());
    read.map_err(|errno| format!("{path} in {}: {errno}", layer.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_saved_state_say_which_wheel() {
        let id = LayerId { name: "a/b-1-py3-none-any.whl".to_owned(), sha256: [0xa5; 32] };
        assert_eq!(parse_name(&wheel_name(&id)), Some(id.clone()));
        assert_eq!(parse_name(&bytecode_name(&id)), None);
        for name in [&b"stdlib"[..], b"wheel/00/x", b"wheel/\xff", &[b"wheel/", &[b'+'; 64][..], b"/x"].concat()] {
            assert_eq!(parse_name(name), None, "{}", name.escape_ascii());
        }
    }
}
