//! Compiled code that comes with the program, for the common CPUs. With it the first start waits for no compiler.
//!
//! A release is built twice. The first program compiles modules of the bundle ([`precompile`]). The second program
//! includes their code among the files of the bundle. The program ignores code of another version. It also ignores all
//! of this code on a CPU that lacks a feature of the common CPUs.

use std::path::Path;
use std::sync::LazyLock;

use crate::bundle;
use crate::cache_dir::hex;
use crate::code::compile::{self, ModuleKind, Trust};
use crate::code::trampoline::trampoline_module;
use crate::engine::{COMMON_PROCESSORS, Purpose, engine, is_common_processor};
use crate::wire::ModuleKey;

/// Name of a file beside the code. Its text names the CPUs and the version that the code is for.
const MADE_FOR: &str = "made-for";

/// Returns the compiled code of a module. `None` if the program lacks it, or if it is for another processor or version.
pub(crate) fn code(key: &ModuleKey) -> Option<&'static [u8]> {
    static IS_USABLE: LazyLock<bool> = LazyLock::new(|| {
        let Some(made_for) = bundle::COMPILED_FOR else { return false };
        is_common_processor() && made_for_here().is_ok_and(|here| here == made_for)
    });
    let found = bundle::COMPILED.iter().find(|(of, _)| of == key);
    found.filter(|_| *IS_USABLE).map(|(_, content)| content.bytes())
}

/// Returns the text of the file [`MADE_FOR`] for portable code of this program.
fn made_for_here() -> Result<String, String> {
    let engine = engine(Purpose::CompilePortable).map_err(|error| format!("{error:#}"))?;
    Ok(format!("{COMMON_PROCESSORS} {}", compile::version(&engine)))
}

/// Compiles the interpreter, the call trampoline and some native modules of the bundle for the common CPUs.
///
/// `names` are the names of the native modules, for example `numpy/_core/_multiarray_umath`. The code is written to
/// `directory`. A later build includes it.
///
/// # Errors
/// The bundle has no module of a given name, a module does not compile, or the directory cannot be written.
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
        // SAFETY: the code was compiled just now, by this process.
        #[expect(unsafe_code, reason = "loads machine code that was compiled just now")]
        let loaded = unsafe { wasmtime::Module::deserialize(&here, &code) };
        assert!(loaded.unwrap().exports().count() > 0);
        assert_ne!(made_for_here().unwrap(), "");
    }
}
