//! Small files that are much work for a compiler: side modules as a hostile guest would write them.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, CustomSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, MemorySection, MemoryType, Module, RefType, TableSection, TableType,
    TypeSection, ValType,
};

/// A kind of bomb.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bomb {
    pub(crate) name: &'static str,
    /// Makes one with so much of what it is about.
    pub(crate) make: fn(u32) -> Vec<u8>,
    /// The largest dose that passes the gate, about.
    pub(crate) largest: u32,
    /// How the gate names what there is too much of beyond that.
    pub(crate) bound: &'static str,
}

/// Every kind.
pub(crate) const BOMBS: [Bomb; 12] = [
    Bomb { name: "deep blocks", make: deep_blocks, largest: 500, bound: "blocks inside each other" },
    Bomb { name: "blocks in a row", make: blocks_in_a_row, largest: 10_000, bound: "blocks in a function" },
    Bomb { name: "many locals", make: many_locals, largest: 2000, bound: "locals in a function" },
    Bomb { name: "locals in loops", make: locals_in_loops, largest: 999, bound: "locals times blocks in a function" },
    Bomb { name: "jump tables", make: jump_tables, largest: 10_000, bound: "targets of jump tables in a function" },
    Bomb { name: "a huge function", make: huge_function, largest: 37_000, bound: "bytes in a function" },
    Bomb { name: "many live values", make: live_values, largest: 60_000, bound: "bytes in a function" },
    Bomb { name: "many functions", make: many_functions, largest: 20_000, bound: "functions" },
    Bomb { name: "many types", make: many_types, largest: 2000, bound: "types" },
    Bomb { name: "many imports", make: many_imports, largest: 10_000, bound: "imports" },
    Bomb { name: "many globals", make: many_globals, largest: 5000, bound: "globals" },
    Bomb { name: "many exports", make: many_exports, largest: 20_000, bound: "exports" },
];

const I32: ValType = ValType::I32;

/// The section that makes a module a side module: no static data, no slots of the table.
fn dylink() -> CustomSection<'static> {
    const MEMORY: [u8; 6] = [1, 4, 0, 0, 0, 0];
    CustomSection { name: "dylink.0".into(), data: MEMORY[..].into() }
}

/// A side module of one type, `() -> i32`, with these functions.
fn with_functions<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], [I32]);
    let (mut declared, mut code) = (FunctionSection::new(), CodeSection::new());
    for function in functions {
        declared.function(0);
        code.function(function);
    }
    let mut exports = ExportSection::new();
    exports.export("run", ExportKind::Func, 0);
    let mut module = Module::new();
    module.section(&dylink()).section(&types).section(&declared).section(&exports).section(&code);
    module.finish()
}

