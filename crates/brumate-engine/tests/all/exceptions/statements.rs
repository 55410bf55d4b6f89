//! Random functions: statements, values and the control flow around them.

use wasm_encoder::{BlockType, Function, Instruction, ValType};

use super::generator::{Census, DRAW, FIRST, TAGS, TICK, TRACE, Types, list};
use brumate_test_support::Random;

/// Frames a function nests at most before it only makes simple statements.
const MAX_DEPTH: usize = 9;
/// Statements per function, about.
const STATEMENTS: usize = 90;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Function,
    Plain,
    Loop,
    Body,
    Clause,
}

struct Label {
    frame: Frame,
    /// What a branch to the label takes along.
    types: Vec<ValType>,
}

/// Makes one function.
pub(super) struct Generator<'g> {
    random: Random,
    types: &'g mut Types,
    census: &'g mut Census,
    signatures: &'g [(Vec<ValType>, Vec<ValType>)],
    number: usize,
    body: Function,
    labels: Vec<Label>,
    /// Statements still to be made in this function.
    budget: usize,
}

impl<'g> Generator<'g> {
    /// For the function with this number in `signatures`; it calls only those after it.
    pub(super) fn new(
        random: Random,
        types: &'g mut Types,
        census: &'g mut Census,
        signatures: &'g [(Vec<ValType>, Vec<ValType>)],
        number: usize,
    ) -> Self {
        Generator {
            random,
            types,
            census,
            signatures,
            number,
            body: Function::new([(3, ValType::I32), (3, ValType::I64)]),
            labels: Vec::new(),
            budget: STATEMENTS,
        }
    }

    pub(super) fn function(mut self) -> Function {
        let results = self.signatures[self.number].1.clone();
        self.labels.push(Label { frame: Frame::Function, types: results.clone() });
        self.emit(Instruction::Call(TICK));
        for (param, ty) in (0..).zip(&self.signatures[self.number].0) {
            self.emit(Instruction::LocalGet(param));
            if *ty == ValType::I64 {
                self.emit(Instruction::I32WrapI64);
            }
            self.emit(Instruction::Call(TRACE));
        }
        let diverged = self.statements(8);
        self.finish(diverged, &results);
        self.emit(Instruction::End);
        self.body
    }

    fn emit(&mut self, instruction: Instruction<'_>) {
        self.body.instruction(&instruction);
    }

    fn trace(&mut self) {
        let event = self.random.index(1 << 30) as i32;
        self.emit(Instruction::I32Const(event));
        self.emit(Instruction::Call(TRACE));
    }

    /// A random local variable of a type.
    fn local(&mut self, ty: ValType) -> u32 {
        let params = self.signatures[self.number].0.len() as u32;
        let first = if ty == ValType::I64 { params + 3 } else { params };
        first + self.random.index(3) as u32
    }

    /// Makes up to `most` statements and returns whether control cannot reach what comes after them.
    fn statements(&mut self, most: usize) -> bool {
        for _ in 0..1 + self.random.index(most) {
            if self.budget == 0 {
                return false;
            }
            self.budget -= 1;
            if self.statement() && self.random.chance(75) {
                return true;
            }
        }
        false
    }

    fn statement(&mut self) -> bool {
        let deep = self.labels.len() > MAX_DEPTH;
        match self.random.index(if deep { 60 } else { 100 }) {
            0..11 => self.trace(),
            11..12 => self.guarded(|generator| generator.emit(Instruction::Unreachable)),
            12..20 => {
                let ty = if self.random.chance(40) { ValType::I64 } else { ValType::I32 };
                self.value(ty);
                let local = self.local(ty);
                self.emit(Instruction::LocalSet(local));
            }
            20..28 => self.guarded(Self::throw),
            28..30 => {
                self.throw();
                return true;
            }
            30..36 => self.guarded(Self::rethrow),
            36..38 => {
                if self.labels.iter().any(|label| label.frame == Frame::Clause) {
                    self.rethrow();
                    return true;
                }
            }
            38..44 => self.branch_if(),
            44..48 => self.guarded(Self::branch),
            48..52 => self.guarded(Self::branch_table),
            52..53 => {
                self.branch();
                return true;
            }
            53..54 => {
                self.branch_table();
                return true;
            }
            54..56 => self.guarded(Self::leave),
            56..60 => self.call(),
            60..66 => self.construct(Frame::Plain),
            66..70 => self.construct(Frame::Loop),
            _ => self.construct(Frame::Body),
        }
        false
    }

