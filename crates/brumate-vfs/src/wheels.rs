//! Wheels in the tree: mounted and unmounted while the guest lives.
//!
//! A wheel is one layer, or two if it has bytecode. Saved state has both by name. An unmounted layer keeps its record,
//! because the numbers of layers are never used again.

use super::Vfs;
use super::archive::Archive;
use super::inode::{Content, Inode, InodeId, InodeKind, MountId};
use super::layers::{Layer, LayerFile, LayerId};
use super::mount::{MountError, split_last};
use brumate_abi::errno::Errno;

/// Most layers that one file system may have had.
const MAX_RECORDS: usize = 8192;

/// Directories of an environment that a wheel's files are installed to (`{name}.data/data`).
const DATA_DIRECTORIES: [&[u8]; 2] = [b"etc", b"share"];

/// Levels from the prefix down to the directory of packages, as in `/usr/lib/python3.14/dist-packages`.
pub(super) const DEPTH: usize = 3;

/// A wheel to be mounted.
#[derive(Debug, Clone)]
pub struct Wheel {
    /// Name of the layer in saved state.
    pub name: Vec<u8>,
    /// The wheel.
    pub archive: Archive,
    /// Name of the bytecode's layer, and the bytecode: files for the same directory. Existing files are not replaced by
    /// it.
    pub bytecode: Option<(Vec<u8>, Archive)>,
}

/// What a file of a wheel is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TreePlace<'a> {
    /// Below the directory of the packages.
    Packages(&'a [u8]),
    /// Below the prefix, [`DEPTH`] levels above the packages.
    Prefix(&'a [u8]),
    /// Programs, headers, and files of unknown schemes: not installed.
    Nowhere,
}

/// Returns the common prefix of a wheel's directories `.dist-info` and `.data`.
pub(super) fn stem(archive: &Archive) -> Option<&[u8]> {
    let tops = archive.files().filter_map(|(path, _)| path.split(|&b| b == b'/').next());
    tops.filter_map(|top| top.strip_suffix(b".dist-info")).next()
}

/// The name of a wheel's `.data` directory.
fn data_directory(archive: &Archive) -> Option<Vec<u8>> {
    Some([stem(archive)?, b".data"].concat())
}

/// Returns where an installer would put a file (binary distribution format, "installing a wheel").
pub(super) fn place<'a>(path: &'a [u8], data: Option<&[u8]>) -> TreePlace<'a> {
    let Some(inside) = data.and_then(|data| path.strip_prefix(data)?.strip_prefix(b"/")) else {
        return TreePlace::Packages(path);
    };
    for scheme in [&b"purelib/"[..], b"platlib/"] {
        if let Some(relative) = inside.strip_prefix(scheme) {
            return TreePlace::Packages(relative);
        }
    }
    match inside.strip_prefix(b"data/") {
        Some(relative) if DATA_DIRECTORIES.contains(&relative.split(|&b| b == b'/').next().unwrap_or_default()) => {
            TreePlace::Prefix(relative)
        }
        _ => TreePlace::Nowhere,
    }
}

impl Vfs {
    /// Merges a wheel into the directory `packages` as an installer would: files of other wheels are replaced, programs
    /// and headers left out. A mounted wheel of the same name and content is left as it is.
    ///
    /// # Errors
    /// [`MountError`]; nothing of the wheel is mounted then.
    pub fn mount_wheel(&mut self, packages: &[u8], wheel: &Wheel) -> Result<(), MountError> {
        let archive = Layer::Archive(wheel.archive.clone());
        if self.layers.find(&wheel.name, &archive).is_some_and(|id| !self.layers.is_dropped(id)) {
            return Ok(());
        }
        if self.layers.records().len() + 4 > MAX_RECORDS {
            return Err(Errno::ENFILE.into());
        }
        let root = self.make_directories(packages)?;
        let data = data_directory(&wheel.archive);
        self.check_free(root, &wheel.archive, data.as_deref())?;
        let layer = self.layers.add(&wheel.name, archive)?;
        let mounted = self.place_files(root, layer, &wheel.archive, data.as_deref(), false);
        let mounted = mounted.and_then(|()| self.place_installed(root, &wheel.name, &wheel.archive));
        let mounted = mounted.and_then(|()| match &wheel.bytecode {
            Some((name, archive)) => {
                let layer = self.layers.add(name, Layer::Archive(archive.clone()))?;
                self.place_files(root, layer, archive, None, true)
            }
            None => Ok(()),
        });
        if let Err(errno) = mounted {
            self.unmount_wheel(packages, &wheel.name)?;
            if let Some((name, _)) = &wheel.bytecode {
                self.unmount_wheel(packages, name)?;
            }
            return Err(errno.into());
        }
        Ok(())
    }

