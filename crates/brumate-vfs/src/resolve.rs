//! From paths to nodes, one component at a time.
//!
//! `..` and symbolic links are resolved here and nowhere else, also inside host directories, so no path can lead out
//! of the tree: the worst a link on the host can do is to name another place in the guest's tree.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Vfs;
use super::bytes::Bytes;
use super::flags::{FileType, at};
use super::host::HostId;
use super::inode::{InodeId, InodeKind};
use super::limits::{NAME_MAX, PATH_MAX, SYMLINKS_MAX};
use brumate_abi::errno::Errno;

/// Something a path can lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Node {
    /// In the tree.
    Inode(InodeId),
    /// In a host directory, with the clean path below it.
    Host(HostId, Bytes),
    /// `/proc/self/fd/N`.
    Fd(u32),
}

/// The last component of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Last {
    Name(Vec<u8>),
    Dot,
    DotDot,
    /// The path has no component, or ended in a link to the root.
    Root,
}

/// A path resolved up to its last component.
#[derive(Debug)]
pub struct Parent {
    pub directory: Node,
    pub last: Last,
    pub trailing_slash: bool,
}

/// A path resolved wholly, to something or to a free name.
#[derive(Debug)]
pub struct Resolved {
    pub parent: Parent,
    pub node: Option<(Node, FileType)>,
}

/// What to do with a symbolic link in the last component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    Yes,
    /// Only when a slash comes after it.
    No,
    /// As `Yes`, for a file that may be created: a slash at the end of the path or of a link's target is `EISDIR`
    /// whatever is there.
    Create,
    /// As `No`, for a file that must not be there.
    CreateNew,
}

impl Follow {
    fn creates(self) -> bool {
        matches!(self, Self::Create | Self::CreateNew)
    }

    fn stops_at_links(self) -> bool {
        matches!(self, Self::No | Self::CreateNew)
    }
}

/// Joins a clean path and a clean relative path. Either may be empty.
pub fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(path.len() + 1 + name.len());
    joined.extend_from_slice(path);
    if !path.is_empty() && !name.is_empty() {
        joined.push(b'/');
    }
    joined.extend_from_slice(name);
    joined
}

/// Splits off the first component and the slashes around it: (component, rest).
fn next_component(path: &[u8]) -> (&[u8], &[u8]) {
    let start = path.iter().position(|&b| b != b'/').unwrap_or(path.len());
    let path = &path[start..];
    let end = path.iter().position(|&b| b == b'/').unwrap_or(path.len());
    path.split_at(end)
}

impl Vfs {
    /// Returns the directory at which relative paths start. Absolute paths do not use the descriptor.
    pub(super) fn start(&self, dirfd: i32, path: &[u8]) -> Result<Node, Errno> {
        if path.first() == Some(&b'/') {
            return Ok(Node::Inode(self.root));
        }
        if dirfd == at::FDCWD {
            return Ok(self.cwd.clone());
        }
        Ok(self.description_at(dirfd)?.node())
    }

    /// Checks a path's length as `getname` does.
    pub(super) fn check_path(path: &[u8]) -> Result<(), Errno> {
        match path.len() {
            0 => Err(Errno::ENOENT),
            PATH_MAX.. => Err(Errno::ENAMETOOLONG),
            _ => Ok(()),
        }
    }

    /// Resolves everything but the last component.
    pub(super) fn resolve_parent(&mut self, dirfd: i32, path: &[u8]) -> Result<Parent, Errno> {
        Self::check_path(path)?;
        let start = self.start(dirfd, path)?;
        self.walk(start, path, &mut 0)
    }

