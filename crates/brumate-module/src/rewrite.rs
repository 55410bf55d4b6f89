//! Puts a changed module together: raw copies of what stays, new bytes for what changes.

use std::borrow::Cow;

use wasm_encoder::Encode;
use wasmparser::{BinaryReader, Import, ImportSectionReader, TypeRef};

use super::exceptions::Translator;
use super::layout::{Layout, Section, id};
use super::patch::{NewExport, Patches};
use super::{MAX_MODULE_BYTES, ModuleError};

/// The name section's sub-section of label names, which are wrong once labels have been added.
const LABEL_NAMES: u8 = 3;

/// Translates the module's legacy exception handling and applies `patches`.
pub(super) fn rewrite<'a>(layout: &Layout<'a>, patches: &Patches) -> Result<Vec<u8>, ModuleError> {
    let mut translator = Translator::new(layout);
    let code = code_section(layout, patches, &mut translator)?;
    if code.is_none() && patches.exports.is_empty() {
        return Ok(layout.bytes.to_vec());
    }
    let mut module = Vec::with_capacity(layout.bytes.len() + layout.bytes.len() / 16);
    module.extend_from_slice(&layout.bytes[..8]);
    let mut exports_to_add = patches.exports.as_slice();
    for section in &layout.sections {
        if !exports_to_add.is_empty() && comes_after_exports(section.id) {
            append_entries(&mut module, id::EXPORT, 0, &[], exports_to_add.len(), &encode_exports(exports_to_add));
            exports_to_add = &[];
        }
        let content = &layout.bytes[section.content.clone()];
        match (section.id, &code) {
            (id::TYPE, Some(_)) if translator.types().count() > 0 => {
                let types = translator.types();
                extend_section(&mut module, section, content, types.count(), types.entries())?;
            }
            (id::IMPORT, _) if !patches.imports.is_empty() => {
                append_section(&mut module, id::IMPORT, &import_section(content, section.content.start, patches)?);
            }
            (id::EXPORT, _) if !exports_to_add.is_empty() => {
                let entries = encode_exports(exports_to_add);
                extend_section(&mut module, section, content, exports_to_add.len(), &entries)?;
                exports_to_add = &[];
            }
            (id::CODE, Some(code)) => append_section(&mut module, id::CODE, code),
            (id::CUSTOM, Some(_)) => custom_section(&mut module, layout.bytes, section),
            _ => module.extend_from_slice(&layout.bytes[section.whole.clone()]),
        }
        if module.len() > MAX_MODULE_BYTES {
            break;
        }
    }
    if !exports_to_add.is_empty() {
        append_entries(&mut module, id::EXPORT, 0, &[], exports_to_add.len(), &encode_exports(exports_to_add));
    }
    if module.len() > MAX_MODULE_BYTES {
        return Err(ModuleError::TooLarge { what: "bytes", limit: MAX_MODULE_BYTES });
    }
    Ok(module)
}

/// The new code section's content, or `None` if no function changes.
fn code_section<'a>(
    layout: &Layout<'a>,
    patches: &Patches,
    translator: &mut Translator<'_, 'a>,
) -> Result<Option<Vec<u8>>, ModuleError> {
    let mut code = Vec::new();
    // Bodies before this one are in `code`; those after it are copied in one piece when the next change comes.
    let mut copied = 0;
    let Some(section) = layout.sections.iter().find(|section| section.id == id::CODE) else {
        return Ok(None);
    };
    for (position, body) in layout.bodies.iter().enumerate() {
        let new = match patches.bodies.get(&position) {
            Some(body) => Some(Cow::Borrowed(body.as_slice())),
            None => translator.function(position, body)?.map(Cow::Owned),
        };
        let Some(new) = new else { continue };
        if code.is_empty() {
            code.reserve(section.content.len() + section.content.len() / 16);
            (layout.bodies.len() as u32).encode(&mut code);
        }
        copy_bodies(layout, copied..position, &mut code);
        new.len().encode(&mut code);
        code.extend_from_slice(&new);
        copied = position + 1;
        if code.len() > MAX_MODULE_BYTES {
            return Err(ModuleError::TooLarge { what: "bytes", limit: MAX_MODULE_BYTES });
        }
    }
    if code.is_empty() {
        return Ok(None);
    }
    copy_bodies(layout, copied..layout.bodies.len(), &mut code);
    Ok(Some(code))
}

