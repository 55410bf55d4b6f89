//! Second reading of a function: writes the new body.

use wasm_encoder::{BlockType, Catch, Encode, Instruction, ValType};
use wasmparser::{FunctionBody, Operator};

use super::plan::{Clause, Handler, Plan};
use super::{MAX_CLAUSES, MAX_LOCALS, Translator};
use crate::ModuleError;

/// Opcodes that are followed by a block type, which is copied.
const BLOCK: u8 = 0x02;
const TRY_TABLE: u8 = 0x1f;

/// Open labels once the block around a whole function body is open: the function's and its own.
const WRAPPER_LABEL: u32 = 2;

/// A frame of the old code.
struct Frame {
    /// How many labels of the new code are open once this frame's label is, itself included. A branch to it from a place
    /// with `n` open labels has depth `n - label`.
    label: u32,
    construct: Construct,
    /// The local that holds the exception of the current clause.
    exception: Option<u32>,
}

#[derive(Clone, Copy)]
enum Construct {
    Plain,
    /// A `try` without clauses, delegating or not.
    Bare,
    /// The body of the `try` with this number.
    Body(usize),
    /// A clause, by number, of the `try` with this number.
    Clause(usize, usize),
}

/// Writes the new body of one function.
pub(super) struct Emitter<'t, 'l, 'a> {
    translator: &'t mut Translator<'l, 'a>,
    plan: &'t Plan,
    body: FunctionBody<'a>,
    /// Instructions written so far.
    code: Vec<u8>,
    /// Old instructions from this position (in the body's bytes) on are still to be copied.
    pending: usize,
    /// Open labels in the new code, the function's included.
    height: u32,
    frames: Vec<Frame>,
    /// The label height of each `try` begun so far, by number.
    labels: Vec<u32>,
    /// Exceptions held at this point, and the most held at any point.
    exceptions: u32,
    max_exceptions: u32,
    /// First local that holds an exception.
    first_exception: u32,
}

impl<'t, 'l, 'a> Emitter<'t, 'l, 'a> {
    pub(super) fn new(translator: &'t mut Translator<'l, 'a>, plan: &'t Plan, body: &FunctionBody<'a>) -> Self {
        Emitter {
            translator,
            plan,
            body: body.clone(),
            code: Vec::with_capacity(body.as_bytes().len() + body.as_bytes().len() / 8),
            pending: 0,
            height: 0,
            frames: Vec::new(),
            labels: Vec::new(),
            exceptions: 0,
            max_exceptions: 0,
            first_exception: 0,
        }
    }

    /// Translates the function, which has `params` parameters.
    pub(super) fn function(mut self, params: u32) -> Result<Vec<u8>, ModuleError> {
        let start = self.body.range().start;
        let bytes = self.body.as_bytes();
        let mut locals = self.body.get_locals_reader()?;
        let groups = locals.get_count();
        let groups_start = locals.original_position() - start;
        let mut count = params;
        for _ in 0..groups {
            let (more, _) = locals.read()?;
            count = count.checked_add(more).ok_or_else(too_many_locals)?;
        }
        let groups_end = locals.original_position() - start;
        self.first_exception = count;
        self.pending = groups_end;

        self.height = 1;
        if self.plan.wrapped {
            self.write(&Instruction::Block(BlockType::Result(ValType::EXNREF)));
            self.height = WRAPPER_LABEL;
        }
        // A branch to the function's label goes past the wrapper, whose label is never the target of old code.
        self.push_labelled(1, Construct::Plain);
        let mut operators = self.body.get_operators_reader()?;
        while !operators.eof() {
            let begin = operators.original_position() - start;
            let operator = operators.read()?;
            let end = operators.original_position() - start;
            self.operator(operator, begin, end)?;
        }
        self.flush(bytes.len());

        if self.max_exceptions > MAX_LOCALS.saturating_sub(count) {
            return Err(too_many_locals());
        }
        let mut new = Vec::with_capacity(self.code.len() + groups_end + 8);
        let added = self.max_exceptions > 0;
        (groups + u32::from(added)).encode(&mut new);
        new.extend_from_slice(&bytes[groups_start..groups_end]);
        if added {
            self.max_exceptions.encode(&mut new);
            ValType::EXNREF.encode(&mut new);
        }
        new.extend_from_slice(&self.code);
        Ok(new)
    }

