//! Machine code: compiling modules, keeping them on disk, and getting them into jailed processes.

pub(crate) mod cache;
pub(crate) mod compile;
pub(crate) mod process;
pub(crate) mod remote;
pub(crate) mod shipped;
mod source;
pub(crate) mod trampoline;

pub(crate) use source::{Compiled, ModuleQuery, ModuleSource, NoModules};
