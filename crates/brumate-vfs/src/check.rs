//! Checks the consistency of a file system: links, references, quota, tables.
//!
//! Saved state may come from a compromised machine. After it has been read, everything that the rest of the crate
//! relies on is checked. If a session continues from a base that was checked before, only the inodes that may differ
//! are checked. The data about the others ([`Baseline`]) is stored in flat arrays for speed.

use std::collections::{BTreeMap, BTreeSet};

use super::Vfs;
use super::fds::{DescriptionId, Target};
use super::inode::{Content, Directory, Inode, InodeId, InodeKind};
use super::layers::LayerRecord;
use super::limits::{DIRECTORY_DEPTH_MAX, MAPPINGS_MAX, NAME_MAX, OPEN_FILES_MAX, PAGE, PIPE_CAPACITY};
use super::marks::Marks;
use super::resolve::Node;
use super::restore::{RestoreError, is_clean};

/// Data about a consistent file system, for checking its changes.
#[derive(Debug, Default)]
pub(super) struct Baseline {
    /// For every slot, a directory that the inode is in.
    parents: Vec<Option<InodeId>>,
    /// For every slot, the number of names.
    names: Vec<u32>,
    /// Slots of inodes with further names, and the directories of these.
    further: Vec<(u32, InodeId)>,
    /// For every slot, how often its inode is pinned.
    pins: Vec<u32>,
    /// Pages and inodes that are charged to the quota, for inodes that are charged.
    charges: Vec<(InodeId, u64, u64)>,
    directories: Marks,
    root: Option<InodeId>,
    /// Inodes whose consistency depends on others: nameless ones and pipes.
    dependent: Vec<InodeId>,
    layers: Vec<LayerRecord>,
    mounts: usize,
    devices: usize,
    last_ino: u64,
}

fn ensure(holds: bool, what: &'static str) -> Result<(), RestoreError> {
    if holds { Ok(()) } else { Err(RestoreError::Inconsistent(what)) }
}

/// State of a check.
struct Check<'a> {
    vfs: &'a Vfs,
    baseline: &'a Baseline,
    /// Inode slots to check.
    changed: Marks,
    parents: Vec<Option<InodeId>>,
    /// How many names each inode has in the directories.
    names: Vec<u32>,
    /// How often each inode should be pinned.
    pins: Vec<u32>,
    /// Directories whose chain of parents ends at the root.
    sound: Marks,
}

impl Vfs {
    /// Checks every invariant of the structure: links, references, quota, tables.
    ///
    /// # Errors
    /// [`RestoreError::Inconsistent`] for the first violation.
    pub fn check(&self) -> Result<(), RestoreError> {
        Check::new(self, &Baseline::default(), Marks::up_to(self.inodes.slots.len())).run()
    }

    /// As [`Vfs::check`], for a file system that continues from one at `baseline`.
    pub(super) fn check_changes(&self, baseline: &Baseline) -> Result<(), RestoreError> {
        let mut changed = self.inodes.changed.clone();
        baseline.dependent.iter().for_each(|id| changed.set(id.0));
        Check::new(self, baseline, changed).run()
    }

    /// Returns the baseline of this file system, which must be consistent.
    pub(super) fn baseline(&self) -> Baseline {
        let places = self.inodes.slots.len();
        let mut baseline = Baseline {
            parents: vec![None; places],
            names: vec![0; places],
            pins: vec![0; places],
            layers: self.layers.records().to_vec(),
            mounts: self.mounts.len(),
            devices: self.device_records.len(),
            last_ino: self.inodes.last_ino,
            root: Some(self.root),
            ..Baseline::default()
        };
        for (id, inode) in self.inodes.iter() {
            baseline.pins[id.0 as usize] = inode.pins;
            if inode.charges() > 0 || inode.pages() > 0 {
                baseline.charges.push((id, inode.pages(), inode.charges()));
            }
            if !inode.linked() || matches!(inode.kind, InodeKind::Pipe(_)) {
                baseline.dependent.push(id);
            }
            if inode.is_directory() {
                baseline.directories.set(id.0);
            }
            if let InodeKind::Directory(entries) = &inode.kind {
                for (_, child) in entries.names() {
                    let Some(names) = baseline.names.get_mut(child.0 as usize) else { continue };
                    *names += 1;
                    match baseline.parents.get_mut(child.0 as usize) {
                        Some(parent @ None) => *parent = Some(id),
                        _ => baseline.further.push((child.0, id)),
                    }
                }
            }
        }
        let root = self.root.0 as usize;
        if let (Some(parent), Some(names)) = (baseline.parents.get_mut(root), baseline.names.get_mut(root)) {
            (*parent, *names) = (Some(self.root), 1);
        }
        baseline
    }
}