    fn operator(&mut self, operator: Operator<'a>, begin: usize, end: usize) -> Result<(), ModuleError> {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.height += 1;
                self.push_frame(Construct::Plain);
            }
            Operator::Try { blockty } => {
                self.replace(begin, end);
                self.begin_try(blockty, begin, end)?;
            }
            Operator::Catch { .. } | Operator::CatchAll => {
                self.replace(begin, end);
                self.next_clause(begin)?;
            }
            Operator::Delegate { .. } => {
                self.replace(begin, end);
                self.write(&Instruction::End);
                self.close(begin)?;
            }
            Operator::End => self.end(begin, end)?,
            Operator::Rethrow { relative_depth } => {
                self.replace(begin, end);
                let exception = self.frame(relative_depth, begin)?.exception;
                let exception = exception.ok_or_else(|| self.malformed("`rethrow` of no exception", begin))?;
                self.write(&Instruction::LocalGet(exception));
                self.write(&Instruction::ThrowRef);
            }
            Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::BrOnCast { .. }
            | Operator::BrOnCastFail { .. } => {
                self.replace(begin, end);
                self.branch(operator, begin)?;
            }
            Operator::BrOnCastDescEq { .. }
            | Operator::BrOnCastDescEqFail { .. }
            | Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. } => {
                return Err(ModuleError::Unsupported {
                    message: "this instruction together with legacy exception handling",
                    offset: self.body.range().start + begin,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// `try`: opens the block that takes over the label, the handlers from the last to the first, and the `try_table`.
    fn begin_try(&mut self, ty: wasmparser::BlockType, begin: usize, end: usize) -> Result<(), ModuleError> {
        let number = self.labels.len();
        let plan = self.plan;
        let current = plan.tries.get(number).ok_or_else(|| self.malformed("unknown `try`", begin))?;
        let onward = current.delegate.unwrap_or(current.parent);
        let mut catches = Vec::with_capacity(current.clauses.len());
        if current.clauses.is_empty() {
            if onward != current.parent {
                self.delegate(onward, &mut catches)?;
            }
            self.labels.push(self.height + 1);
        } else {
            self.copy_block(BLOCK, begin, end);
            self.labels.push(self.height);
            for clause in current.clauses.iter().rev() {
                let (block, added) =
                    self.translator.types.handler(self.translator.layout, ty, clause.tag, clause.rethrown)?;
                self.translator.grow(added)?;
                self.write(&Instruction::Block(block));
                self.height += 1;
            }
            for (depth, clause) in (0..).zip(&current.clauses) {
                catches.push(catch(*clause, depth));
            }
        }
        if catches.len() > MAX_CLAUSES {
            return Err(ModuleError::TooLarge { what: "clauses of one try", limit: MAX_CLAUSES });
        }
        self.copy_block(TRY_TABLE, begin, end);
        catches.as_slice().encode(&mut self.code);
        if current.clauses.is_empty() {
            self.push_frame(Construct::Bare);
        } else {
            let label = self.labels[number];
            self.push_labelled(label, Construct::Body(number));
        }
        Ok(())
    }

    /// The clauses of a `try_table` that sends its exceptions to `handler` instead of to the handlers around it.
    fn delegate(&mut self, mut handler: Handler, catches: &mut Vec<Catch>) -> Result<(), ModuleError> {
        self.translator.delegates += 1;
        let stamp = self.translator.delegates;
        while let Handler::Try(number) = handler {
            let target = &self.plan.tries[number];
            self.translator.grow(1 + target.clauses.len())?;
            // The handlers were opened from the last clause to the first, right after the label.
            let first = self.labels[number] + target.clauses.len() as u32;
            for (clause, position) in target.clauses.iter().zip(0..) {
                let depth = self.height - (first - position);
                match clause.tag {
                    // An inner clause catches it first.
                    Some(tag) if self.translator.seen[tag as usize] == stamp => continue,
                    Some(tag) => self.translator.seen[tag as usize] = stamp,
                    None => {}
                }
                catches.push(catch(*clause, depth));
                if clause.tag.is_none() {
                    return Ok(());
                }
            }
            handler = target.parent;
        }
        catches.push(Catch::AllRef { label: self.height - WRAPPER_LABEL });
        Ok(())
    }

    /// `catch` or `catch_all`: ends what comes before and opens the clause.
    fn next_clause(&mut self, begin: usize) -> Result<(), ModuleError> {
        let Some(frame) = self.frames.pop() else {
            return Err(self.malformed("`catch` outside a `try`", begin));
        };
        let (number, clause) = match frame.construct {
            Construct::Body(number) => {
                self.write(&Instruction::End);
                self.height -= 1;
                (number, 0)
            }
            Construct::Clause(number, clause) => (number, clause + 1),
            _ => return Err(self.malformed("`catch` outside a `try`", begin)),
        };
        if frame.exception.is_some() {
            self.exceptions -= 1;
        }
        self.write(&Instruction::Br(self.height - frame.label));
        self.write(&Instruction::End);
        self.height -= 1;
        let rethrown = self.plan.tries[number].clauses[clause].rethrown;
        let mut exception = None;
        if rethrown {
            let local = self.first_exception.saturating_add(self.exceptions);
            self.write(&Instruction::LocalSet(local));
            self.exceptions += 1;
            self.max_exceptions = self.max_exceptions.max(self.exceptions);
            exception = Some(local);
        }
        self.frames.push(Frame { label: frame.label, construct: Construct::Clause(number, clause), exception });
        Ok(())
    }

    fn end(&mut self, begin: usize, end: usize) -> Result<(), ModuleError> {
        if self.frames.len() == 1 && self.plan.wrapped {
            self.replace(begin, end);
            self.write(&Instruction::Return);
            self.write(&Instruction::End);
            self.write(&Instruction::ThrowRef);
            self.write(&Instruction::End);
            self.height -= 1;
        }
        self.close(begin)
    }

    /// The innermost old frame ends, its `end` being copied or written already.
    fn close(&mut self, begin: usize) -> Result<(), ModuleError> {
        let Some(frame) = self.frames.pop() else {
            return Err(self.malformed("too many `end`", begin));
        };
        if frame.exception.is_some() {
            self.exceptions -= 1;
        }
        self.height = frame.label - 1;
        Ok(())
    }

    fn frame(&self, depth: u32, begin: usize) -> Result<&Frame, ModuleError> {
        self.frames.iter().nth_back(depth as usize).ok_or_else(|| self.malformed("unknown label", begin))
    }

    /// The depth in the new code of a label of the old code.
    pub(super) fn depth(&self, old: u32, begin: usize) -> Result<u32, ModuleError> {
        Ok(self.height - self.frame(old, begin)?.label)
    }

    /// Records the label just opened as that of an old frame.
    fn push_frame(&mut self, construct: Construct) {
        self.push_labelled(self.height, construct);
    }

    fn push_labelled(&mut self, label: u32, construct: Construct) {
        self.frames.push(Frame { label, construct, exception: None });
    }

    /// Opens a block with the block type of the `try` at `begin..end`.
    fn copy_block(&mut self, opcode: u8, begin: usize, end: usize) {
        self.code.push(opcode);
        self.code.extend_from_slice(&self.body.as_bytes()[begin + 1..end]);
        self.height += 1;
    }

    /// Copies the old instructions before `begin` and skips those up to `end`, which the caller replaces.
    fn replace(&mut self, begin: usize, end: usize) {
        self.flush(begin);
        self.pending = end;
    }

    fn flush(&mut self, to: usize) {
        self.code.extend_from_slice(&self.body.as_bytes()[self.pending..to]);
        self.pending = to;
    }

    pub(super) fn write(&mut self, instruction: &Instruction<'_>) {
        instruction.encode(&mut self.code);
    }

    pub(super) fn malformed(&self, message: &str, begin: usize) -> ModuleError {
        ModuleError::malformed(message, self.body.range().start + begin)
    }
}

fn catch(clause: Clause, label: u32) -> Catch {
    match (clause.tag, clause.rethrown) {
        (Some(tag), false) => Catch::One { tag, label },
        (Some(tag), true) => Catch::OneRef { tag, label },
        (None, false) => Catch::All { label },
        (None, true) => Catch::AllRef { label },
    }
}

fn too_many_locals() -> ModuleError {
    ModuleError::TooLarge { what: "locals in one function", limit: MAX_LOCALS as usize }
}
