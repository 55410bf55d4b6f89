//! The engine: it makes machines and sessions, and prepares what is mounted in them.

use std::path::Path;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::{EngineError, Image, Layer, LayerId, Machine, MachineSpec, Preparing, Session};

/// Maker of machines and sessions.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Makes a fresh machine.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`]: no process, no memory, no sandbox on this host.
    async fn machine(&self, spec: MachineSpec) -> Result<Box<dyn Machine>, EngineError>;

    /// Makes bundle wheels and what they require ready to be imported. The first time this may compile them, which
    /// takes seconds; afterwards it costs next to nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Compile`] above all.
    async fn compile_wheels(&self, wheels: &[String]) -> Result<(), EngineError>;

    /// Returns a receiver of the work that runs wait for at present: above all, modules that are compiled. Default: `None`, an engine
    /// whose runs wait for nothing.
    fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        None
    }

    /// Compiles native modules of layers ahead, like [`Engine::compile_wheels`].
    ///
    /// # Errors
    ///
    /// As [`Engine::compile_wheels`].
    async fn compile_layers(&self, _layers: &[Layer]) -> Result<(), EngineError> {
        Ok(())
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
    async fn build_image_ahead(&self, _image: &Image) -> Result<(), EngineError> {
        Ok(())
    }

    /// Removes an image, and what was started of it. Machines that are in use live on. Default: nothing happens.
    async fn remove_image(&self, _image: &Image) {}

    /// Compiles a wheel's Python files to bytecode, as [`Layer::bytecode`] wants it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when the wheel cannot be mounted, and the errors of [`Engine::machine`].
    async fn bytecode(&self, _layer: &Layer) -> Result<Vec<u8>, EngineError> {
        Err(EngineError::Unavailable("this engine makes no bytecode".to_owned()))
    }

    /// Lists the layers of the session that is hibernated in a file: [`Engine::resume`] wants them in `spec`.
    ///
    /// # Errors
    ///
    /// As [`Engine::resume`].
    async fn layers_of(&self, _path: &Path) -> Result<Vec<LayerId>, EngineError> {
        Ok(Vec::new())
    }

    /// Returns whether its sessions can be written to files. Sessions that cannot end with their server. Default: true.
    fn stores_sessions(&self) -> bool {
        true
    }

    /// Makes a fresh session.
    ///
    /// # Errors
    ///
    /// The errors of [`Engine::machine`].
    async fn session(&self, spec: MachineSpec) -> Result<Box<dyn Session>, EngineError>;

    /// Resumes the session that is hibernated in the file `path`, which stays. `spec.image` is ignored: a session resumes from the image
    /// that it began with.
    ///
    /// # Errors
    ///
    /// [`EngineError::Outdated`] when what it began with cannot be had any more, [`EngineError::Image`] when the file is damaged,
    /// [`EngineError::Io`] when it cannot be read; the errors of [`Engine::machine`].
    async fn resume(&self, path: &Path, spec: MachineSpec) -> Result<Box<dyn Session>, EngineError>;

    /// Checks whether [`Engine::resume`] would find what the session in the file `path` began with, with this
    /// [`MachineSpec::private_image`]. Starts nothing.
    ///
    /// # Errors
    ///
    /// As [`Engine::resume`], above all [`EngineError::Outdated`].
    async fn can_resume(&self, _path: &Path, _private_image: Option<&Path>) -> Result<(), EngineError> {
        Ok(())
    }

    /// Makes a fresh session with the files that the one in the file `path` has in its working directory, and nothing else of it. For
    /// a session that cannot be resumed; the file stays.
    ///
    /// # Errors
    ///
    /// [`EngineError::Outdated`] when its files cannot be read either; the errors of [`Engine::resume`].
    async fn recover(&self, _path: &Path, _spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        Err(EngineError::Unavailable("this engine recovers no files".to_owned()))
    }
}
