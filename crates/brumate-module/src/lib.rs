//! WebAssembly modules before they are compiled: dynamic-linking metadata, exception translation, patches.
//!
//! [`translate`] turns the bytes of a module into bytes that wasmtime can compile. The module is Pyodide's main module
//! or the shared object of a wheel. It is changed in these ways:
//!
//! - Legacy exception handling becomes the standard `exnref` encoding ([`exceptions`]).
//! - State that a snapshot must see becomes exported ([`patch`]).
//! - The busy-waiting sleep of the main module becomes a host call ([`patch`]).
//!
//! [`dylink::parse`] reads the data of a shared object for the dynamic linker. [`gate::check`] bounds the size of a
//! side module, and so the work of the compiler.
//!
//! The bytes are hostile: a guest may `dlopen` any file that it wrote. All work here is linear in the size of the
//! module. There is no recursion, and the output has at most [`MAX_MODULE_BYTES`] bytes. Function bodies that need no
//! change are copied without being decoded. So a translated module may still be invalid. Its compilation validates it.

pub mod dylink;
pub mod exceptions;
pub mod gate;
mod layout;
pub mod patch;
mod rewrite;

use layout::Layout;

/// Largest module that is accepted, and largest module that is returned, in bytes.
///
/// It is several times the size of the largest module of the Pyodide distribution.
pub const MAX_MODULE_BYTES: usize = 64 << 20;

/// How [`translate`] treats a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether the module is the main module. The sleep of the main module becomes a host call ([`patch`]).
    pub main: bool,
    /// Whether its threads become the host's ([`patch::threads`]). The module must be the interpreter that the patches are for.
    pub threads: bool,
}

/// Reason to refuse a module. The text is shown to the user as the reason of an `ImportError`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The bytes do not begin with the WebAssembly magic number.
    #[error("not a WebAssembly file")]
    NotWasm,
    /// The bytes are a WebAssembly file of another kind or version.
    #[error("not a core WebAssembly module of version 1")]
    NotCoreModule,
    /// The module was not linked as a shared object.
    #[error("no dylink.0 section: not a shared object")]
    NoDylink,
    /// The `dylink.0` section breaks its format.
    #[error("malformed dylink.0 section: {0}")]
    Dylink(String),
    /// The module breaks the binary format.
    #[error("malformed WebAssembly module: {message} (at offset {offset:#x})")]
    Malformed {
        /// The fault.
        message: String,
        /// Byte offset in the module.
        offset: usize,
    },
    /// The module is well-formed but uses something that cannot be translated.
    #[error("unsupported WebAssembly module: {message} (at offset {offset:#x})")]
    Unsupported {
        /// The unsupported feature.
        message: &'static str,
        /// Byte offset in the module.
        offset: usize,
    },
    /// A named limit is exceeded.
    #[error("WebAssembly module too large: more than {limit} {what}")]
    TooLarge {
        /// Name of the things that are counted.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A side module has something that no side module may have.
    #[error("a side module may not have {0}")]
    Forbidden(&'static str),
    /// The main module lacks a function that a patch needs, or the function has another type.
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

/// Makes a module ready for compilation.
///
/// Translates legacy exception handling, and exports the state that snapshots need. Also patches the sleep of the main
/// module.
///
/// Sections and function bodies that need no change keep their bytes. When code has changed, label names are dropped.
/// Custom sections with code offsets are dropped too (DWARF, branch hints, relocations, source maps). All other
/// sections stay, `dylink.0` and function names among them.
///
/// # Errors
///
/// The module is malformed, uses an unsupported mixture of exception encodings, or exceeds a limit. Or it should be the
/// main module, and is another one.
pub fn translate(bytes: &[u8], options: &Options) -> Result<Vec<u8>, ModuleError> {
    let layout = Layout::parse(bytes)?;
    let mut patches = patch::Patches::exports(&layout)?;
    if options.main {
        patches.sleep_in_host(&layout)?;
    }
    if options.threads {
        patches.threads_in_host(&layout)?;
    }
    rewrite::rewrite(&layout, &patches)
}

/// Checks the first bytes and the size of a core module. An error names the likely mistake of the user.
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
