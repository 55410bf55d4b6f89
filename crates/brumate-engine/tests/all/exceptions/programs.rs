//! Programs as clang lowers them: `throw` is a call that ends in `throw $__cpp_exception`, destructors are `catch_all` clauses
//! that rethrow, and `longjmp` throws `$__c_longjmp` with a pointer to the buffer and the value.

use wasm_encoder::Instruction::{self as I, *};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, ImportSection, MemArg, MemorySection, MemoryType, Module, RefType, TableSection, TableType,
    TagKind, TagSection, TagType, TypeSection, ValType,
};

/// Two modules; `main` may import what `library` exports.
pub(crate) struct Program {
    pub(crate) library: Vec<u8>,
    pub(crate) main: Vec<u8>,
}

const EMPTY: BlockType = BlockType::Empty;
/// Tags, as every module of a program imports them.
const CPP: u32 = 0;
const LONGJMP: u32 = 1;
/// Types, the same in every module.
const TYPE_TO_NOTHING: u32 = 0;
const TYPE_TO_I32: u32 = 1;
/// Imported functions, the same in every module: `log(i32)`, and the library's `f(i32)`, `g(i32) -> i32` in `main`.
const LOG: u32 = 0;
const LIBRARY_F: u32 = 1;
const LIBRARY_G: u32 = 2;
const WORD: MemArg = MemArg { offset: 0, align: 2, memory_index: 0 };
const SECOND_WORD: MemArg = MemArg { offset: 4, align: 2, memory_index: 0 };

/// What main modules provide to shared objects: tags, memory and table.
pub(crate) fn runtime() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], []);
    let mut tables = TableSection::new();
    let element_type = RefType::FUNCREF;
    tables.table(TableType { element_type, table64: false, minimum: 4, maximum: None, shared: false });
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
    let mut tags = TagSection::new();
    tags.tag(TagType { kind: TagKind::Exception, func_type_idx: 0 });
    tags.tag(TagType { kind: TagKind::Exception, func_type_idx: 0 });
    let mut exports = ExportSection::new();
    exports.export("table", ExportKind::Table, 0).export("memory", ExportKind::Memory, 0);
    exports.export("cpp", ExportKind::Tag, CPP).export("longjmp", ExportKind::Tag, LONGJMP);
    let mut module = Module::new();
    module.section(&types).section(&tables).section(&memories).section(&tags).section(&exports);
    module.finish()
}

/// One defined function: its export name, whether it returns an i32, and its instructions without the final `end`. It has one
/// parameter and three more locals, all i32.
struct Def<'d> {
    name: &'d str,
    returns: bool,
    body: Vec<I<'d>>,
}

/// A module of `functions`. A library's are numbered from 1, a main module's from 3. The first goes into slot 1 (library) or 2
/// (main) of the table.
fn module(is_library: bool, functions: &[Def<'_>]) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], []);
    types.ty().function([ValType::I32], [ValType::I32]);
    let mut imports = ImportSection::new();
    imports.import("env", "log", EntityType::Function(TYPE_TO_NOTHING));
    let mut first = 1;
    if !is_library {
        imports.import("env", "f", EntityType::Function(TYPE_TO_NOTHING));
        imports.import("env", "g", EntityType::Function(TYPE_TO_I32));
        first = 3;
    }
    let element_type = RefType::FUNCREF;
    let table = TableType { element_type, table64: false, minimum: 4, maximum: None, shared: false };
    imports.import("env", "table", table);
    let memory = MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
    imports.import("env", "memory", memory);
    for tag in ["cpp", "longjmp"] {
        imports.import("env", tag, TagType { kind: TagKind::Exception, func_type_idx: TYPE_TO_NOTHING });
    }
    let (mut defined, mut exports, mut code) = (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    for (index, function) in (first..).zip(functions) {
        defined.function(if function.returns { TYPE_TO_I32 } else { TYPE_TO_NOTHING });
        exports.export(function.name, ExportKind::Func, index);
        let mut body = Function::new([(3, ValType::I32)]);
        for instruction in function.body.iter().chain([&End]) {
            body.instruction(instruction);
        }
        code.function(&body);
    }
    let mut elements = ElementSection::new();
    let slot = ConstExpr::i32_const(if is_library { 1 } else { 2 });
    elements.active(None, &slot, Elements::Functions((&[first][..]).into()));
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&defined).section(&exports).section(&elements).section(&code);
    module.finish()
}

fn program(library: &[Def<'_>], main: &[Def<'_>]) -> Program {
    Program { library: module(true, library), main: module(false, main) }
}

fn def<'d>(name: &'d str, returns: bool, body: impl Into<Vec<I<'d>>>) -> Def<'d> {
    Def { name, returns, body: body.into() }
}

/// Throws its argument unless that is 0.
fn thrower() -> Def<'static> {
    def("f", false, [LocalGet(0), If(EMPTY), LocalGet(0), Throw(CPP), End])
}

