//! Saved state: joining it with what it refers to, and checking it.
//!
//! A [`Vfs`] serialises as a whole, without the bytes of layers and without devices, host directories and the clock.
//! After deserialising: [`Vfs::set_clock`], [`Vfs::attach_archive`], [`Vfs::attach_file`], [`Vfs::attach_device`] and
//! [`Vfs::attach_host`] for everything that [`Vfs::unattached`] names, then [`Vfs::reopen`], which checks the whole
//! structure. Saved state may come from a machine that was taken over: nothing in it is believed unchecked.

use std::collections::BTreeMap;

use thiserror::Error;

use super::Vfs;
use super::archive::{Archive, LayerBytes};
use super::device::{Device, DeviceKind};
use super::fds::{DescriptionId, Target};
use super::flags::OpenFlags;
use super::host::HostDir;
use super::inode::{Content, InodeId, Kind};
use super::layers::Layer;
use super::limits::{MAPPINGS_MAX, NAME_MAX, OPEN_FILES_MAX, PATH_MAX, PIPE_CAPACITY};
use super::resolve::Node;
use super::time::{Clock, ClockFn};

/// Why saved state cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A layer, device or host directory is not attached.
    #[error("`{0}` is not attached")]
    NotAttached(String),
    /// The state contradicts itself.
    #[error("inconsistent file system state: {0}")]
    Inconsistent(&'static str),
}

/// For every place of the arena the directory that the inode is in, when it is in the tree.
struct Parents(Vec<Option<InodeId>>);

impl Parents {
    fn contains(&self, id: InodeId) -> bool {
        self.0.get(id.0 as usize).is_some_and(Option::is_some)
    }

    /// False when there was one already, or there is no such place.
    fn insert(&mut self, id: InodeId, parent: InodeId) -> bool {
        self.0.get_mut(id.0 as usize).is_some_and(|place| place.replace(parent).is_none())
    }
}

/// For every place of the arena how often its inode ought to be pinned.
struct Pins(Vec<u32>);

impl Pins {
    fn add(&mut self, id: InodeId) -> Result<(), RestoreError> {
        let count = self.0.get_mut(id.0 as usize).ok_or(RestoreError::Inconsistent("inode reference"))?;
        *count = count.saturating_add(1);
        Ok(())
    }
}

impl Vfs {
    /// Gives the file system a clock again.
    pub fn set_clock(&mut self, clock: ClockFn) {
        self.clock = Clock::new(clock);
    }

    /// Joins the layers of that name with their archive; returns how many have the same name and content.
    pub fn attach_archive(&mut self, name: &[u8], archive: &Archive) -> usize {
        self.layers.attach(name, &Layer::Archive(archive.clone()))
    }

    /// Joins the mounted files of that name with their bytes; returns how many have the same name and content.
    pub fn attach_file(&mut self, name: &[u8], bytes: LayerBytes) -> usize {
        self.layers.attach(name, &Layer::File(bytes))
    }

    /// Joins the device of that name (the path of [`Vfs::add_device`], the name of [`Vfs::install_device`]) with its
    /// object, replacing one that is attached. Returns whether there is such a device.
    pub fn attach_device(&mut self, name: &[u8], device: Box<dyn Device>) -> bool {
        let Some(index) = self.device_records.iter().position(|record| &record.name[..] == name) else {
            return false;
        };
        self.device_records[index].stream = device.kind() == DeviceKind::Stream;
        if self.devices.len() <= index {
            self.devices.resize_with(index + 1, || None);
        }
        self.devices[index] = Some(device);
        true
    }

    /// Joins the host directory mounted at that path with its handle. Returns whether there is one.
    pub fn attach_host(&mut self, path: &[u8], directory: Box<dyn HostDir>) -> bool {
        let Some(index) = self.host_records.iter().position(|record| &record.name[..] == path) else {
            return false;
        };
        if self.hosts.len() <= index {
            self.hosts.resize_with(index + 1, || None);
        }
        self.hosts[index] = Some(directory);
        true
    }

    /// Names of everything that is referred to and not attached.
    pub fn unattached(&self) -> Vec<String> {
        let devices = self.device_records.iter().enumerate();
        let devices = devices.filter(|(index, _)| self.devices.get(*index).is_none_or(Option::is_none));
        let hosts = self.host_records.iter().enumerate();
        let hosts = hosts.filter(|(index, _)| self.hosts.get(*index).is_none_or(Option::is_none));
        let names = self.layers.missing().chain(devices.map(|(_, record)| &record.name[..]));
        names.chain(hosts.map(|(_, record)| &record.name[..])).map(|name| name.escape_ascii().to_string()).collect()
    }

