//! The engine: it makes machines and sessions, and prepares what is mounted in them.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use tokio::sync::watch;

use crate::{EngineError, Image, Layer, LayerId, Machine, MachineSpec, Preparing, Session};

/// Boxed future: engines are used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Maker of machines and sessions.
pub trait Engine: Send + Sync {
    /// Makes a fresh machine.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`]: no process, no memory, no sandbox on this host.
    fn machine(&self, spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Machine>, EngineError>>;

    /// Makes bundle wheels and what they require ready to be imported. The first time this may compile them, which
    /// takes seconds; afterwards it costs next to nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Compile`] above all.
    fn prepare<'a>(&'a self, wheels: &'a [String]) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Returns a receiver of the work that runs wait for at present: above all, modules that are compiled. Default: `None`, an engine
    /// whose runs wait for nothing.
    fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        None
    }

    /// Compiles native modules of layers ahead, like [`Engine::prepare`].
    ///
    /// # Errors
    ///
    /// As [`Engine::prepare`].
    fn prepare_layers<'a>(&'a self, _layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    /// Names the distributions of which something may be imported in `image` and whose place one of `layers` takes: a machine of
    /// this image would go on using the version that it has. Normalised names (PEP 503), sorted.
    fn replaced_packages(&self, image: &Image, layers: &[Layer]) -> Vec<String>;

    /// Returns whether an image is built: machines of another one begin without its modules. Default: false.
    fn has_image(&self, _image: &Image) -> bool {
        false
    }

    /// Builds an image before anybody needs it; what runs wait for goes first. Default: nothing happens.
    ///
    /// # Errors
    ///
    /// When one of its modules cannot be imported, above all.
    fn prewarm<'a>(&'a self, _image: &'a Image) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    /// Removes an image, and what was started of it. Machines that are in use live on. Default: nothing happens.
    fn remove_image<'a>(&'a self, _image: &'a Image) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Compiles a wheel's Python files to bytecode, as [`Layer::bytecode`] wants it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when the wheel cannot be mounted, and those of [`Engine::machine`].
    fn bytecode<'a>(&'a self, _layer: &'a Layer) -> BoxFuture<'a, Result<Vec<u8>, EngineError>> {
        Box::pin(async { Err(EngineError::Unavailable("this engine makes no bytecode".to_owned())) })
    }

    /// Lists the layers of the session that is hibernated in a file: [`Engine::resume`] wants them in `spec`.
    ///
    /// # Errors
    ///
    /// As [`Engine::resume`].
    fn layers_of<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, Result<Vec<LayerId>, EngineError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Makes a fresh session.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::machine`].
    fn session(&self, spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>>;

    /// Resumes the session that is hibernated in the file `path`, which stays. `spec.image` is ignored: a session resumes from the image
    /// that it began with.
    ///
    /// # Errors
    ///
    /// [`EngineError::Outdated`] when what it began with cannot be had any more, [`EngineError::Image`] when the file is damaged,
    /// [`EngineError::Io`] when it cannot be read; those of [`Engine::machine`].
    fn resume<'a>(&'a self, path: &'a Path, spec: MachineSpec) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>>;

    /// Checks whether [`Engine::resume`] would find what the session in the file `path` began with, with this
    /// [`MachineSpec::private_image`]. Starts nothing.
    ///
    /// # Errors
    ///
    /// As [`Engine::resume`], above all [`EngineError::Outdated`].
    fn can_resume<'a>(
        &'a self,
        _path: &'a Path,
        _private_image: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    /// Makes a fresh session with the files that the one in the file `path` has in its working directory, and nothing else of it. For
    /// a session that cannot be resumed; the file stays.
    ///
    /// # Errors
    ///
    /// [`EngineError::Outdated`] when its files cannot be read either; those of [`Engine::resume`].
    fn recover<'a>(
        &'a self,
        _path: &'a Path,
        _spec: MachineSpec,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async { Err(EngineError::Unavailable("this engine recovers no files".to_owned())) })
    }
}
