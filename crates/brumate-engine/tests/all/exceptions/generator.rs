//! Random modules full of legacy exception handling, the same for the same seed.
//!
//! Each has functions that call each other (never backwards, so there is no recursion), take random decisions at run time,
//! and mix everything they do into a hash: the order of events, the values of parameters, results and payloads. Two engines
//! that agree on the hash of many inputs have taken the same paths.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    Instruction, Module, TagKind, TagSection, TagType, TypeSection, ValType,
};

use super::statements::Generator;
use brumate_test_support::Random;

/// Payloads of the tags, by tag index.
pub(crate) const TAGS: [&[ValType]; 4] =
    [&[ValType::I32], &[], &[ValType::I64, ValType::I32], &[ValType::I32, ValType::I32]];
/// Functions made at random, after the three helpers.
const FUNCTIONS: usize = 7;
pub(super) const DRAW: u32 = 0;
pub(super) const TRACE: u32 = 1;
pub(super) const TICK: u32 = 2;
pub(super) const FIRST: u32 = 3;
const STATE: u32 = 0;
const HASH: u32 = 1;
const FUEL: u32 = 2;
/// Events until a run is ended by a trap.
const MAX_EVENTS: i32 = 4000;

/// How often the shapes worth testing occur in what was generated.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Census {
    pub(crate) tries: usize,
    pub(crate) bare_tries: usize,
    pub(crate) tries_with_params: usize,
    pub(crate) tries_with_results: usize,
    pub(crate) tries_with_several_clauses: usize,
    pub(crate) tries_inside_clauses: usize,
    pub(crate) catch_alls_after_catch: usize,
    pub(crate) delegates: usize,
    pub(crate) delegates_to_the_function: usize,
    pub(crate) delegates_to_a_try: usize,
    pub(crate) delegates_to_a_clause: usize,
    pub(crate) rethrows: usize,
    pub(crate) deep_rethrows: usize,
    pub(crate) throws: usize,
    pub(crate) branches: usize,
}

/// The module of one seed; its shapes are added to `census`.
///
/// It exports `run(input: i32) -> i64`, the global `hash` and the tags `t0`, `t1`, ….
pub(crate) fn module(seed: u64, census: &mut Census) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut types = Types::default();
    let signatures: Vec<_> = (0..FUNCTIONS).map(|_| (list(&mut random, 2), list(&mut random, 2))).collect();
    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
    functions.function(types.index(&[], &[ValType::I32]));
    code.function(&draw());
    functions.function(types.index(&[ValType::I32], &[]));
    code.function(&trace());
    functions.function(types.index(&[], &[]));
    code.function(&tick());
    for (number, (params, results)) in signatures.iter().enumerate() {
        functions.function(types.index(params, results));
        let generator = Generator::new(random.fork(), &mut types, census, &signatures, number);
        code.function(&generator.function());
    }
    functions.function(types.index(&[ValType::I32], &[ValType::I64]));
    code.function(&run(&signatures[0]));

    let mut tags = TagSection::new();
    for payload in TAGS {
        tags.tag(TagType { kind: TagKind::Exception, func_type_idx: types.index(payload, &[]) });
    }
    let mut globals = GlobalSection::new();
    let mutable = |val_type| GlobalType { val_type, mutable: true, shared: false };
    globals.global(mutable(ValType::I32), &ConstExpr::i32_const(0));
    globals.global(mutable(ValType::I64), &ConstExpr::i64_const(0));
    globals.global(mutable(ValType::I32), &ConstExpr::i32_const(0));
    let mut exports = ExportSection::new();
    exports.export("run", ExportKind::Func, FIRST + FUNCTIONS as u32);
    exports.export("hash", ExportKind::Global, HASH);
    for tag in 0..TAGS.len() {
        exports.export(&format!("t{tag}"), ExportKind::Tag, tag as u32);
    }
    let mut module = Module::new();
    module.section(&types.section).section(&functions).section(&tags).section(&globals).section(&exports);
    module.section(&code);
    module.finish()
}

