//! Calling a C function from Python.

use wasmtime::{Func, Ref, StoreContextMut, Val, ValType};

use super::fault;
use super::types::{CType, Interface};
use crate::host::{Host, guest, split_store};
use crate::threads;
use brumate_abi::memory::GuestMemory;

/// Alignment of a list of variable arguments, in bytes: no type needs more.
const LIST_ALIGN: u32 = 16;

/// The guest's C stack while arguments are laid out on it.
pub(super) struct Stack {
    pub(super) pointer: u32,
}

impl Stack {
    /// Reserves `size` bytes below.
    pub(super) fn push(&mut self, size: u32, align: u32) -> wasmtime::Result<u32> {
        let pointer = self.pointer.checked_sub(size).ok_or_else(|| fault("the stack is full"))?;
        self.pointer = pointer & !(align - 1);
        Ok(self.pointer)
    }
}

/// `ffi_call_js(cif, fn, rvalue, avalue**)`.
pub(super) async fn ffi_call(
    store: &mut StoreContextMut<'_, Host>,
    cif: u32,
    function: u32,
    result: u32,
    values: u32,
) -> wasmtime::Result<()> {
    let handles = guest(store)?;
    let saved = handles.stack_pointer.get(&mut *store).i32().unwrap_or(0);
    let mut stack = Stack { pointer: saved as u32 };
    let (interface, arguments) = {
        let (mut memory, _) = split_store(store);
        let interface = Interface::read(&memory, cif)?;
        let arguments = arguments(&mut memory, &interface, &mut stack, result, values)?;
        (interface, arguments)
    };
    let Some(Ref::Func(Some(func))) = handles.table.get(&mut *store, u64::from(function)) else {
        return Err(fault("the address is not a function"));
    };
    stack.push(0, 16)?;
    handles.stack_pointer.set(&mut *store, Val::I32(stack.pointer as i32))?;
    let returned = call_leniently(store, func, &arguments).await?;
    crate::signals::returned_from_c();
    handles.stack_pointer.set(&mut *store, Val::I32(saved))?;
    store_result(&mut split_store(store).0, interface.result, result, returned)
}

/// Lays the arguments out as the callee expects them.
fn arguments(
    memory: &mut GuestMemory<'_>,
    interface: &Interface,
    stack: &mut Stack,
    result: u32,
    values: u32,
) -> wasmtime::Result<Vec<Val>> {
    let mut arguments = Vec::with_capacity(interface.arguments.len() + 2);
    if interface.result.by_pointer() {
        arguments.push(Val::I32(result as i32));
    }
    let value_of = |memory: &GuestMemory<'_>, index: usize| memory.read_u32(values.wrapping_add(index as u32 * 4));
    for (index, kind) in interface.arguments[..interface.fixed].iter().enumerate() {
        let value = value_of(memory, index)?;
        match *kind {
            CType::Void => {}
            CType::Float => arguments.push(Val::F32(memory.read_u32(value)?)),
            CType::Double => arguments.push(Val::F64(memory.read_u64(value)?)),
            CType::Word => arguments.push(Val::I32(memory.read_i32(value)?)),
            CType::U8 => arguments.push(Val::I32(i32::from(memory.read_u8(value)?))),
            CType::S8 => arguments.push(Val::I32(i32::from(memory.read_u8(value)? as i8))),
            CType::U16 => arguments.push(Val::I32(i32::from(memory.read_u16(value)?))),
            CType::S16 => arguments.push(Val::I32(i32::from(memory.read_i16(value)?))),
            CType::Long => arguments.push(Val::I64(memory.read_i64(value)?)),
            CType::LongDouble => {
                arguments.push(Val::I64(memory.read_i64(value)?));
                arguments.push(Val::I64(memory.read_i64(value.wrapping_add(8))?));
            }
            CType::Struct { size, align } => {
                let copy = stack.push(size, align)?;
                copy_within(memory, value, copy, size)?;
                arguments.push(Val::I32(copy as i32));
            }
        }
    }
    if interface.variadic() {
        let rest = interface.arguments.iter().enumerate().skip(interface.fixed);
        let values =
            rest.map(|(index, kind)| Ok((*kind, value_of(memory, index)?))).collect::<wasmtime::Result<Vec<_>>>()?;
        arguments.push(Val::I32(variable_arguments(memory, stack, &values)? as i32));
    }
    Ok(arguments)
}

/// Makes the list that `va_arg` walks, out of types and addresses of values; returns its address.
///
/// `va_arg` goes from low addresses to high ones and aligns before each value, so the offsets are those of a C structure.
/// libffi's own port fills the list from its end and leaves a gap where an `int` follows a 64-bit value.
fn variable_arguments(
    memory: &mut GuestMemory<'_>,
    stack: &mut Stack,
    values: &[(CType, u32)],
) -> wasmtime::Result<u32> {
    let mut size = 0_u32;
    let mut slots = Vec::with_capacity(values.len());
    for &(kind, value) in values {
        let (bytes, align, value) = if let CType::Struct { size, align } = kind {
            // Passed by address; the copy lies above the list.
            let copy = stack.push(size, align)?;
            copy_within(memory, value, copy, size)?;
            (4, 4, copy)
        } else {
            let (bytes, align) = kind.layout();
            (bytes, align, value)
        };
        size = size.next_multiple_of(align);
        slots.push((kind, value, size));
        size += bytes;
    }
    let list = stack.push(size, LIST_ALIGN)?;
    for (kind, value, offset) in slots {
        let slot = list + offset;
        match kind {
            CType::U8 => memory.write_u32(slot, u32::from(memory.read_u8(value)?))?,
            CType::S8 => memory.write_i32(slot, i32::from(memory.read_u8(value)? as i8))?,
            CType::U16 => memory.write_u32(slot, u32::from(memory.read_u16(value)?))?,
            CType::S16 => memory.write_i32(slot, i32::from(memory.read_i16(value)?))?,
            CType::Struct { .. } => memory.write_u32(slot, value)?,
            _ => copy_within(memory, value, slot, kind.layout().0)?,
        }
    }
    Ok(list)
}