    /// Removes the files of the layer `name`, and the directories that are empty afterwards. Files that the guest has
    /// open stay readable until the file system is saved.
    ///
    /// # Errors
    /// None in practice.
    pub fn unmount_wheel(&mut self, packages: &[u8], name: &[u8]) -> Result<(), Errno> {
        for (id, layer) in self.layers.named(name) {
            let Layer::Archive(archive) = layer else { continue };
            let root = self.make_directories(packages)?;
            let prefix = self.prefix_of(root)?;
            let data = data_directory(&archive);
            for (path, _) in archive.files() {
                match place(path, data.as_deref()) {
                    TreePlace::Packages(relative) => self.take_away(root, relative, id)?,
                    TreePlace::Prefix(relative) => self.take_away(prefix, relative, id)?,
                    TreePlace::Nowhere => {}
                }
            }
            self.take_installed(root, name, &archive)?;
            self.layers.drop_layer(id);
        }
        Ok(())
    }

    /// Returns the names of the layers that have not been unmounted.
    pub fn layer_names(&self) -> impl Iterator<Item = &[u8]> {
        self.layers.present()
    }

    /// Names of the layers that are to be attached.
    pub fn unattached_layers(&self) -> impl Iterator<Item = &[u8]> {
        self.layers.missing()
    }

    /// Whether a layer of that name is mounted.
    pub fn has_layer(&self, name: &[u8]) -> bool {
        self.layer_names().any(|present| present == name)
    }

    /// Returns the archive of a layer that is mounted.
    pub fn mounted_archive(&self, name: &[u8]) -> Option<Archive> {
        let named = self.layers.named(name).into_iter();
        named.filter_map(|(_, layer)| if let Layer::Archive(archive) = layer { Some(archive) } else { None }).next()
    }

    /// Abandons the layer `name`: files that refer to it are unreadable after this.
    pub fn abandon_layer(&mut self, name: &[u8]) {
        self.layers.drop_named(name);
    }

    /// Returns the name of the layer and the path of the archive's entry that the file at `path` still is; `None` when it is another kind
    /// of file.
    pub fn layer_of(&self, path: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let file = self.layer_file(path)?;
        let (name, path) = self.layers.entry(&file)?;
        Some((name.to_vec(), path.to_vec()))
    }

    /// Reads the content of the entry `path` of the layer `name`.
    ///
    /// # Errors
    /// `EIO` when it is corrupt, `ENOENT` when there is none.
    pub fn read_layer(&self, name: &[u8], path: &[u8]) -> Result<Vec<u8>, Errno> {
        let Layer::Archive(archive) = self.layers.attached(name).ok_or(Errno::ENOENT)? else {
            return Err(Errno::ENOENT);
        };
        archive.read(path).map_err(|_| Errno::EIO)?.ok_or(Errno::ENOENT)
    }