/// A function nobody calls, for the import that every main module has.
fn unused() -> Def<'static> {
    def("g", true, [I32Const(0)])
}

/// `try { f(x); return 0; } catch (int e) { log(e); return 1; }`
pub(crate) fn catch_across_modules() -> Program {
    let main = [
        Try(BlockType::Result(ValType::I32)),
        LocalGet(0),
        Call(LIBRARY_F),
        I32Const(0),
        Catch(CPP),
        Call(LOG),
        I32Const(1),
        End,
    ];
    program(&[thrower(), unused()], &[def("main", true, main)])
}

/// Runs `body` and then, if an exception passes, a destructor that logs `value`.
fn with_destructor<'d>(body: Vec<I<'d>>, value: i32) -> Vec<I<'d>> {
    let mut all = vec![Try(EMPTY)];
    all.extend(body);
    all.extend([CatchAll, I32Const(value), Call(LOG), Rethrow(0), End]);
    all
}

/// Three objects with destructors in two functions of two modules, and an outermost `catch`.
pub(crate) fn destructors() -> Program {
    let g = with_destructor(vec![LocalGet(0), Call(1)], 30);
    let g = [with_destructor(g, 20), vec![I32Const(0)]].concat();
    let inner = with_destructor(vec![LocalGet(0), Call(LIBRARY_G), Drop], 10);
    let main = [vec![Try(EMPTY)], inner, vec![Catch(CPP), Call(LOG), End, I32Const(99)]].concat();
    program(&[thrower(), def("g", true, g)], &[def("main", true, main)])
}

/// `try { try { throw x } catch (a) { log(a); try { throw a+1000 } catch (b) { log(b); rethrow a } } } catch (c) { return c }`
pub(crate) fn rethrow_outer() -> Program {
    let main = [
        Try(BlockType::Result(ValType::I32)),
        Try(EMPTY),
        LocalGet(0),
        Call(LIBRARY_F),
        Catch(CPP),
        LocalTee(1),
        Call(LOG),
        Try(EMPTY),
        LocalGet(1),
        I32Const(1000),
        I32Add,
        Call(LIBRARY_F),
        Catch(CPP),
        Call(LOG),
        Rethrow(1),
        End,
        End,
        I32Const(-5),
        Catch(CPP),
        End,
    ];
    program(&[thrower(), unused()], &[def("main", true, main)])
}

/// `longjmp(buffer, value)` of Emscripten: {buffer, value} is written to memory at 64 and a pointer to it is thrown.
fn longjmp<'d>(buffer: i32, value: &[I<'d>]) -> Vec<I<'d>> {
    let mut body = vec![I32Const(64), I32Const(buffer), I32Store(WORD), I32Const(64)];
    body.extend_from_slice(value);
    body.extend([I32Store(SECOND_WORD), I32Const(64), Throw(LONGJMP)]);
    body
}

/// What follows `catch $__c_longjmp` in a function that called `setjmp(buffer)`: a jump to another buffer goes on; for this one
/// the value goes to local 1 and control to the label at `again`, counted outside the `if`.
fn landing(buffer: i32, again: u32) -> Vec<I<'static>> {
    vec![
        LocalSet(2),
        LocalGet(2),
        I32Load(WORD),
        I32Const(buffer),
        I32Ne,
        If(EMPTY),
        Rethrow(1),
        End,
        LocalGet(2),
        I32Load(SECOND_WORD),
        LocalSet(1),
        Br(again),
    ]
}