    /// Resolves a path to what it names; a free name in an existing directory is `node: None`.
    pub(super) fn resolve(&mut self, dirfd: i32, path: &[u8], follow: Follow) -> Result<Resolved, Errno> {
        Self::check_path(path)?;
        let mut start = self.start(dirfd, path)?;
        let mut path = Cow::Borrowed(path);
        let mut links = 0;
        loop {
            let parent = self.walk(start, &path, &mut links)?;
            let name = match &parent.last {
                Last::Name(name) => name,
                Last::DotDot => {
                    let node = self.above(&parent.directory)?;
                    return Ok(Resolved { parent, node: Some((node, FileType::Directory)) });
                }
                Last::Dot | Last::Root => {
                    let node = parent.directory.clone();
                    return Ok(Resolved { parent, node: Some((node, FileType::Directory)) });
                }
            };
            if follow.creates() && parent.trailing_slash {
                return Err(Errno::EISDIR);
            }
            let Some((node, file_type)) = self.lookup(&parent.directory, name)? else {
                return Ok(Resolved { parent, node: None });
            };
            if file_type != FileType::Symlink || (follow.stops_at_links() && !parent.trailing_slash) {
                if parent.trailing_slash && file_type != FileType::Directory {
                    return Err(Errno::ENOTDIR);
                }
                return Ok(Resolved { parent, node: Some((node, file_type)) });
            }
            count_link(&mut links)?;
            if let Some((target, file_type)) = self.jump(&node)? {
                if parent.trailing_slash && file_type != FileType::Directory {
                    return Err(Errno::ENOTDIR);
                }
                return Ok(Resolved { parent, node: Some((target, file_type)) });
            }
            let mut target = self.link_target(&node)?;
            if parent.trailing_slash {
                target.push(b'/');
            }
            start = if target.first() == Some(&b'/') { Node::Inode(self.root) } else { parent.directory };
            path = Cow::Owned(target);
        }
    }

    /// As [`Self::resolve`], with `ENOENT` for a free name.
    pub(super) fn resolve_existing(
        &mut self,
        dirfd: i32,
        path: &[u8],
        follow: Follow,
    ) -> Result<(Node, FileType), Errno> {
        self.resolve(dirfd, path, follow)?.node.ok_or(Errno::ENOENT)
    }

    /// Resolves the argument of an `*at` call: the path, or the descriptor itself for an empty path with
    /// `AT_EMPTY_PATH`.
    pub(super) fn resolve_at(&mut self, dirfd: i32, path: &[u8], flags: u32) -> Result<(Node, FileType), Errno> {
        if path.is_empty() && flags & at::EMPTY_PATH != 0 {
            let node = self.start(dirfd, path)?;
            let file_type = self.node_type(&node)?;
            return Ok((node, file_type));
        }
        let follow = if flags & at::SYMLINK_NOFOLLOW != 0 { Follow::No } else { Follow::Yes };
        self.resolve_existing(dirfd, path, follow)
    }

    /// Walks to the directory of the last component, following every link before it.
    fn walk(&mut self, start: Node, path: &[u8], links: &mut u32) -> Result<Parent, Errno> {
        let mut here = start;
        let mut here_is_directory = None;
        let mut rest = Cow::Borrowed(path);
        let mut at = 0;
        loop {
            let (name, after) = next_component(&rest[at..]);
            if name.is_empty() {
                return Ok(Parent { directory: here, last: Last::Root, trailing_slash: true });
            }
            let is_directory = match here_is_directory {
                Some(known) => known,
                None => self.node_type(&here)? == FileType::Directory,
            };
            if !is_directory {
                return Err(Errno::ENOTDIR);
            }
            if after.iter().all(|&b| b == b'/') {
                let last = match name {
                    b"." => Last::Dot,
                    b".." => Last::DotDot,
                    name => Last::Name(name.to_vec()),
                };
                return Ok(Parent { directory: here, last, trailing_slash: !after.is_empty() });
            }
            let next = match name {
                b"." => (here, FileType::Directory),
                b".." => (self.above(&here)?, FileType::Directory),
                name => match self.lookup(&here, name)?.ok_or(Errno::ENOENT)? {
                    (node, FileType::Symlink) => {
                        count_link(links)?;
                        if let Some(found) = self.jump(&node)? {
                            found
                        } else {
                            let mut target = self.link_target(&node)?;
                            target.extend_from_slice(after);
                            if target.first() == Some(&b'/') {
                                here = Node::Inode(self.root);
                            }
                            here_is_directory = Some(true);
                            rest = Cow::Owned(target);
                            at = 0;
                            continue;
                        }
                    }
                    found => found,
                },
            };
            here = next.0;
            here_is_directory = Some(next.1 == FileType::Directory);
            at = rest.len() - after.len();
        }
    }

    /// Returns the node that a link of `/proc` leads to; `None` for other links, which lead to a path.
    fn jump(&mut self, link: &Node) -> Result<Option<(Node, FileType)>, Errno> {
        let target = match link {
            Node::Fd(fd) => self.description_at(*fd as i32)?.node(),
            Node::Inode(id) if matches!(self.inodes.get(*id)?.kind, InodeKind::CurrentDirectory) => self.cwd.clone(),
            _ => return Ok(None),
        };
        let file_type = self.node_type(&target)?;
        Ok(Some((target, file_type)))
    }

