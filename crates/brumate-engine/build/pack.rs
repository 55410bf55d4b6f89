//! The bundle's files as one image: archives whose entries are stored, compressed together in frames.
//!
//! An archive of deflated entries can neither be compressed well nor be mapped and read in place. So each archive is written again with
//! its entries stored, one after the other into one image, and the image is compressed with a window over many files. A program that
//! embeds the frames unpacks the image once, into its cache, and maps it.
//!
//! The order of the image is the order of the archives. The order in the frames is another: files that may be shipped apart come after
//! those that the program always has, a source file is followed by its bytecode, which repeats most of its text, and native modules come
//! last. So a frame begins with a table that says where its pieces belong.
//!
//! ```text
//! frame (after decompression)   count: u32, (offset: u32, length: u32) × count, the pieces' bytes
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::io::{Cursor, Read as _};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Alignment of a file in the image, in bytes: a page.
const ALIGNMENT: usize = 4096;

/// Smallest frame, in bytes before compression: a frame ends at the first archive after them. Unpacking takes as much memory for each thread.
const FRAME_BYTES: usize = 48 << 20;

/// An image that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Pack {
    image: Vec<u8>,
    pieces: Vec<Piece>,
    archives: usize,
    /// Sort key of each source file, by its path in `site-packages`. Its bytecode follows it.
    sources: HashMap<String, Order>,
}

/// Part of a program that a file of the bundle is shipped in. A frame has files of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The program: interpreter and standard library.
    Core,
    /// The bundle file, in a program that is split: packages and their machine code.
    Packages,
}

/// A part of the image that is written to a frame in one piece.
#[derive(Debug)]
struct Piece {
    range: Range<usize>,
    order: Order,
}

/// Sort key of a piece in the frames.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    part: Part,
    class: Class,
    archive: usize,
    /// The path of the source file that belongs to it.
    path: String,
    is_bytecode: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Text,
    Directory,
    Native,
}

/// A compressed frame, and its length after decompression.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) part: Part,
    pub(crate) packed: Vec<u8>,
    pub(crate) length: usize,
}

impl Pack {
    /// Adds a file as it is; returns where it is in the image.
    pub(crate) fn add_file(&mut self, part: Part, bytes: &[u8]) -> Range<usize> {
        let range = self.append(bytes);
        let order =
            Order { part, class: Class::Native, archive: self.archives, path: String::new(), is_bytecode: false };
        self.archives += 1;
        self.pieces.push(Piece { range: range.clone(), order });
        range
    }

    /// Adds a zip archive with its entries stored, in the order of its directory, those that `keep` names; returns where it is in the
    /// image.
    ///
    /// # Errors
    /// When it is no archive, or an entry is damaged.
    pub(crate) fn add_archive(
        &mut self,
        part: Part,
        archive: &[u8],
        keep: &dyn Fn(&str) -> bool,
    ) -> Result<Range<usize>> {
        let (bytes, entries) = stored(archive, keep)?;
        let range = self.append(&bytes);
        let number = self.archives;
        self.archives += 1;
        let mut end = 0;
        for Entry { name, data } in entries {
            // Its header goes with it.
            let piece = range.start + end..range.start + data.end;
            end = data.end;
            let order = self.order(part, number, name);
            self.pieces.push(Piece { range: piece, order });
        }
        let order = Order { part, class: Class::Directory, archive: number, path: String::new(), is_bytecode: false };
        self.pieces.push(Piece { range: range.start + end..range.end, order });
        Ok(range)
    }

    /// Returns the sort key of an entry, and remembers the keys of source files.
    fn order(&mut self, part: Part, archive: usize, name: String) -> Order {
        let class = if name.ends_with(".so") { Class::Native } else { Class::Text };
        if let Some(source) = source_of(&name) {
            let beside = Order { part, class, archive, path: source.clone(), is_bytecode: true };
            return self.sources.get(&source).map_or(beside, |order| Order {
                part,
                is_bytecode: true,
                ..order.clone()
            });
        }
        let order = Order { part, class, archive, path: name.clone(), is_bytecode: false };
        if name.ends_with(".py") {
            self.sources.insert(name, order.clone());
        }
        order
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        self.image.resize(self.image.len().next_multiple_of(ALIGNMENT), 0);
        let start = self.image.len();
        self.image.extend_from_slice(bytes);
        start..self.image.len()
    }

    /// Returns the image as it is now.
    pub(crate) fn image(&self) -> &[u8] {
        &self.image
    }