    /// Paths of the host directories that are not attached.
    pub fn unattached_hosts(&self) -> Vec<Vec<u8>> {
        let unattached = |(index, _): &(usize, _)| self.hosts.get(*index).is_none_or(Option::is_none);
        self.host_records.iter().enumerate().filter(unattached).map(|(_, record)| record.name.to_vec()).collect()
    }

    /// Checks restored state and opens host files again. A host file that is gone stays open as a descriptor that
    /// answers `ESTALE`.
    ///
    /// # Errors
    /// [`RestoreError`] for the first thing found wrong.
    pub fn reopen(&mut self) -> Result<(), RestoreError> {
        if let Some(name) = self.unattached().into_iter().next() {
            return Err(RestoreError::NotAttached(name));
        }
        self.check()?;
        let hosts = &mut self.hosts;
        for description in self.descriptions.iter_mut() {
            let flags = description.flags;
            if let Target::Host(target) = &mut description.target
                && !target.is_directory
                && target.file.is_none()
                && !flags.has(OpenFlags::PATH)
                && let Some(Some(host)) = hosts.get_mut(target.host.0 as usize)
            {
                target.file = host.open(&target.path, OpenFlags(flags.0 & OpenFlags::ACCMODE), 0).ok();
            }
        }
        Ok(())
    }

    /// Checks every invariant of the structure: links, references, quota, tables.
    ///
    /// # Errors
    /// [`RestoreError::Inconsistent`] for the first violation.
    pub fn check(&self) -> Result<(), RestoreError> {
        let ensure = |holds: bool, what| {
            if holds { Ok(()) } else { Err(RestoreError::Inconsistent(what)) }
        };
        ensure(self.inodes.is_consistent(), "inode arena")?;
        let (parents, pins) = self.check_tree()?;
        self.check_references(&parents, pins)?;
        let (mut pages, mut charged) = (0, 0);
        for (_, inode) in self.inodes.iter() {
            pages += inode.pages();
            charged += u64::from(inode.charged);
        }
        let usage = self.usage();
        ensure(usage.bytes == pages * super::limits::PAGE, "bytes used")?;
        ensure(usage.inodes == charged, "inodes used")
    }

    /// Walks the tree: every linked inode is reached by exactly one name, every directory knows the one above.
    fn check_tree(&self) -> Result<(Parents, Pins), RestoreError> {
        let ensure = |holds: bool, what| {
            if holds { Ok(()) } else { Err(RestoreError::Inconsistent(what)) }
        };
        let known = |id: InodeId| self.inodes.get(id).map_err(|_| RestoreError::Inconsistent("inode reference"));
        let places = self.inodes.places();
        let (mut parents, mut pins) = (Parents(vec![None; places]), Pins(vec![0; places]));
        pins.add(self.root)?;
        ensure(known(self.root)?.linked && known(self.root)?.parent == self.root, "root")?;
        ensure(self.inodes.directory(self.root).is_ok(), "root")?;
        parents.insert(self.root, self.root);
        let mut open = vec![self.root];
        while let Some(id) = open.pop() {
            let Kind::Directory(entries) = &known(id)?.kind else {
                continue;
            };
            let mut subdirectories = 0;
            for (name, child) in entries.names() {
                let inode = known(child)?;
                let valid = !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX;
                ensure(valid && !name.iter().any(|&b| b == b'/' || b == 0), "entry name")?;
                ensure(inode.linked && parents.insert(child, id), "links")?;
                if inode.is_directory() {
                    subdirectories += 1;
                    ensure(inode.parent == id, "parent directory")?;
                    open.push(child);
                }
            }
            ensure(subdirectories == entries.subdirectories, "subdirectory count")?;
        }
        for (id, inode) in self.inodes.iter() {
            ensure(inode.linked == parents.contains(id), "unreachable inode")?;
            ensure((inode.mount.0 as usize) < self.mounts.len(), "mount")?;
            ensure(inode.permissions <= 0o7777, "permissions")?;
            match &inode.kind {
                Kind::Directory(entries) => {
                    ensure(entries.is_consistent(), "directory")?;
                    if !inode.linked {
                        ensure(entries.is_empty(), "removed directory")?;
                        known(inode.parent)?;
                        pins.add(inode.parent)?;
                    }
                }
                Kind::File(Content::Own(chunks)) => ensure(chunks.is_consistent(), "file content")?,
                Kind::File(Content::Layer(file)) => ensure(self.layers.holds(file), "layer reference")?,
                Kind::Device(device) => ensure((device.0 as usize) < self.device_records.len(), "device reference")?,
                Kind::Pipe(pipe) => ensure(pipe.buffer.len() <= PIPE_CAPACITY, "pipe")?,
                Kind::HostRoot(host) => {
                    let record = self.host_records.get(host.0 as usize);
                    ensure(record.is_some_and(|record| record.inode == id), "host reference")?;
                }
                Kind::Symlink(target) => ensure(Self::check_path(target).is_ok(), "link target")?,
                Kind::FdDirectory => {}
            }
        }
        // Removed directories lead upwards to the tree without a cycle.
        for (id, inode) in self.inodes.iter().filter(|(_, inode)| inode.is_directory() && !inode.linked) {
            let (mut at, mut steps) = (inode.parent, 0);
            while !parents.contains(at) {
                steps += 1;
                ensure(at != id && steps <= super::limits::DIRECTORY_DEPTH_MAX, "removed directory")?;
                at = known(at)?.parent;
            }
        }
        Ok((parents, pins))
    }

