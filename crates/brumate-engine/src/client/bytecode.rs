//! Compiles bytecode and machine code of wheels before they are used.

use std::sync::Arc;
use std::time::Duration;

use super::Sandbox;
use super::error::truncate_bytes;
use crate::api::{
    Ended, EngineError, Execute, Image, Layer, Limits, MAX_FILE_CHUNK, Machine as _, MachineSpec, Outcome,
};
use crate::code::compile::{self, MAX_MODULE};
use crate::memory::Mapped;
use brumate_vfs::{Archive, ArchiveLimits};

/// Where the machine that compiles a wheel writes its bytecode.
const TARGET: &str = "/tmp/bytecode.zip";

/// Largest archive of bytecode, in bytes: the guest's limit, and the archive's directory.
const MAX_BYTECODE: u64 = 288 << 20;

/// Longest time for compiling one wheel; also the limit of its CPU time.
const TIME: Duration = Duration::from_secs(180);

/// Native modules of one wheel that are compiled ahead.
const MAX_NATIVE: usize = 500;

impl Sandbox {
    /// Compiles a wheel to bytecode, in a machine that runs nothing but the compiler. Returns a zip archive with a
    /// `__pycache__` beside each module; the same wheel always gives the same archive. Files that do not compile are
    /// left out.
    ///
    /// # Errors
    /// [`EngineError::Layer`] when the wheel cannot be mounted, or compiling it takes too long; the errors of [`Sandbox::machine`].
    pub async fn bytecode(&self, layer: &Layer) -> Result<Vec<u8>, EngineError> {
        let limits = Limits { wall: TIME, cpu: TIME, file_bytes: 2 * MAX_BYTECODE, ..Limits::default() };
        let alone = Layer { bytecode: None, ..layer.clone() };
        let spec = MachineSpec { image: Image::plain(), limits, layers: vec![alone], ..MachineSpec::default() };
        let mut machine = self.machine_of(&Image::plain(), spec).await?;
        let failed = |reason: String| EngineError::Layer { name: layer.name.clone(), reason };
        let code = format!("from _brumate.bytecode import make\nmake({TARGET:?})");
        let (events, _) = tokio::sync::mpsc::channel(1);
        let outcome = machine.execute(Execute { code, ..Execute::default() }, events).await;
        match outcome {
            Ok(Outcome { ended: Ended::Returned(_), stopped: None, .. }) => {}
            Ok(Outcome { stopped: Some(_), .. }) => {
                return Err(failed(format!("compiling it takes longer than {} s", TIME.as_secs())));
            }
            Ok(Outcome { ended: Ended::Raised { ename, evalue, .. }, .. }) => {
                return Err(failed(truncate_bytes(format!("compiling it: {ename}: {evalue}"))));
            }
            Ok(Outcome { .. }) => return Err(failed("compiling it ended before its end".to_owned())),
            Err(error) => return Err(failed(format!("compiling it: {error}"))),
        }
        let mut bytes = Vec::new();
        loop {
            let chunk = machine.read_file(TARGET, bytes.len() as u64, MAX_FILE_CHUNK).await?;
            if chunk.size > MAX_BYTECODE {
                return Err(failed("its bytecode is too large".to_owned()));
            }
            bytes.extend_from_slice(&chunk.bytes);
            if chunk.bytes.is_empty() || bytes.len() as u64 >= chunk.size {
                break;
            }
        }
        let bytes = Arc::new(bytes);
        // The compiled code may have compromised the machine.
        if is_bytecode(&bytes) {
            Ok(Arc::unwrap_or_clone(bytes))
        } else {
            Err(failed("what came of compiling it is no bytecode".to_owned()))
        }
    }

