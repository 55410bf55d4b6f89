//! One pass over a module: where its sections lie and what its index spaces hold.

use std::ops::Range;

use wasmparser::{CompositeInnerType, Encoding, ExternalKind, FuncType, FunctionBody, Parser, Payload, TypeRef};

use super::{ModuleError, check_header};

/// Section identifiers of the binary format.
pub(super) mod id {
    pub(crate) const CUSTOM: u8 = 0;
    pub(crate) const TYPE: u8 = 1;
    pub(crate) const IMPORT: u8 = 2;
    pub(crate) const EXPORT: u8 = 7;
    pub(crate) const START: u8 = 8;
    pub(crate) const ELEMENT: u8 = 9;
    pub(crate) const CODE: u8 = 10;
    pub(crate) const DATA: u8 = 11;
    pub(crate) const DATA_COUNT: u8 = 12;
}

/// One section, as ranges of the module's bytes.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) id: u8,
    /// The name, for a custom section.
    pub(super) name: Option<&'a str>,
    /// The whole section: identifier, size, content.
    pub(super) whole: Range<usize>,
    /// The content; of a custom section without its name.
    pub(super) content: Range<usize>,
}

/// One export.
#[derive(Debug)]
pub(super) struct Export<'a> {
    pub(super) name: &'a str,
    pub(super) kind: ExternalKind,
    pub(super) index: u32,
}

/// A module's sections and index spaces. Nothing in it is validated beyond the binary format, so every index must be
/// looked up with `get`.
pub(super) struct Layout<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) sections: Vec<Section<'a>>,
    /// Function types by type index; `None` for arrays, structs and continuations.
    pub(super) types: Vec<Option<FuncType>>,
    /// Imported functions: module, name, type index.
    pub(super) function_imports: Vec<(&'a str, &'a str, u32)>,
    /// Type indices of the functions defined here.
    pub(super) functions: Vec<u32>,
    /// Type index of every tag, imported ones first.
    pub(super) tags: Vec<u32>,
    /// Number of imported globals.
    pub(super) imported_globals: u32,
    /// Whether each global defined here is mutable.
    pub(super) globals: Vec<bool>,
    /// Number of imported tables.
    pub(super) imported_tables: u32,
    /// Number of tables defined here.
    pub(super) tables: u32,
    pub(super) exports: Vec<Export<'a>>,
    pub(super) bodies: Vec<FunctionBody<'a>>,
}

impl<'a> Layout<'a> {
    /// Reads everything but the function bodies' instructions.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ModuleError> {
        check_header(bytes)?;
        let mut layout = Layout {
            bytes,
            sections: Vec::new(),
            types: Vec::new(),
            function_imports: Vec::new(),
            functions: Vec::new(),
            tags: Vec::new(),
            imported_globals: 0,
            globals: Vec::new(),
            imported_tables: 0,
            tables: 0,
            exports: Vec::new(),
            bodies: Vec::new(),
        };
        let mut end = 0;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload?;
            if let Some((id, content)) = payload.as_section() {
                let name = match &payload {
                    Payload::CustomSection(section) => Some(section.name()),
                    _ => None,
                };
                let content = match &payload {
                    Payload::CustomSection(section) => section.data_offset()..content.end,
                    _ => content,
                };
                layout.sections.push(Section { id, name, whole: end..content.end, content: content.clone() });
                end = content.end;
            }
            layout.read(payload, &mut end)?;
        }
        if layout.bodies.len() != layout.functions.len() {
            return Err(ModuleError::malformed("function and code sections have different lengths", end));
        }
        Ok(layout)
    }

    fn read(&mut self, payload: Payload<'a>, end: &mut usize) -> Result<(), ModuleError> {
        match payload {
            Payload::Version { encoding, range, .. } => {
                if encoding != Encoding::Module {
                    return Err(ModuleError::NotCoreModule);
                }
                *end = range.end;
            }
            Payload::TypeSection(section) => {
                for group in section {
                    for sub_type in group?.into_types() {
                        self.types.push(match sub_type.composite_type.inner {
                            CompositeInnerType::Func(function) => Some(function),
                            _ => None,
                        });
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    match import.ty {
                        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                            self.function_imports.push((import.module, import.name, ty));
                        }
                        TypeRef::Tag(tag) => self.tags.push(tag.func_type_idx),
                        TypeRef::Global(_) => self.imported_globals += 1,
                        TypeRef::Table(_) => self.imported_tables += 1,
                        TypeRef::Memory(_) => {}
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.functions.push(ty?);
                }
            }
            Payload::TableSection(section) => self.tables = section.count(),
            Payload::TagSection(section) => {
                for tag in section {
                    self.tags.push(tag?.func_type_idx);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.globals.push(global?.ty.mutable);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    self.exports.push(Export { name: export.name, kind: export.kind, index: export.index });
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            _ => {}
        }
        Ok(())
    }

    /// The function type at a type index.
    pub(super) fn function_type(&self, index: u32) -> Option<&FuncType> {
        self.types.get(index as usize)?.as_ref()
    }

    /// Number of imported functions, which is the index of the first function defined here.
    pub(super) fn imported_functions(&self) -> u32 {
        self.function_imports.len() as u32
    }
}