    /// Compresses the image; returns its length and the frames.
    ///
    /// # Errors
    /// When the image is larger than a table can say, or the compressor fails.
    pub(crate) fn finish(mut self, level: i32) -> Result<(usize, Vec<Frame>)> {
        u32::try_from(self.image.len()).map_err(|_| "the bundle's image has more than 4 GiB")?;
        self.pieces.sort_by(|one, other| one.order.cmp(&other.order));
        let mut groups: Vec<&[Piece]> = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (index, piece) in self.pieces.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &self.pieces[before].order);
            let is_border =
                before.is_some_and(|order| (order.class, order.archive) != (piece.order.class, piece.order.archive));
            let is_other_part = before.is_some_and(|order| order.part != piece.order.part);
            if is_other_part || (is_border && bytes >= FRAME_BYTES) {
                groups.push(&self.pieces[start..index]);
                (start, bytes) = (index, 0);
            }
            bytes += piece.range.len();
        }
        groups.push(&self.pieces[start..]);
        let frames = in_parallel(&groups, |pieces| frame(&self.image, pieces, level))?;
        Ok((self.image.len(), frames))
    }
}

/// Compresses the groups with as many threads as there are processors; a compressor takes some hundred megabytes.
fn in_parallel<'a>(
    groups: &[&'a [Piece]],
    compress: impl Fn(&'a [Piece]) -> Result<Frame> + Sync,
) -> Result<Vec<Frame>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(pieces) = groups.get(index) else { return Ok::<_, String>(done) };
            done.push((index, compress(pieces).map_err(|error| error.to_string())?));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(groups.len());
    let mut frames = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut frames = Vec::new();
        for worker in workers {
            frames.extend(worker.join().map_err(|_| "a compressor panicked".to_owned())??);
        }
        Ok::<_, String>(frames)
    })?;
    frames.sort_by_key(|(index, _)| *index);
    Ok(frames.into_iter().map(|(_, frame)| frame).collect())
}

/// The path of the source file whose bytecode has this path (PEP 3147).
pub(crate) fn source_of(path: &str) -> Option<String> {
    let (directory, name) = path.split_once("__pycache__/")?;
    let stem = name.strip_suffix(".pyc")?.split('.').next()?;
    Some(format!("{directory}{stem}.py"))
}

/// Compresses some pieces.
fn frame(image: &[u8], pieces: &[Piece], level: i32) -> Result<Frame> {
    let part = pieces.first().ok_or("a frame without pieces")?.order.part;
    let mut content = Vec::new();
    let count = u32::try_from(pieces.len())?;
    content.extend_from_slice(&count.to_le_bytes());
    for Piece { range, .. } in pieces {
        content.extend_from_slice(&(range.start as u32).to_le_bytes());
        content.extend_from_slice(&(range.len() as u32).to_le_bytes());
    }
    for Piece { range, .. } in pieces {
        content.extend_from_slice(&image[range.clone()]);
    }
    let mut compressor = zstd::bulk::Compressor::new(level)?;
    compressor.set_parameter(zstd::zstd_safe::CParameter::EnableLongDistanceMatching(true))?;
    compressor.set_parameter(zstd::zstd_safe::CParameter::WindowLog(27))?;
    Ok(Frame { part, packed: compressor.compress(&content)?, length: content.len() })
}

/// An entry of an archive, and where its bytes are.
struct Entry {
    name: String,
    data: Range<usize>,
}

/// Writes an archive again with its entries stored.
fn stored(archive: &[u8], keep: &dyn Fn(&str) -> bool) -> Result<(Vec<u8>, Vec<Entry>)> {
    let mut from = zip::ZipArchive::new(Cursor::new(archive))?;
    let mut to = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut content = Vec::new();
    for index in 0..from.len() {
        let mut member = from.by_index(index)?;
        let mut options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        if let Some(modified) = member.last_modified() {
            options = options.last_modified_time(modified);
        }
        if let Some(mode) = member.unix_mode() {
            options = options.unix_permissions(mode);
        }
        let name = member.name()?.into_owned();
        if !keep(&name) {
            continue;
        }
        if member.is_dir() {
            to.add_directory(name, options)?;
            continue;
        }
        content.clear();
        member.read_to_end(&mut content)?;
        to.start_file(name, options)?;
        std::io::Write::write_all(&mut to, &content)?;
    }
    let bytes = to.finish()?.into_inner();
    let mut again = zip::ZipArchive::new(Cursor::new(&bytes[..]))?;
    let mut entries = Vec::new();
    for index in 0..again.len() {
        let member = again.by_index(index)?;
        let start = usize::try_from(member.data_start().ok_or("an entry without data")?)?;
        let length = usize::try_from(member.size())?;
        entries.push(Entry { name: member.name()?.into_owned(), data: start..start + length });
    }
    Ok((bytes, entries))
}
