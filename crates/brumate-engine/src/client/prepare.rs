//! Compiling the bundle ahead of its use.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compiler::Urgency;
use super::images::{self, Verified};
use super::memory_file::memory_file;
use super::progress::report_to;
use super::zygote::{Ingredients, build};
use super::{SandboxShared, compile_prelude};
use crate::api::{EngineError, Image};
use crate::bundle::{self, NativeModule};
use crate::code::compile::{self, ModuleKind};
use crate::code::trampoline::trampoline_module;

/// Wheels that import another one if it is there, without requiring it.
const OPTIONAL: [(&str, &str); 1] = [("scikit-learn", "pandas")];

/// The main module and the trampoline, compiled.
pub(super) async fn prelude(shared: &SandboxShared) -> Result<(Arc<File>, Arc<File>), EngineError> {
    let main = shared.cache.get(&bundle::INTERPRETER_KEY);
    let trampoline = shared.cache.get(&compile::key(&trampoline_module()));
    if let (Some(main), Some(trampoline)) = (main, trampoline) {
        return Ok((main, trampoline));
    }
    report(shared, 0, 1, "the interpreter");
    // Everything else depends on these modules.
    let _need = shared.compilers.need();
    let _lock = lock(shared).await?;
    let compiled = compile_prelude(shared).await?;
    report(shared, 1, 1, "the interpreter");
    Ok(compiled)
}

/// Compiles every native module of the bundle.
pub(super) async fn everything(shared: &Arc<SandboxShared>) -> Result<(), EngineError> {
    modules(shared, Urgency::Needed, |_| true).await
}

/// Compiles the native modules of `names` and of everything they import, as far as they are usually loaded. Others are compiled when a
/// program imports them.
pub(super) async fn wheels(shared: &Arc<SandboxShared>, names: &[&str], urgency: Urgency) -> Result<(), EngineError> {
    let mut wanted = BTreeSet::new();
    let mut open: Vec<&str> = names.to_vec();
    while let Some(name) = open.pop() {
        let Some(wheel) = bundle::wheels().iter().find(|wheel| wheel.name == name) else { continue };
        if wanted.insert(wheel.name) {
            open.extend(wheel.requires);
            open.extend(OPTIONAL.iter().filter(|(of, _)| *of == wheel.name).map(|(_, other)| *other));
        }
    }
    modules(shared, urgency, |module| module.is_usual && wanted.contains(module.wheel)).await
}

