//! `ffi_cif` and `ffi_type` in guest memory.

use serde::{Deserialize, Serialize};
use wasmtime::ValType;

use super::{MAX_ARGUMENTS, fault};
use brumate_abi::memory::GuestMemory;

/// A type after single-member structs have been unwrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
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

impl Kind {
    /// Reads an `ffi_type` {size u32, align u16, type u16, elements**}.
    pub(super) fn read(memory: &GuestMemory<'_>, mut address: u32) -> wasmtime::Result<Kind> {
        for _ in 0..MAX_UNWRAP {
            let size = memory.read_u32(address)?;
            let align = u32::from(memory.read_u16(address.wrapping_add(4))?);
            let kind = memory.read_u16(address.wrapping_add(6))?;
            return Ok(match kind {
                0 => Kind::Void,
                1 | 9 | 10 | 14 => Kind::Word,
                2 => Kind::Float,
                3 => Kind::Double,
                4 => Kind::LongDouble,
                5 => Kind::U8,
                6 => Kind::S8,
                7 => Kind::U16,
                8 => Kind::S16,
                11 | 12 => Kind::Long,
                13 => {
                    let elements = memory.read_u32(address.wrapping_add(8))?;
                    let first = memory.read_u32(elements)?;
                    if first == 0 {
                        return Ok(Kind::Void);
                    }
                    if memory.read_u32(elements.wrapping_add(4))? == 0 {
                        address = first;
                        continue;
                    }
                    Kind::Struct { size, align: align.clamp(1, 16).next_power_of_two() }
                }
                15 => return Err(fault("complex types are not supported")),
                _ => return Err(fault("unknown type")),
            });
        }
        Err(fault("structs are nested too deeply"))
    }

    /// Returned through a hidden first pointer.
    pub(super) fn by_pointer(self) -> bool {
        matches!(self, Kind::LongDouble | Kind::Struct { .. })
    }

    /// Wasm types of a fixed parameter.
    pub(super) fn parameter(self) -> &'static [ValType] {
        match self {
            Kind::Void => &[],
            Kind::Float => &[ValType::F32],
            Kind::Double => &[ValType::F64],
            Kind::Long => &[ValType::I64],
            Kind::LongDouble => &[ValType::I64, ValType::I64],
            Kind::U8 | Kind::S8 | Kind::U16 | Kind::S16 | Kind::Word | Kind::Struct { .. } => &[ValType::I32],
        }
    }

    /// Size and alignment of an argument in the variable part, after C's integer promotions.
    pub(super) fn layout(self) -> (u32, u32) {
        match self {
            Kind::Void => (0, 1),
            Kind::U8 | Kind::S8 | Kind::U16 | Kind::S16 | Kind::Float | Kind::Word => (4, 4),
            Kind::Double | Kind::Long => (8, 8),
            Kind::LongDouble => (16, 8),
            Kind::Struct { size, align } => (size, align),
        }
    }
}

/// A decoded call interface.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Interface {
    pub(super) arguments: Vec<Kind>,
    pub(super) result: Kind,
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
            .map(|index| Kind::read(memory, memory.read_u32(types.wrapping_add(index * 4))?))
            .collect::<wasmtime::Result<Vec<Kind>>>()?;
        Ok(Interface { arguments, result: Kind::read(memory, result)?, fixed: fixed as usize })
    }

    /// Whether there are arguments after the `...`.
    pub(super) fn variadic(&self) -> bool {
        self.fixed < self.arguments.len()
    }
}
