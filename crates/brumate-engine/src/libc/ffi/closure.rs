//! Closures: C function pointers that call Python.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wasmtime::{AsContextMut, Func, FuncType, Ref, StoreContextMut, Val, ValType};

use super::call::{Stack, call_leniently, load_result};
use super::types::{CType, Interface};
use super::{MAX_CLOSURES, fault};
use crate::host::{Host, guest, split_store};
use crate::threads;

/// Smallest closure block: slot, cif, function, user data.
const CLOSURE_SIZE: u32 = 16;

/// Host functions made for closures in one machine's life; a store never gives one back.
const MAX_FUNCTIONS: usize = 1 << 18;

/// `FFI_BAD_ABI`: the closure cannot be made.
const FFI_BAD_ABI: i32 = 2;

/// Wasm type of a closure: letters of its parameters and of its result.
type Signature = (u32, String);

/// Table slots of closures.
#[derive(Default)]
pub(crate) struct Closures {
    /// Slots that may be used again.
    free: Vec<u32>,
    /// Slots in use.
    reserved: HashSet<u32>,
    /// What the closure in a slot calls.
    prepared: HashMap<u32, Arc<Prepared>>,
    /// Changes of the above so far.
    changes: u64,
}

/// Host functions of closures in one store.
#[derive(Default)]
pub(crate) struct ClosureFunctions {
    /// By slot and type: made once, used again for every later closure of that kind in the slot.
    functions: HashMap<Signature, Func>,
    /// The [`Closures::changes`] that the table of a thread's store shows.
    followed: u64,
}

/// A prepared closure.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Prepared {
    interface: Interface,
    cif: u32,
    function: u32,
    user_data: u32,
}

/// `ffi_closure_alloc_js(size, code**) -> closure*`; 0 when there is no memory or no slot.
pub(super) async fn allocate(store: &mut StoreContextMut<'_, Host>, size: u32, code: u32) -> wasmtime::Result<u32> {
    threads::on_main(store, move |store| allocate_on_main(store, size, code)).await
}

fn allocate_on_main(store: &mut StoreContextMut<'_, Host>, size: u32, code: u32) -> wasmtime::Result<u32> {
    if store.data().closures.reserved.len() >= MAX_CLOSURES {
        return Ok(0);
    }
    let handles = guest(store)?;
    let slot = match store.data_mut().closures.free.pop() {
        Some(slot) => slot,
        None => match handles.table.grow(&mut *store, 1, Ref::Func(None)) {
            Ok(slot) => slot as u32,
            Err(_) => return Ok(0),
        },
    };
    let closure = handles.malloc.call(&mut *store, size.max(CLOSURE_SIZE))?;
    if closure == 0 {
        store.data_mut().closures.free.push(slot);
        return Ok(0);
    }
    let (mut memory, host) = split_store(store);
    host.closures.reserved.insert(slot);
    host.closures.changes += 1;
    memory.write_u32(code, slot)?;
    memory.write_u32(closure, slot)?;
    Ok(closure)
}

/// `ffi_closure_free_js(closure*)`.
pub(super) async fn free(store: &mut StoreContextMut<'_, Host>, closure: u32) -> wasmtime::Result<()> {
    threads::on_main(store, move |store| free_on_main(store, closure).map(|()| 0)).await.map(drop)
}

fn free_on_main(store: &mut StoreContextMut<'_, Host>, closure: u32) -> wasmtime::Result<()> {
    let handles = guest(store)?;
    let slot = split_store(store).0.read_u32(closure)?;
    // The guest may have overwritten the block. A slot that is no closure's is not changed.
    if store.data().closures.reserved.contains(&slot) {
        handles.table.set(&mut *store, u64::from(slot), Ref::Func(None))?;
        let closures = &mut store.data_mut().closures;
        closures.reserved.remove(&slot);
        closures.prepared.remove(&slot);
        closures.free.push(slot);
        closures.changes += 1;
    }
    handles.free.call(&mut *store, closure)
}

/// `ffi_prep_closure_loc_js(closure*, cif*, fun, user_data, code) -> status`.
pub(super) async fn prepare(
    store: &mut StoreContextMut<'_, Host>,
    closure: u32,
    cif: u32,
    function: u32,
    user_data: u32,
    code: u32,
) -> wasmtime::Result<i32> {
    if !store.data().closures.reserved.contains(&code) {
        return Ok(FFI_BAD_ABI);
    }
    let interface = {
        let (mut memory, _) = split_store(store);
        memory.write_u32(closure.wrapping_add(4), cif)?;
        memory.write_u32(closure.wrapping_add(8), function)?;
        memory.write_u32(closure.wrapping_add(12), user_data)?;
        Interface::read(&memory, cif)?
    };
    let prepared = Prepared { interface, cif, function, user_data };
    let done = threads::on_main(store, move |store| install(store, code, prepared).map(u32::from)).await?;
    Ok(if done == 1 { 0 } else { FFI_BAD_ABI })
}