    /// Returns the node of a name in a directory. Links are not followed.
    pub(super) fn lookup(&mut self, directory: &Node, name: &[u8]) -> Result<Option<(Node, FileType)>, Errno> {
        match directory {
            Node::Inode(id) => {
                let inode = self.inodes.get(*id)?;
                match &inode.kind {
                    InodeKind::Directory(entries) => {
                        if !inode.linked() {
                            return Err(Errno::ENOENT);
                        }
                        if name.len() > NAME_MAX {
                            return Err(Errno::ENAMETOOLONG);
                        }
                        let Some(id) = entries.get(name) else {
                            return Ok(None);
                        };
                        let node = self.node_of(id)?;
                        let file_type = self.inode_type(id)?;
                        Ok(Some((node, file_type)))
                    }
                    InodeKind::FdDirectory => {
                        let fd = std::str::from_utf8(name).ok().and_then(|name| name.parse::<u32>().ok());
                        let canonical = |fd: &u32| fd.to_string().as_bytes() == name && self.fds.is_open(*fd);
                        Ok(fd.filter(canonical).map(|fd| (Node::Fd(fd), FileType::Symlink)))
                    }
                    _ => Err(Errno::ENOTDIR),
                }
            }
            Node::Host(host, path) => {
                if name.len() > NAME_MAX {
                    return Err(Errno::ENAMETOOLONG);
                }
                let path = join(path, name);
                if path.len() >= PATH_MAX {
                    return Err(Errno::ENAMETOOLONG);
                }
                match self.host(*host)?.lstat(&path) {
                    Ok(stat) => Ok(Some((Node::Host(*host, Bytes(path)), stat.file_type))),
                    Err(Errno::ENOENT) => Ok(None),
                    Err(errno) => Err(errno),
                }
            }
            Node::Fd(_) => Err(Errno::ENOTDIR),
        }
    }

    /// The node of an inode: itself, or the host directory mounted on it.
    pub(super) fn node_of(&self, id: InodeId) -> Result<Node, Errno> {
        Ok(match self.inodes.get(id)?.kind {
            InodeKind::HostRoot(host) => Node::Host(host, Bytes::default()),
            _ => Node::Inode(id),
        })
    }

    /// The directory above a directory; the root is above itself.
    pub(super) fn above(&self, directory: &Node) -> Result<Node, Errno> {
        match directory {
            Node::Inode(id) => self.node_of(self.inodes.get(*id)?.parent),
            Node::Host(host, path) => match path.iter().rposition(|&b| b == b'/') {
                Some(slash) => Ok(Node::Host(*host, path[..slash].into())),
                None if !path.is_empty() => Ok(Node::Host(*host, Bytes::default())),
                None => {
                    let record = self.host_records.get(host.0 as usize).ok_or(Errno::ESTALE)?;
                    self.node_of(self.inodes.get(record.inode)?.parent)
                }
            },
            Node::Fd(_) => Err(Errno::ENOTDIR),
        }
    }

    pub(super) fn inode_type(&self, id: InodeId) -> Result<FileType, Errno> {
        Ok(self.inodes.get(id)?.file_type(|device| self.is_stream(device)))
    }

    pub(super) fn node_type(&mut self, node: &Node) -> Result<FileType, Errno> {
        match node {
            Node::Inode(id) => self.inode_type(*id),
            Node::Host(_, path) if path.is_empty() => Ok(FileType::Directory),
            Node::Host(host, path) => Ok(self.host(*host)?.lstat(path)?.file_type),
            Node::Fd(_) => Ok(FileType::Symlink),
        }
    }

    /// Target of a symbolic link, for following and for `readlink`.
    pub(super) fn link_target(&mut self, node: &Node) -> Result<Vec<u8>, Errno> {
        let target = match node {
            Node::Inode(id) => match &self.inodes.get(*id)?.kind {
                InodeKind::Symlink(target) => target.to_vec(),
                InodeKind::CurrentDirectory => self.path_of_node(&self.cwd)?,
                _ => return Err(Errno::EINVAL),
            },
            Node::Host(host, path) => self.host(*host)?.read_link(path)?,
            Node::Fd(fd) => self.describe_fd(*fd as i32)?,
        };
        match target.len() {
            0 => Err(Errno::ENOENT),
            PATH_MAX.. => Err(Errno::ENAMETOOLONG),
            _ => Ok(target),
        }
    }
}

fn count_link(links: &mut u32) -> Result<(), Errno> {
    *links += 1;
    if *links > SYMLINKS_MAX { Err(Errno::ELOOP) } else { Ok(()) }
}