    fn layer_file(&self, path: &[u8]) -> Option<LayerFile> {
        let mut here = self.root;
        for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
            here = self.inodes.directory(here).ok()?.get(name)?;
        }
        match &self.inodes.get(here).ok()?.kind {
            InodeKind::File(Content::Layer(file)) => Some(file.clone()),
            _ => None,
        }
    }

    /// Checks the wheel's paths. `Conflict` if a path cannot be a file: there is a directory, or a parent is not a
    /// directory.
    fn check_free(&self, root: InodeId, archive: &Archive, data: Option<&[u8]>) -> Result<(), MountError> {
        // Files of one directory follow each other. `None`: it is not there yet.
        let mut last: (&[u8], Option<InodeId>) = (b"", Some(root));
        for (path, _) in archive.files() {
            let TreePlace::Packages(path) = place(path, data) else { continue };
            let conflict = || MountError::Conflict { path: path.escape_ascii().to_string() };
            let (parents, file) = split_last(path);
            if last.0 != parents {
                let mut here = Some(root);
                for name in parents.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
                    let Some(directory) = here else { break };
                    here = self.inodes.directory(directory).map_err(|_| conflict())?.get(name);
                }
                last = (parents, here);
            }
            let Some(directory) = last.1 else { continue };
            match self.inodes.directory(directory).map_err(|_| conflict())?.get(file) {
                Some(existing) if self.inodes.get(existing)?.is_directory() => return Err(conflict()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the directory of `sys.prefix`, to which wheels' data is installed.
    fn prefix_of(&self, packages: InodeId) -> Result<InodeId, Errno> {
        (0..DEPTH).try_fold(packages, |directory, _| Ok(self.inodes.get(directory)?.parent))
    }

    /// Links the files of a layer into the tree. With `keep`, existing files are kept.
    fn place_files(
        &mut self,
        packages: InodeId,
        layer: LayerId,
        archive: &Archive,
        data: Option<&[u8]>,
        keep: bool,
    ) -> Result<(), Errno> {
        // The guest does not run meanwhile, so all changes have one time.
        let now = self.now();
        let prefix = self.prefix_of(packages)?;
        // Files of one directory follow each other: the last root, parent path, directory and mount.
        let mut last: Option<(InodeId, &[u8], InodeId, MountId)> = None;
        for (entry, index) in archive.entries.iter().zip(0..) {
            let (root, relative, keep) = match place(archive.path(entry), data) {
                TreePlace::Packages(relative) => (packages, relative, keep),
                TreePlace::Prefix(relative) => (prefix, relative, true),
                TreePlace::Nowhere => continue,
            };
            let (parents, file) = split_last(relative);
            if file.is_empty() {
                continue;
            }
            let (directory, mount) = match last {
                Some((from, way, directory, mount)) if from == root && way == parents => (directory, mount),
                _ => match self.make_directories_from(root, parents) {
                    Ok(directory) => {
                        let mount = self.inodes.get(directory)?.mount;
                        last = Some((root, parents, directory, mount));
                        (directory, mount)
                    }
                    Err(Errno::ENOTDIR) if keep => continue,
                    Err(errno) => return Err(errno),
                },
            };
            if self.inodes.directory(directory)?.get(file).is_some() {
                if keep {
                    continue;
                }
                self.drop_entry(directory, file)?;
            }
            let content = LayerFile { layer, entry: index, len: entry.size };
            let inode = self.inodes.insert(Inode {
                ino: 0,
                mount,
                permissions: 0o644,
                links: 1,
                pins: 0,
                charged: false,
                parent: self.root,
                atime: entry.modified,
                mtime: entry.modified,
                ctime: now,
                kind: InodeKind::File(Content::Layer(content)),
            })?;
            let holder = self.inodes.get_mut(directory)?;
            (holder.mtime, holder.ctime) = (now, now);
            match &mut holder.kind {
                InodeKind::Directory(entries) => entries.insert(file, inode),
                _ => return Err(Errno::ENOTDIR),
            }
        }
        Ok(())
    }

    /// Removes the file at `path` below `root` if it belongs to the layer, and the parent directories that are empty
    /// afterwards.
    pub(super) fn take_away(&mut self, root: InodeId, path: &[u8], layer: LayerId) -> Result<(), Errno> {
        let mut way = vec![(root, &b""[..])];
        for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
            let Some(next) = way.last().and_then(|(id, _)| self.inodes.directory(*id).ok()?.get(name)) else {
                return Ok(());
            };
            way.push((next, name));
        }
        let Some((id, name)) = way.pop() else { return Ok(()) };
        let Some((directory, _)) = way.last() else { return Ok(()) };
        if !matches!(&self.inodes.get(id)?.kind, InodeKind::File(Content::Layer(file)) if file.layer == layer) {
            return Ok(());
        }
        self.unlink_inode(*directory, name, id)?;
        while let [.., (parent, _), (empty, name)] = way[..] {
            if !self.inodes.directory(empty)?.is_empty() || self.is_mount_root(empty) {
                break;
            }
            self.unlink_inode(parent, name, empty)?;
            way.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_where_installers_put_them() {
        let data = Some(&b"a-1.data"[..]);
        for (path, expected) in [
            (&b"a/b.py"[..], TreePlace::Packages(b"a/b.py")),
            (b"a-1.data/purelib/a/c.py", TreePlace::Packages(b"a/c.py")),
            (b"a-1.data/platlib/a/c.so", TreePlace::Packages(b"a/c.so")),
            (b"a-1.data/data/share/man/a.1", TreePlace::Prefix(b"share/man/a.1")),
            (b"a-1.data/data/lib/python3.14/os.py", TreePlace::Nowhere),
            (b"a-1.data/scripts/run", TreePlace::Nowhere),
            (b"a-1.data/headers/a.h", TreePlace::Nowhere),
            (b"a-1.data", TreePlace::Packages(b"a-1.data")),
        ] {
            assert_eq!(place(path, data), expected, "{}", path.escape_ascii());
        }
        assert_eq!(place(b"a-1.data/purelib/a", None), TreePlace::Packages(b"a-1.data/purelib/a"));
    }
}