/// Puts a host function that enters `prepared` into the slot `code`; false when there are too many.
fn install(store: &mut StoreContextMut<'_, Host>, code: u32, prepared: Prepared) -> wasmtime::Result<bool> {
    let Some(func) = function(store, code, &prepared.interface) else { return Ok(false) };
    let host = store.data_mut();
    host.closures.prepared.insert(code, Arc::new(prepared));
    host.closures.changes += 1;
    let table = guest(store)?.table;
    table.set(&mut *store, u64::from(code), Ref::Func(Some(func)))?;
    Ok(true)
}

/// Puts the closures that the main thread has prepared into the slots of a thread's store.
///
/// # Errors
/// Never for slots of the main thread's table.
pub(crate) fn follow(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
    let host = store.data();
    if host.store.closures.followed == host.closures.changes {
        return Ok(());
    }
    let prepared: Vec<(u32, Arc<Prepared>)> =
        host.closures.prepared.iter().map(|(slot, prepared)| (*slot, prepared.clone())).collect();
    let table = guest(store)?.table;
    for (slot, prepared) in prepared {
        let func = function(store, slot, &prepared.interface);
        let func = func.ok_or_else(|| fault("there are too many functions of closures"))?;
        table.set(&mut *store, u64::from(slot), Ref::Func(Some(func)))?;
    }
    let host = store.data_mut();
    host.store.closures.followed = host.closures.changes;
    Ok(())
}

/// Returns the host function of a closure; `None` when the store has too many.
fn function(store: &mut StoreContextMut<'_, Host>, code: u32, interface: &Interface) -> Option<Func> {
    let mut parameters = Vec::new();
    if interface.result.by_pointer() {
        parameters.push(ValType::I32);
    }
    for kind in &interface.arguments[..interface.fixed] {
        parameters.extend_from_slice(kind.parameter());
    }
    if interface.variadic() {
        parameters.push(ValType::I32);
    }
    let results: &[ValType] = if interface.result.by_pointer() { &[] } else { interface.result.parameter() };
    let signature = (code, parameters.iter().chain([&ValType::FUNCREF]).chain(results).map(letter).collect());
    let functions = &store.data().store.closures.functions;
    if let Some(func) = functions.get(&signature) {
        return Some(*func);
    }
    if functions.len() >= MAX_FUNCTIONS {
        return None;
    }
    let ty = FuncType::new(store.engine(), parameters, results.iter().cloned());
    let func = match store.data().store.thread {
        None => Func::new(&mut *store, ty, move |mut caller, parameters, results| {
            threads::ready(run(&mut caller.as_context_mut(), code, parameters, results))
        }),
        Some(_) => Func::new_async(&mut *store, ty, move |mut caller, parameters, results| {
            Box::new(async move { run(&mut caller.as_context_mut(), code, parameters, results).await })
        }),
    };
    store.data_mut().store.closures.functions.insert(signature, func);
    Some(func)
}

/// Runs the closure that is in the slot `code` now.
async fn run(
    store: &mut StoreContextMut<'_, Host>,
    code: u32,
    parameters: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let prepared = store.data().closures.prepared.get(&code).cloned();
    let prepared = prepared.ok_or_else(|| fault("a closure was called after it was freed"))?;
    let returned = enter(store, &prepared, parameters).await?;
    if let (Some(slot), Some(value)) = (results.first_mut(), returned) {
        *slot = value;
    }
    Ok(())
}

/// Slots of closures, as an image keeps them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClosuresRecord {
    free: Vec<u32>,
    reserved: Vec<u32>,
    prepared: Vec<(u32, Prepared)>,
}

impl Closures {
    /// Whether a slot is one of theirs.
    pub(crate) fn holds(&self, slot: u32) -> bool {
        self.reserved.contains(&slot)
    }

    /// How often they have changed in this process.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// What an image keeps of them.
    pub(crate) fn record(&self) -> ClosuresRecord {
        let mut reserved: Vec<u32> = self.reserved.iter().copied().collect();
        reserved.sort_unstable();
        let prepared = reserved.iter().filter_map(|slot| Some((*slot, Prepared::clone(self.prepared.get(slot)?))));
        ClosuresRecord { free: self.free.clone(), prepared: prepared.collect(), reserved }
    }
}

/// Empties the slots of all closures.
///
/// # Errors
/// Never for slots that were allocated.
pub(crate) fn clear(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
    let table = guest(store)?.table;
    for slot in std::mem::take(&mut store.data_mut().closures.reserved) {
        table.set(&mut *store, u64::from(slot), Ref::Func(None))?;
    }
    store.data_mut().closures.prepared.clear();
    store.data_mut().closures.free.clear();
    Ok(())
}

