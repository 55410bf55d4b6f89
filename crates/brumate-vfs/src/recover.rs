//! Reads files from saved changes whose base is missing.
//!
//! The output of [`Vfs::save_changes`] has every inode that a session has made or changed, completely: the files in its
//! working directory can be read without the base file system. Directories that were not changed are missing, and with
//! them their names. Saved state is not trusted: the files are written to a new file system, like uploads.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::InodeChanges;
use super::chunks::Chunks;
use super::inode::{Content, Directory, Inode, InodeId, InodeKind};
use super::limits::{DIRECTORY_DEPTH_MAX, PATH_MAX};
use super::resolve::Node;
use super::restore::RestoreError;
use super::{Vfs, at};

/// Files that are taken from saved changes; the others are left out. Saved changes may name one file many times.
const FILES_MAX: usize = 65_536;

/// Mode bit of directories for temporary files. The working directory does not have it.
const STICKY: u32 = 0o1000;

/// Bytes of a file that are given at once.
const PIECE: u64 = 1 << 20;

/// A piece of a file of the working directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file's path below the working directory.
    pub path: String,
    /// Where the bytes belong.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The file ends after them.
    pub last: bool,
    /// Name of an earlier file that this is a link to; there are no bytes then.
    pub link_to: Option<String>,
}

/// Saved inodes, by slot.
type Saved = BTreeMap<u32, Box<Inode>>;

/// Passes the regular files of the working directory in the output of [`Vfs::save_changes`] to `take`, piece by piece.
/// Returns their number. `place` is the slot of the working directory in file systems of this version.
///
/// # Errors
/// When the changes are damaged, or `take` fails.
pub fn recover<E: From<RestoreError>>(
    saved: &[u8],
    place: Option<u32>,
    mut take: impl FnMut(Piece) -> Result<(), E>,
) -> Result<usize, E> {
    let damaged = |_| RestoreError::Inconsistent("encoding");
    let (changes, rest): (InodeChanges<Box<Inode>>, Vfs) = postcard::from_bytes(saved).map_err(damaged)?;
    let inodes: Saved = changes.changed.into_iter().filter_map(|(index, inode)| Some((index, inode?))).collect();
    let Some(top) = working_directory(&inodes, &rest, place) else { return Ok(0) };
    let files = files_below(&inodes, top);
    let mut given: BTreeMap<u32, &str> = BTreeMap::new();
    for (path, slot, chunks) in &files {
        let piece = |offset, bytes| Piece { path: path.clone(), offset, bytes, last: false, link_to: None };
        if let Some(first) = given.get(slot) {
            take(Piece { last: true, link_to: Some((*first).to_owned()), ..piece(0, Vec::new()) })?;
            continue;
        }
        given.insert(*slot, path);
        let mut at = 0;
        while let Some(start) = chunks.next_data(at) {
            let end = chunks.next_hole(start).min(start + PIECE);
            let mut bytes = vec![0; (end - start) as usize];
            let read = chunks.read_at(start, &mut bytes);
            bytes.truncate(read);
            take(piece(start, bytes))?;
            // An empty piece would never end the loop.
            at = end.max(start + 1);
        }
        take(Piece { last: true, ..piece(chunks.len(), Vec::new()) })?;
    }
    Ok(files.len())
}

fn directory(inodes: &Saved, index: u32) -> Option<(&Inode, &Directory)> {
    let inode = inodes.get(&index)?;
    match &inode.kind {
        InodeKind::Directory(entries) => Some((inode, entries)),
        _ => None,
    }
}

/// Returns the slot of the working directory: a directory below the root that is not for temporary files.
fn working_directory(inodes: &Saved, rest: &Vfs, place: Option<u32>) -> Option<u32> {
    let fits = |index: &u32| {
        directory(inodes, *index).is_some_and(|(inode, _)| inode.parent == rest.root && inode.permissions & STICKY == 0)
    };
    let current = match &rest.cwd {
        Node::Inode(id) => Some(top_of(inodes, *id, rest.root)),
        _ => None,
    };
    place.filter(fits).or(current.filter(fits)).or_else(|| inodes.keys().copied().find(fits))
}

/// Returns the directory below `root` that `id` is in, as far as it is known.
fn top_of(inodes: &Saved, id: InodeId, root: InodeId) -> u32 {
    let mut at = id;
    for _ in 0..DIRECTORY_DEPTH_MAX {
        match directory(inodes, at.0) {
            Some((inode, _)) if inode.parent != root && inode.parent != at => at = inode.parent,
            _ => break,
        }
    }
    at.0
}

/// Paths, slots and contents of the files below a directory.
fn files_below(inodes: &Saved, top: u32) -> Vec<(String, u32, &Chunks)> {
    let mut files = Vec::new();
    let (mut open, mut seen) = (vec![(top, String::new())], BTreeSet::from([top]));
    while let Some((index, above)) = open.pop() {
        let Some((_, entries)) = directory(inodes, index) else { continue };
        for (name, child) in entries.names() {
            let Ok(name) = std::str::from_utf8(name) else { continue };
            if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
                continue;
            }
            let path = format!("{above}{name}");
            if files.len() >= FILES_MAX || path.len() >= PATH_MAX {
                return files;
            }
            match inodes.get(&child.0).map(|inode| &inode.kind) {
                // Each directory once: damaged state may have cycles.
                Some(InodeKind::Directory(_)) if seen.insert(child.0) => open.push((child.0, format!("{path}/"))),
                Some(InodeKind::File(Content::Own(chunks))) if chunks.is_consistent() => {
                    files.push((path, child.0, chunks))
                }
                _ => {}
            }
        }
    }
    files
}

impl Vfs {
    /// Returns the slot of the directory `path`, for [`recover`].
    pub fn place_of(&mut self, path: &[u8]) -> Option<u32> {
        match self.resolve_at(at::FDCWD, path, 0) {
            Ok((Node::Inode(id), _)) => Some(id.0),
            _ => None,
        }
    }
}