    /// Runs what `statement` makes with a probability of one half or less.
    fn guarded(&mut self, statement: fn(&mut Self)) {
        self.emit(Instruction::Call(DRAW));
        let mask = [1, 3, 7][self.random.index(3)];
        self.emit(Instruction::I32Const(mask));
        self.emit(Instruction::I32And);
        self.emit(Instruction::I32Eqz);
        self.emit(Instruction::If(BlockType::Empty));
        self.labels.push(Label { frame: Frame::Plain, types: Vec::new() });
        statement(self);
        self.labels.pop();
        self.emit(Instruction::End);
    }

    /// A block, loop or `try` whose results go into local variables.
    fn construct(&mut self, frame: Frame) {
        let results = list(&mut self.random, 2);
        self.nested(frame, &results);
        self.sink(&results);
    }

    fn nested(&mut self, frame: Frame, results: &[ValType]) {
        let params = if self.random.chance(30) { list(&mut self.random, 2) } else { Vec::new() };
        self.values(&params);
        let ty = self.types.block(&params, results);
        let types = if frame == Frame::Loop { params.clone() } else { results.to_vec() };
        match frame {
            Frame::Body => {
                self.census.tries += 1;
                self.census.tries_with_params += usize::from(!params.is_empty());
                self.census.tries_with_results += usize::from(!results.is_empty());
                let in_clause = self.labels.iter().any(|label| label.frame == Frame::Clause);
                self.census.tries_inside_clauses += usize::from(in_clause);
                self.emit(Instruction::Try(ty));
            }
            Frame::Loop => self.emit(Instruction::Loop(ty)),
            _ => self.emit(Instruction::Block(ty)),
        }
        self.labels.push(Label { frame, types });
        if frame == Frame::Loop {
            self.emit(Instruction::Call(TICK));
        }
        self.sink(&params);
        let diverged = self.statements(5);
        self.finish(diverged, results);
        if frame == Frame::Body {
            self.clauses(results);
        } else {
            self.labels.pop();
            self.emit(Instruction::End);
        }
    }

    /// What follows the body of a `try`.
    fn clauses(&mut self, results: &[ValType]) {
        if self.random.chance(35) {
            self.labels.pop();
            let depth =
                if self.random.chance(20) { self.labels.len() - 1 } else { self.random.index(self.labels.len()) };
            self.census.delegates += 1;
            match self.labels[self.labels.len() - 1 - depth].frame {
                Frame::Function => self.census.delegates_to_the_function += 1,
                Frame::Body => self.census.delegates_to_a_try += 1,
                Frame::Clause => self.census.delegates_to_a_clause += 1,
                _ => {}
            }
            self.emit(Instruction::Delegate(depth as u32));
            return;
        }
        let catches = [0, 1, 1, 1, 2, 2, 3, 4][self.random.index(8)];
        let catch_all = self.random.chance(if catches == 0 { 85 } else { 35 });
        let clauses = catches + usize::from(catch_all);
        self.census.bare_tries += usize::from(clauses == 0);
        self.census.tries_with_several_clauses += usize::from(clauses > 1);
        self.census.catch_alls_after_catch += usize::from(catch_all && catches > 0);
        for number in 0..clauses {
            let last = self.labels.len() - 1;
            self.labels[last].frame = Frame::Clause;
            if number < catches {
                let tag = self.random.index(TAGS.len());
                self.emit(Instruction::Catch(tag as u32));
                self.sink(TAGS[tag]);
            } else {
                self.emit(Instruction::CatchAll);
            }
            self.trace();
            let diverged = self.statements(3);
            self.finish(diverged, results);
        }
        self.labels.pop();
        self.emit(Instruction::End);
    }

    /// Leaves `results` on the stack, or after code that diverged sometimes leaves that to the polymorphic stack.
    fn finish(&mut self, diverged: bool, results: &[ValType]) {
        if !diverged || self.random.chance(30) {
            self.values(results);
        }
    }

    /// Takes values off the stack, into the hash and local variables.
    fn sink(&mut self, types: &[ValType]) {
        for ty in types.iter().rev() {
            let local = self.local(*ty);
            self.emit(Instruction::LocalSet(local));
            self.emit(Instruction::LocalGet(local));
            if *ty == ValType::I64 {
                self.emit(Instruction::I32WrapI64);
            }
            self.emit(Instruction::Call(TRACE));
        }
    }

