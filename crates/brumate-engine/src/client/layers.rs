//! Layers of machines and sessions: mounting them, and knowing which there are.

use std::path::Path;

use super::error::Error;
use super::machine::Machine;
use super::session::Session;
use super::{Sandbox, sleep};
use crate::api::{Layer, LayerId};

impl Machine {
    /// Mounts wheels between executions: imports find them at once. Those that are mounted already are passed over; another
    /// version of a package that is mounted goes. Modules that are imported already stay as they are.
    ///
    /// # Errors
    /// [`Error::Layer`] when one cannot be mounted: none is then, and the machine goes on. Others when it has ended.
    pub async fn mount(&mut self, layers: &[Layer]) -> Result<(), Error> {
        let _ = layers;
        Err(Error::Unavailable("layers are not there yet".to_owned()))
    }

    /// Wheels that are mounted.
    pub fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }
}

impl Session {
    /// As [`Machine::mount`]; the state with these layers is one that counts, as after a cell.
    ///
    /// # Errors
    /// Those of [`Machine::mount`], or of [`Session::execute`] when the machine has ended.
    pub async fn mount(&self, layers: &[Layer]) -> Result<(), Error> {
        let _ = layers;
        Err(Error::Unavailable("layers are not there yet".to_owned()))
    }

    /// Wheels that are mounted at present. What a cell has installed is among them while it runs; when that cell is rolled back
    /// they are gone. Waits for nothing.
    pub fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }
}

impl Sandbox {
    /// The bytecode of a wheel, made by a machine that runs nothing but the compiler: a zip archive with a `__pycache__` beside each
    /// module, the same every time. Files that do not compile are left out.
    ///
    /// # Errors
    /// When no machine can be had, or the wheel cannot be mounted.
    pub async fn bytecode(&self, layer: &Layer) -> Result<Vec<u8>, Error> {
        let _ = layer;
        Err(Error::Unavailable("layers are not there yet".to_owned()))
    }

    /// Compiles the native modules of wheels that the cache lacks.
    ///
    /// # Errors
    /// When one does not compile.
    pub async fn prepare_layers(&self, layers: &[Layer]) -> Result<(), Error> {
        let _ = layers;
        Ok(())
    }
}

/// The layers that [`Sandbox::wake_session`] of `path` wants in [`MachineSpec::layers`](crate::api::MachineSpec::layers). A last
/// will that is newer takes the file's place first, as in [`Sandbox::wake`].
///
/// # Errors
/// [`Error::Image`] when the file is of another version of Brumate or of a session that still runs, or is no session;
/// [`Error::Io`] when it cannot be read.
pub async fn layers_of(path: &Path) -> Result<Vec<LayerId>, Error> {
    sleep::layers_of(path).await
}
