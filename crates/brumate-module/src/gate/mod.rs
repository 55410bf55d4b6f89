//! The gate before the compiler: what a side module may have.
//!
//! [`check`] counts what a module has and refuses it when one count exceeds its bound ([`GUEST`], [`WHEEL`]). It also refuses what no side module needs
//! and what would hold memory beside the run's limit: memories and tables of its own, 64-bit memories, shared memories, and types of
//! the garbage collector. It keeps nothing of what it reads and takes time that is linear in the module's size. A module that passes
//! is not known to be valid: compiling it validates it.

mod bounds;

use wasmparser::{
    CompositeInnerType, ElementItems, ElementSectionReader, FunctionBody, ImportSectionReader, Operator, Parser,
    Payload, TypeRef, TypeSectionReader,
};

pub use bounds::{Counts, GUEST, WHEEL};

use super::{ModuleError, check_header};

impl Counts {
    /// Bytes that each instance of the module takes beside its code, at most: entries of imports, functions and globals, and names of
    /// exports.
    pub fn instance_bytes(&self) -> u64 {
        /// Bytes of the largest of these entries.
        const ENTRY: u64 = 64;
        let entries = [self.types, self.imports, self.functions, self.globals, self.exports, self.tags];
        entries.iter().map(|&count| u64::from(count)).sum::<u64>().saturating_add(self.elements) * ENTRY
    }
}

/// Counts what a side module has.
///
/// # Errors
/// [`ModuleError::TooLarge`] when it exceeds a bound, [`ModuleError::Forbidden`] when it has something that no side module may have,
/// and those of a malformed module.
pub fn check(bytes: &[u8], bounds: &Counts) -> Result<Counts, ModuleError> {
    within("bytes", bytes.len() as u64, bounds.bytes as u64)?;
    check_header(bytes)?;
    let mut counts = Counts::default();
    for payload in Parser::new(0).parse_all(bytes) {
        counts.read(payload?, bounds)?;
    }
    Ok(counts)
}

fn within(what: &'static str, count: u64, limit: u64) -> Result<(), ModuleError> {
    if count <= limit { Ok(()) } else { Err(ModuleError::TooLarge { what, limit: limit as usize }) }
}

fn forbidden<T>(what: &'static str) -> Result<T, ModuleError> {
    Err(ModuleError::Forbidden(what))
}

/// Adds to a count, and refuses what exceeds its limit.
fn add(count: &mut u32, more: u32, what: &'static str, limit: u32) -> Result<(), ModuleError> {
    *count = count.saturating_add(more);
    within(what, u64::from(*count), u64::from(limit))
}

impl Counts {
    fn read(&mut self, payload: Payload<'_>, bounds: &Counts) -> Result<(), ModuleError> {
        match payload {
            Payload::TypeSection(section) => self.types(section, bounds),
            Payload::ImportSection(section) => self.imports(section, bounds),
            Payload::FunctionSection(section) => {
                add(&mut self.functions, section.count(), "functions", bounds.functions)
            }
            Payload::TableSection(section) if section.count() > 0 => forbidden("a table of its own"),
            Payload::MemorySection(section) if section.count() > 0 => forbidden("a memory of its own"),
            Payload::TagSection(section) => add(&mut self.tags, section.count(), "tags", bounds.tags),
            Payload::GlobalSection(section) => add(&mut self.globals, section.count(), "globals", bounds.globals),
            Payload::ExportSection(section) => add(&mut self.exports, section.count(), "exports", bounds.exports),
            Payload::ElementSection(section) => self.elements(section, bounds),
            Payload::DataSection(section) => {
                add(&mut self.data_segments, section.count(), "data segments", bounds.data_segments)
            }
            Payload::CodeSectionEntry(body) => self.body(&body, bounds),
            _ => Ok(()),
        }
    }

    fn types(&mut self, section: TypeSectionReader<'_>, bounds: &Counts) -> Result<(), ModuleError> {
        // A group of types counts as one before it is read.
        within("types", u64::from(section.count()), u64::from(bounds.types))?;
        for group in section {
            for sub_type in group?.into_types() {
                add(&mut self.types, 1, "types", bounds.types)?;
                let CompositeInnerType::Func(function) = &sub_type.composite_type.inner else {
                    return forbidden("a type of the garbage collector");
                };
                let arity = function.params().len().max(function.results().len()) as u32;
                self.arity = self.arity.max(arity);
                within("parameters or results of a function", u64::from(arity), u64::from(bounds.arity))?;
            }
        }
        Ok(())
    }

    fn imports(&mut self, section: ImportSectionReader<'_>, bounds: &Counts) -> Result<(), ModuleError> {
        for import in section.into_imports() {
            add(&mut self.imports, 1, "imports", bounds.imports)?;
            match import?.ty {
                TypeRef::Memory(memory) if memory.memory64 => return forbidden("a 64-bit memory"),
                TypeRef::Memory(memory) if memory.shared => return forbidden("a shared memory"),
                TypeRef::Table(table) if table.table64 => return forbidden("a 64-bit table"),
                TypeRef::Table(table) if table.shared => return forbidden("a shared table"),
                _ => {}
            }
        }
        Ok(())
    }

    fn elements(&mut self, section: ElementSectionReader<'_>, bounds: &Counts) -> Result<(), ModuleError> {
        add(&mut self.element_segments, section.count(), "element segments", bounds.element_segments)?;
        for element in section {
            let count = match element?.items {
                ElementItems::Functions(items) => items.count(),
                ElementItems::Expressions(_, items) => items.count(),
            };
            self.elements = self.elements.saturating_add(u64::from(count));
            within("table elements", self.elements, bounds.elements)?;
        }
        Ok(())
    }

    fn body(&mut self, body: &FunctionBody<'_>, bounds: &Counts) -> Result<(), ModuleError> {
        let length = body.range().len();
        self.function_bytes = self.function_bytes.max(length);
        within("bytes in a function", length as u64, bounds.function_bytes as u64)?;
        // Parameters are not known here without the type; the bound on arity covers them.
        let mut locals = 0_u32;
        for group in body.get_locals_reader()? {
            add(&mut locals, group?.0, "locals in a function", bounds.locals)?;
        }
        self.locals = self.locals.max(locals);
        let (mut depth, mut blocks, mut targets) = (0_u32, 0_u32, 0_u32);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            match operators.read()? {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::Try { .. }
                | Operator::TryTable { .. } => {
                    depth = depth.saturating_add(1);
                    self.depth = self.depth.max(depth);
                    within("blocks inside each other", u64::from(depth), u64::from(bounds.depth))?;
                    add(&mut blocks, 1, "blocks in a function", bounds.blocks)?;
                }
                Operator::Catch { .. } | Operator::CatchAll | Operator::Else => {
                    add(&mut blocks, 1, "blocks in a function", bounds.blocks)?;
                }
                Operator::End | Operator::Delegate { .. } => depth = depth.saturating_sub(1),
                Operator::BrTable { targets: table } => {
                    add(&mut targets, table.len(), "targets of jump tables in a function", bounds.targets)?;
                }
                _ => {}
            }
        }
        self.blocks = self.blocks.max(blocks);
        self.targets = self.targets.max(targets);
        let merges = u64::from(locals).saturating_add(u64::from(self.arity)) * u64::from(blocks);
        self.merges = self.merges.max(merges);
        within("locals times blocks in a function", merges, bounds.merges)
    }
}

#[cfg(test)]
mod tests;
