//! Changes to a module besides exception translation: exports for snapshots, and a sleep that sleeps.

pub mod threads;

use std::collections::{BTreeMap, HashSet};

use wasm_encoder::{ExportKind, Function, Instruction};
use wasmparser::{ExternalKind, ValType};

use crate::ModuleError;
use crate::layout::Layout;

/// Prefix of the exports added for mutable globals that a module keeps to itself; the global's index follows.
pub const GLOBAL_EXPORT_PREFIX: &str = "__brumate_mutable_global_";
/// Prefix of the exports added for tables that a module keeps to itself; the table's index follows.
pub const TABLE_EXPORT_PREFIX: &str = "__brumate_table_";
/// Names with this prefix are ours; a module that exports one itself is refused.
const RESERVED_PREFIX: &str = "__brumate_";

/// The timer number that marks a call of `env._setitimer_js` as a sleep. Real timers are 0 to 2.
pub const SLEEP_TIMER: i32 = 99;

/// A function of the main module that a patch refers to.
struct Symbol {
    name: &'static str,
    params: &'static [ValType],
    results: &'static [ValType],
}

/// The main module's sleep in milliseconds, which waits by reading the clock and checking timers in a loop.
const SLEEP: Symbol = Symbol { name: "emscripten_thread_sleep", params: &[ValType::F64], results: &[] };
/// Raises the signals of timers that have expired at a time, in milliseconds.
const CHECK_TIMERS: Symbol = Symbol { name: "_emscripten_check_timers", params: &[ValType::F64], results: &[] };
/// Imported: the time in milliseconds.
const NOW: Symbol = Symbol { name: "emscripten_get_now", params: &[], results: &[ValType::F64] };
/// Imported: starts a timer, given its number and milliseconds.
const TIMER: Symbol = Symbol { name: "_setitimer_js", params: &[ValType::I32, ValType::F64], results: &[ValType::I32] };

/// An export to add.
#[derive(Debug)]
pub(super) struct NewExport {
    pub(super) name: String,
    pub(super) kind: ExportKind,
    pub(super) index: u32,
}

/// The changes to make to one module.
#[derive(Debug, Default)]
pub(super) struct Patches {
    /// Exports to append.
    pub(super) exports: Vec<NewExport>,
    /// New bodies (locals and instructions, without the size) by position in the code section.
    pub(super) bodies: BTreeMap<usize, Vec<u8>>,
    /// New modules and names of imported functions, by index.
    pub(super) imports: BTreeMap<u32, (&'static str, &'static str)>,
}

impl Patches {
    /// Exports for every mutable global and every table that the module defines and does not export, so that a snapshot
    /// can save the globals and check that the tables are empty.
    pub(super) fn exports(layout: &Layout<'_>) -> Result<Self, ModuleError> {
        let mut exported_globals = HashSet::new();
        let mut exported_tables = HashSet::new();
        for export in &layout.exports {
            if export.name.starts_with(RESERVED_PREFIX) {
                return Err(ModuleError::malformed(
                    format!("exports a name with the reserved prefix {RESERVED_PREFIX}"),
                    0,
                ));
            }
            match export.kind {
                ExternalKind::Global => exported_globals.insert(export.index),
                ExternalKind::Table => exported_tables.insert(export.index),
                _ => continue,
            };
        }
        let globals = (layout.imported_globals..)
            .zip(&layout.globals)
            .filter(|(index, mutable)| **mutable && !exported_globals.contains(index))
            .map(|(index, _)| (ExportKind::Global, GLOBAL_EXPORT_PREFIX, index));
        let tables = (layout.imported_tables..)
            .take(layout.tables as usize)
            .filter(|index| !exported_tables.contains(index))
            .map(|index| (ExportKind::Table, TABLE_EXPORT_PREFIX, index));
        let exports = globals
            .chain(tables)
            .map(|(kind, prefix, index)| NewExport { name: format!("{prefix}{index}"), kind, index })
            .collect();
        Ok(Patches { exports, ..Patches::default() })
    }

    /// Makes the main module's sleep one call of the host, `_setitimer_js(SLEEP_TIMER, milliseconds)`, whose result is ignored.
    /// Timers that expired meanwhile raise their signals afterwards, where the loop raised them while it went on sleeping.
    pub(super) fn sleep_in_host(&mut self, layout: &Layout<'_>) -> Result<(), ModuleError> {
        let sleep = exported(layout, &SLEEP)? - layout.imported_functions();
        let mut body = Function::new([]);
        body.instruction(&Instruction::I32Const(SLEEP_TIMER))
            .instruction(&Instruction::LocalGet(0))
            .instruction(&Instruction::Call(imported(layout, &TIMER)?))
            .instruction(&Instruction::Drop)
            .instruction(&Instruction::Call(imported(layout, &NOW)?))
            .instruction(&Instruction::Call(exported(layout, &CHECK_TIMERS)?))
            .instruction(&Instruction::End);
        self.bodies.insert(sleep as usize, body.into_raw_body());
        Ok(())
    }
}

/// The index of a function that the module defines and exports.
fn exported(layout: &Layout<'_>, symbol: &Symbol) -> Result<u32, ModuleError> {
    let export = layout.exports.iter().find(|export| export.kind == ExternalKind::Func && export.name == symbol.name);
    let defined = export.and_then(|export| export.index.checked_sub(layout.imported_functions()));
    let ty = defined.and_then(|defined| layout.functions.get(defined as usize)).copied();
    let index = export.map(|export| export.index);
    checked(layout, symbol, index.zip(ty), "define and export")
}

/// The index of a function that the module imports from `env`.
fn imported(layout: &Layout<'_>, symbol: &Symbol) -> Result<u32, ModuleError> {
    let mut imports = (0..).zip(&layout.function_imports);
    let found = imports.find(|(_, (module, name, _))| (*module, *name) == ("env", symbol.name));
    checked(layout, symbol, found.map(|(index, (_, _, ty))| (index, *ty)), "import")
}

/// The index of `found` (index and type) if it has the type that `symbol` must have.
fn checked(layout: &Layout<'_>, symbol: &Symbol, found: Option<(u32, u32)>, verb: &str) -> Result<u32, ModuleError> {
    let Some((index, ty)) = found else {
        return Err(ModuleError::Patch(format!("it does not {verb} {}", symbol.name)));
    };
    let matches = |ty: &wasmparser::FuncType| ty.params() == symbol.params && ty.results() == symbol.results;
    if !layout.function_type(ty).is_some_and(matches) {
        return Err(ModuleError::Patch(format!("{} has another type than expected", symbol.name)));
    }
    Ok(index)
}
