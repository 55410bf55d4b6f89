//! Files that an installer adds to a wheel's own, as in "Recording installed projects" (packaging.python.org):
//! INSTALLER with the installer's name, and RECORD with the paths of files that are not where the wheel has them.

use std::sync::Arc;

use super::Vfs;
use super::archive::Archive;
use super::inode::InodeId;
use super::layers::{Layer, LayerFile, LayerId};
use super::mount::split_last;
use super::wheels::{DEPTH, TreePlace, place, stem};
use brumate_abi::errno::Errno;

/// Name of the layer that is the INSTALLER file of every wheel.
pub const INSTALLER_LAYER: &[u8] = b"installer";

/// Content of the INSTALLER file: one name and a line end.
pub const INSTALLER: &[u8] = b"brumate\n";

/// Entry of INSTALLER in RECORD after its path: its digest (unpadded URL-safe base64) and length.
const INSTALLER_RECORD: &[u8] = b"/INSTALLER,sha256=vxJJ6OvHpXEHydrRGl5eiK4O8Wr6fxeljTja8tfUdY0,8\n";

/// From the directory of packages to the prefix.
const TO_PREFIX: &[u8] = b"../../../";
const _: () = assert!(TO_PREFIX.len() == 3 * DEPTH);

/// Name of the layer that is a wheel's RECORD as installed.
fn record_name(wheel: &[u8]) -> Vec<u8> {
    [b"record/", wheel].concat()
}

/// Returns RECORD with the path where [`place`] puts each file; `None` if that equals the wheel's own.
fn installed_record(archive: &Archive) -> Option<Vec<u8>> {
    let stem = stem(archive)?;
    let (info, data) = ([stem, b".dist-info"].concat(), [stem, b".data"].concat());
    let moves = |path: &[u8]| path.strip_prefix(&data[..]).is_some_and(|rest| rest.starts_with(b"/"));
    if !archive.files().any(|(path, _)| moves(path)) {
        return None;
    }
    let own = archive.read(&[&info[..], b"/RECORD"].concat()).ok()??;
    let mut record = Vec::with_capacity(own.len());
    for line in own.split_inclusive(|&b| b == b'\n') {
        // Quoting only doubles quotes, so the length is bounded.
        let (quote, rest) = line.split_at(usize::from(line.starts_with(b"\"")));
        let (to_prefix, rest) = match place(rest, Some(&data)) {
            TreePlace::Packages(relative) => (&b""[..], relative),
            TreePlace::Prefix(relative) => (TO_PREFIX, relative),
            TreePlace::Nowhere => continue,
        };
        for part in [quote, to_prefix, rest] {
            record.extend_from_slice(part);
        }
    }
    if record.last().is_some_and(|&last| last != b'\n') {
        record.push(b'\n');
    }
    record.extend_from_slice(&info);
    record.extend_from_slice(INSTALLER_RECORD);
    Some(record)
}

impl Vfs {
    /// Links INSTALLER and RECORD of a wheel into the tree, below the directory of the packages.
    pub(super) fn place_installed(&mut self, packages: InodeId, name: &[u8], archive: &Archive) -> Result<(), Errno> {
        let Some(stem) = stem(archive) else { return Ok(()) };
        let installer = Layer::File(Arc::new(INSTALLER));
        let known = self.layers.find(INSTALLER_LAYER, &installer).filter(|&id| !self.layers.is_dropped(id));
        let id = known.map_or_else(|| self.layers.add(INSTALLER_LAYER, installer), Ok)?;
        self.put(packages, &[stem, b".dist-info/INSTALLER"].concat(), id, INSTALLER.len())?;
        if let Some(record) = installed_record(archive) {
            let length = record.len();
            let id = self.layers.add(&record_name(name), Layer::File(Arc::new(record)))?;
            self.put(packages, &[stem, b".dist-info/RECORD"].concat(), id, length)?;
        }
        Ok(())
    }

    /// Removes them again.
    pub(super) fn take_installed(&mut self, packages: InodeId, name: &[u8], archive: &Archive) -> Result<(), Errno> {
        let Some(stem) = stem(archive) else { return Ok(()) };
        for (id, _) in self.layers.named(INSTALLER_LAYER) {
            self.take_away(packages, &[stem, b".dist-info/INSTALLER"].concat(), id)?;
        }
        for (id, _) in self.layers.named(&record_name(name)) {
            self.take_away(packages, &[stem, b".dist-info/RECORD"].concat(), id)?;
            self.layers.drop_layer(id);
        }
        Ok(())
    }

    /// Joins saved state with a wheel that it was saved with, and with the wheel's RECORD.
    pub fn attach_wheel(&mut self, name: &[u8], archive: &Archive) {
        self.attach_archive(name, archive);
        let record = record_name(name);
        if self.unattached_layers().any(|other| other == record)
            && let Some(bytes) = installed_record(archive)
        {
            self.attach_file(&record, Arc::new(bytes));
        }
    }

    /// Links a file that is a layer of its own into the tree, in the place of one that is there.
    fn put(&mut self, root: InodeId, path: &[u8], layer: LayerId, length: usize) -> Result<(), Errno> {
        let (parents, file) = split_last(path);
        let directory = self.make_directories_from(root, parents)?;
        if self.inodes.directory(directory)?.get(file).is_some() {
            self.drop_entry(directory, file)?;
        }
        let inode = self.layer_inode(directory, LayerFile { layer, entry: 0, len: length as u64 }, 0o644)?;
        self.link(directory, file, inode)
    }
}
