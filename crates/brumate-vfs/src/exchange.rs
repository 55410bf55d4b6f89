//! Files between the server and the guest, while no guest code runs.
//!
//! No descriptor is used, so files can be read even if the guest has opened as many as it may. Directories that are
//! mounted from the host are entered if the request names them or a path in them. They are skipped if they lie below
//! the named directory: a grant may be huge, and emptying a directory must not empty a grant in it.

use super::bytes::Bytes;
use super::chunks::Chunks;
use super::flags::{FileType, OpenFlags, at};
use super::inode::{Content, InodeId, InodeKind};
use super::limits::{ENTRIES_VISITED_MAX, FILE_SIZE_MAX, PATH_MAX};
use super::resolve::{Follow, Last, Node, join};
use super::stat::Stat;
use super::{Timestamp, Vfs};
use brumate_abi::errno::Errno;

/// Directories whose content can be generated again.
const CACHES: &[u8] = b"__pycache__";

/// A regular file found by [`Vfs::list_files`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Path relative to the directory.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Last change of content, as the guest sees it.
    pub modified: Timestamp,
    /// Changes whenever the content may have changed.
    pub stamp: u64,
}

/// An entry of a directory that is visited.
struct Entry {
    directory: Node,
    name: Vec<u8>,
    node: Node,
    file_type: FileType,
}