impl<'a> Check<'a> {
    fn new(vfs: &'a Vfs, baseline: &'a Baseline, changed: Marks) -> Check<'a> {
        let places = vfs.inodes.slots.len();
        let (mut parents, mut names) = (baseline.parents.clone(), baseline.names.clone());
        parents.resize(places, None);
        names.resize(places, 0);
        Check { vfs, baseline, changed, parents, names, pins: vec![0; places], sound: Marks::default() }
    }

    fn run(mut self) -> Result<(), RestoreError> {
        let (vfs, baseline) = (self.vfs, self.baseline);
        ensure(self.parents.len() >= baseline.parents.len(), "inode arena")?;
        ensure(vfs.inodes.is_consistent() && vfs.inodes.last_ino >= baseline.last_ino, "inode arena")?;
        ensure(vfs.layers.records().starts_with(&baseline.layers), "layers")?;
        ensure(vfs.mounts.len() >= baseline.mounts, "mount")?;
        ensure(vfs.device_records.len() >= baseline.devices, "device reference")?;
        self.tree()?;
        let ends = self.references()?;
        self.inodes(&ends)?;
        self.quota()
    }

    /// Returns the inodes to check.
    fn changed(&self) -> impl Iterator<Item = (InodeId, &'a Inode)> + use<'a> {
        let vfs = self.vfs;
        let ids: Vec<u32> = self.changed.iter().collect();
        ids.into_iter().filter_map(|index| Some((InodeId(index), vfs.inodes.get(InodeId(index)).ok()?)))
    }

    fn known(&self, id: InodeId) -> Result<&'a Inode, RestoreError> {
        self.vfs.inodes.get(id).map_err(|_| RestoreError::Inconsistent("inode reference"))
    }

    fn parent(&self, id: InodeId) -> Option<InodeId> {
        self.parents.get(id.0 as usize).copied().flatten()
    }

    fn names(&self, id: InodeId) -> u32 {
        self.names.get(id.0 as usize).copied().unwrap_or(0)
    }

    fn pin(&mut self, id: InodeId) -> Result<(), RestoreError> {
        let count = self.pins.get_mut(id.0 as usize).ok_or(RestoreError::Inconsistent("inode reference"))?;
        *count = count.saturating_add(1);
        Ok(())
    }

    /// Checks that every inode is reached from the root by as many names as it says, a directory by one, and that every
    /// directory refers to its parent.
    fn tree(&mut self) -> Result<(), RestoreError> {
        let root = self.vfs.root;
        ensure(self.baseline.root.is_none_or(|before| before == root), "root")?;
        let top = self.known(root)?;
        ensure(top.linked() && top.parent == root && matches!(top.kind, InodeKind::Directory(_)), "root")?;
        self.pin(root)?;
        // The children of directories to check are found again.
        let changed = &self.changed;
        for (parent, names) in self.parents.iter_mut().zip(&mut self.names) {
            if parent.is_some_and(|id| changed.has(id.0)) {
                *parent = None;
                *names = names.saturating_sub(1);
            }
        }
        for (index, holder) in &self.baseline.further {
            if changed.has(holder.0)
                && let Some(names) = self.names.get_mut(*index as usize)
            {
                *names = names.saturating_sub(1);
            }
        }
        let at = root.0 as usize;
        if let (Some(parent), Some(names)) = (self.parents.get_mut(at), self.names.get_mut(at)) {
            (*parent, *names) = (Some(root), 1);
        }
        for (id, inode) in self.changed() {
            match &inode.kind {
                InodeKind::Directory(entries) if inode.linked() => self.directory(id, entries)?,
                InodeKind::Directory(entries) => {
                    ensure(entries.is_empty() && entries.is_consistent(), "removed directory")?;
                }
                _ => {}
            }
        }
        for (id, inode) in self.changed() {
            let parent = self.parent(id);
            ensure(inode.links == self.names(id), "unreachable inode")?;
            if inode.is_directory() {
                ensure(inode.links <= 1 && inode.linked() == parent.is_some(), "links")?;
                ensure(parent.is_none_or(|parent| inode.parent == parent), "parent directory")?;
                self.leads_up(id, inode)?;
            }
            // A directory that is not checked counts it already.
            let counted = parent.is_some_and(|parent| parent != id && !self.changed.has(parent.0));
            ensure(!counted || self.baseline.directories.has(id.0) == inode.is_directory(), "subdirectory count")?;
        }
        let gone = self.changed.iter().filter(|&index| self.vfs.inodes.get(InodeId(index)).is_err());
        for index in gone {
            ensure(self.names(InodeId(index)) == 0, "inode reference")?;
        }
        // The other inodes have not moved.
        let others = (0..).zip(self.baseline.names.iter().zip(&self.names));
        for (_, (before, now)) in others.filter(|(index, _)| !self.changed.has(*index)) {
            ensure(before == now, "unreachable inode")?;
        }
        Ok(())
    }

    fn directory(&mut self, id: InodeId, entries: &Directory) -> Result<(), RestoreError> {
        ensure(entries.is_consistent(), "directory")?;
        let mut subdirectories = 0;
        for (name, child) in entries.names() {
            let valid = !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX;
            ensure(valid && !name.iter().any(|&b| b == b'/' || b == 0), "entry name")?;
            let inode = self.known(child)?;
            let at = child.0 as usize;
            let (Some(place), Some(names)) = (self.parents.get_mut(at), self.names.get_mut(at)) else {
                return Err(RestoreError::Inconsistent("inode reference"));
            };
            let before = place.replace(id);
            *names = names.saturating_add(1);
            if inode.is_directory() {
                ensure(before.is_none(), "links")?;
                subdirectories += 1;
                ensure(inode.parent == id, "parent directory")?;
            }
        }
        ensure(subdirectories == entries.subdirectories, "subdirectory count")
    }

    /// Checks that the chain of parents of a directory ends at the root, without a cycle.
    fn leads_up(&mut self, id: InodeId, inode: &Inode) -> Result<(), RestoreError> {
        if !inode.linked() {
            // Its `..` still exists.
            self.known(inode.parent)?;
            self.pin(inode.parent)?;
        }
        let (mut at, mut way) = (id, Vec::new());
        while at != self.vfs.root && !self.sound.has(at.0) {
            way.push(at);
            ensure(way.len() <= DIRECTORY_DEPTH_MAX as usize + 1, "directory cycle")?;
            at = match self.parent(at) {
                Some(parent) => parent,
                None => self.known(at)?.parent,
            };
        }
        way.iter().for_each(|id| self.sound.set(id.0));
        Ok(())
    }

    /// Recounts the references of descriptions; returns the ends of pipes, readers and writers.
    fn references(&mut self) -> Result<BTreeMap<InodeId, (u32, u32)>, RestoreError> {
        let vfs = self.vfs;
        match &vfs.cwd {
            Node::Inode(id) => {
                ensure(self.known(*id)?.is_directory(), "current directory")?;
                self.pin(*id)?;
            }
            Node::Host(host, path) => {
                ensure((host.0 as usize) < vfs.host_records.len() && is_clean(path), "current directory")?;
            }
            Node::Fd(_) => ensure(false, "current directory")?,
        }
        ensure(vfs.fds.slot_count() <= OPEN_FILES_MAX, "descriptor table")?;
        ensure(vfs.mappings.iter().count() <= MAPPINGS_MAX, "mappings")?;
        let mut references: BTreeMap<DescriptionId, u32> = BTreeMap::new();
        for id in vfs.fds.references().chain(vfs.mappings.iter().map(|mapping| mapping.description)) {
            *references.entry(id).or_default() += 1;
        }
        let mut ends: BTreeMap<InodeId, (u32, u32)> = BTreeMap::new();
        for (id, description) in vfs.descriptions.iter() {
            ensure(references.remove(&id) == Some(description.references), "description references")?;
            match &description.target {
                Target::Inode(inode) => {
                    self.known(*inode)?;
                    self.pin(*inode)?;
                    let (readers, writers) = ends.entry(*inode).or_default();
                    *readers += u32::from(description.flags.reads());
                    *writers += u32::from(description.flags.writes());
                }
                Target::Host(target) => {
                    let known = (target.host.0 as usize) < vfs.host_records.len();
                    ensure(known && is_clean(&target.path), "host reference")?;
                }
            }
        }
        ensure(references.is_empty(), "descriptor without description")?;
        Ok(ends)
    }

    fn inodes(&self, ends: &BTreeMap<InodeId, (u32, u32)>) -> Result<(), RestoreError> {
        let vfs = self.vfs;
        let mut sockets = BTreeSet::new();
        for (id, inode) in self.changed() {
            ensure(inode.ino <= vfs.inodes.last_ino, "inode arena")?;
            ensure((inode.mount.0 as usize) < vfs.mounts.len(), "mount")?;
            ensure(inode.permissions <= 0o7777, "permissions")?;
            ensure(inode.pins > 0 || inode.linked(), "inode without name or reference")?;
            match &inode.kind {
                InodeKind::File(Content::Own(chunks)) => ensure(chunks.is_consistent(), "file content")?,
                InodeKind::File(Content::Layer(file)) => ensure(vfs.layers.holds(file), "layer reference")?,
                InodeKind::Device(device) => {
                    ensure((device.0 as usize) < vfs.device_records.len(), "device reference")?
                }
                InodeKind::Pipe(pipe) => {
                    ensure(pipe.buffer.len() <= PIPE_CAPACITY, "pipe")?;
                    let expected = ends.get(&id).copied().unwrap_or((0, 0));
                    ensure(expected == (pipe.readers, pipe.writers), "pipe ends")?;
                }
                // A socket is closed with its last descriptor; a reference without access keeps the inode alone.
                InodeKind::Socket(socket) => {
                    ensure(!inode.linked(), "socket")?;
                    let is_closed = ends.get(&id).is_none_or(|ends| *ends == (0, 0));
                    ensure(is_closed || sockets.insert(*socket), "socket")?;
                }
                InodeKind::HostRoot(host) => {
                    let record = vfs.host_records.get(host.0 as usize);
                    ensure(record.is_some_and(|record| record.inode == id), "host reference")?;
                }
                InodeKind::Symlink(target) => ensure(Vfs::check_path(target).is_ok(), "link target")?,
                InodeKind::Directory(_)
                | InodeKind::FdDirectory
                | InodeKind::CurrentDirectory
                | InodeKind::SocketFile
                | InodeKind::Process(_) => {}
            }
        }
        ensure(vfs.sockets.is_consistent(&sockets), "sockets")?;
        for (&expected, index) in self.pins.iter().zip(0..) {
            let pins = if self.changed.has(index) {
                vfs.inodes.get(InodeId(index)).map_or(0, |inode| inode.pins)
            } else {
                self.baseline.pins.get(index as usize).copied().unwrap_or(0)
            };
            ensure(expected == pins, "inode references")?;
        }
        Ok(())
    }

    fn quota(&self) -> Result<(), RestoreError> {
        let unchanged = self.baseline.charges.iter().filter(|(id, ..)| !self.changed.has(id.0)).copied();
        let changed = self.changed().map(|(id, inode)| (id, inode.pages(), inode.charges()));
        let (mut pages, mut charged) = (0u64, 0u64);
        for (_, more, counts) in unchanged.chain(changed) {
            pages = pages.saturating_add(more);
            charged = charged.saturating_add(counts);
        }
        let usage = self.vfs.usage();
        ensure(usage.bytes == pages.saturating_mul(PAGE), "bytes used")?;
        ensure(usage.inodes == charged, "inodes used")
    }
}
