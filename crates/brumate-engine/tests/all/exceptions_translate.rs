//! The translation of single shapes, and what it leaves alone.

use crate::exceptions::build::Small;
use crate::exceptions::engine::engine;
use crate::exceptions::inspect::{bodies, count, sections, validate, validate_legacy};
use brumate_module::exceptions::translate;
use wasm_encoder::Instruction::{self as I, *};
use wasm_encoder::{BlockType, HeapType, RefType, ValType};
use wasmtime::{Instance, Module, Store};

const EMPTY: BlockType = BlockType::Empty;
const I32: BlockType = BlockType::Result(ValType::I32);

/// Translates a valid legacy module and checks that the result is valid.
fn translated(legacy: &[u8]) -> Vec<u8> {
    validate_legacy(legacy).expect("the test's own module is valid");
    let new = translate(legacy).expect("the module can be translated");
    validate(&new).expect("the translation is valid");
    new
}

/// Calls `f0(argument)` of a legacy module after translation.
fn call(legacy: &[u8], argument: i32) -> i32 {
    let engine = engine();
    let module = Module::new(&engine, translated(legacy)).expect("wasmtime compiles it");
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).expect("it has no imports");
    let function = instance.get_typed_func::<i32, i32>(&mut store, "f0").expect("f0: (i32) -> i32");
    function.call(&mut store, argument).expect("no trap and no exception")
}

#[test]
fn a_module_without_try_stays_as_it_is() {
    let mut small = Small::default();
    let tag = small.tag(&[ValType::I32]);
    // The constants look like opcodes of `try` and `delegate`; `throw` is the same in both encodings.
    small.function(&[], &[], &[], &[I32Const(6), Drop, I32Const(0x18), Throw(tag)]);
    small.custom(".debug_info", &[1, 2, 3]);
    let mut module = small.finish();
    assert_eq!(translate(&module).expect("valid"), module);
    // Padded section size: still the same bits.
    module.extend_from_slice(&[0, 0x83, 0x80, 0x00, 1, b'x', 9]);
    assert_eq!(translate(&module).expect("valid"), module);
}

#[test]
fn functions_without_try_and_other_sections_stay_as_they_are() {
    let mut small = Small::default();
    let tag = small.tag(&[ValType::I32]);
    small.function(&[], &[], &[], &[I32Const(6), Drop]);
    small.function(&[], &[], &[], &[Try(EMPTY), I32Const(1), Throw(tag), Catch(tag), Drop, End]);
    small.function(&[], &[], &[], &[I32Const(1), Throw(tag)]);
    small.custom("producers", &[0]);
    let old = small.finish();
    let new = translated(&old);
    let (old_bodies, new_bodies) = (bodies(&old), bodies(&new));
    assert_eq!(old_bodies[0], new_bodies[0]);
    assert_ne!(old_bodies[1], new_bodies[1]);
    assert_eq!(old_bodies[2], new_bodies[2]);
    let (old_sections, new_sections) = (sections(&old), sections(&new));
    assert_eq!(old_sections.len(), new_sections.len());
    let changed: Vec<_> = old_sections.iter().zip(&new_sections).filter(|(old, new)| old != new).collect();
    assert_eq!(changed.len(), 1, "only the code section changes: no new type was needed");
}

#[test]
fn custom_sections_that_describe_the_old_code_are_dropped() {
    let mut small = Small::default();
    small.function(&[], &[], &[], &[Try(EMPTY), CatchAll, End]);
    for name in [".debug_line", "reloc.CODE", "metadata.code.branch_hint", "sourceMappingURL", "dylink.0", "mine"] {
        small.custom(name, &[]);
    }
    // Module name, function names, label names.
    small.custom("name", &[0, 2, 1, b'm', 1, 4, 1, 0, 1, b'f', 3, 6, 1, 0, 1, 0, 1, b'l']);
    let new = translated(&small.finish());
    let customs: Vec<_> = sections(&new).into_iter().filter(|(id, ..)| *id == 0).collect();
    let names: Vec<_> = customs.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["dylink.0", "mine", "name"]);
    assert_eq!(customs[2].2, b"\x04name\x00\x02\x01m\x01\x04\x01\x00\x01f");
}

#[test]
fn a_malformed_name_section_is_dropped() {
    let mut small = Small::default();
    small.function(&[], &[], &[], &[Try(EMPTY), CatchAll, End]);
    small.custom("name", &[1, 200, 1]);
    let new = translated(&small.finish());
    assert!(sections(&new).iter().all(|(id, ..)| *id != 0));
}

