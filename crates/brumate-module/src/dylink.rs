//! The `dylink.0` section: what a shared object asks of the dynamic linker.
//!
//! Format: WebAssembly tool conventions, "Dynamic Linking". The section comes first in the module, so that a loader can
//! read it before anything else. Reading is strict: unknown sub-sections, repeated ones and trailing bytes are errors, since
//! ignoring what a module asks for would only move the failure to a place where it is harder to understand.

use std::collections::HashSet;

use wasmparser::BinaryReader;

use super::{ModuleError, check_header};

/// The largest `dylink.0` section accepted, in bytes.
pub const MAX_SECTION_BYTES: usize = 4 << 20;
/// The most libraries one library may need, and the most directories in its run path.
pub const MAX_NEEDED: usize = 256;
/// The longest library name or run path directory, in bytes (`PATH_MAX` of Emscripten's libc).
pub const MAX_PATH_BYTES: usize = 4096;
/// The largest alignment accepted, as a power of two (16 MiB). Linkers emit at most 16 bytes for code, a page for data.
pub const MAX_ALIGNMENT: u32 = 24;
/// The most table slots one library may ask for: wasmtime's limit for a whole table.
pub const MAX_TABLE_SLOTS: u32 = 10_000_000;

/// The custom section's name.
const SECTION: &str = "dylink.0";
/// The section name of the format before 2021, which this runtime's ABI never had.
const OBSOLETE_SECTION: &str = "dylink";

/// `WASM_SYMBOL_BINDING_MASK` and `WASM_SYMBOL_BINDING_WEAK`.
const BINDING_MASK: u32 = 3;
const BINDING_WEAK: u32 = 1;
/// `WASM_SYMBOL_TLS`.
const TLS: u32 = 0x100;

/// Memory and table space to reserve before a library is instantiated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes of linear memory at `env.__memory_base`.
    pub memory_bytes: u32,
    /// Alignment of that memory in bytes, a power of two.
    pub memory_align: u32,
    /// Slots of the indirect function table at `env.__table_base`.
    pub table_slots: u32,
    /// Alignment of the table range in slots, a power of two.
    pub table_align: u32,
}

/// An exported symbol with linking flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportInfo {
    /// The export's name.
    pub name: String,
    /// Raw symbol flags.
    pub flags: u32,
}

impl ExportInfo {
    /// Whether the symbol is thread-local, which means an offset from `__tls_base` instead of an address.
    pub fn is_tls(&self) -> bool {
        self.flags & TLS != 0
    }
}

/// An imported symbol with linking flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportInfo {
    /// The import's module name.
    pub module: String,
    /// The import's field name.
    pub name: String,
    /// Raw symbol flags.
    pub flags: u32,
}

impl ImportInfo {
    /// Whether the symbol may stay undefined.
    pub fn is_weak(&self) -> bool {
        self.flags & BINDING_MASK == BINDING_WEAK
    }
}

/// The content of a `dylink.0` section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dylink {
    /// Space to reserve (`WASM_DYLINK_MEM_INFO`).
    pub memory: MemoryInfo,
    /// Libraries to load first, in order (`WASM_DYLINK_NEEDED`).
    pub needed: Vec<String>,
    /// Exports with flags (`WASM_DYLINK_EXPORT_INFO`).
    pub exports: Vec<ExportInfo>,
    /// Imports with flags (`WASM_DYLINK_IMPORT_INFO`).
    pub imports: Vec<ImportInfo>,
    /// Directories to search for needed libraries (`WASM_DYLINK_RUNTIME_PATH`); `$ORIGIN` is not expanded.
    pub runtime_path: Vec<String>,
}

impl Dylink {
    /// The names of imports that may stay undefined. A symbol that is called and whose address is taken is imported twice, and described once.
    pub fn weak_imports(&self) -> HashSet<&str> {
        self.imports.iter().filter(|import| import.is_weak()).map(|import| import.name.as_str()).collect()
    }
}