    /// Compiles the native modules of wheels that the cache lacks. A module that does not compile is not reported here;
    /// the program that imports it gets the error.
    ///
    /// # Errors
    /// [`EngineError::Layer`] when a wheel cannot be read.
    pub async fn compile_layers(&self, layers: &[Layer]) -> Result<(), EngineError> {
        for layer in layers {
            let (own, cache) = (layer.clone(), self.shared.cache.clone());
            let found = tokio::task::spawn_blocking(move || {
                let mut modules = native_modules(&own)?;
                modules.retain(|(_, bytes)| cache.get(&compile::key(bytes)).is_none());
                Ok::<_, EngineError>(modules)
            });
            let modules = found.await.map_err(std::io::Error::other)??;
            let jobs = modules.iter().map(|(path, bytes)| async move {
                // Wheels take turns, so that one wheel does not delay the others.
                if let Err(error) = self.shared.compilers.of_wheel(bytes, path, &layer.name).await {
                    tracing::debug!(%error, "a module of a wheel does not compile");
                }
            });
            futures::future::join_all(jobs).await;
        }
        Ok(())
    }
}

/// Whether an archive holds nothing but bytecode.
fn is_bytecode(bytes: &Arc<Vec<u8>>) -> bool {
    let is_pyc = |path: &[u8]| {
        let mut names = path.rsplit(|&byte| byte == b'/');
        names.next().is_some_and(|name| name.ends_with(b".cpython-314.pyc")) && names.next() == Some(b"__pycache__")
    };
    Archive::new(bytes.clone()).is_ok_and(|archive| archive.files().all(|(path, _)| is_pyc(path)))
}

/// Path and content of the native modules of a wheel.
fn native_modules(layer: &Layer) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
    let failed = |reason: String| EngineError::Layer { name: layer.name.clone(), reason };
    let mapped = Mapped::new(&layer.archive, 0, layer.archive.metadata()?.len())?;
    let archive = Archive::new(Arc::new(mapped)).map_err(|error| failed(error.to_string()))?;
    let is_module = |&(path, size): &(&[u8], u64)| path.ends_with(b".so") && size <= MAX_MODULE as u64;
    let mut modules = Vec::new();
    for (path, _) in archive.files().filter(is_module).take(MAX_NATIVE) {
        if let Ok(Some(bytes)) = archive.read(path) {
            modules.push((String::from_utf8_lossy(path).into_owned(), bytes));
        }
    }
    Ok(modules)
}

/// A file of a layer, read from the archive itself.
///
/// # Errors
/// When it is not there, or larger than a module may be.
pub(super) async fn module_of(layer: &Layer, path: &str) -> Result<Vec<u8>, EngineError> {
    let (archive, path) = (layer.archive.clone(), path.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let unreadable = |reason: String| EngineError::Layer { name: path.clone(), reason };
        let mapped = Mapped::new(&archive, 0, archive.metadata()?.len())?;
        let archive = Archive::with_limits(Arc::new(mapped), &ArchiveLimits::default());
        let archive = archive.map_err(|error| unreadable(error.to_string()))?;
        let is_it = |&(other, size): &(&[u8], u64)| other == path.as_bytes() && size <= MAX_MODULE as u64;
        archive.files().find(is_it).ok_or_else(|| unreadable("it is not there".to_owned()))?;
        let read = archive.read(path.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
        read.ok_or_else(|| unreadable("it is not there".to_owned()))
    });
    read.await.map_err(std::io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytecode_is_taken_for_bytecode() {
        let zip = |name: &str| {
            let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            Arc::new(writer.finish().unwrap().into_inner())
        };
        for name in ["__pycache__/a.cpython-314.pyc", "a/b/__pycache__/__init__.cpython-314.pyc"] {
            assert!(is_bytecode(&zip(name)), "{name}");
        }
        for name in ["a.py", "__pycache__/a.py", "a.cpython-314.pyc", "__pycache__/x/a.cpython-314.pyc", "a.so"] {
            assert!(!is_bytecode(&zip(name)), "{name}");
        }
        assert!(!is_bytecode(&Arc::new(b"no archive".to_vec())));
    }
}
