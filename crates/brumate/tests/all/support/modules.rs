//! Small side modules, as a linker makes them: one that has something to share, and one that uses it.

use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, Encode, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, MemArg, MemoryType, Module, RefType, TableType, TypeSection, ValType,
};

/// `dylink.0`: static data, needed libraries, where they are looked for, and functions that may be missing.
fn dylink(memory_bytes: u32, needed: &[&str], runtime_path: &[&str], weak: &[&str]) -> Vec<u8> {
    let mut section = Vec::new();
    let mut part = |kind: u8, content: &[u8]| {
        section.push(kind);
        content.encode(&mut section);
    };
    let mut memory = Vec::new();
    for field in [memory_bytes, 2, 0, 0] {
        field.encode(&mut memory);
    }
    part(1, &memory);
    for (kind, names) in [(2, needed), (5, runtime_path)] {
        if !names.is_empty() {
            let mut list = Vec::new();
            (names.len() as u32).encode(&mut list);
            names.iter().for_each(|name| name.encode(&mut list));
            part(kind, &list);
        }
    }
    if !weak.is_empty() {
        let mut list = Vec::new();
        (weak.len() as u32).encode(&mut list);
        for name in weak {
            // `WASM_SYMBOL_BINDING_WEAK`, `WASM_SYMBOL_UNDEFINED`. Linkers name the function alone, also where its address is taken.
            "env".encode(&mut list);
            name.encode(&mut list);
            0x11_u32.encode(&mut list);
        }
        part(4, &list);
    }
    section
}

const I32: ValType = ValType::I32;
const WORD: MemArg = MemArg { offset: 0, align: 2, memory_index: 0 };

/// Types of all functions here: 0 `() -> i32`, 1 `(i32, i32) -> i32`.
fn types() -> TypeSection {
    let mut types = TypeSection::new();
    types.ty().function([], [I32]);
    types.ty().function([I32, I32], [I32]);
    types
}

fn memory() -> EntityType {
    let memory = MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
    EntityType::Memory(memory)
}

fn global(mutable: bool) -> GlobalType {
    GlobalType { val_type: I32, mutable, shared: false }
}

fn function(write: impl FnOnce(&mut wasm_encoder::InstructionSink<'_>)) -> Function {
    let mut function = Function::new([]);
    write(&mut function.instructions());
    function.instructions().end();
    function
}

/// Has `shared_total`, `shared_count()`, which adds one to it, and `shared_add(a, b)`.
pub(crate) fn sharing() -> Vec<u8> {
    let mut imports = ImportSection::new();
    imports.import("env", "memory", memory());
    imports.import("env", "__memory_base", EntityType::Global(global(false)));
    let mut functions = FunctionSection::new();
    functions.function(0).function(1);
    let mut globals = GlobalSection::new();
    globals.global(global(false), &ConstExpr::i32_const(0));
    let mut exports = ExportSection::new();
    exports.export("shared_total", ExportKind::Global, 1);
    exports.export("shared_count", ExportKind::Func, 0);
    exports.export("shared_add", ExportKind::Func, 1);
    let mut code = CodeSection::new();
    code.function(&function(|body| {
        body.global_get(0).global_get(0).i32_load(WORD).i32_const(1).i32_add().i32_store(WORD);
        body.global_get(0).i32_load(WORD);
    }));
    code.function(&function(|body| {
        body.local_get(0).local_get(1).i32_add();
    }));
    let mut module = Module::new();
    let section = dylink(4, &[], &[], &[]);
    module.section(&CustomSection { name: "dylink.0".into(), data: (&section).into() });
    module.section(&types()).section(&imports).section(&functions).section(&globals).section(&exports).section(&code);
    module.finish()
}

/// Uses what [`sharing`] has: `total()`, `count()`, `add(a, b)`, `add_by_pointer(a, b)`, `pointer()`.
pub(crate) fn using(needed: &[&str], runtime_path: &[&str]) -> Vec<u8> {
    let table = TableType { element_type: RefType::FUNCREF, table64: false, minimum: 0, maximum: None, shared: false };
    let mut imports = ImportSection::new();
    imports.import("env", "memory", memory());
    imports.import("env", "__indirect_function_table", EntityType::Table(table));
    imports.import("env", "shared_count", EntityType::Function(0));
    imports.import("env", "shared_add", EntityType::Function(1));
    imports.import("GOT.mem", "shared_total", EntityType::Global(global(true)));
    imports.import("GOT.func", "shared_add", EntityType::Global(global(true)));
    let own = ["total", "count", "add", "add_by_pointer", "pointer"];
    let mut functions = FunctionSection::new();
    functions.function(0).function(0).function(1).function(1).function(0);
    let mut exports = ExportSection::new();
    for (index, name) in (2..).zip(own) {
        exports.export(name, ExportKind::Func, index);
    }
    let mut code = CodeSection::new();
    code.function(&function(|body| {
        body.global_get(0).i32_load(WORD);
    }));
    code.function(&function(|body| {
        body.call(0);
    }));
    code.function(&function(|body| {
        body.local_get(0).local_get(1).call(1);
    }));
    code.function(&function(|body| {
        body.local_get(0).local_get(1).global_get(1).call_indirect(0, 1);
    }));
    code.function(&function(|body| {
        body.global_get(1);
    }));
    let mut module = Module::new();
    let section = dylink(0, needed, runtime_path, &[]);
    module.section(&CustomSection { name: "dylink.0".into(), data: (&section).into() });
    module.section(&types()).section(&imports).section(&functions).section(&exports).section(&code);
    module.finish()
}

/// Imports `name`, which takes two numbers and gives one, and its address: `address()`, `call(a, b)`.
pub(crate) fn asking(name: &str, weak: bool) -> Vec<u8> {
    let mut imports = ImportSection::new();
    imports.import("env", "memory", memory());
    imports.import("env", name, EntityType::Function(1));
    imports.import("GOT.func", name, EntityType::Global(global(true)));
    let mut functions = FunctionSection::new();
    functions.function(0).function(1);
    let mut exports = ExportSection::new();
    exports.export("address", ExportKind::Func, 1);
    exports.export("call", ExportKind::Func, 2);
    let mut code = CodeSection::new();
    code.function(&function(|body| {
        body.global_get(0);
    }));
    code.function(&function(|body| {
        body.local_get(0).local_get(1).call(0);
    }));
    let mut module = Module::new();
    let section = dylink(0, &[], &[], if weak { std::slice::from_ref(&name) } else { &[] });
    module.section(&CustomSection { name: "dylink.0".into(), data: (&section).into() });
    module.section(&types()).section(&imports).section(&functions).section(&exports).section(&code);
    module.finish()
}