fn copy_within(memory: &mut GuestMemory<'_>, from: u32, to: u32, size: u32) -> wasmtime::Result<()> {
    let bytes = memory.slice(from, size)?.to_vec();
    memory.write(to, &bytes)?;
    Ok(())
}

/// Stores a result by its declared type. A callee that returns nothing gives zero.
fn store_result(memory: &mut GuestMemory<'_>, kind: CType, address: u32, value: Option<Val>) -> wasmtime::Result<()> {
    let integer = match value {
        Some(Val::I32(value)) => i64::from(value),
        Some(Val::I64(value)) => value,
        _ => 0,
    };
    match kind {
        CType::Void | CType::LongDouble | CType::Struct { .. } => {}
        CType::Float => memory.write_u32(address, if let Some(Val::F32(bits)) = value { bits } else { 0 })?,
        CType::Double => memory.write_u64(address, if let Some(Val::F64(bits)) = value { bits } else { 0 })?,
        CType::U8 | CType::S8 => memory.write_u8(address, integer as u8)?,
        CType::U16 | CType::S16 => memory.write_u16(address, integer as u16)?,
        CType::Word => memory.write_u32(address, integer as u32)?,
        CType::Long => memory.write_i64(address, integer)?,
    }
    Ok(())
}

/// Calls `func` with whatever arguments there are, as JavaScript would: missing ones are zero, extra ones are dropped.
///
/// # Errors
/// What the callee fails with.
pub(crate) async fn call_leniently(
    store: &mut StoreContextMut<'_, Host>,
    func: Func,
    arguments: &[Val],
) -> wasmtime::Result<Option<Val>> {
    let ty = func.ty(&*store);
    let mut given = arguments.iter();
    let mut adapted = Vec::with_capacity(ty.params().len());
    for parameter in ty.params() {
        adapted.push(adapt(given.next(), &parameter).ok_or_else(|| fault("the parameter has no C type"))?);
    }
    let mut results: Vec<Val> = ty.results().map(|_| Val::I32(0)).collect();
    threads::call(store, func, &adapted, &mut results).await?;
    Ok(results.into_iter().next())
}

fn adapt(value: Option<&Val>, ty: &ValType) -> Option<Val> {
    Some(match (ty, value) {
        (ValType::I32, Some(Val::I32(value))) => Val::I32(*value),
        (ValType::I32, Some(Val::I64(value))) => Val::I32(*value as i32),
        (ValType::I32, _) => Val::I32(0),
        (ValType::I64, Some(Val::I64(value))) => Val::I64(*value),
        (ValType::I64, Some(Val::I32(value))) => Val::I64(i64::from(*value)),
        (ValType::I64, _) => Val::I64(0),
        (ValType::F32, Some(Val::F32(value))) => Val::F32(*value),
        (ValType::F32, Some(Val::F64(value))) => Val::F32((f64::from_bits(*value) as f32).to_bits()),
        (ValType::F32, _) => Val::F32(0),
        (ValType::F64, Some(Val::F64(value))) => Val::F64(*value),
        (ValType::F64, Some(Val::F32(value))) => Val::F64(f64::from(f32::from_bits(*value)).to_bits()),
        (ValType::F64, _) => Val::F64(0),
        _ => return None,
    })
}

/// `_PyEM_TrampolineCall_JS`: only reached before the trampoline inside wasm is installed.
pub(super) async fn trampoline(
    store: &mut StoreContextMut<'_, Host>,
    function: u32,
    this: i32,
    arguments: i32,
    keywords: i32,
) -> wasmtime::Result<i32> {
    let table = guest(store)?.table;
    let Some(Ref::Func(Some(func))) = table.get(&mut *store, u64::from(function)) else {
        return Err(fault("the address is not a function"));
    };
    let values = [Val::I32(this), Val::I32(arguments), Val::I32(keywords)];
    let result = call_leniently(store, func, &values).await?;
    Ok(result.and_then(|value| value.i32()).unwrap_or(0))
}

/// Reads the result a closure has left in its return slot.
pub(super) fn load_result(
    store: &mut StoreContextMut<'_, Host>,
    kind: CType,
    slot: u32,
) -> wasmtime::Result<Option<Val>> {
    let memory = split_store(store).0;
    Ok(match kind {
        CType::Void | CType::LongDouble | CType::Struct { .. } => None,
        CType::Float => Some(Val::F32(memory.read_u32(slot)?)),
        CType::Double => Some(Val::F64(memory.read_u64(slot)?)),
        CType::U8 => Some(Val::I32(i32::from(memory.read_u8(slot)?))),
        CType::S8 => Some(Val::I32(i32::from(memory.read_u8(slot)? as i8))),
        CType::U16 => Some(Val::I32(i32::from(memory.read_u16(slot)?))),
        CType::S16 => Some(Val::I32(i32::from(memory.read_i16(slot)?))),
        CType::Word => Some(Val::I32(memory.read_i32(slot)?)),
        CType::Long => Some(Val::I64(memory.read_i64(slot)?)),
    })
}
