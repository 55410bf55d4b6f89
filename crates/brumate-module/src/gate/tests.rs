//! One module for each bound: what is at the bound passes, what is one beyond is refused by name.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, GlobalType, ImportSection, MemorySection, MemoryType, Module, RefType,
    TableSection, TableType, TagKind, TagSection, TagType, TypeSection, ValType,
};

use super::*;

/// Small bounds, each different, so that a mistaken one shows.
const SMALL: Counts = Counts {
    bytes: 4000,
    types: 3,
    arity: 4,
    imports: 5,
    functions: 6,
    globals: 7,
    exports: 8,
    tags: 9,
    data_segments: 10,
    element_segments: 11,
    elements: 12,
    function_bytes: 130,
    locals: 14,
    depth: 15,
    blocks: 16,
    targets: 17,
    merges: 180,
};

fn bytes(fill: impl FnOnce(&mut Module)) -> Vec<u8> {
    let mut module = Module::new();
    fill(&mut module);
    module.finish()
}

fn memory(memory64: bool, shared: bool) -> MemoryType {
    MemoryType { minimum: 1, maximum: Some(1), memory64, shared, page_size_log2: None }
}

fn table(table64: bool) -> TableType {
    TableType { element_type: RefType::FUNCREF, table64, minimum: 1, maximum: None, shared: false }
}

fn global() -> GlobalType {
    GlobalType { val_type: ValType::I32, mutable: false, shared: false }
}

/// A module with one function, which has no parameters.
fn body(locals: u32, write: impl FnOnce(&mut Function)) -> Vec<u8> {
    bytes(|module| {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut function = Function::new([(locals, ValType::I32)]);
        write(&mut function);
        function.instructions().end();
        let mut code = CodeSection::new();
        code.function(&function);
        module.section(&types).section(&functions).section(&code);
    })
}

fn nested(depth: u32) -> Vec<u8> {
    body(0, |function| {
        for _ in 0..depth {
            function.instructions().block(BlockType::Empty);
        }
        for _ in 0..depth {
            function.instructions().end();
        }
    })
}

fn in_a_row(blocks: u32, locals: u32) -> Vec<u8> {
    body(locals, |function| {
        for _ in 0..blocks {
            function.instructions().block(BlockType::Empty).end();
        }
    })
}

fn repeated(count: u32, mut one: impl FnMut(&mut Module, u32)) -> Vec<u8> {
    bytes(|module| one(module, count))
}

/// A module with `count` of what a bound is about.
type Make = fn(u32) -> Vec<u8>;

/// What each bound is about, as the error says it; the bound; a module with so many.
fn cases() -> Vec<(&'static str, u64, Make)> {
    vec![
        ("types", u64::from(SMALL.types), |count| {
            repeated(count, |module, count| {
                let mut types = TypeSection::new();
                for _ in 0..count {
                    types.ty().function([], []);
                }
                module.section(&types);
            })
        }),
        ("parameters or results of a function", u64::from(SMALL.arity), |count| {
            repeated(count, |module, count| {
                let mut types = TypeSection::new();
                types.ty().function(vec![ValType::I32; count as usize], []);
                module.section(&types);
            })
        }),
        ("imports", u64::from(SMALL.imports), |count| {
            repeated(count, |module, count| {
                let mut imports = ImportSection::new();
                for _ in 0..count {
                    imports.import("env", "g", EntityType::Global(global()));
                }
                module.section(&imports);
            })
        }),
        ("functions", u64::from(SMALL.functions), |count| {
            repeated(count, |module, count| {
                let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
                let mut empty = Function::new([]);
                empty.instructions().end();
                for _ in 0..count {
                    functions.function(0);
                    code.function(&empty);
                }
                module.section(&functions).section(&code);
            })
        }),
        ("globals", u64::from(SMALL.globals), |count| {
            repeated(count, |module, count| {
                let mut globals = GlobalSection::new();
                for _ in 0..count {
                    globals.global(global(), &ConstExpr::i32_const(0));
                }
                module.section(&globals);
            })
        }),
        ("exports", u64::from(SMALL.exports), |count| {
            repeated(count, |module, count| {
                let mut exports = ExportSection::new();
                for number in 0..count {
                    exports.export(&number.to_string(), ExportKind::Func, 0);
                }
                module.section(&exports);
            })
        }),
        ("tags", u64::from(SMALL.tags), |count| {
            repeated(count, |module, count| {
                let mut tags = TagSection::new();
                let tag = TagType { kind: TagKind::Exception, func_type_idx: 0 };
                for _ in 0..count {
                    tags.tag(tag);
                }
                module.section(&tags);
            })
        }),
        ("data segments", u64::from(SMALL.data_segments), |count| {
            repeated(count, |module, count| {
                let mut data = DataSection::new();
                for _ in 0..count {
                    data.passive([1]);
                }
                module.section(&data);
            })
        }),
        ("element segments", u64::from(SMALL.element_segments), |count| {
            repeated(count, |module, count| {
                let mut elements = ElementSection::new();
                for _ in 0..count {
                    elements.declared(Elements::Functions((&[]).into()));
                }
                module.section(&elements);
            })
        }),
        ("table elements", SMALL.elements, |count| {
            repeated(count, |module, count| {
                let mut elements = ElementSection::new();
                let half = vec![0; count as usize / 2];
                let rest = vec![0; count as usize - half.len()];
                elements.declared(Elements::Functions((&half).into()));
                elements.active(None, &ConstExpr::i32_const(0), Elements::Functions((&rest).into()));
                module.section(&elements);
            })
        }),
        ("bytes in a function", SMALL.function_bytes as u64, |count| {
            // The list of locals and the end take two bytes.
            body(0, |function| {
                for _ in 0..count - 4 {
                    function.instructions().nop();
                }
            })
        }),
        ("locals in a function", u64::from(SMALL.locals), |count| body(count, |_| {})),
        ("blocks inside each other", u64::from(SMALL.depth), nested),
        ("blocks in a function", u64::from(SMALL.blocks), |count| in_a_row(count, 0)),
        ("targets of jump tables in a function", u64::from(SMALL.targets), |count| {
            body(0, |function| {
                let (first, second) = (vec![0; 3], vec![0; count as usize - 3]);
                function.instructions().i32_const(0).br_table(first, 0).i32_const(0).br_table(second, 0);
            })
        }),
    ]
}