/// Makes the recorded closures again. None may exist.
///
/// # Errors
/// When the record does not fit the table.
pub(crate) fn restore(store: &mut StoreContextMut<'_, Host>, record: &ClosuresRecord) -> wasmtime::Result<()> {
    let size = guest(store)?.table.size(&*store);
    let outside = |slot: &u32| u64::from(*slot) >= size;
    let unknown = record.prepared.iter().any(|(slot, _)| record.reserved.binary_search(slot).is_err());
    if record.reserved.len() > MAX_CLOSURES || record.reserved.iter().chain(&record.free).any(outside) || unknown {
        return Err(fault("the image's closures do not fit"));
    }
    store.data_mut().closures.reserved = record.reserved.iter().copied().collect();
    store.data_mut().closures.free.clone_from(&record.free);
    for (slot, prepared) in &record.prepared {
        let fixed = prepared.interface.fixed;
        if fixed > prepared.interface.arguments.len() || !install(store, *slot, prepared.clone())? {
            return Err(fault("the image's closures do not fit"));
        }
    }
    Ok(())
}

/// A letter for a type, in a signature's key.
fn letter(ty: &ValType) -> char {
    match ty {
        ValType::I32 => 'i',
        ValType::I64 => 'I',
        ValType::F32 => 'f',
        ValType::F64 => 'F',
        _ => '|',
    }
}

/// Spills the parameters to the C stack and calls `function(cif, result*, arguments**, user_data)`.
async fn enter(
    store: &mut StoreContextMut<'_, Host>,
    prepared: &Prepared,
    parameters: &[Val],
) -> wasmtime::Result<Option<Val>> {
    let Prepared { interface, cif, function, user_data } = prepared;
    let handles = guest(store)?;
    let saved = handles.stack_pointer.get(&mut *store).i32().unwrap_or(0);
    let mut stack = Stack { pointer: saved as u32 };
    let mut given = parameters.iter();
    let mut next = || given.next().ok_or_else(|| fault("a parameter is missing"));

    let (result, list) = {
        let (mut memory, _) = split_store(store);
        let result = if interface.result.by_pointer() {
            next()?.i32().unwrap_or(0) as u32
        } else {
            // Initialized, so that a callback that raises returns zero and not stack garbage.
            let slot = stack.push(8, 8)?;
            memory.write_u64(slot, 0)?;
            slot
        };
        let list = stack.push(interface.arguments.len() as u32 * 4, 4)?;
        for (index, kind) in interface.arguments[..interface.fixed].iter().enumerate() {
            let address = if let CType::Struct { .. } = kind {
                next()?.i32().unwrap_or(0) as u32
            } else {
                let slot = stack.push(16, 8)?;
                for (part, _) in kind.parameter().iter().enumerate() {
                    let address = slot + part as u32 * 8;
                    match next()? {
                        Val::I32(value) => memory.write_u32(address, *value as u32)?,
                        Val::I64(value) => memory.write_u64(address, *value as u64)?,
                        Val::F32(bits) => memory.write_u32(address, *bits)?,
                        Val::F64(bits) => memory.write_u64(address, *bits)?,
                        _ => return Err(fault("a parameter has no C type")),
                    }
                }
                slot
            };
            memory.write_u32(list + index as u32 * 4, address)?;
        }
        if interface.variadic() {
            let mut cursor = next()?.i32().unwrap_or(0) as u32;
            for (index, kind) in interface.arguments.iter().enumerate().skip(interface.fixed) {
                let address = if let CType::Struct { .. } = kind {
                    let address = memory.read_u32(cursor)?;
                    cursor = cursor.wrapping_add(4);
                    address
                } else {
                    let (size, align) = kind.layout();
                    cursor = cursor.wrapping_add(align - 1) & !(align - 1);
                    let address = cursor;
                    cursor = cursor.wrapping_add(size);
                    address
                };
                memory.write_u32(list + index as u32 * 4, address)?;
            }
        }
        (result, list)
    };

    stack.push(0, 16)?;
    handles.stack_pointer.set(&mut *store, Val::I32(stack.pointer as i32))?;
    let Some(Ref::Func(Some(func))) = handles.table.get(&mut *store, u64::from(*function)) else {
        return Err(fault("the closure's function is not one"));
    };
    let arguments = [*cif, result, list, *user_data].map(|value| Val::I32(value as i32));
    let callback = crate::signals::Callback::begin();
    call_leniently(store, func, &arguments).await?;
    callback.end();
    let returned = load_result(store, interface.result, result)?;
    handles.stack_pointer.set(&mut *store, Val::I32(saved))?;
    Ok(returned)
}
