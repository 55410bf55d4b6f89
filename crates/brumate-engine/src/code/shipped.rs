//! Compiled code that comes with the program, for the common CPUs, so that the first start does not wait for a
//! compiler.
//!
//! A release is built twice: the first program compiles modules of the bundle ([`precompile`]), and the second program
//! includes the result among the files of the bundle. Code of another version, or for a CPU that lacks a feature, is
//! ignored.

use std::path::Path;
use std::sync::LazyLock;

use crate::bundle;
use crate::cache_dir::hex;
use crate::code::compile::{self, ModuleKind, Trust};
use crate::code::trampoline::trampoline_module;
use crate::engine::{COMMON_PROCESSORS, Purpose, engine, is_common_processor};
use crate::wire::ModuleKey;

/// Name of the file beside the code that names the version and CPU it was compiled for.
const MADE_FOR: &str = "made-for";

/// Returns the compiled code of a module, if the program has it and this processor runs it.
pub(crate) fn code(key: &ModuleKey) -> Option<&'static [u8]> {
    static IS_USABLE: LazyLock<bool> = LazyLock::new(|| {
        let Some(made_for) = bundle::COMPILED_FOR else { return false };
        is_common_processor() && made_for_here().is_ok_and(|here| here == made_for)
    });
    let found = bundle::COMPILED.iter().find(|(of, _)| of == key);
    found.filter(|_| *IS_USABLE).map(|(_, content)| content.bytes())
}

/// Returns the name of what portable code of this version depends on.
fn made_for_here() -> Result<String, String> {
    let engine = engine(Purpose::CompilePortable).map_err(|error| format!("{error:#}"))?;
    Ok(format!("{COMMON_PROCESSORS} {}", compile::version(&engine)))
}

/// Compiles the interpreter, and the native modules of the bundle with these names (`numpy/_core/_multiarray_umath`),
/// for the common CPUs. Writes them to `directory`, for a build that includes them.
///
/// # Errors
/// If there is no such module, one does not compile, or the directory cannot be written.
pub fn precompile(directory: &Path, names: &[&str]) -> Result<(), String> {
    let engine = engine(Purpose::CompilePortable).map_err(|error| format!("{error:#}"))?;
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(directory.join(name), bytes).map_err(|error| format!("{}: {error}", directory.display()))
    };
    let module = |kind, bytes: &[u8]| {
        let code = compile::compile(&engine, kind, Trust::Bundle, bytes)?;
        write(&format!("{}.cwasm", hex(&compile::key(bytes))), &code)
    };
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    write(MADE_FOR, made_for_here()?.as_bytes())?;
    module(ModuleKind::Main, bundle::INTERPRETER.content.bytes())?;
    module(ModuleKind::Helper, &trampoline_module())?;
    for name in names {
        let found = bundle::native_modules().iter().find(|module| module.name() == *name);
        module(ModuleKind::Side, &found.ok_or_else(|| format!("the bundle has no module {name}"))?.read()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_code_loads_on_a_common_processor() {
        if !is_common_processor() {
            return;
        }
        let helper = trampoline_module();
        let portable = engine(Purpose::CompilePortable).unwrap();
        let code = compile::compile(&portable, ModuleKind::Helper, Trust::Bundle, &helper).unwrap();
        let here = engine(Purpose::Run).unwrap();
        // SAFETY: it was compiled just now.
        #[expect(unsafe_code, reason = "loads machine code that was compiled just now")]
        let loaded = unsafe { wasmtime::Module::deserialize(&here, &code) };
        assert!(loaded.unwrap().exports().count() > 0);
        assert_ne!(made_for_here().unwrap(), "");
    }
}