#[test]
fn what_is_at_a_bound_passes_and_what_is_beyond_is_refused_by_name() {
    for (what, limit, make) in cases() {
        let passes = check(&make(limit as u32), &SMALL);
        assert!(passes.is_ok(), "{limit} {what}: {passes:?}");
        let refused = check(&make(limit as u32 + 1), &SMALL).expect_err(what).to_string();
        assert_eq!(refused, format!("WebAssembly module too large: more than {limit} {what}"));
    }
}

#[test]
fn locals_times_blocks_and_the_size_of_the_file_are_bounded() {
    assert!(check(&in_a_row(15, 12), &SMALL).is_ok());
    let refused = check(&in_a_row(14, 13), &SMALL).expect_err("182").to_string();
    assert_eq!(refused, "WebAssembly module too large: more than 180 locals times blocks in a function");
    // Locals of different groups count together, and a count that would overflow is no escape.
    let many = bytes(|module| {
        let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
        functions.function(0);
        let mut function = Function::new([(u32::MAX, ValType::I32), (13, ValType::I64)]);
        function.instructions().end();
        code.function(&function);
        module.section(&functions).section(&code);
    });
    let refused = check(&many, &SMALL).expect_err("too many").to_string();
    assert_eq!(refused, "WebAssembly module too large: more than 14 locals in a function");
    let long = bytes(|module| {
        module.section(&wasm_encoder::CustomSection { name: "padding".into(), data: vec![0; 4000].into() });
    });
    assert_eq!(
        check(&long, &SMALL).expect_err("it is too long").to_string(),
        "WebAssembly module too large: more than 4000 bytes"
    );
}

#[test]
fn what_would_hold_memory_beside_the_limit_is_refused() {
    let section = |fill: fn(&mut Module)| bytes(fill);
    let cases = [
        (
            "a memory of its own",
            section(|module| {
                let mut memories = MemorySection::new();
                memories.memory(memory(false, false));
                module.section(&memories);
            }),
        ),
        (
            "a table of its own",
            section(|module| {
                let mut tables = TableSection::new();
                tables.table(table(false));
                module.section(&tables);
            }),
        ),
        (
            "a 64-bit memory",
            section(|module| {
                let mut imports = ImportSection::new();
                imports.import("env", "memory", EntityType::Memory(memory(true, false)));
                module.section(&imports);
            }),
        ),
        (
            "a shared memory",
            section(|module| {
                let mut imports = ImportSection::new();
                imports.import("env", "memory", EntityType::Memory(memory(false, true)));
                module.section(&imports);
            }),
        ),
        (
            "a 64-bit table",
            section(|module| {
                let mut imports = ImportSection::new();
                imports.import("env", "__indirect_function_table", EntityType::Table(table(true)));
                module.section(&imports);
            }),
        ),
        (
            "a type of the garbage collector",
            section(|module| {
                let mut types = TypeSection::new();
                types.ty().array(&wasm_encoder::StorageType::I8, true);
                module.section(&types);
            }),
        ),
    ];
    for (what, module) in cases {
        let refused = check(&module, &WHEEL).expect_err(what).to_string();
        assert_eq!(refused, format!("a side module may not have {what}"));
    }
    // Sections without an entry are none.
    let empty = section(|module| {
        module.section(&TableSection::new()).section(&MemorySection::new());
    });
    assert!(check(&empty, &GUEST).is_ok());
}

#[test]
fn counts_are_those_of_the_module() {
    let counts = check(&in_a_row(3, 7), &SMALL).expect("it passes");
    assert_eq!((counts.types, counts.functions, counts.locals, counts.blocks, counts.depth), (1, 1, 7, 3, 1));
    assert_eq!(counts.merges, 21);
}
