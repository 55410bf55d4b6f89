//! The call trampoline, inside wasm.
//!
//! CPython calls C methods whose real arity may be 0 to 3 through `_PyEM_TrampolineCall`. Without this helper each call
//! would go through the host (4 times slower on method-heavy code). The helper tests the function's type with
//! `ref.test` and calls it with the arguments it takes. Its own signature: `(success*, fn, self, args, kw) -> result`.

use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, HeapType, ImportSection,
    Instruction, MemArg, MemoryType, Module, RefType, TableType, TypeSection, ValType,
};

/// Exported name of the helper's function.
pub(crate) const EXPORT: &str = "trampoline";

/// Returns the helper as a wasm binary.
pub(crate) fn trampoline_module() -> Vec<u8> {
    let mut types = TypeSection::new();
    // Types 0..=3: a method of that many i32 parameters; type 4: the trampoline itself.
    for arity in 0..=3 {
        types.ty().function(vec![ValType::I32; arity], [ValType::I32]);
    }
    types.ty().function([ValType::I32; 5], [ValType::I32]);

    let mut imports = ImportSection::new();
    let memory = MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
    imports.import("env", "memory", EntityType::Memory(memory));
    let table = TableType { element_type: RefType::FUNCREF, table64: false, minimum: 0, maximum: None, shared: false };
    imports.import("env", "__indirect_function_table", EntityType::Table(table));

    let mut functions = FunctionSection::new();
    functions.function(4);

    let mut exports = ExportSection::new();
    exports.export(EXPORT, ExportKind::Func, 0);

    // Parameters: 0 success*, 1 fn, 2 self, 3 args, 4 kw. Local 5: the function reference.
    let mut body = Function::new([(1, ValType::FUNCREF)]);
    let store_success = |body: &mut Function, value: i32| {
        body.instruction(&Instruction::LocalGet(0));
        body.instruction(&Instruction::I32Const(value));
        body.instruction(&Instruction::I32Store(MemArg { offset: 0, align: 2, memory_index: 0 }));
    };
    store_success(&mut body, 1);
    body.instruction(&Instruction::LocalGet(1));
    body.instruction(&Instruction::TableGet(0));
    body.instruction(&Instruction::LocalSet(5));
    for arity in [3u32, 2, 1, 0] {
        body.instruction(&Instruction::LocalGet(5));
        body.instruction(&Instruction::RefTestNonNull(HeapType::Concrete(arity)));
        body.instruction(&Instruction::If(BlockType::Empty));
        for argument in 0..arity {
            body.instruction(&Instruction::LocalGet(2 + argument));
        }
        body.instruction(&Instruction::LocalGet(1));
        body.instruction(&Instruction::CallIndirect { type_index: arity, table_index: 0 });
        body.instruction(&Instruction::Return);
        body.instruction(&Instruction::End);
    }
    store_success(&mut body, 0);
    body.instruction(&Instruction::I32Const(0));
    body.instruction(&Instruction::End);
    let mut code = CodeSection::new();
    code.function(&body);

    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    module.finish()
}