    fn values(&mut self, types: &[ValType]) {
        for ty in types {
            self.value(*ty);
        }
    }

    /// Puts a value on the stack; sometimes by a `try` or block, so that operands lie below it.
    fn value(&mut self, ty: ValType) {
        let deep = self.labels.len() > MAX_DEPTH || self.budget < 4;
        match self.random.index(if deep { 9 } else { 11 }) {
            0..3 => {
                let value = self.random.index(1 << 20) as i32;
                match ty {
                    ValType::I64 => self.emit(Instruction::I64Const(i64::from(value))),
                    _ => self.emit(Instruction::I32Const(value)),
                }
            }
            3..7 => {
                let local = self.local(ty);
                self.emit(Instruction::LocalGet(local));
            }
            7..9 => {
                self.emit(Instruction::Call(DRAW));
                if ty == ValType::I64 {
                    self.emit(Instruction::I64ExtendI32S);
                }
            }
            9 => {
                self.budget -= 1;
                self.nested(Frame::Body, &[ty]);
            }
            _ => {
                self.budget -= 1;
                self.value(ty);
                self.nested(Frame::Plain, &[ty]);
                self.emit(if ty == ValType::I64 { Instruction::I64Sub } else { Instruction::I32Sub });
            }
        }
    }

    fn throw(&mut self) {
        let tag = self.random.index(TAGS.len());
        self.census.throws += 1;
        self.values(TAGS[tag]);
        self.emit(Instruction::Throw(tag as u32));
    }

    fn rethrow(&mut self) {
        let depths: Vec<_> = (0..self.labels.len())
            .filter(|depth| self.labels[self.labels.len() - 1 - depth].frame == Frame::Clause)
            .collect();
        if depths.is_empty() {
            return;
        }
        let choice = self.random.index(depths.len());
        self.census.rethrows += 1;
        self.census.deep_rethrows += usize::from(choice > 0);
        self.emit(Instruction::Rethrow(depths[choice] as u32));
    }

    /// A random label: its depth and what a branch to it takes along.
    fn target(&mut self) -> (u32, Vec<ValType>) {
        self.census.branches += 1;
        let depth = self.random.index(self.labels.len());
        let label = &self.labels[self.labels.len() - 1 - depth];
        (depth as u32, label.types.clone())
    }

    fn branch(&mut self) {
        let (depth, types) = self.target();
        self.values(&types);
        self.emit(Instruction::Br(depth));
    }

    fn branch_if(&mut self) {
        let (depth, types) = self.target();
        self.values(&types);
        self.emit(Instruction::Call(DRAW));
        self.emit(Instruction::I32Const(3));
        self.emit(Instruction::I32And);
        self.emit(Instruction::I32Eqz);
        self.emit(Instruction::BrIf(depth));
        self.sink(&types);
    }

    fn branch_table(&mut self) {
        let (default, types) = self.target();
        let same: Vec<u32> = (0..self.labels.len())
            .filter(|depth| self.labels[self.labels.len() - 1 - depth].types == types)
            .map(|depth| depth as u32)
            .collect();
        let targets: Vec<u32> = (0..self.random.index(5)).map(|_| same[self.random.index(same.len())]).collect();
        self.values(&types);
        self.emit(Instruction::Call(DRAW));
        self.emit(Instruction::I32Const(7));
        self.emit(Instruction::I32And);
        self.emit(Instruction::BrTable(targets.into(), default));
    }

    fn leave(&mut self) {
        let signatures = self.signatures;
        let own = &signatures[self.number].1;
        let tail = (self.number + 1..signatures.len()).find(|other| signatures[*other].1 == *own);
        match tail {
            Some(other) if self.random.chance(40) => {
                self.values(&signatures[other].0);
                self.emit(Instruction::ReturnCall(FIRST + other as u32));
            }
            _ => {
                self.values(own);
                self.emit(Instruction::Return);
            }
        }
    }

    fn call(&mut self) {
        let later = self.signatures.len() - self.number - 1;
        if later == 0 {
            return self.trace();
        }
        let callee = self.number + 1 + self.random.index(later);
        let (params, results) = &self.signatures[callee];
        self.values(params);
        self.emit(Instruction::Call(FIRST + callee as u32));
        self.sink(results);
    }
}
