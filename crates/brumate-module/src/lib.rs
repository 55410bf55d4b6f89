//! WebAssembly modules before they are compiled: dynamic-linking metadata, exception translation, patches.
//!
//! [`translate`] turns the bytes of a Pyodide main module or of a wheel's shared object into bytes that wasmtime can
//! compile: legacy exception handling becomes the standard `exnref` encoding ([`exceptions`]), state that a snapshot
//! must see becomes exported, and the main module's busy-waiting sleep becomes a host call ([`patch`]).
//! [`dylink::parse`] reads what the dynamic linker needs to know about a shared object. [`gate::check`] bounds what a side module may ask
//! of the compiler.
//!
//! The bytes are hostile (a guest may `dlopen` any file it wrote). Everything here is linear in the size of the module:
//! no recursion, no work that grows faster than the input, and output bounded by [`MAX_MODULE_BYTES`]. Function bodies
//! that need no change are copied without being decoded, so a module that passes is *not* yet known to be valid;
//! compiling it validates it.

pub mod dylink;
pub mod exceptions;
pub mod gate;
mod layout;
pub mod patch;
mod rewrite;

use layout::Layout;

/// The largest module accepted and the largest returned, in bytes; several times the largest of the Pyodide distribution.
pub const MAX_MODULE_BYTES: usize = 64 << 20;

/// How [`translate`] treats a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether it is the main module, which gets the patches of [`patch`] in addition to what every module gets.
    pub main: bool,
}

/// Why a module is refused. The text is shown to the user as the reason of an `ImportError`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The bytes do not begin with the WebAssembly magic number.
    #[error("not a WebAssembly file")]
    NotWasm,
    /// A WebAssembly file of another kind or version.
    #[error("not a core WebAssembly module of version 1")]
    NotCoreModule,
    /// A WebAssembly module that was not linked as a shared object.
    #[error("no dylink.0 section: not a shared object")]
    NoDylink,
    /// The `dylink.0` section breaks its format.
    #[error("malformed dylink.0 section: {0}")]
    Dylink(String),
    /// The module breaks the binary format.
    #[error("malformed WebAssembly module: {message} (at offset {offset:#x})")]
    Malformed {
        /// What is wrong.
        message: String,
        /// Byte offset in the module.
        offset: usize,
    },
    /// The module is well-formed but uses something that cannot be translated.
    #[error("unsupported WebAssembly module: {message} (at offset {offset:#x})")]
    Unsupported {
        /// What is not supported.
        message: &'static str,
        /// Byte offset in the module.
        offset: usize,
    },
    /// A named limit is exceeded.
    #[error("WebAssembly module too large: more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A side module has something that none may have.
    #[error("a side module may not have {0}")]
    Forbidden(&'static str),
    /// The main module lacks something that a patch needs.
    #[error("unexpected main module: {0}")]
    Patch(String),
}

impl ModuleError {
    fn malformed(message: impl Into<String>, offset: usize) -> Self {
        ModuleError::Malformed { message: message.into(), offset }
    }
}

impl From<wasmparser::Error> for ModuleError {
    fn from(error: wasmparser::Error) -> Self {
        ModuleError::malformed(error.message(), error.offset())
    }
}

/// Makes a module ready for compilation: translates legacy exception handling, exports what snapshots need and, for the
/// main module, applies its patches.
///
/// Sections and function bodies that need no change keep their bytes. When code changed, custom sections that hold code
/// offsets (DWARF, branch hints, relocations, source maps) and label names are dropped; all others, `dylink.0` and function
/// names among them, stay.
///
/// # Errors
///
/// The module is malformed, uses an unsupported mixture of exception encodings, exceeds a limit, or is not the main module it
/// is said to be.
pub fn translate(bytes: &[u8], options: &Options) -> Result<Vec<u8>, ModuleError> {
    let layout = Layout::parse(bytes)?;
    let mut patches = patch::Patches::exports(&layout)?;
    if options.main {
        patches.sleep_in_host(&layout)?;
    }
    rewrite::rewrite(&layout, &patches)
}

/// Checks that `bytes` begin like a core module, with errors that name the mistake a user is likely to have made.
fn check_header(bytes: &[u8]) -> Result<(), ModuleError> {
    if !bytes.starts_with(b"\0asm") {
        return Err(ModuleError::NotWasm);
    }
    if bytes.get(4..8) != Some(&[1, 0, 0, 0]) {
        return Err(ModuleError::NotCoreModule);
    }
    if bytes.len() > MAX_MODULE_BYTES {
        return Err(ModuleError::TooLarge { what: "bytes", limit: MAX_MODULE_BYTES });
    }
    Ok(())
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
