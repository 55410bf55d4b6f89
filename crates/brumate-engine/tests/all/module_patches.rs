//! Changes besides exception translation: exports for snapshots, and the main module's sleep.

use crate::exceptions::engine::engine;
use crate::exceptions::inspect::{bodies, sections, validate};
use crate::exceptions::modules::{main_module, shared_objects};
use brumate_module::patch::threads;
use brumate_module::{ModuleError, Options, patch, translate};
use wasm_encoder::{
    CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection,
    GlobalType, ImportSection, Instruction, Module, RefType, TableSection, TableType, TypeSection, ValType,
};
use wasmparser::{BinaryReader, ExternalKind, FunctionBody, Operator, Parser, Payload};
use wasmtime::{Linker, Store};

const MAIN: Options = Options { main: true, threads: false };
const SIDE: Options = Options { main: false, threads: false };
const INTERPRETER: Options = Options { main: true, threads: true };

/// What to vary in a small main module.
struct Main<'m> {
    sleep_export: &'m str,
    sleep_results: &'m [ValType],
    timer_import: &'m str,
    timer_params: &'m [ValType],
    check_export: &'m str,
    clock_import: &'m str,
    extra_export: Option<&'m str>,
}

impl Default for Main<'_> {
    fn default() -> Self {
        Main {
            sleep_export: "emscripten_thread_sleep",
            sleep_results: &[],
            timer_import: "_setitimer_js",
            timer_params: &[ValType::I32, ValType::F64],
            check_export: "_emscripten_check_timers",
            clock_import: "emscripten_get_now",
            extra_export: None,
        }
    }
}

impl Main<'_> {
    /// A module with a sleep that never ends, an exported and a hidden mutable global, a constant, and two tables.
    fn build(&self) -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([ValType::F64], self.sleep_results.iter().copied());
        types.ty().function(self.timer_params.iter().copied(), [ValType::I32]);
        types.ty().function([], [ValType::F64]);
        types.ty().function([ValType::F64], []);
        let mut imports = ImportSection::new();
        imports.import("env", self.timer_import, EntityType::Function(1));
        imports.import("env", self.clock_import, EntityType::Function(2));
        let constant = GlobalType { val_type: ValType::I32, mutable: false, shared: false };
        let mutable = GlobalType { mutable: true, ..constant };
        imports.import("env", "imported", mutable);
        let mut functions = FunctionSection::new();
        functions.function(0).function(3);
        let table = |element_type| TableType { element_type, table64: false, minimum: 0, maximum: None, shared: false };
        let mut tables = TableSection::new();
        tables.table(table(RefType::FUNCREF)).table(table(RefType::EXTERNREF));
        let mut globals = GlobalSection::new();
        for ty in [mutable, constant, mutable] {
            globals.global(ty, &ConstExpr::i32_const(40));
        }
        let mut exports = ExportSection::new();
        exports.export(self.sleep_export, ExportKind::Func, 2).export(self.check_export, ExportKind::Func, 3);
        exports.export("table", ExportKind::Table, 0).export("stack_pointer", ExportKind::Global, 1);
        if let Some(name) = self.extra_export {
            exports.export(name, ExportKind::Func, 2);
        }
        let mut code = CodeSection::new();
        let mut sleep = Function::new([]);
        sleep.instruction(&Instruction::Loop(wasm_encoder::BlockType::Empty)).instruction(&Instruction::Br(0));
        sleep.instruction(&Instruction::End).instruction(&Instruction::Unreachable).instruction(&Instruction::End);
        code.function(&sleep);
        // Reports the time it is given like a timer with the number 7.
        let mut check = Function::new([]);
        if self.timer_params == [ValType::I32, ValType::F64] {
            check.instruction(&Instruction::I32Const(7)).instruction(&Instruction::LocalGet(0));
            check.instruction(&Instruction::Call(0)).instruction(&Instruction::Drop);
        }
        code.function(check.instruction(&Instruction::End));
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&tables).section(&globals);
        module.section(&exports).section(&code);
        module.finish()
    }
}