#[test]
fn handlers_of_the_same_type_share_it() {
    let mut small = Small::default();
    let tag = small.tag(&[ValType::I32]);
    let body = [Try(EMPTY), Catch(tag), Rethrow(0), End, Try(EMPTY), Catch(tag), Rethrow(0), CatchAll, Rethrow(0), End];
    small.function(&[], &[], &[], &body);
    small.function(&[], &[], &[], &body);
    let old = small.finish();
    let new = translated(&old);
    let types = |wasm: &[u8]| sections(wasm)[0].2[0];
    assert_eq!(types(&new), types(&old) + 1);
}

#[test]
fn one_local_per_level_of_nested_handlers() {
    let mut small = Small::default();
    let level = [Try(EMPTY), CatchAll];
    let mut body = vec![level; 3].concat();
    body.extend([Rethrow(0), End, Rethrow(0), End, Rethrow(0), End]);
    let twice = [body.clone(), body].concat();
    small.function(&[], &[], &[ValType::I64], &twice);
    let new = translated(&small.finish());
    // One group of one i64, one group of three exnref.
    assert_eq!(bodies(&new)[0][..5], [2, 1, 0x7e, 3, 0x69]);
}

#[test]
fn a_delegate_that_passes_over_nothing_needs_no_wrapper() {
    let mut small = Small::default();
    small.function(&[], &[], &[], &[Block(EMPTY), Try(EMPTY), Nop, Delegate(1), End]);
    small.function(&[], &[], &[], &[Try(EMPTY), Try(EMPTY), Nop, Delegate(0), CatchAll, End]);
    small.function(&[], &[], &[], &[Try(EMPTY), Try(EMPTY), Nop, Delegate(1), CatchAll, End]);
    let counts = count(&translated(&small.finish()));
    assert_eq!((counts.try_tables, counts.clauses, counts.wrapped), (5, 3, 1));
}

/// Branches that take a reference along or test one, which V8 of node 20 does not know.
#[test]
fn branches_on_references_keep_their_targets() {
    let null = || RefNull(HeapType::FUNC);
    let body = |inner: &[I<'static>]| {
        let mut small = Small::default();
        let tag = small.tag(&[]);
        // Answers 1 if the branch leaves the inner block, 2 if it does not, 3 if it goes astray.
        let mut body = vec![Block(I32), Block(EMPTY), Block(BlockType::Result(ValType::FUNCREF)), Try(EMPTY)];
        body.extend_from_slice(inner);
        body.extend([I32Const(2), Br(3), Catch(tag), I32Const(3), Br(3), End, null(), End, Drop, Br(0), End]);
        body.extend([I32Const(1), End]);
        small.function(&[ValType::I32], &[ValType::I32], &[], &body);
        small.finish()
    };
    assert_eq!(call(&body(&[null(), BrOnNull(2), Drop]), 0), 1);
    assert_eq!(call(&body(&[RefFunc(0), BrOnNull(2), Drop]), 0), 2);
    assert_eq!(call(&body(&[null(), BrOnNonNull(1)]), 0), 2);
    assert_eq!(call(&body(&[RefFunc(0), BrOnNonNull(1)]), 0), 1);
    let from_ref_type = RefType::FUNCREF;
    let to_ref_type = RefType { nullable: false, heap_type: HeapType::FUNC };
    let cast = |relative_depth| BrOnCast { relative_depth, from_ref_type, to_ref_type };
    let fail = |relative_depth| BrOnCastFail { relative_depth, from_ref_type, to_ref_type };
    assert_eq!(call(&body(&[null(), cast(1), Drop]), 0), 2);
    assert_eq!(call(&body(&[RefFunc(0), cast(1), Drop]), 0), 1);
    assert_eq!(call(&body(&[null(), fail(1), Drop]), 0), 1);
    assert_eq!(call(&body(&[RefFunc(0), fail(1), Drop]), 0), 2);
}

#[test]
fn operands_below_a_try_with_parameters_and_results_survive() {
    let mut small = Small::default();
    let tag = small.tag(&[ValType::I32, ValType::I64]);
    let ty = small.ty(&[ValType::I64, ValType::I32], &[ValType::I32, ValType::I32]);
    // 1000 + (argument == 0 ? (10, 7) : (argument, 5) thrown and caught): adds all three.
    let body = [
        I32Const(1000),
        I64Const(5),
        LocalGet(0),
        Try(BlockType::FunctionType(ty)),
        LocalSet(1),
        LocalSet(2),
        LocalGet(1),
        I32Eqz,
        If(EMPTY),
        I32Const(10),
        I32Const(7),
        Br(1),
        End,
        LocalGet(1),
        LocalGet(2),
        Throw(tag),
        Catch(tag),
        I32WrapI64,
        End,
        I32Add,
        I32Add,
    ];
    small.function(&[ValType::I32], &[ValType::I32], &[ValType::I32, ValType::I64], &body);
    let module = small.finish();
    assert_eq!(call(&module, 0), 1017);
    assert_eq!(call(&module, 300), 1305);
}