fn copy_bodies(layout: &Layout<'_>, positions: std::ops::Range<usize>, code: &mut Vec<u8>) {
    for body in &layout.bodies[positions] {
        let bytes = body.as_bytes();
        bytes.encode(code);
    }
}

/// Copies the import section with new names of some functions.
fn import_section(content: &[u8], start: usize, patches: &Patches) -> Result<Vec<u8>, ModuleError> {
    let mut new = Vec::with_capacity(content.len() + 64);
    let mut functions = 0;
    let reader = ImportSectionReader::new(BinaryReader::new(content, 0))?;
    reader.count().encode(&mut new);
    let imports: Vec<(usize, Import<'_>)> = reader.into_imports_with_offsets().collect::<Result<_, _>>()?;
    let ends = imports.iter().skip(1).map(|(offset, _)| *offset).chain([content.len()]);
    for ((offset, import), end) in imports.iter().zip(ends) {
        let entry = content.get(*offset..end).ok_or_else(|| ModuleError::malformed("an import", start + offset))?;
        let is_function = matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
        match patches.imports.get(&functions).filter(|_| is_function) {
            Some((module, name)) => {
                let mut names = BinaryReader::new(entry, 0);
                names.read_string()?;
                names.read_string()?;
                module.encode(&mut new);
                name.encode(&mut new);
                new.extend_from_slice(&entry[names.current_position()..]);
            }
            None => new.extend_from_slice(entry),
        }
        functions += u32::from(is_function);
    }
    Ok(new)
}

/// Whether a section with this identifier must come after the export section.
fn comes_after_exports(section: u8) -> bool {
    matches!(section, id::START | id::ELEMENT | id::CODE | id::DATA | id::DATA_COUNT)
}

/// Copies a section that is a vector of entries, with `added` entries more.
fn extend_section(
    module: &mut Vec<u8>,
    section: &Section<'_>,
    content: &[u8],
    added: usize,
    entries: &[u8],
) -> Result<(), ModuleError> {
    let mut reader = BinaryReader::new(content, section.content.start);
    let count = reader.read_var_u32()?;
    let old = &content[reader.current_position()..];
    append_entries(module, section.id, count as usize, old, added, entries);
    Ok(())
}

fn append_entries(module: &mut Vec<u8>, id: u8, count: usize, old: &[u8], added: usize, entries: &[u8]) {
    let mut content = Vec::with_capacity(old.len() + entries.len() + 5);
    (count + added).encode(&mut content);
    content.extend_from_slice(old);
    content.extend_from_slice(entries);
    append_section(module, id, &content);
}

fn append_section(module: &mut Vec<u8>, id: u8, content: &[u8]) {
    module.push(id);
    content.encode(module);
}

fn encode_exports(exports: &[NewExport]) -> Vec<u8> {
    let mut entries = Vec::new();
    for export in exports {
        export.name.as_str().encode(&mut entries);
        export.kind.encode(&mut entries);
        export.index.encode(&mut entries);
    }
    entries
}

/// Copies a custom section unless it describes the old code.
fn custom_section(module: &mut Vec<u8>, bytes: &[u8], section: &Section<'_>) {
    let name = section.name.unwrap_or_default();
    let holds_code_offsets = name.starts_with(".debug_")
        || name.starts_with("reloc.")
        || name.starts_with("metadata.code.")
        || matches!(name, "linking" | "sourceMappingURL" | "external_debug_info");
    if holds_code_offsets {
        return;
    }
    if name != "name" {
        module.extend_from_slice(&bytes[section.whole.clone()]);
        return;
    }
    if let Ok(names) = without_label_names(&bytes[section.content.clone()]) {
        append_section(module, id::CUSTOM, &names);
    }
}

/// A name section's content without its label names. An error means that the section is malformed, which is no reason to
/// refuse the module: names are only ever shown.
fn without_label_names(names: &[u8]) -> wasmparser::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(names.len() + 5);
    "name".encode(&mut content);
    let mut reader = BinaryReader::new(names, 0);
    while !reader.eof() {
        let kind = reader.read_u8()?;
        let size = reader.read_var_u32()? as usize;
        let entries = reader.read_bytes(size)?;
        if kind != LABEL_NAMES {
            content.push(kind);
            entries.encode(&mut content);
        }
    }
    Ok(content)
}