/// The exports of a module.
fn exports(wasm: &[u8]) -> Vec<(String, ExternalKind, u32)> {
    let payloads = Parser::new(0).parse_all(wasm).map(|payload| payload.expect("a well-formed module"));
    let section = payloads.filter_map(|payload| match payload {
        Payload::ExportSection(section) => Some(section),
        _ => None,
    });
    let exports = section.flatten().map(|export| export.expect("an export"));
    exports.map(|export| (export.name.to_owned(), export.kind, export.index)).collect()
}

fn added(old: &[u8], new: &[u8]) -> Vec<(String, ExternalKind, u32)> {
    let (old, new) = (exports(old), exports(new));
    assert_eq!(new[..old.len()], old, "the module's own exports stay, and stay first");
    new[old.len()..].to_vec()
}

#[test]
fn hidden_state_is_exported() {
    let main = Main::default().build();
    let new = translate(&main, &SIDE).expect("a valid module");
    validate(&new).expect("still valid");
    let expected = [
        (format!("{}3", patch::GLOBAL_EXPORT_PREFIX), ExternalKind::Global, 3),
        (format!("{}1", patch::TABLE_EXPORT_PREFIX), ExternalKind::Table, 1),
    ];
    assert_eq!(added(&main, &new), expected);
    assert_eq!(bodies(&main), bodies(&new), "nothing else changes");
}

#[test]
fn a_module_without_exports_gets_an_export_section() {
    let mut globals = GlobalSection::new();
    let global = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
    globals.global(global, &ConstExpr::i64_const(1));
    let alone = Module::new().section(&globals).clone().finish();
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut code = CodeSection::new();
    code.function(Function::new([]).instruction(&Instruction::End));
    let mut with_code = Module::new();
    with_code.section(&types).section(&functions).section(&globals).section(&code);
    for module in [alone, with_code.finish()] {
        let new = translate(&module, &SIDE).expect("a valid module");
        validate(&new).expect("still valid");
        assert_eq!(exports(&new), [(format!("{}0", patch::GLOBAL_EXPORT_PREFIX), ExternalKind::Global, 0)]);
        assert_eq!(sections(&new).len(), sections(&module).len() + 1);
    }
}

#[test]
fn reserved_names_are_refused() {
    let module = Main { extra_export: Some("__brumate_mutable_global_3"), ..Main::default() }.build();
    let error = translate(&module, &SIDE).expect_err("it exports a name of ours");
    assert!(error.to_string().contains("__brumate_"), "{error}");
}

#[test]
fn the_main_modules_sleep_calls_the_host() {
    let wasm = translate(&Main::default().build(), &MAIN).expect("a main module");
    let engine = engine();
    let module = wasmtime::Module::new(&engine, &wasm).expect("wasmtime compiles it");
    let mut store = Store::new(&engine, Vec::new());
    let mut linker = Linker::new(&engine);
    let record = |mut caller: wasmtime::Caller<'_, Vec<(i32, f64)>>, timer: i32, milliseconds: f64| {
        caller.data_mut().push((timer, milliseconds));
        0
    };
    linker.func_wrap("env", "_setitimer_js", record).expect("a new name");
    linker.func_wrap("env", "emscripten_get_now", || 1234.5).expect("a new name");
    let ty = wasmtime::GlobalType::new(wasmtime::ValType::I32, wasmtime::Mutability::Var);
    let global = wasmtime::Global::new(&mut store, ty, wasmtime::Val::I32(0)).expect("a global");
    linker.define(&store, "env", "imported", global).expect("a new name");
    let instance = linker.instantiate(&mut store, &module).expect("all imports are there");
    let sleep = instance.get_typed_func::<f64, ()>(&mut store, "emscripten_thread_sleep").expect("(f64) -> ()");
    sleep.call(&mut store, 12.5).expect("it returns");
    assert_eq!(*store.data(), [(patch::SLEEP_TIMER, 12.5), (7, 1234.5)]);
}

#[test]
fn a_side_modules_sleep_stays() {
    let module = Main::default().build();
    assert_eq!(bodies(&module), bodies(&translate(&module, &SIDE).expect("a valid module")));
}