/// Compiles the native modules of the bundle that `wanted` chooses and the cache lacks.
async fn modules(
    shared: &Arc<SandboxShared>,
    urgency: Urgency,
    wanted: impl Fn(&NativeModule) -> bool,
) -> Result<(), EngineError> {
    let missing: Vec<_> = bundle::native_modules()
        .iter()
        .filter(|module| wanted(module) && shared.compilers.cached_for(&module.key, urgency).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let finished = match urgency {
        Urgency::Needed => all_at_once(shared, &missing).await,
        Urgency::Ahead => one_by_one(shared, &missing).await,
    };
    shared.compilers.rest();
    finished
}

/// Compiles modules that a run waits for.
async fn all_at_once(shared: &SandboxShared, missing: &[&NativeModule]) -> Result<(), EngineError> {
    let _need = shared.compilers.need();
    let _lock = lock(shared).await?;
    let total = missing.len();
    report(shared, 0, total, missing.first().map_or("", |module| module.name()));
    let done = AtomicUsize::new(0);
    let jobs = missing.iter().map(|module| {
        let done = &done;
        async move {
            compile_module(shared, module, Urgency::Needed).await?;
            report(shared, done.fetch_add(1, Ordering::Relaxed) + 1, total, module.name());
            Ok::<(), EngineError>(())
        }
    });
    futures::future::try_join_all(jobs).await.map(drop)
}

/// Compiles modules that no run waits for yet. A run that waits for others goes first.
pub(super) async fn one_by_one(shared: &SandboxShared, missing: &[&NativeModule]) -> Result<(), EngineError> {
    let mut at = 0;
    while let Some(module) = missing.get(at) {
        // Before the lock: a run that arrives now needs it.
        shared.compilers.until_free().await;
        let _lock = lock(shared).await?;
        tokio::select! {
            biased;
            compiled = compile_module(shared, module, Urgency::Ahead) => {
                compiled?;
                at += 1;
            }
            // The compilation is started again later: a waiting run needs the CPUs now.
            () = shared.compilers.until_needed() => {}
        }
    }
    Ok(())
}

/// Compiles a module of the bundle, unless another task or process has done so meanwhile.
async fn compile_module(shared: &SandboxShared, module: &NativeModule, urgency: Urgency) -> Result<(), EngineError> {
    // Checked before the module is unpacked.
    if shared.compilers.cached_for(&module.key, urgency).is_some() {
        return Ok(());
    }
    let bytes = module.read().map_err(|reason| EngineError::Compile { name: module.name().to_owned(), reason })?;
    shared.compilers.bundled(ModuleKind::Side, &bytes, module.name(), urgency).await.map(drop)
}

/// The image, built if it is not there.
pub(super) async fn image(
    shared: &SandboxShared,
    ingredients: Ingredients<'_>,
    image: &Image,
) -> Result<Verified, EngineError> {
    if let Some(verified) = find(shared, image).await? {
        return Ok(verified);
    }
    let images = shared.images.clone();
    let locked = tokio::task::spawn_blocking(move || images.lock()).await;
    let _lock = locked.map_err(|error| EngineError::Unavailable(error.to_string()))??;
    // Another process may have built it while this one waited.
    if let Some(verified) = find(shared, image).await? {
        return Ok(verified);
    }
    let needed = ingredients.urgency == Urgency::Needed;
    if needed {
        report(shared, 0, 1, &format!("the image `{image}`"));
    }
    let output = File::from(memory_file("image")?);
    build(ingredients, image.modules(), &output).await?;
    let (images, image) = (shared.images.clone(), image.clone());
    let name = format!("the image `{image}`");
    let committed = tokio::task::spawn_blocking(move || images.commit(&image, &output)).await;
    let verified = committed.map_err(|error| EngineError::Unavailable(error.to_string()))??;
    if needed {
        report(shared, 1, 1, &name);
    }
    Ok(verified)
}

/// Looks for the image, off the async threads: the first time all of it is read.
pub(super) async fn find(shared: &SandboxShared, image: &Image) -> Result<Option<Verified>, EngineError> {
    let (images, image) = (shared.images.clone(), image.clone());
    let found = tokio::task::spawn_blocking(move || images.get(&image)).await;
    found.map_err(|error| EngineError::Unavailable(error.to_string()))
}

/// As [`find`], by the image's id.
pub(super) async fn find_by_id(shared: &SandboxShared, id: [u8; 32]) -> Result<Option<Verified>, EngineError> {
    let images = shared.images.clone();
    let found = tokio::task::spawn_blocking(move || images.find(&id)).await;
    found.map_err(|error| EngineError::Unavailable(error.to_string()))
}

/// Opens the image that came with one session. `None` if it cannot be used; the log says why.
pub(super) async fn private_image(path: PathBuf, id: [u8; 32]) -> Result<Option<Verified>, EngineError> {
    let opened = tokio::task::spawn_blocking(move || {
        let opened = images::private(&path, &id);
        match opened {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            opened => opened
                .inspect_err(|error| tracing::warn!(%error, "the image that came with a session is not used"))
                .ok(),
        }
    });
    opened.await.map_err(|error| EngineError::Unavailable(error.to_string()))
}

/// Keeps other processes from compiling the same modules at the same time.
async fn lock(shared: &SandboxShared) -> Result<std::os::fd::OwnedFd, EngineError> {
    let cache = shared.cache.clone();
    let locked = tokio::task::spawn_blocking(move || cache.lock()).await;
    Ok(locked.map_err(|error| EngineError::Unavailable(error.to_string()))??)
}

fn report(shared: &SandboxShared, done: usize, total: usize, name: &str) {
    report_to(shared.progress.as_ref(), done, total, name);
}
