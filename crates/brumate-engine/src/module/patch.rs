//! Changes to a module besides exception translation: exports for snapshots, and a sleep that sleeps.

use std::collections::{BTreeMap, HashSet};

use wasm_encoder::{ExportKind, Function, Instruction};
use wasmparser::{ExternalKind, ValType};

use super::ModuleError;
use super::layout::Layout;

/// Prefix of the exports added for mutable globals that a module keeps to itself; the global's index follows.
pub const GLOBAL_EXPORT_PREFIX: &str = "__brumate_mutable_global_";
/// Prefix of the exports added for tables that a module keeps to itself; the table's index follows.
pub const TABLE_EXPORT_PREFIX: &str = "__brumate_table_";
/// Names with this prefix are ours; a module that exports one itself is refused.
const RESERVED_PREFIX: &str = "__brumate_";

/// The timer number that marks a call of `env._setitimer_js` as a sleep. Real timers are 0 to 2.
pub const SLEEP_TIMER: i32 = 99;
/// The main module's sleep, `(f64 milliseconds) -> ()`, which waits by reading the clock in a loop.
const SLEEP_EXPORT: &str = "emscripten_thread_sleep";
/// The import that takes its place, `(i32 timer, f64 milliseconds) -> i32`.
const TIMER_IMPORT: (&str, &str) = ("env", "_setitimer_js");

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
        Ok(Patches { exports, bodies: BTreeMap::new() })
    }

    /// Makes the main module's sleep one call of the host: `_setitimer_js(SLEEP_TIMER, milliseconds)`.
    pub(super) fn sleep_in_host(&mut self, layout: &Layout<'_>) -> Result<(), ModuleError> {
        let imported = layout.imported_functions();
        let position = layout
            .exports
            .iter()
            .find(|export| export.kind == ExternalKind::Func && export.name == SLEEP_EXPORT)
            .and_then(|export| export.index.checked_sub(imported))
            .ok_or_else(|| ModuleError::Patch(format!("does not define and export {SLEEP_EXPORT}")))?;
        let sleep = layout
            .functions
            .get(position as usize)
            .and_then(|ty| layout.function_type(*ty))
            .is_some_and(|ty| ty.params() == [ValType::F64] && ty.results().is_empty());
        if !sleep {
            return Err(ModuleError::Patch(format!("{SLEEP_EXPORT} is not of type (f64) -> ()")));
        }
        let timer = layout
            .function_imports
            .iter()
            .position(|(module, name, _)| (*module, *name) == TIMER_IMPORT)
            .ok_or_else(|| ModuleError::Patch(format!("does not import {}", TIMER_IMPORT.1)))?;
        let timer_type = layout.function_type(layout.function_imports[timer].2);
        if !timer_type.is_some_and(|ty| ty.params() == [ValType::I32, ValType::F64] && ty.results() == [ValType::I32]) {
            return Err(ModuleError::Patch(format!("{} is not of type (i32, f64) -> i32", TIMER_IMPORT.1)));
        }
        let mut body = Function::new([]);
        body.instruction(&Instruction::I32Const(SLEEP_TIMER))
            .instruction(&Instruction::LocalGet(0))
            .instruction(&Instruction::Call(timer as u32))
            .instruction(&Instruction::Drop)
            .instruction(&Instruction::End);
        self.bodies.insert(position as usize, body.into_raw_body());
        Ok(())
    }
}
