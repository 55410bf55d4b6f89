//! First reading of a function: what each `try` is.

use wasmparser::{FunctionBody, Operator};

use crate::ModuleError;

/// One `catch` or `catch_all`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clause {
    /// The tag caught; `None` is `catch_all`.
    pub(super) tag: Option<u32>,
    /// Whether a `rethrow` names this clause, so that the exception must be kept.
    pub(super) rethrown: bool,
}

/// Where an exception thrown at some place goes next: to a `try` whose body encloses the place, or to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handler {
    /// The function's caller.
    Caller,
    /// The `try` with this number.
    Try(usize),
}

/// One `try` of the function. They are numbered in the order in which they begin.
#[derive(Debug)]
pub(super) struct Try {
    /// Its clauses; none if it delegates.
    pub(super) clauses: Vec<Clause>,
    /// Where exceptions go that its clauses do not catch, ignoring a `delegate`.
    pub(super) parent: Handler,
    /// Where its `delegate` leads.
    pub(super) delegate: Option<Handler>,
}

/// What the second reading must know beforehand.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) tries: Vec<Try>,
    /// Whether some `delegate` passes over a handler on its way to the caller, so that the function body is wrapped.
    pub(super) wrapped: bool,
    frames: Vec<Frame>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    construct: Construct,
    /// Where an exception thrown directly in this frame goes.
    handler: Handler,
}

#[derive(Debug, Clone, Copy)]
enum Construct {
    /// The function itself, or a `block`, `loop`, or `if`.
    Plain,
    /// The body of the `try` with this number.
    Body(usize),
    /// A clause, by number, of the `try` with this number.
    Clause(usize, usize),
}

impl Plan {
    /// Reads a function body; `tags` is the number of tags in the module. Returns whether it has a `try`, without which the
    /// plan holds nothing.
    pub(super) fn read(&mut self, body: &FunctionBody<'_>, tags: usize) -> Result<bool, ModuleError> {
        self.tries.clear();
        self.wrapped = false;
        self.frames.clear();
        self.frames.push(Frame { construct: Construct::Plain, handler: Handler::Caller });
        let mut standard = None;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let (operator, offset) = reader.read_with_offset()?;
            match operator {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => self.push_plain(offset)?,
                Operator::TryTable { .. } => {
                    standard.get_or_insert(offset);
                    self.push_plain(offset)?;
                }
                Operator::Try { .. } => {
                    let parent = self.top(offset)?.handler;
                    let number = self.tries.len();
                    self.tries.push(Try { clauses: Vec::new(), parent, delegate: None });
                    self.frames.push(Frame { construct: Construct::Body(number), handler: Handler::Try(number) });
                }
                Operator::Catch { tag_index } => {
                    if tag_index as usize >= tags {
                        return Err(ModuleError::malformed("unknown tag", offset));
                    }
                    self.begin_clause(Some(tag_index), offset)?;
                }
                Operator::CatchAll => self.begin_clause(None, offset)?,
                Operator::Delegate { relative_depth } => {
                    let Construct::Body(number) = self.top(offset)?.construct else {
                        return Err(ModuleError::malformed("`delegate` outside a `try`", offset));
                    };
                    self.frames.pop();
                    let target = self.frame(relative_depth, offset)?.handler;
                    self.tries[number].delegate = Some(target);
                }
                Operator::Rethrow { relative_depth } => {
                    let Construct::Clause(number, clause) = self.frame(relative_depth, offset)?.construct else {
                        return Err(ModuleError::malformed("`rethrow` of a label that is no `catch`", offset));
                    };
                    self.tries[number].clauses[clause].rethrown = true;
                }
                Operator::End => {
                    self.frames.pop();
                }
                _ => {}
            }
        }
        reader.finish()?;
        if self.tries.is_empty() {
            return Ok(false);
        }
        if let Some(offset) = standard {
            return Err(ModuleError::Unsupported {
                message: "legacy and standard exception handling in one function",
                offset,
            });
        }
        self.resolve();
        Ok(true)
    }

    fn push_plain(&mut self, offset: usize) -> Result<(), ModuleError> {
        let handler = self.top(offset)?.handler;
        self.frames.push(Frame { construct: Construct::Plain, handler });
        Ok(())
    }

    fn begin_clause(&mut self, tag: Option<u32>, offset: usize) -> Result<(), ModuleError> {
        let (Construct::Body(number) | Construct::Clause(number, _)) = self.top(offset)?.construct else {
            return Err(ModuleError::malformed("`catch` outside a `try`", offset));
        };
        let current = &mut self.tries[number];
        let clause = current.clauses.len();
        current.clauses.push(Clause { tag, rethrown: false });
        let handler = current.parent;
        self.frames.pop();
        self.frames.push(Frame { construct: Construct::Clause(number, clause), handler });
        Ok(())
    }

    fn top(&self, offset: usize) -> Result<Frame, ModuleError> {
        self.frame(0, offset)
    }

    fn frame(&self, depth: u32, offset: usize) -> Result<Frame, ModuleError> {
        self.frames
            .iter()
            .nth_back(depth as usize)
            .copied()
            .ok_or_else(|| ModuleError::malformed("unknown label", offset))
    }

    /// Replaces handlers that merely pass exceptions on by the handlers they pass them to. Only now is it known which `try`
    /// delegates. A handler begins before what it handles, so its number is smaller and it is already resolved.
    fn resolve(&mut self) {
        // For each try, whether an exception thrown in its body may reach the caller.
        let mut reaches_caller = Vec::with_capacity(self.tries.len());
        for number in 0..self.tries.len() {
            let parent = self.forward(self.tries[number].parent);
            let delegate = self.tries[number].delegate.map(|target| self.forward(target));
            let current = &mut self.tries[number];
            current.parent = parent;
            current.delegate = delegate;
            let reaches = |handler| match handler {
                Handler::Caller => true,
                Handler::Try(outer) => reaches_caller[outer],
            };
            let onward = delegate.unwrap_or(parent);
            let reached = reaches(onward) && current.clauses.iter().all(|clause| clause.tag.is_some());
            self.wrapped |= onward != parent && reached;
            reaches_caller.push(reached);
        }
    }

    /// Where exceptions that reach `handler` are looked at: itself, or where it passes them.
    fn forward(&self, handler: Handler) -> Handler {
        let Handler::Try(number) = handler else {
            return handler;
        };
        let target = &self.tries[number];
        match target.delegate {
            Some(delegate) => delegate,
            None if target.clauses.is_empty() => target.parent,
            None => handler,
        }
    }
}
