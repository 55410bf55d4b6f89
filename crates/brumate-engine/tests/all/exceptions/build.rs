//! Small modules by hand.

use std::borrow::Cow;

use wasm_encoder::{
    CodeSection, CustomSection, ExportKind, ExportSection, Function, FunctionSection, Instruction, Module, TagKind,
    TagSection, TagType, TypeSection, ValType,
};

/// A module of functions that share the tags; function `n` is exported as `f<n>`.
#[derive(Default)]
pub(crate) struct Small {
    types: TypeSection,
    functions: FunctionSection,
    tags: TagSection,
    exports: ExportSection,
    code: CodeSection,
    customs: Vec<(String, Vec<u8>)>,
}

impl Small {
    /// A function type for use as a block type; returns its index.
    pub(crate) fn ty(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        self.types.ty().function(params.iter().copied(), results.iter().copied());
        self.types.len() - 1
    }

    /// A tag with these values; returns its index.
    pub(crate) fn tag(&mut self, payload: &[ValType]) -> u32 {
        let func_type_idx = self.ty(payload, &[]);
        self.tags.tag(TagType { kind: TagKind::Exception, func_type_idx });
        self.tags.len() - 1
    }

    /// A function; `end` is added to the instructions. Returns its index.
    pub(crate) fn function(
        &mut self,
        params: &[ValType],
        results: &[ValType],
        locals: &[ValType],
        instructions: &[Instruction<'_>],
    ) -> u32 {
        let index = self.functions.len();
        let ty = self.ty(params, results);
        self.functions.function(ty);
        self.exports.export(&format!("f{index}"), ExportKind::Func, index);
        let mut body = Function::new_with_locals_types(locals.iter().copied());
        for instruction in instructions {
            body.instruction(instruction);
        }
        body.instruction(&Instruction::End);
        self.code.function(&body);
        index
    }

    /// A custom section at the end of the module.
    pub(crate) fn custom(&mut self, name: &str, data: &[u8]) {
        self.customs.push((name.to_owned(), data.to_vec()));
    }

    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut module = Module::new();
        module.section(&self.types).section(&self.functions);
        if !self.tags.is_empty() {
            module.section(&self.tags);
        }
        module.section(&self.exports).section(&self.code);
        for (name, data) in &self.customs {
            module.section(&CustomSection { name: Cow::Borrowed(name), data: Cow::Borrowed(data) });
        }
        module.finish()
    }
}