    /// Recounts the references of inodes and descriptions.
    fn check_references(&self, parents: &Parents, mut pins: Pins) -> Result<(), RestoreError> {
        let ensure = |holds: bool, what| {
            if holds { Ok(()) } else { Err(RestoreError::Inconsistent(what)) }
        };
        match &self.cwd {
            Node::Inode(id) => {
                ensure(self.inodes.get(*id).is_ok_and(|inode| inode.is_directory()), "current directory")?;
                pins.add(*id)?;
            }
            Node::Host(host, path) => {
                ensure((host.0 as usize) < self.host_records.len() && is_clean(path), "current directory")?;
            }
            Node::Fd(_) => ensure(false, "current directory")?,
        }
        ensure(self.fds.slot_count() <= OPEN_FILES_MAX, "descriptor table")?;
        ensure(self.mappings.iter().count() <= MAPPINGS_MAX, "mappings")?;
        let mut references: BTreeMap<DescriptionId, u32> = BTreeMap::new();
        for id in self.fds.references().chain(self.mappings.iter().map(|mapping| mapping.description)) {
            *references.entry(id).or_default() += 1;
        }
        let mut ends: BTreeMap<InodeId, (u32, u32)> = BTreeMap::new();
        for (id, description) in self.descriptions.iter() {
            ensure(references.remove(&id) == Some(description.references), "description references")?;
            match &description.target {
                Target::Inode(inode) => {
                    pins.add(*inode)?;
                    let (readers, writers) = ends.entry(*inode).or_default();
                    *readers += u32::from(description.flags.reads());
                    *writers += u32::from(description.flags.writes());
                }
                Target::Host(target) => {
                    let known = (target.host.0 as usize) < self.host_records.len();
                    ensure(known && is_clean(&target.path), "host reference")?;
                }
            }
        }
        ensure(references.is_empty(), "descriptor without description")?;
        for (id, inode) in self.inodes.iter() {
            let expected = pins.0.get_mut(id.0 as usize).map(std::mem::take);
            ensure(expected == Some(inode.pins), "inode references")?;
            ensure(inode.pins > 0 || parents.contains(id), "inode without name or reference")?;
            if let Kind::Pipe(pipe) = &inode.kind {
                ensure(ends.get(&id).copied().unwrap_or((0, 0)) == (pipe.readers, pipe.writers), "pipe ends")?;
            }
        }
        ensure(pins.0.iter().all(|&count| count == 0), "reference to a missing inode")
    }
}

/// Whether a path below a host directory is one that resolution can have made.
fn is_clean(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX && !name.contains(&0);
    path.is_empty() || (path.len() < PATH_MAX && path.split(|&b| b == b'/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::is_clean;

    #[test]
    fn only_what_resolution_makes_is_clean() {
        for path in [&b""[..], b"a", b"a/b", b"..a/.b"] {
            assert!(is_clean(path));
        }
        for path in
            [&b"/"[..], b"/a", b"a/", b"a//b", b"..", b"a/../b", b"./a", b"a/\0", &[b'a'; 256], &b"a/".repeat(3000)]
        {
            assert!(!is_clean(path));
        }
    }
}