#[test]
fn a_main_module_of_another_shape_is_refused() {
    let others = [
        Main { sleep_export: "other", ..Main::default() },
        Main { sleep_results: &[ValType::I32], ..Main::default() },
        Main { timer_import: "other", ..Main::default() },
        Main { check_export: "other", ..Main::default() },
        Main { clock_import: "other", ..Main::default() },
        Main { timer_params: &[ValType::F64, ValType::I32], ..Main::default() },
    ];
    for other in others {
        let error = translate(&other.build(), &MAIN).expect_err("not the main module that was asked for");
        assert!(matches!(error, ModuleError::Patch(_)), "{error}");
        translate(&other.build(), &SIDE).expect("fine as another module");
    }
    let error = translate(&Main::default().build(), &INTERPRETER).expect_err("it has no threads");
    assert!(matches!(error, ModuleError::Patch(_)), "{error}");
}

#[test]
fn the_real_main_module() {
    let main = main_module();
    let new = translate(&main, &INTERPRETER).expect("the main module");
    let imports: Vec<String> = Parser::new(0)
        .parse_all(&new)
        .filter_map(|payload| match payload {
            Ok(Payload::ImportSection(imports)) => Some(imports),
            _ => None,
        })
        .flat_map(|imports| imports.into_imports().map(|import| import.expect("an import")))
        .filter(|import| import.module == threads::MODULE)
        .map(|import| import.name.to_owned())
        .collect();
    let mut expected = vec![threads::SEMAPHORE_WAIT, threads::THREAD_START, threads::THREAD_YIELD];
    expected.sort_unstable();
    let mut found: Vec<&str> = imports.iter().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    let without = translate(&main, &MAIN).expect("the main module");
    let changed = bodies(&without).into_iter().zip(bodies(&new)).filter(|(old, new)| old != new).count();
    assert_eq!(changed, 7, "functions of threads");
    let names: Vec<_> = added(&main, &new).into_iter().map(|(name, ..)| name).collect();
    let expected = [
        "__brumate_mutable_global_281",
        "__brumate_mutable_global_282",
        "__brumate_mutable_global_283",
        "__brumate_table_1",
        "__brumate_table_2",
    ];
    assert_eq!(names, expected);
    let changed = bodies(&main).into_iter().zip(bodies(&new)).find(|(old, new)| {
        let reader = FunctionBody::new(BinaryReader::new(new, 0)).get_operators_reader().expect("locals");
        old != new && reader.into_iter().take(1).all(|first| matches!(first, Ok(Operator::I32Const { value: 99 })))
    });
    let (_, sleep) = changed.expect("the sleep is replaced");
    let operators = FunctionBody::new(BinaryReader::new(sleep, 0)).get_operators_reader().expect("locals");
    let operators: Vec<_> = operators.into_iter().map(|operator| operator.expect("an instruction")).collect();
    assert!(
        matches!(
            operators[..],
            [
                Operator::I32Const { value: patch::SLEEP_TIMER },
                Operator::LocalGet { local_index: 0 },
                Operator::Call { .. },
                Operator::Drop,
                Operator::Call { .. },
                Operator::Call { .. },
                Operator::End
            ]
        ),
        "{operators:?}"
    );
}

#[test]
fn real_shared_objects_keep_no_state_hidden() {
    let objects = shared_objects(&[]);
    let mut total = 0;
    for object in &objects {
        let new = translate(&object.bytes, &SIDE).unwrap_or_else(|error| panic!("{}: {error}", object.name));
        validate(&new).unwrap_or_else(|error| panic!("{}: {error}", object.name));
        let added = added(&object.bytes, &new).len();
        // What we made exports reserved names, so that it is not taken for an original.
        assert_eq!(translate(&new, &SIDE).is_err(), added > 0, "{}", object.name);
        total += added;
    }
    eprintln!("{total} exports added to {} shared objects", objects.len());
    assert!(total > 0, "shared objects have private mutable globals");
}
