//! The compressed bundle of a release build: unpacked once into the cache, and mapped by every process.
//!
//! `build/pack.rs` makes it and describes its format. The server opens the unpacked file and gives its descriptor to each zygote.
//! A program that has no cache directory unpacks it into memory when something asks for its bytes.
//! A program that is handed out in two parts has the packages' frames in a file: see [`bundle_file`].

mod bundle_file;
#[allow(dead_code, reason = "others write marks")]
#[path = "../../../build/mark.rs"]
mod mark;

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags};

use self::bundle_file::{BundleError, BundleFile};
pub(crate) use self::mark::Mark;
use super::PACKED;
use crate::cache_dir::{CacheError, lock, private_directory, publish};
use crate::memory::Mapped;

/// The compressed bundle.
#[derive(Debug)]
#[allow(dead_code, reason = "a development build has none")]
pub(crate) struct Packed {
    /// The frames, one after the other.
    pub(crate) bytes: &'static [u8],
    pub(crate) frames: &'static [Frame],
    /// Length of the unpacked image, in bytes.
    pub(crate) length: usize,
    /// SHA-256 of all frames, lower-case hexadecimal.
    pub(crate) key: &'static str,
    /// The file with the frames that are not in `bytes`. `None`: all are.
    pub(crate) apart: Option<Mark>,
}

/// A part that is decompressed by itself.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Whether it is in the bundle file.
    pub(crate) is_apart: bool,
    /// Its beginning and end in the bundle file, or in [`Packed::bytes`].
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Its length after decompression, in bytes.
    pub(crate) length: usize,
    /// SHA-256 before decompression.
    pub(crate) sha256: [u8; 32],
}

/// Reason why the bundle cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The bundle file is missing, or it is another one.
    #[error(transparent)]
    File(#[from] BundleError),
}

/// Reason why the bundle cannot be unpacked.
#[derive(Debug, thiserror::Error)]
enum UnpackError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    File(#[from] BundleError),
}

/// Ending of an unpacked bundle's name.
const SUFFIX: &str = ".bundle";

/// Beginning of the name that a bundle has while it is unpacked.
const UNPACKING: &str = ".unpacking-";

/// Unpacked bundles of other versions are removed when they have not been used for so long.
const KEPT_UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The time of an unpacked bundle says to this precision when it was last used.
const NOTED_EVERY: Duration = Duration::from_secs(24 * 3600);

/// The unpacked bundle of this process.
static IMAGE: OnceLock<Unpacked> = OnceLock::new();

#[derive(Debug)]
struct Unpacked {
    file: File,
    mapped: Mapped,
}

impl Unpacked {
    fn new(file: File, packed: &Packed) -> io::Result<Unpacked> {
        if file.metadata()?.len() != packed.length as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the unpacked bundle has another length"));
        }
        let mapped = Mapped::new(&file, 0, packed.length as u64)?;
        Ok(Unpacked { file, mapped })
    }
}

/// Opens the unpacked bundle below the cache directory `root`; unpacks it if it is not there. Does nothing in a development build, and
/// when this process has it already. `named` is the bundle file, if the user names one.
///
/// # Errors
/// When the cache directory cannot be used, or the bundle file is needed and not there.
pub(crate) fn open(root: &Path, named: Option<&Path>) -> Result<(), OpenError> {
    let Some(packed) = &PACKED else { return Ok(()) };
    if IMAGE.get().is_some() {
        return Ok(());
    }
    let path = root.join("bundle");
    let io = |source: io::Error| CacheError::of(&path, source);
    let directory = private_directory(root, &[&path])?;
    let name = format!("{}{SUFFIX}", &packed.key[..32]);
    let existing = || {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&directory, &name, flags, Mode::empty()).ok()?);
        note_use(&file);
        Unpacked::new(file, packed).ok()
    };
    let mut unpacked = existing();
    if unpacked.is_none() {
        // One process unpacks, the others wait for it.
        let _lock = lock(&directory, &path)?;
        unpacked = existing();
        if unpacked.is_none() {
            remove_unused(&path);
            let made = unpack_to(&path.join(&name), &directory, packed, named);
            unpacked = Some(made.map_err(|error| match error {
                UnpackError::Io(source) => OpenError::Cache(io(source)),
                UnpackError::File(error) => OpenError::File(error),
            })?);
        }
    }
    if let Some(unpacked) = unpacked {
        // Another thread may have been quicker; its file has the same content.
        let _ = IMAGE.set(unpacked);
    }
    Ok(())
}

