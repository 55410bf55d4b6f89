//! Translation of legacy exception handling (`try`, `catch`, `catch_all`, `delegate`, `rethrow`) to the encoding that
//! became the standard (`try_table`, `throw_ref`, exceptions as `exnref` values).
//!
//! Pyodide and all wheels of its ABI use the legacy encoding; wasmtime compiles only the standard one. The translation is
//! local to a function. A `try` with *n* clauses becomes
//!
//! ```text
//! block bt                              takes over the try's label
//!   block [params] -> [values, exnref]    handler of the last clause
//!     ...
//!       block [params] -> [values, exnref]  handler of the first clause
//!         try_table bt (catch_ref tag 0) ... (catch_all_ref n-1)
//!           body
//!         end
//!         br n
//!       end
//!       local.set $exception
//!       first clause
//!       br n-1
//!     ...
//!   end
//!   local.set $exception
//!   last clause
//! end
//! ```
//!
//! where a clause that no `rethrow` names does without the `exnref`. `rethrow` becomes `local.get $exception; throw_ref`.
//! `try … delegate` becomes a `try_table` that branches to the handlers which the target's exceptions would reach, and past
//! all of them to a `throw_ref` that wraps the whole function body.
//!
//! `plan` reads a function once to learn each `try`'s clauses, which exceptions are rethrown and where each `delegate`
//! leads; `emit` writes the new body in a second reading; `types` collects the block types that the handlers need.

mod branch;
mod emit;
mod plan;
mod types;

use wasmparser::FunctionBody;

use super::layout::Layout;
use super::patch::Patches;
use super::{ModuleError, rewrite};
use plan::Plan;
use types::HandlerTypes;

/// Limit on locals, parameters included, of one function (WebAssembly JavaScript interface, implementation limits).
const MAX_LOCALS: u32 = 50_000;
/// Limit on the size of one function body, in bytes (same source).
const MAX_FUNCTION_BYTES: usize = 7_654_321;
/// Limit on clauses of one `try_table` (wasmparser's).
const MAX_CLAUSES: usize = 10_000;
/// Opcode of `try`.
const TRY: u8 = 0x06;

/// Translates a module's legacy exception handling and changes nothing else; [`super::translate`] also applies patches.
///
/// A module without legacy exception handling comes back bit for bit.
///
/// # Errors
///
/// [`ModuleError::Malformed`], [`ModuleError::Unsupported`] for a function that mixes both encodings or uses branch
/// instructions that no compiler emits together with legacy exceptions, [`ModuleError::TooLarge`] when the result would
/// exceed WebAssembly's implementation limits or when `delegate` would make it grow out of proportion.
pub fn translate(bytes: &[u8]) -> Result<Vec<u8>, ModuleError> {
    let layout = Layout::parse(bytes)?;
    rewrite::rewrite(&layout, &Patches::default())
}

/// Translates the functions of one module.
pub(super) struct Translator<'l, 'a> {
    layout: &'l Layout<'a>,
    types: HandlerTypes,
    /// What `delegate` clauses and new types may still add, in entries: one per byte of the module. A few per function are
    /// usual; a hostile module could ask for a number that grows with the square of its size.
    growth: usize,
    plan: Plan,
    /// For each tag, the number of the last `delegate` that lists it already.
    seen: Vec<u32>,
    delegates: u32,
}

impl<'l, 'a> Translator<'l, 'a> {
    pub(super) fn new(layout: &'l Layout<'a>) -> Self {
        Translator {
            layout,
            types: HandlerTypes::new(layout.types.len()),
            growth: layout.bytes.len(),
            plan: Plan::default(),
            seen: vec![0; layout.tags.len()],
            delegates: 0,
        }
    }

    /// The function types that translated functions refer to, to be appended to the type section.
    pub(super) fn types(&self) -> &HandlerTypes {
        &self.types
    }

    /// The new body of the function at `position` in the code section, or `None` if it has no `try`.
    pub(super) fn function(
        &mut self,
        position: usize,
        body: &FunctionBody<'a>,
    ) -> Result<Option<Vec<u8>>, ModuleError> {
        // Most functions hold no such byte, not even as part of an immediate, and need not be decoded.
        if !body.as_bytes().contains(&TRY) {
            return Ok(None);
        }
        let mut plan = std::mem::take(&mut self.plan);
        let new =
            if plan.read(body, self.layout.tags.len())? { Some(self.translate(position, body, &plan)?) } else { None };
        // Kept for its allocations.
        self.plan = plan;
        Ok(new)
    }

    fn translate(&mut self, position: usize, body: &FunctionBody<'a>, plan: &Plan) -> Result<Vec<u8>, ModuleError> {
        let ty = self.layout.functions.get(position).copied();
        let params = ty
            .and_then(|ty| self.layout.function_type(ty))
            .map(|ty| ty.params().len() as u32)
            .ok_or_else(|| ModuleError::malformed("function without a function type", body.range().start))?;
        let new = emit::Emitter::new(self, plan, body).function(params)?;
        if new.len() > MAX_FUNCTION_BYTES {
            return Err(ModuleError::TooLarge { what: "bytes in one function", limit: MAX_FUNCTION_BYTES });
        }
        Ok(new)
    }

    /// Takes `entries` from what the module may grow by.
    fn grow(&mut self, entries: usize) -> Result<(), ModuleError> {
        self.growth = self.growth.checked_sub(entries).ok_or(ModuleError::TooLarge {
            what: "exception handlers reached by delegate, or values passed to handlers",
            limit: self.layout.bytes.len(),
        })?;
        Ok(())
    }
}