/// Reads the `dylink.0` section of a module.
///
/// # Errors
///
/// [`ModuleError::NotWasm`], [`ModuleError::NotCoreModule`], [`ModuleError::NoDylink`] when the module's first section is
/// another one, [`ModuleError::Dylink`] when the section breaks its format or one of this module's limits.
pub fn parse(bytes: &[u8]) -> Result<Dylink, ModuleError> {
    check_header(bytes)?;
    let mut module = BinaryReader::new(&bytes[8..], 8);
    if module.eof() || module.read_u8()? != 0 {
        return Err(ModuleError::NoDylink);
    }
    let mut section = module.read_reader()?;
    match section.read_unlimited_string()? {
        SECTION => {}
        OBSOLETE_SECTION => return Err(error("obsolete format (section \"dylink\")")),
        _ => return Err(ModuleError::NoDylink),
    }
    if section.bytes_remaining() > MAX_SECTION_BYTES {
        return Err(error(format!("more than {MAX_SECTION_BYTES} bytes")));
    }
    parse_section(&mut section).map_err(|cause| match cause {
        ModuleError::Malformed { message, offset } => error(format!("{message} (at offset {offset:#x})")),
        other => other,
    })
}

fn parse_section(section: &mut BinaryReader<'_>) -> Result<Dylink, ModuleError> {
    let mut dylink = Dylink::default();
    let mut seen = [false; 6];
    while !section.eof() {
        let kind = section.read_u8()?;
        let mut body = section.read_reader()?;
        match seen.get_mut(usize::from(kind)) {
            Some(true) => return Err(error(format!("sub-section {kind} occurs twice"))),
            Some(flag) => *flag = true,
            None => {}
        }
        match kind {
            1 => dylink.memory = memory_info(&mut body)?,
            2 => dylink.needed = paths(&mut body, "needed library")?,
            3 => {
                for _ in 0..body.read_var_u32()? {
                    dylink
                        .exports
                        .push(ExportInfo { name: body.read_string()?.to_owned(), flags: body.read_var_u32()? });
                }
            }
            4 => {
                for _ in 0..body.read_var_u32()? {
                    dylink.imports.push(ImportInfo {
                        module: body.read_string()?.to_owned(),
                        name: body.read_string()?.to_owned(),
                        flags: body.read_var_u32()?,
                    });
                }
            }
            5 => dylink.runtime_path = paths(&mut body, "run path directory")?,
            other => return Err(error(format!("unknown sub-section {other}"))),
        }
        if !body.eof() {
            return Err(error(format!("{} bytes too many in sub-section {kind}", body.bytes_remaining())));
        }
    }
    Ok(dylink)
}

fn memory_info(body: &mut BinaryReader<'_>) -> Result<MemoryInfo, ModuleError> {
    let memory_bytes = body.read_var_u32()?;
    let memory_align = alignment(body.read_var_u32()?)?;
    let table_slots = body.read_var_u32()?;
    let table_align = alignment(body.read_var_u32()?)?;
    if table_slots > MAX_TABLE_SLOTS {
        return Err(error(format!("more than {MAX_TABLE_SLOTS} table slots")));
    }
    Ok(MemoryInfo { memory_bytes, memory_align, table_slots, table_align })
}

fn alignment(log2: u32) -> Result<u32, ModuleError> {
    if log2 > MAX_ALIGNMENT {
        return Err(error(format!("alignment 2^{log2} exceeds 2^{MAX_ALIGNMENT}")));
    }
    Ok(1 << log2)
}

fn paths(body: &mut BinaryReader<'_>, what: &str) -> Result<Vec<String>, ModuleError> {
    let count = body.read_var_u32()? as usize;
    if count > MAX_NEEDED {
        return Err(error(format!("{count} entries of kind {what}, at most {MAX_NEEDED}")));
    }
    let mut paths = Vec::with_capacity(count);
    for _ in 0..count {
        let path = body.read_string()?;
        if path.is_empty() || path.len() > MAX_PATH_BYTES || path.contains('\0') {
            return Err(error(format!("invalid {what} name")));
        }
        paths.push(path.to_owned());
    }
    Ok(paths)
}

fn error(message: impl Into<String>) -> ModuleError {
    ModuleError::Dylink(message.into())
}
