//! Images: an interpreter's whole state, outside of the process that ran it.
//!
//! A guest consists of its linear memory and the state that the host keeps beside it: globals, the function table,
//! loaded side modules, closures, files and descriptors. [`capture`](capture::capture) writes the second part as a
//! [`Record`]; [`restore`](restore::apply) makes a machine that continues from one. Instances are made again from the
//! recorded modules in the recorded order, without running their constructors, and the memory is restored afterwards.
//!
//! A record may come from a compromised machine: indices and names are checked when they are used, and a mismatch is an
//! error.

pub(crate) mod capture;
pub(crate) mod difference;
pub(crate) mod file;
pub(crate) mod restore;
pub(crate) mod sealed;

use std::fs::File;

use serde::{Deserialize, Deserializer, Serialize};

use crate::files::DamagedFiles;
use crate::files::layers::GivenLayer;
use crate::libc::ffi::ClosuresRecord;
use crate::libc::zone::Zone;
use crate::link::{Function, LibraryBase};
use crate::trace::Pages;
use crate::wire::{ModuleKey, Origin};

/// State beside the linear memory and the file system.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Size of the linear memory, in bytes.
    pub(crate) memory_bytes: u64,
    /// Mutable globals of the main module, by export.
    pub(crate) globals: Vec<(String, Number)>,
    /// Size of the function table.
    pub(crate) table_slots: u32,
    /// Side modules in load order.
    pub(crate) libraries: Vec<LibraryRecord>,
    /// Guest handle (`struct dso *`) → index of the library.
    pub(crate) handles: Vec<(u32, u32)>,
    /// Functions in slots that no module fills itself.
    pub(crate) functions: Vec<(u32, Function)>,
    /// Slots of libffi closures.
    pub(crate) closures: ClosuresRecord,
    /// Monotonic clock, nanoseconds.
    pub(crate) monotonic: u64,
    /// Addresses of the driver's module and functions.
    pub(crate) driver: Driver,
}

/// State beside the linear memory: the record, and the file system in its own serialised form.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedState {
    pub(crate) record: Record,
    pub(crate) vfs: Vec<u8>,
    /// Local time. Images without it, of earlier versions, have UTC.
    #[serde(deserialize_with = "or_default")]
    pub(crate) zone: Zone,
}

/// Reads the last field of a state, which earlier versions have not written.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(T::deserialize(from).unwrap_or_default())
}

/// A loaded side module.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LibraryRecord {
    pub(crate) path: String,
    pub(crate) key: ModuleKey,
    /// The module's file, when it is neither of the bundle nor of a layer.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The layer's file that it is.
    pub(crate) origin: Option<Origin>,
    pub(crate) base: LibraryBase,
    pub(crate) table_slots: u32,
    pub(crate) global_since: Option<u32>,
    pub(crate) needed: Vec<u32>,
    /// Values of its GOT entries, in the order of its imports.
    pub(crate) got: Vec<u32>,
    /// Mutable globals, by export.
    pub(crate) globals: Vec<(String, Number)>,
}

/// Value of a global.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Number {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(u128),
}

/// Python objects of the driver that the host calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Driver {
    /// The module.
    pub(crate) module: u32,
    /// Its functions, in the order of the constant that lists them.
    pub(crate) functions: Vec<u32>,
    /// Addresses of the generators' state. `None` if the guest has to reseed them itself.
    pub(crate) seeds_at: Option<IdentityAddresses>,
}

/// Addresses of the memory that each fork of an image needs for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdentityAddresses {
    pub(crate) twisters: Vec<Twister>,
    /// Digits of the integer `logging._startTime`.
    pub(crate) start: Option<u32>,
}

/// State of a Mersenne Twister: 624 words and the number of those that have been used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Twister {
    pub(crate) words: u32,
    pub(crate) index: u32,
}

/// The image a zygote and all its machines come from.
#[derive(Debug)]
pub(crate) struct Base {
    /// The file, whose memory begins at [`file::HEADER_BYTES`].
    pub(crate) file: File,
    pub(crate) header: file::Header,
    /// The file system in it.
    pub(crate) vfs: Vec<u8>,
    /// Pages of its memory that a machine will probably touch.
    pub(crate) pages: Pages,
    /// Layers that are mounted in it.
    pub(crate) layers: Vec<GivenLayer>,
}

/// Why state cannot be captured or restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// Something that no image can hold.
    #[error("the session holds {0}, which cannot be kept")]
    Unsupported(String),
    /// The record contradicts itself or the modules.
    #[error("the image is damaged: {0}")]
    Damaged(String),
    /// A wheel that the session has mounted cannot be joined with it.
    #[error("the session needs {0}: {1}")]
    Layer(String, String),
    /// wasmtime refused: out of memory, a limit.
    #[error("the image cannot be restored: {0}")]
    Engine(String),
}

impl From<wasmtime::Error> for ImageError {
    fn from(error: wasmtime::Error) -> ImageError {
        ImageError::Engine(format!("{error:#}"))
    }
}

impl From<DamagedFiles> for ImageError {
    fn from(error: DamagedFiles) -> ImageError {
        ImageError::Damaged(error.to_string())
    }
}
