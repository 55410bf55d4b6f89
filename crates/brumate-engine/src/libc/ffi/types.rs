//! `ffi_cif` and `ffi_type` in guest memory.

use serde::{Deserialize, Serialize};
use wasmtime::ValType;

use super::{MAX_ARGUMENTS, fault};
use brumate_abi::memory::GuestMemory;

/// A type after single-member structs have been unwrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CType {
    Void,
    Float,
    Double,
    LongDouble,
    U8,
    S8,
    U16,
    S16,
    /// int, u32, s32, pointer.
    Word,
    /// u64, s64.
    Long,
    Struct {
        size: u32,
        align: u32,
    },
}

/// Nesting of single-member structs.
const MAX_UNWRAP: usize = 64;

impl CType {
    /// Reads an `ffi_type` {size u32, align u16, type u16, elements**}.
    pub(super) fn read(memory: &GuestMemory<'_>, mut address: u32) -> wasmtime::Result<CType> {
        for _ in 0..MAX_UNWRAP {
            let size = memory.read_u32(address)?;
            let align = u32::from(memory.read_u16(address.wrapping_add(4))?);
            let kind = memory.read_u16(address.wrapping_add(6))?;
            return Ok(match kind {
                0 => CType::Void,
                1 | 9 | 10 | 14 => CType::Word,
                2 => CType::Float,
                3 => CType::Double,
                4 => CType::LongDouble,
                5 => CType::U8,
                6 => CType::S8,
                7 => CType::U16,
                8 => CType::S16,
                11 | 12 => CType::Long,
                13 => {
                    let elements = memory.read_u32(address.wrapping_add(8))?;
                    let first = memory.read_u32(elements)?;
                    if first == 0 {
                        return Ok(CType::Void);
                    }
                    if memory.read_u32(elements.wrapping_add(4))? == 0 {
                        address = first;
                        continue;
                    }
                    CType::Struct { size, align: align.clamp(1, 16).next_power_of_two() }
                }
                15 => return Err(fault("complex types are not supported")),
                _ => return Err(fault("unknown type")),
            });
        }
        Err(fault("structs are nested too deeply"))
    }

    /// Returned through a hidden first pointer.
    pub(super) fn by_pointer(self) -> bool {
        matches!(self, CType::LongDouble | CType::Struct { .. })
    }

    /// Wasm types of a fixed parameter.
    pub(super) fn parameter(self) -> &'static [ValType] {
        match self {
            CType::Void => &[],
            CType::Float => &[ValType::F32],
            CType::Double => &[ValType::F64],
            CType::Long => &[ValType::I64],
            CType::LongDouble => &[ValType::I64, ValType::I64],
            CType::U8 | CType::S8 | CType::U16 | CType::S16 | CType::Word | CType::Struct { .. } => &[ValType::I32],
        }
    }

    /// Size and alignment of an argument in the variable part, after C's integer promotions.
    pub(super) fn layout(self) -> (u32, u32) {
        match self {
            CType::Void => (0, 1),
            CType::U8 | CType::S8 | CType::U16 | CType::S16 | CType::Float | CType::Word => (4, 4),
            CType::Double | CType::Long => (8, 8),
            CType::LongDouble => (16, 8),
            CType::Struct { size, align } => (size, align),
        }
    }
}

/// A decoded call interface.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Interface {
    pub(super) arguments: Vec<CType>,
    pub(super) result: CType,
    /// Arguments before the `...`.
    pub(super) fixed: usize,
}

impl Interface {
    /// Reads an `ffi_cif` {abi, nargs@4, arg_types**@8, rtype*@12, bytes, flags, nfixedargs@24}.
    pub(super) fn read(memory: &GuestMemory<'_>, cif: u32) -> wasmtime::Result<Interface> {
        let count = memory.read_u32(cif.wrapping_add(4))?;
        if count > MAX_ARGUMENTS {
            return Err(fault("too many arguments"));
        }
        let types = memory.read_u32(cif.wrapping_add(8))?;
        let result = memory.read_u32(cif.wrapping_add(12))?;
        let fixed = memory.read_u32(cif.wrapping_add(24))?.min(count);
        let arguments = (0..count)
            .map(|index| CType::read(memory, memory.read_u32(types.wrapping_add(index * 4))?))
            .collect::<wasmtime::Result<Vec<CType>>>()?;
        Ok(Interface { arguments, result: CType::read(memory, result)?, fixed: fixed as usize })
    }

    /// Whether there are arguments after the `...`.
    pub(super) fn variadic(&self) -> bool {
        self.fixed < self.arguments.len()
    }
}