/// Unpacks the bundle into a new file with this name in a directory of the cache.
fn unpack_to(name: &Path, directory: &OwnedFd, packed: &Packed, named: Option<&Path>) -> Result<Unpacked, UnpackError> {
    let bundle_file = bundle_file::find(packed.apart.as_ref(), named)?;
    let beside = name.parent().unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new().prefix(UNPACKING).tempfile_in(beside)?;
    unpack(packed, bundle_file.as_ref(), temporary.as_file())?;
    // Through a descriptor that cannot write.
    let file = File::open(temporary.path())?;
    publish(temporary, name, directory)?;
    Ok(Unpacked::new(file, packed)?)
}

/// Takes the unpacked bundle from the server's descriptor.
///
/// # Errors
/// When it is none.
pub(crate) fn receive(fd: OwnedFd) -> io::Result<()> {
    let Some(packed) = &PACKED else { return Ok(()) };
    let _ = IMAGE.set(Unpacked::new(File::from(fd), packed)?);
    Ok(())
}

/// The file that zygotes are given: none in a development build.
pub(crate) fn file() -> Option<&'static File> {
    PACKED.as_ref().map(|packed| &image(packed).file)
}

/// Returns bytes of the unpacked bundle.
///
/// # Panics
/// When there is no memory to unpack it or no bundle file, in a program that has opened no cache.
pub(super) fn bytes(start: usize, length: usize) -> &'static [u8] {
    let packed = PACKED.as_ref().expect("a table that names parts of a pack comes with the pack");
    &image(packed).mapped.bytes()[start..start + length]
}

fn image(packed: &'static Packed) -> &'static Unpacked {
    IMAGE.get_or_init(|| {
        let unpacked = || -> Result<Unpacked, UnpackError> {
            let bundle_file = bundle_file::find(packed.apart.as_ref(), None)?;
            let file = File::from(rustix::fs::memfd_create("bundle", MemfdFlags::CLOEXEC).map_err(io::Error::from)?);
            unpack(packed, bundle_file.as_ref(), &file)?;
            Ok(Unpacked::new(file, packed)?)
        };
        unpacked().unwrap_or_else(|error| panic!("the bundle cannot be unpacked into memory: {error}"))
    })
}

/// Writes the image to `file`, with a thread for each processor; each needs memory for a frame.
fn unpack(packed: &Packed, bundle_file: Option<&BundleFile>, file: &File) -> Result<(), UnpackError> {
    // A full disk says so at once. File systems that cannot reserve space are written to without.
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, packed.length as u64) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) | Ok(()) => file.set_len(packed.length as u64)?,
        Err(errno) => return Err(io::Error::from(errno).into()),
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), UnpackError> {
        let mut decompressor = zstd::bulk::Decompressor::new()?;
        while let Some(frame) = packed.frames.get(next.fetch_add(1, Ordering::Relaxed)) {
            let compressed = match bundle_file.filter(|_| frame.is_apart) {
                None => Cow::Borrowed(packed.bytes.get(frame.start..frame.end).ok_or_else(damaged)?),
                Some(bundle_file) => Cow::Owned(bundle_file.frame(frame)?),
            };
            let content = decompressor.decompress(&compressed, frame.length)?;
            scatter(&content, file).ok_or_else(damaged)??;
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(packed.frames.len());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| damaged())?)
    })
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the bundle in this program is damaged")
}

/// Writes the pieces of a frame where its table says. `None` when the table is cut off.
fn scatter(content: &[u8], file: &File) -> Option<io::Result<()>> {
    let number = |at: usize| Some(u32::from_le_bytes(content.get(at..at + 4)?.try_into().ok()?));
    let count = number(0)? as usize;
    let mut data = content.get(4 + 8 * count..)?;
    for index in 0..count {
        let (offset, length) = (number(4 + 8 * index)?, number(8 + 8 * index)?);
        let (piece, rest) = data.split_at_checked(length as usize)?;
        data = rest;
        if let Err(error) = file.write_all_at(piece, u64::from(offset)) {
            return Some(Err(error));
        }
    }
    Some(Ok(()))
}

/// Remembers in the file's time that it is used.
fn note_use(file: &File) {
    let now = SystemTime::now();
    let noted = file.metadata().and_then(|metadata| metadata.modified());
    if noted.is_ok_and(|noted| now.duration_since(noted).is_ok_and(|age| age > NOTED_EVERY)) {
        // If this fails, the file may be removed too early and is unpacked again.
        let _ = file.set_modified(now);
    }
}

/// Removes bundles that no version has used for long, and unfinished files of processes that ended while they unpacked. The caller has
/// the lock: no process unpacks now. Processes that have mapped a bundle keep it.
fn remove_unused(path: &Path) {
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let used = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = || used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > KEPT_UNUSED));
        if name.starts_with(UNPACKING) || (name.ends_with(SUFFIX) && is_old()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