/// `int v = setjmp(b) ? v - 1 : x; …; f(v)` in a loop until v is 0, where `f` logs its argument and jumps back with it, through
/// a destructor that logs -1 and a `catch` for C++ exceptions that must not take it.
pub(crate) fn jumps() -> Program {
    let f = [longjmp(1000, &[LocalGet(0)])].concat();
    let mut main = vec![LocalGet(0), I32Const(1), I32Add, LocalSet(1), Loop(EMPTY), Block(EMPTY), Try(EMPTY)];
    main.extend([LocalGet(1), LocalGet(0), I32Const(1), I32Add, I32Ne, If(EMPTY), LocalGet(1), Call(LOG), End]);
    main.extend([LocalGet(1), I32Const(1), I32Sub, LocalTee(1), I32Eqz, BrIf(1)]);
    main.push(Try(EMPTY));
    main.extend(with_destructor(vec![LocalGet(1), Call(LIBRARY_F)], -1));
    main.extend([Catch(CPP), Drop, I32Const(-77), Call(LOG), End]);
    main.extend([Br(1), Catch(LONGJMP)]);
    main.extend(landing(1000, 2));
    main.extend([End, End, End, LocalGet(1)]);
    program(&[def("f", false, f), unused()], &[def("main", true, main)])
}

/// `g` calls setjmp(2000) and then a function that jumps to main's 1000: `g` must not land, its destructor logs -1, and main
/// lands with the value, to which it adds 200.
pub(crate) fn nested_jumps() -> Program {
    let f = longjmp(1000, &[LocalGet(0)]);
    let mut g = vec![Loop(EMPTY), Try(EMPTY)];
    g.extend(with_destructor(vec![LocalGet(0), Call(1)], -1));
    g.push(Catch(LONGJMP));
    g.extend(landing(2000, 1));
    g.extend([End, End, I32Const(-3)]);
    let mut main = vec![Block(EMPTY), Loop(EMPTY), LocalGet(1), BrIf(1), Try(EMPTY)];
    main.extend([LocalGet(0), Call(LIBRARY_G), Drop, Catch(LONGJMP)]);
    main.extend(landing(1000, 1));
    main.extend([End, End, End, LocalGet(1), I32Const(200), I32Add]);
    program(&[def("f", false, f), def("g", true, g)], &[def("main", true, main)])
}

/// main calls `g`, which calls main's callback through the table; the callback throws through both of `g`'s destructors. The
/// inner one is left by a `delegate` to the outer, as clang writes nested cleanups that share a landing pad.
pub(crate) fn callback() -> Program {
    let mut g = vec![Try(EMPTY), Try(EMPTY), Try(EMPTY)];
    g.extend([LocalGet(0), I32Const(2), CallIndirect { type_index: TYPE_TO_NOTHING, table_index: 0 }]);
    // Passes over the try around it, which would log 60.
    g.extend([Delegate(1), CatchAll, I32Const(60), Call(LOG), Rethrow(0), End]);
    g.extend([CatchAll, I32Const(61), Call(LOG), Rethrow(0), End, I32Const(0)]);
    let thrower = def("thrower", false, [LocalGet(0), Throw(CPP)]);
    let inner = with_destructor(vec![LocalGet(0), Call(LIBRARY_G), Drop], 62);
    let main = [vec![Try(BlockType::Result(ValType::I32))], inner, vec![I32Const(-1), Catch(CPP), End]].concat();
    let f = def("f", false, []);
    program(&[f, def("g", true, g)], &[thrower, def("main", true, main)])
}

/// A destructor that logs 50, and no `catch`.
pub(crate) fn uncaught() -> Program {
    let body = with_destructor(vec![LocalGet(0), Call(LIBRARY_F)], 50);
    let main = [body, vec![LocalGet(0)]].concat();
    program(&[thrower(), unused()], &[def("main", true, main)])
}

/// Throws, rethrows and catches as often as the argument says, and counts.
pub(crate) fn many() -> Program {
    let mut main = vec![Loop(EMPTY), Try(EMPTY), Try(EMPTY), I32Const(1), Call(LIBRARY_F)];
    main.extend([CatchAll, Rethrow(0), End, Catch(CPP), LocalGet(1), I32Add, LocalSet(1), End]);
    main.extend([LocalGet(1), LocalGet(0), I32LtU, BrIf(0), End, LocalGet(1)]);
    program(&[thrower(), unused()], &[def("main", true, main)])
}