/// `() -> i32`: the next random number at run time (xorshift).
fn draw() -> Function {
    let mut body = Function::new([]);
    for (count, right) in [(13, false), (17, true), (5, false)] {
        body.instruction(&Instruction::GlobalGet(STATE))
            .instruction(&Instruction::GlobalGet(STATE))
            .instruction(&Instruction::I32Const(count))
            .instruction(if right { &Instruction::I32ShrU } else { &Instruction::I32Shl })
            .instruction(&Instruction::I32Xor)
            .instruction(&Instruction::GlobalSet(STATE));
    }
    body.instruction(&Instruction::GlobalGet(STATE)).instruction(&Instruction::End);
    body
}

/// `(i32) -> ()`: mixes an event into the hash.
fn trace() -> Function {
    let mut body = Function::new([]);
    body.instruction(&Instruction::GlobalGet(HASH))
        .instruction(&Instruction::LocalGet(0))
        .instruction(&Instruction::I64ExtendI32U)
        .instruction(&Instruction::I64Xor)
        .instruction(&Instruction::I64Const(0x9e37_79b9_7f4a_7c15_u64 as i64))
        .instruction(&Instruction::I64Mul)
        .instruction(&Instruction::I64Const(29))
        .instruction(&Instruction::I64Rotl)
        .instruction(&Instruction::GlobalSet(HASH))
        .instruction(&Instruction::Call(TICK))
        .instruction(&Instruction::End);
    body
}

/// `() -> ()`: counts an event and traps when there were too many.
fn tick() -> Function {
    let mut body = Function::new([]);
    body.instruction(&Instruction::GlobalGet(FUEL))
        .instruction(&Instruction::I32Const(1))
        .instruction(&Instruction::I32Sub)
        .instruction(&Instruction::GlobalSet(FUEL))
        .instruction(&Instruction::GlobalGet(FUEL))
        .instruction(&Instruction::I32Eqz)
        .instruction(&Instruction::If(BlockType::Empty))
        .instruction(&Instruction::Unreachable)
        .instruction(&Instruction::End)
        .instruction(&Instruction::End);
    body
}

/// `(i32) -> i64`: starts over with an input, calls the first random function, and returns the hash.
fn run((params, results): &(Vec<ValType>, Vec<ValType>)) -> Function {
    let mut body = Function::new([]);
    body.instruction(&Instruction::LocalGet(0))
        .instruction(&Instruction::I32Const(0x5bd1_e995))
        .instruction(&Instruction::I32Mul)
        .instruction(&Instruction::I32Const(1))
        .instruction(&Instruction::I32Or)
        .instruction(&Instruction::GlobalSet(STATE))
        .instruction(&Instruction::I64Const(0))
        .instruction(&Instruction::GlobalSet(HASH))
        .instruction(&Instruction::I32Const(MAX_EVENTS))
        .instruction(&Instruction::GlobalSet(FUEL));
    for param in params {
        match *param {
            ValType::I64 => body.instruction(&Instruction::I64Const(7)),
            _ => body.instruction(&Instruction::LocalGet(0)),
        };
    }
    body.instruction(&Instruction::Call(FIRST));
    for result in results.iter().rev() {
        if *result == ValType::I64 {
            body.instruction(&Instruction::I32WrapI64);
        }
        body.instruction(&Instruction::Call(TRACE));
    }
    body.instruction(&Instruction::GlobalGet(HASH)).instruction(&Instruction::End);
    body
}

/// Up to `most` random value types.
pub(super) fn list(random: &mut Random, most: usize) -> Vec<ValType> {
    (0..random.index(most + 1)).map(|_| if random.chance(40) { ValType::I64 } else { ValType::I32 }).collect()
}

/// Function types, each once.
#[derive(Default)]
pub(super) struct Types {
    section: TypeSection,
    known: Vec<(Vec<ValType>, Vec<ValType>)>,
}

impl Types {
    pub(super) fn index(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let index = self.known.iter().position(|(p, r)| p == params && r == results);
        let index = index.unwrap_or_else(|| {
            self.section.ty().function(params.iter().copied(), results.iter().copied());
            self.known.push((params.to_vec(), results.to_vec()));
            self.known.len() - 1
        });
        index as u32
    }

    pub(super) fn block(&mut self, params: &[ValType], results: &[ValType]) -> BlockType {
        match (params, results) {
            ([], []) => BlockType::Empty,
            ([], [result]) => BlockType::Result(*result),
            _ => BlockType::FunctionType(self.index(params, results)),
        }
    }
}
