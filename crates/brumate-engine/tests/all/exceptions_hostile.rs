//! Modules made to break the translation: refused with an error that says why, in linear time and bounded space.

use crate::exceptions::build::Small;
use crate::exceptions::inspect::{count, validate};
use brumate_module::{MAX_MODULE_BYTES, ModuleError, exceptions::translate};
use wasm_encoder::Instruction::{self as I, *};
use wasm_encoder::{BlockType, ValType};

const EMPTY: BlockType = BlockType::Empty;

fn refused(module: &[u8]) -> ModuleError {
    translate(module).expect_err("the module must be refused")
}

fn one_function(instructions: &[I<'_>]) -> Vec<u8> {
    let mut small = Small::default();
    small.tag(&[]);
    small.function(&[], &[], &[], instructions);
    small.finish()
}

#[test]
fn files_that_are_no_modules() {
    assert!(matches!(refused(b""), ModuleError::NotWasm));
    assert!(matches!(refused(b"\x7fELF\x02\x01\x01\0"), ModuleError::NotWasm));
    assert!(matches!(refused(b"\0asm"), ModuleError::NotCoreModule));
    assert!(matches!(refused(b"\0asm\x0d\0\x01\0"), ModuleError::NotCoreModule));
    assert!(matches!(refused(b"\0asm\x01\0\0\0\x01"), ModuleError::Malformed { .. }));
    let mut large = b"\0asm\x01\0\0\0".to_vec();
    large.resize(MAX_MODULE_BYTES + 1, 0);
    assert!(matches!(refused(&large), ModuleError::TooLarge { what: "bytes", limit: MAX_MODULE_BYTES }));
}

#[test]
fn every_truncation_of_a_module() {
    let mut census = crate::exceptions::generator::Census::default();
    let module = crate::exceptions::generator::module(1, &mut census);
    for length in 0..module.len() {
        // Cutting between two sections before the function section leaves a well-formed module.
        if let Ok(new) = translate(&module[..length]) {
            assert_eq!(new, module[..length], "a module without functions stays as it is");
        }
    }
}

#[test]
fn misplaced_instructions() {
    let malformed = [
        vec![Try(EMPTY), Rethrow(0), CatchAll, End],
        vec![Try(EMPTY), CatchAll, Rethrow(1), End],
        vec![Try(EMPTY), CatchAll, Rethrow(9), End],
        vec![Try(EMPTY), Delegate(1)],
        vec![Try(EMPTY), Delegate(u32::MAX)],
        vec![Try(EMPTY), Catch(1), End],
        vec![Try(EMPTY), Catch(u32::MAX), End],
        vec![Try(EMPTY), CatchAll, Catch(0), End],
        vec![Try(EMPTY), CatchAll, CatchAll, End],
        vec![Try(EMPTY), CatchAll, Delegate(0), End],
        vec![Try(EMPTY), Block(EMPTY), CatchAll, End, End],
        vec![Try(EMPTY), Block(EMPTY), Delegate(0), End],
        vec![Try(EMPTY), CatchAll, End, End],
        vec![Try(EMPTY), CatchAll, End, End, Nop],
        vec![Try(EMPTY), CatchAll],
        vec![Try(EMPTY), CatchAll, End, Br(7)],
        vec![Try(BlockType::FunctionType(77)), Unreachable, Catch(0), End],
    ];
    for body in malformed {
        let error = refused(&one_function(&body));
        assert!(matches!(error, ModuleError::Malformed { .. }), "{body:?}: {error}");
    }
}

#[test]
fn mixed_encodings() {
    let table = TryTable(EMPTY, (&[][..]).into());
    let error = refused(&one_function(&[table, End, Try(EMPTY), CatchAll, End]));
    assert!(matches!(error, ModuleError::Unsupported { .. }), "{error}");
}

#[test]
fn deep_nesting_takes_linear_time_and_no_stack() {
    const DEPTH: usize = 1_000_000;
    let body = [vec![Try(EMPTY); DEPTH], vec![[CatchAll, End]; DEPTH].concat()].concat();
    let module = one_function(&body);
    // The result is over the size limit for functions.
    let error = refused(&module);
    assert!(matches!(error, ModuleError::TooLarge { what: "bytes in one function", .. }), "{error}");

    let body = [vec![Try(EMPTY); DEPTH / 4], vec![[CatchAll, End]; DEPTH / 4].concat()].concat();
    let module = one_function(&body);
    let new = translate(&module).expect("within all limits");
    assert!(new.len() < 8 * module.len(), "{} from {}", new.len(), module.len());
    validate(&new).expect("the translation is valid");
}

#[test]
fn chains_of_delegates_take_linear_time() {
    const DEPTH: usize = 200_000;
    // Each try delegates to the next outer one, the outermost to the function.
    let body = [vec![Try(EMPTY); DEPTH], vec![Delegate(0); DEPTH]].concat();
    let new = translate(&one_function(&body)).expect("within all limits");
    assert_eq!(count(&new).clauses, 0, "nothing is passed over");
    validate(&new).expect("the translation is valid");
}

#[test]
fn delegates_past_many_handlers_may_not_multiply_them() {
    const TAGS: u32 = 3_000;
    let mut small = Small::default();
    for _ in 0..TAGS {
        small.tag(&[]);
    }
    let mut body = vec![Try(EMPTY); TAGS as usize + 1];
    for _ in 0..TAGS {
        // Passes over the innermost try, on to all the others.
        body.extend([Try(EMPTY), Nop, Delegate(1)]);
    }
    for tag in 0..TAGS {
        body.extend([Catch(tag), End]);
    }
    body.extend([CatchAll, End]);
    small.function(&[], &[], &[], &body);
    let error = refused(&small.finish());
    assert!(matches!(error, ModuleError::TooLarge { .. }), "{error}");
}

#[test]
fn tags_caught_further_in_are_not_repeated() {
    const DEPTH: u32 = 100;
    let mut body = vec![Try(EMPTY); DEPTH as usize];
    body.extend([Try(EMPTY), Nop, Delegate(1)]);
    body.extend(vec![[Catch(0), End]; DEPTH as usize].concat());
    let new = translate(&one_function(&body)).expect("within all limits");
    // One clause for the only tag, and one past all handlers to the caller.
    assert_eq!(count(&new).clauses, DEPTH as usize + 2);
}

#[test]
fn limits_of_the_standard_encoding() {
    let error = refused(&one_function(&[vec![Try(EMPTY)], vec![Catch(0); 10_001], vec![End]].concat()));
    assert!(matches!(error, ModuleError::TooLarge { what: "clauses of one try", .. }), "{error}");

    let nested = [vec![[Try(EMPTY), CatchAll]; 50_001].concat(), vec![[Rethrow(0), End]; 50_001].concat()].concat();
    let error = refused(&one_function(&nested));
    assert!(matches!(error, ModuleError::TooLarge { what: "locals in one function", .. }), "{error}");

    for (values, accepted) in [(999, true), (1000, false)] {
        let mut small = Small::default();
        let tag = small.tag(&vec![ValType::I32; values]);
        small.function(&[], &[], &[], &[Try(EMPTY), Catch(tag), Rethrow(0), End]);
        match translate(&small.finish()) {
            Ok(new) => assert!(accepted && validate(&new).is_ok()),
            Err(error) => assert!(!accepted && matches!(error, ModuleError::TooLarge { .. }), "{error}"),
        }
    }
}

#[test]
fn many_large_handler_types_may_not_multiply() {
    const KINDS: usize = 300;
    let mut small = Small::default();
    // Types of different lengths so that each pair of try and tag needs a type of its own.
    let tags: Vec<_> = (0..KINDS).map(|extra| small.tag(&vec![ValType::I32; 500 + extra])).collect();
    let tries: Vec<_> = (0..KINDS).map(|extra| small.ty(&vec![ValType::I64; 500 + extra], &[])).collect();
    let mut body = Vec::new();
    for ty in tries {
        body.extend([Unreachable, Try(BlockType::FunctionType(ty)), Unreachable]);
        body.extend(tags.iter().flat_map(|tag| [Catch(*tag), Unreachable]));
        body.extend([End, Unreachable]);
    }
    small.function(&[], &[], &[], &body);
    let error = refused(&small.finish());
    assert!(matches!(error, ModuleError::TooLarge { .. }), "{error}");
}
