//! The numbers of the gate.
//!
//! Each constant bounds what one module may ask of the compiler or of the store that runs it. A module that exceeds one is refused before
//! it is compiled: the guest gets an `OSError` that names the bound. The compiler's process pays for what passes, within the limits of its
//! run, see `client::compiler`.

/// Counts of everything in one module: what it may have ([`GUEST`], [`WHEEL`]), or what [`check`](super::check) has found in it. For
/// counts of one function, the largest of all functions is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of the file.
    pub bytes: usize,
    /// Types. Each is compared with all others.
    pub types: u32,
    /// Parameters, and results, of one type.
    pub arity: u32,
    /// Imports.
    pub imports: u32,
    /// Functions that the module defines.
    pub functions: u32,
    /// Globals that it defines: 16 bytes each in every instance.
    pub globals: u32,
    /// Exports.
    pub exports: u32,
    /// Tags that it defines.
    pub tags: u32,
    /// Segments of data.
    pub data_segments: u32,
    /// Segments of table elements.
    pub element_segments: u32,
    /// Elements of all those segments together.
    pub elements: u64,
    /// Bytes of one function.
    pub function_bytes: usize,
    /// Parameters and locals of one function.
    pub locals: u32,
    /// Blocks, loops, conditions and handlers inside each other.
    pub depth: u32,
    /// Blocks, loops, conditions and handlers of one function.
    pub blocks: u32,
    /// Targets of all jump tables of one function together.
    pub targets: u32,
    /// Locals times blocks of one function. A local that changes is a parameter of each block that follows: the compiler may make so
    /// many values.
    pub merges: u64,
}

/// Bounds of a module that a guest wrote itself or has in a file of its own. Of the 335 modules in `runtime/`, all but two pass, most with a
/// tenth of each bound.
pub const GUEST: Counts = Counts {
    bytes: 16 << 20,
    types: 2000,
    arity: 100,
    imports: 10_000,
    functions: 20_000,
    globals: 5000,
    exports: 20_000,
    tags: 100,
    data_segments: 1000,
    element_segments: 100,
    elements: 50_000,
    function_bytes: 256 << 10,
    locals: 2000,
    depth: 500,
    blocks: 10_000,
    targets: 10_000,
    merges: 2_000_000,
};

/// Bounds of a module in a wheel that the operator lets in. Such a module is compiled once for everybody and kept. They are several times
/// the largest counts of all modules in `runtime/`, scipy and cryptography among them.
pub const WHEEL: Counts = Counts {
    bytes: super::super::MAX_MODULE_BYTES,
    types: 20_000,
    arity: 1000,
    imports: 100_000,
    functions: 200_000,
    globals: 100_000,
    exports: 200_000,
    tags: 1000,
    data_segments: 10_000,
    element_segments: 1000,
    elements: 500_000,
    function_bytes: 2 << 20,
    locals: 10_000,
    depth: 2000,
    blocks: 50_000,
    targets: 100_000,
    merges: 20_000_000,
};