/// A function that leaves 0 behind what `write` writes.
fn function(locals: u32, write: impl FnOnce(&mut wasm_encoder::InstructionSink<'_>)) -> Function {
    let mut function = Function::new([(locals, I32)]);
    write(&mut function.instructions());
    function.instructions().i32_const(0).end();
    function
}

fn deep_blocks(depth: u32) -> Vec<u8> {
    with_functions([&function(1, |body| {
        for _ in 0..depth {
            body.block(BlockType::Empty);
        }
        for _ in 0..depth {
            body.local_get(0).br_if(0).end();
        }
    })])
}

fn blocks_in_a_row(count: u32) -> Vec<u8> {
    with_functions([&function(1, |body| {
        for _ in 0..count {
            body.local_get(0).if_(BlockType::Empty).end();
        }
    })])
}

/// Each local changes on one of two ways to where both are used.
fn many_locals(count: u32) -> Vec<u8> {
    with_functions([&function(count, |body| {
        for local in 0..count {
            body.i32_const(local as i32).local_set(local);
        }
        for _ in 0..(20_000 / count.max(1)).clamp(1, 16) {
            body.local_get(0).if_(BlockType::Empty);
            for local in 0..count {
                body.local_get(local).i32_const(1).i32_add().local_set(local);
            }
            body.end();
        }
    })])
}

/// Twice as many loops as locals: each local is a parameter of each loop.
fn locals_in_loops(count: u32) -> Vec<u8> {
    with_functions([&function(count, |body| {
        for local in (0..count).chain(0..count) {
            body.loop_(BlockType::Empty).local_get(local).i32_const(1).i32_add().local_tee(local).br_if(0).end();
        }
        for local in 0..count {
            body.local_get(local).drop();
        }
    })])
}

fn jump_tables(targets: u32) -> Vec<u8> {
    with_functions([&function(1, |body| {
        const DEPTH: u32 = 500;
        for _ in 0..DEPTH {
            body.block(BlockType::Empty);
        }
        let table: Vec<u32> = (0..targets).map(|target| target % DEPTH).collect();
        body.local_get(0).br_table(table, 0);
        for _ in 0..DEPTH {
            body.end();
        }
    })])
}

fn huge_function(operations: u32) -> Vec<u8> {
    with_functions([&function(2, |body| {
        for _ in 0..operations {
            body.local_get(0).local_get(1).i32_mul().local_set(0);
        }
    })])
}

/// All values are on the stack before the first is used.
fn live_values(count: u32) -> Vec<u8> {
    with_functions([&function(1, |body| {
        body.local_get(0);
        for _ in 0..count {
            body.local_get(0).i32_clz();
        }
        for _ in 0..count {
            body.i32_add();
        }
        body.drop();
    })])
}

fn many_functions(count: u32) -> Vec<u8> {
    let small = function(0, |_| {});
    with_functions((0..count).map(|_| &small))
}

/// A side module without functions.
fn with(fill: impl FnOnce(&mut Module)) -> Vec<u8> {
    let mut module = Module::new();
    module.section(&dylink());
    fill(&mut module);
    module.finish()
}

fn many_types(count: u32) -> Vec<u8> {
    with(|module| {
        let mut types = TypeSection::new();
        let kinds = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
        for number in 0..count {
            let parameters: Vec<ValType> = (0..8).map(|digit| kinds[(number >> (2 * digit)) as usize % 4]).collect();
            types.ty().function(parameters, []);
        }
        module.section(&types);
    })
}

fn many_imports(count: u32) -> Vec<u8> {
    with(|module| {
        let mut types = TypeSection::new();
        types.ty().function([], [I32]);
        let mut imports = ImportSection::new();
        for number in 0..count {
            imports.import("env", &format!("nobody_has_{number}"), EntityType::Function(0));
        }
        module.section(&types).section(&imports);
    })
}

fn many_globals(count: u32) -> Vec<u8> {
    with(|module| {
        let mut globals = GlobalSection::new();
        let ty = GlobalType { val_type: I32, mutable: true, shared: false };
        for _ in 0..count {
            globals.global(ty, &ConstExpr::i32_const(0));
        }
        module.section(&globals);
    })
}

fn many_exports(count: u32) -> Vec<u8> {
    with(|module| {
        let mut globals = GlobalSection::new();
        globals.global(GlobalType { val_type: I32, mutable: false, shared: false }, &ConstExpr::i32_const(0));
        let mut exports = ExportSection::new();
        for number in 0..count {
            exports.export(&format!("name_{number}"), ExportKind::Global, 0);
        }
        module.section(&globals).section(&exports);
    })
}

/// A side module with a memory of so many pages, all of them touched when `touch` is called.
pub(crate) fn own_memory(pages: u64) -> Vec<u8> {
    with(|module| {
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: pages,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut types = TypeSection::new();
        types.ty().function([], [I32]);
        let mut declared = FunctionSection::new();
        declared.function(0);
        let mut exports = ExportSection::new();
        exports.export("touch", ExportKind::Func, 0);
        let mut code = CodeSection::new();
        code.function(&function(0, |body| {
            body.i32_const(0).i32_const(1).i32_const((pages << 16) as i32).memory_fill(0);
        }));
        module.section(&types).section(&declared).section(&memories).section(&exports).section(&code);
    })
}

/// A side module with a table of so many slots.
pub(crate) fn own_table(slots: u64) -> Vec<u8> {
    with(|module| {
        let mut tables = TableSection::new();
        let element_type = RefType::FUNCREF;
        tables.table(TableType { element_type, table64: false, minimum: slots, maximum: None, shared: false });
        module.section(&tables);
    })
}