impl Vfs {
    /// Lists the regular files below a directory, in the order of their paths' bytes. Links are not followed; hidden files,
    /// caches of bytecode, names that are not UTF-8, and paths too long to be opened are left out.
    ///
    /// # Errors
    /// Those of path resolution; `EOVERFLOW` when there are more than `max` or the search takes too long.
    pub fn list_files(&mut self, directory: &[u8], max: usize) -> Result<Vec<ListedFile>, Errno> {
        let start = self.directory_at(directory)?;
        let (mut found, mut open, mut visited) = (Vec::new(), vec![(start, String::new())], 0);
        while let Some((directory, above)) = open.pop() {
            for entry in self.entries(&directory, &mut visited)? {
                let Some(name) = visible_name(&entry.name) else { continue };
                let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
                if path.len() >= PATH_MAX {
                    continue;
                }
                match entry.file_type {
                    FileType::Directory => open.push((entry.node, path)),
                    FileType::Regular if found.len() >= max => return Err(Errno::EOVERFLOW),
                    FileType::Regular => {
                        let stat = self.stat_node(&entry.node)?;
                        found.push(listed(path, &stat));
                    }
                    _ => {}
                }
            }
        }
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Lists the regular files that were created, written, renamed or otherwise changed after `since` (a time returned
    /// by [`Self::last_change`]), in the order of their absolute paths: at most `max`, and the number of further ones.
    ///
    /// Skips what [`Self::list_files`] leaves out, directories that the guest cannot change, granted host directories,
    /// the directory `except`, and files of wheels that were mounted meanwhile. A search that takes too long ends
    /// early.
    pub fn changed_files(&mut self, since: Timestamp, except: Option<&[u8]>, max: usize) -> (Vec<ListedFile>, u64) {
        let except = except.and_then(|path| self.directory_at(path).ok());
        let (mut found, mut more, mut visited) = (Vec::new(), 0, 0);
        let Ok(root) = self.directory_at(b"/") else { return (found, more) };
        let mut open = vec![(root, String::new())];
        while let Some((directory, above)) = open.pop() {
            let Ok(entries) = self.entries(&directory, &mut visited) else { break };
            for entry in entries {
                let Some(path) = visible_name(&entry.name).map(|name| format!("{above}/{name}")) else { continue };
                let passed_by = path.len() >= PATH_MAX
                    || except.as_ref() == Some(&entry.node)
                    || self.check_node_writable(&entry.node).is_err();
                if passed_by {
                    continue;
                }
                match entry.file_type {
                    FileType::Directory => open.push((entry.node, path)),
                    FileType::Regular => {
                        let Ok(stat) = self.stat_node(&entry.node) else { continue };
                        if stat.ctime > since && !self.is_of_layer(&entry.node) {
                            found.push(listed(path, &stat));
                        }
                    }
                    _ => {}
                }
            }
        }
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        if found.len() > max {
            more = (found.len() - max) as u64;
            found.truncate(max);
        }
        (found, more)
    }

    /// Whether a file is unchanged from its layer.
    fn is_of_layer(&self, node: &Node) -> bool {
        let Node::Inode(id) = node else { return false };
        self.inodes.get(*id).is_ok_and(|inode| matches!(inode.kind, InodeKind::File(Content::Layer(_))))
    }

    /// Reads at most `length` bytes of a regular file from `offset` on, and its size.
    ///
    /// # Errors
    /// Those of opening and reading; `EISDIR` and `EINVAL` for what is no regular file.
    pub fn read_file_at(&mut self, path: &[u8], offset: u64, length: usize) -> Result<(Vec<u8>, u64), Errno> {
        let (node, file_type) = self.resolve_existing(at::FDCWD, path, Follow::Yes)?;
        regular(file_type)?;
        let mut file = match &node {
            Node::Host(host, path) => Some(self.host(*host)?.open(path, OpenFlags(OpenFlags::RDONLY), 0)?),
            _ => None,
        };
        let size = match &mut file {
            Some(file) => file.stat()?.size,
            None => self.stat_node(&node)?.size,
        };
        let mut bytes = vec![0; size.saturating_sub(offset).min(length as u64) as usize];
        let mut done = 0;
        while done < bytes.len() {
            let (at, rest) = (offset + done as u64, &mut bytes[done..]);
            let count = match (&mut file, &node) {
                (Some(file), _) => file.read_at(at, rest)?.min(rest.len()),
                (None, Node::Inode(id)) => self.read_inode(*id, at, true, rest)?.ok_or(Errno::EINVAL)?,
                _ => return Err(Errno::EINVAL),
            };
            // The file has become shorter meanwhile.
            if count == 0 {
                break;
            }
            done += count;
        }
        bytes.truncate(done);
        Ok((bytes, size))
    }

    /// Writes `data` at `offset` of a regular file, as the guest could; with `truncate` the file ends there. Makes the file
    /// and the directories above it.
    ///
    /// # Errors
    /// Those of opening and writing; a file that does not fit (`ENOSPC`) is left cut short.
    pub fn write_file_at(&mut self, path: &[u8], offset: u64, data: &[u8], truncate: bool) -> Result<(), Errno> {
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > FILE_SIZE_MAX) {
            return Err(Errno::EFBIG);
        }
        self.make_parents(path)?;
        let resolved = self.resolve(at::FDCWD, path, Follow::Create)?;
        let node = match (resolved.node, resolved.parent.directory, resolved.parent.last) {
            (Some((node, file_type)), ..) => {
                regular(file_type)?;
                node
            }
            (None, Node::Inode(directory), Last::Name(name)) => {
                let permissions = 0o666 & !self.umask;
                let file = InodeKind::File(Content::Own(Chunks::default()));
                Node::Inode(self.create(directory, &name, file, permissions)?)
            }
            (None, Node::Host(host, directory), Last::Name(name)) => Node::Host(host, Bytes(join(&directory, &name))),
            _ => return Err(Errno::ENOENT),
        };
        match node {
            Node::Inode(id) => self.write_inode_at(id, offset, data, truncate),
            Node::Host(host, path) => {
                let permissions = 0o666 & !self.umask;
                let flags = OpenFlags(OpenFlags::WRONLY | OpenFlags::CREAT);
                let mut file = self.writable_host(host)?.open(&path, flags, permissions)?;
                if truncate {
                    file.set_len(offset)?;
                }
                write_all(data, |done, rest| file.write_at(offset + done, rest))
            }
            Node::Fd(_) => Err(Errno::EINVAL),
        }
    }

    /// Gives a regular file another name. Makes the directories above it.
    ///
    /// # Errors
    /// Fails as [`Vfs::linkat`] does.
    pub fn link_file(&mut self, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        self.make_parents(new)?;
        self.linkat(at::FDCWD, old, at::FDCWD, new, 0)
    }

    fn write_inode_at(&mut self, id: InodeId, offset: u64, data: &[u8], truncate: bool) -> Result<(), Errno> {
        self.check_writable(id)?;
        if truncate {
            self.truncate_inode(id, offset)?;
        }
        write_all(data, |done, rest| self.write_inode(id, offset + done, rest))
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// Those of `unlink(2)`.
    pub fn remove_file(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.unlinkat(at::FDCWD, path, 0)
    }

    /// Removes everything in a directory. Mounts in it stay, and so do the directories above them.
    ///
    /// # Errors
    /// Those of path resolution and `unlink(2)`, after the rest was removed; `EOVERFLOW` if there is too much, and
    /// nothing is removed then.
    pub fn remove_tree(&mut self, directory: &[u8]) -> Result<(), Errno> {
        let start = self.directory_at(directory)?;
        let (mut entries, mut open, mut visited) = (Vec::new(), vec![start], 0);
        while let Some(directory) = open.pop() {
            for entry in self.entries(&directory, &mut visited)? {
                if entry.file_type == FileType::Directory {
                    open.push(entry.node.clone());
                }
                entries.push(entry);
            }
        }
        // A directory comes after its parent in the list: in reverse order, each is empty when it is removed.
        let mut failed = None;
        for entry in entries.into_iter().rev() {
            match self.remove_entry(&entry) {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(errno) => failed = Some(errno),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn remove_entry(&mut self, entry: &Entry) -> Result<(), Errno> {
        self.check_node_writable(&entry.directory)?;
        let is_directory = entry.file_type == FileType::Directory;
        match (&entry.directory, &entry.node) {
            (Node::Inode(parent), Node::Inode(id)) => {
                match self.check_removable_directory(*id) {
                    _ if !is_directory => {}
                    Ok(()) => {}
                    // Something is mounted there or below.
                    Err(Errno::EBUSY | Errno::ENOTEMPTY) => return Ok(()),
                    Err(errno) => return Err(errno),
                }
                self.unlink_inode(*parent, &entry.name, *id)
            }
            (Node::Host(host, _), Node::Host(_, path)) if is_directory => self.writable_host(*host)?.remove_dir(path),
            (Node::Host(host, _), Node::Host(_, path)) => self.writable_host(*host)?.remove_file(path),
            _ => Ok(()),
        }
    }

    /// The directory that a path names.
    fn directory_at(&mut self, path: &[u8]) -> Result<Node, Errno> {
        match self.resolve_existing(at::FDCWD, path, Follow::Yes)? {
            (node, FileType::Directory) => Ok(node),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Entries of a directory, without those that are mounted from the host. `visited` counts them.
    fn entries(&mut self, directory: &Node, visited: &mut usize) -> Result<Vec<Entry>, Errno> {
        let entry =
            |name: &[u8], node, file_type| Entry { directory: directory.clone(), name: name.to_vec(), node, file_type };
        let entries: Vec<Entry> = match directory {
            Node::Inode(id) => {
                let InodeKind::Directory(names) = &self.inodes.get(*id)?.kind else { return Ok(Vec::new()) };
                let entries = names.names().filter_map(|(name, child)| {
                    // Nothing is stored in a file of `/proc`.
                    if matches!(self.inodes.get(child).ok()?.kind, InodeKind::Process(_)) {
                        return None;
                    }
                    let node = self.node_of(child).ok().filter(|node| matches!(node, Node::Inode(_)))?;
                    Some(entry(name, node, self.inode_type(child).ok()?))
                });
                entries.collect()
            }
            Node::Host(host, path) => {
                let listing = self.host_listing(*host, path)?;
                let node = |name: &[u8]| Node::Host(*host, Bytes(join(path, name)));
                listing.iter().map(|found| entry(&found.name, node(&found.name), found.file_type)).collect()
            }
            Node::Fd(_) => Vec::new(),
        };
        *visited += entries.len();
        if *visited > ENTRIES_VISITED_MAX { Err(Errno::EOVERFLOW) } else { Ok(entries) }
    }

    /// Makes the directories above a path that are missing, as the guest would.
    fn make_parents(&mut self, path: &[u8]) -> Result<(), Errno> {
        let parent = &path[..path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)];
        if parent.is_empty() || self.is_directory(parent)? {
            return Ok(());
        }
        let ends = parent.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends.chain([parent.len()]).filter(|&end| end > 0) {
            if !self.is_directory(&parent[..end])? {
                self.mkdirat(at::FDCWD, &parent[..end], 0o777)?;
            }
        }
        Ok(())
    }

    /// Whether there is a directory with this path; `false` if the path does not exist.
    fn is_directory(&mut self, path: &[u8]) -> Result<bool, Errno> {
        match self.resolve_existing(at::FDCWD, path, Follow::Yes) {
            Ok((_, FileType::Directory)) => Ok(true),
            Ok(_) => Err(Errno::ENOTDIR),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }
}

/// Returns the name of an entry that is listed; `None` for hidden ones, caches of bytecode and names that are not
/// UTF-8.
fn visible_name(name: &[u8]) -> Option<&str> {
    std::str::from_utf8(name).ok().filter(|name| !name.starts_with('.') && name.as_bytes() != CACHES)
}

fn listed(path: String, stat: &Stat) -> ListedFile {
    ListedFile { path, size: stat.size, modified: stat.mtime, stamp: stamp(stat) }
}

fn regular(file_type: FileType) -> Result<(), Errno> {
    match file_type {
        FileType::Regular => Ok(()),
        FileType::Directory => Err(Errno::EISDIR),
        _ => Err(Errno::EINVAL),
    }
}

/// Writes `data` completely: calls `write` with the offset and the rest of the data until no data is left.
fn write_all(data: &[u8], mut write: impl FnMut(u64, &[u8]) -> Result<usize, Errno>) -> Result<(), Errno> {
    let mut done = 0;
    while done < data.len() {
        match write(done as u64, &data[done..])? {
            0 => return Err(Errno::EIO),
            count => done += count.min(data.len() - done),
        }
    }
    Ok(())
}

/// A change stamp: a hash of dev, ino, size, mtime, ctime. In the tree every change sets a new `ctime`, and the guest
/// cannot set it.
fn stamp(stat: &Stat) -> u64 {
    let nanos = |time: Timestamp| (time.secs as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanos.into());
    let parts = [stat.dev, stat.ino, stat.size, nanos(stat.mtime), nanos(stat.ctime)];
    // The mixing step of SplitMix64. It is a bijection, so a change of one part always changes the result.
    parts.iter().fold(0, |word: u64, part| {
        let mut word = word.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    })
}
