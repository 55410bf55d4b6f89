//! Types of the handler blocks.

use std::collections::HashMap;

use wasm_encoder::reencode::{Error as ReencodeError, Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Encode, ValType};

use crate::ModuleError;
use crate::layout::Layout;

/// Limit on parameters and on results of a function type (WebAssembly JavaScript interface, implementation limits).
const MAX_VALUES: usize = 1000;
/// Limit on the number of types (same source).
const MAX_TYPES: usize = 1_000_000;
/// First byte of a function type.
const FUNCTION_TYPE: u8 = 0x60;

/// What a handler's type follows from: the function type that gives the `try` its parameters, the type of the tag, and whether
/// the exception is passed too. A type without parameters counts as none.
type Key = (Option<u32>, Option<u32>, bool);

/// The function types that handler blocks need in addition to the module's own.
pub(crate) struct HandlerTypes {
    entries: Vec<u8>,
    first: usize,
    known: HashMap<Key, u32>,
}

impl HandlerTypes {
    /// `first` is the number of types in the module.
    pub(super) fn new(first: usize) -> Self {
        HandlerTypes { entries: Vec::new(), first, known: HashMap::new() }
    }

    /// How many types were added.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    /// The added types as entries of a type section.
    pub(crate) fn entries(&self) -> &[u8] {
        &self.entries
    }

    /// The type of the block whose end is the handler for `tag` (`None`: every exception) in a `try` of type `try_type`:
    /// from the parameters of the `try` to the values of the tag, followed by the exception if `keep` is set.
    ///
    /// Also returns the number of values in the type if it is a new one.
    pub(super) fn handler(
        &mut self,
        layout: &Layout<'_>,
        try_type: wasmparser::BlockType,
        tag: Option<u32>,
        keep: bool,
    ) -> Result<(BlockType, usize), ModuleError> {
        let outer = match try_type {
            wasmparser::BlockType::FuncType(ty) => Some(ty),
            _ => None,
        };
        let (outer, params) = parameters(layout, outer)?;
        let tag = tag.and_then(|tag| layout.tags.get(tag as usize)).copied();
        let (tag, values) = parameters(layout, tag)?;
        match (params, values, keep) {
            ([], [], false) => return Ok((BlockType::Empty, 0)),
            ([], [], true) => return Ok((BlockType::Result(ValType::EXNREF), 0)),
            ([], [value], false) => return Ok((BlockType::Result(value_type(*value)?), 0)),
            _ => {}
        }
        let key = (outer, tag, keep);
        if let Some(index) = self.known.get(&key) {
            return Ok((BlockType::FunctionType(*index), 0));
        }
        let index = self.first + self.known.len();
        let results = values.len() + usize::from(keep);
        if results > MAX_VALUES {
            return Err(ModuleError::TooLarge { what: "values passed to an exception handler", limit: MAX_VALUES });
        }
        if index >= MAX_TYPES {
            return Err(ModuleError::TooLarge { what: "types", limit: MAX_TYPES });
        }
        self.entries.push(FUNCTION_TYPE);
        params.len().encode(&mut self.entries);
        for param in params {
            value_type(*param)?.encode(&mut self.entries);
        }
        results.encode(&mut self.entries);
        for value in values {
            value_type(*value)?.encode(&mut self.entries);
        }
        if keep {
            ValType::EXNREF.encode(&mut self.entries);
        }
        self.known.insert(key, index as u32);
        Ok((BlockType::FunctionType(index as u32), params.len() + results))
    }
}

/// The parameters of the function type at `index`, and the index again unless there are none.
fn parameters<'l>(
    layout: &'l Layout<'_>,
    index: Option<u32>,
) -> Result<(Option<u32>, &'l [wasmparser::ValType]), ModuleError> {
    let Some(index) = index else {
        return Ok((None, &[]));
    };
    let ty = layout
        .function_type(index)
        .ok_or_else(|| ModuleError::malformed(format!("type {index} is not a function type"), 0))?;
    let index = if ty.params().is_empty() { None } else { Some(index) };
    Ok((index, ty.params()))
}

fn value_type(ty: wasmparser::ValType) -> Result<ValType, ModuleError> {
    RoundtripReencoder.val_type(ty).map_err(|error: ReencodeError| ModuleError::malformed(error.to_string(), 0))
}
