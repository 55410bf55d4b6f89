//! Layers of machines and sessions: mounting them, and listing them.

use std::path::Path;
use std::time::Duration;

use super::error::truncate_bytes;
use super::machine::Machine;
use super::mounted::{RemountPlan, check, messages};
use super::session::Session;
use super::stop::InterruptHandle;
use super::{crash_snapshot, hibernate};
use crate::api::{EngineError, InterruptHandle as _, Layer, LayerId};
use crate::wire::{MachineMessage, MachineRequest};

/// Longest time that a machine may need to mount its layers.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(60);

impl Machine {
    /// Mounts wheels between executions. Imports find them at once.
    ///
    /// Wheels that are mounted already are skipped. Another version of a package is unmounted. Modules that are
    /// imported already stay as they are.
    ///
    /// # Errors
    /// [`EngineError::Layer`] if a wheel cannot be mounted. No wheel is mounted then, and the machine continues. Other
    /// errors if the machine has ended.
    pub async fn mount(&mut self, layers: &[Layer]) -> Result<(), EngineError> {
        let plan = RemountPlan::new(&self.layers(), layers)?;
        self.remount(plan).await
    }

    /// Unmounts the layers of the packages with these normalised names (PEP 503).
    ///
    /// # Errors
    /// The machine has ended.
    pub async fn unmount(&mut self, packages: &[String]) -> Result<(), EngineError> {
        let plan = RemountPlan::without(&self.layers(), packages);
        self.remount(plan).await
    }

    /// Returns the wheels that are mounted.
    pub fn layers(&self) -> Vec<Layer> {
        self.mounted.get()
    }

    async fn remount(&mut self, plan: RemountPlan) -> Result<(), EngineError> {
        if plan.is_empty() {
            return Ok(());
        }
        self.remember(plan.before_and_after()).await?;
        self.mounted.header_lists_superset();
        for (message, fds) in plan.messages(None) {
            self.tell(&message, &fds).await?;
        }
        // An interrupt is for a cell, and does not stop this request.
        let no_interrupt = InterruptHandle::new();
        let request = MachineRequest::Remount { remove: plan.remove.clone() };
        match self.converse_until(&no_interrupt, &request, &[], None, MOUNT_TIMEOUT).await?.0 {
            MachineMessage::Mounted(Ok(())) => {
                self.mounted.set(plan.after);
                Ok(())
            }
            MachineMessage::Mounted(Err(problem)) => {
                Err(EngineError::Layer { name: truncate_bytes(problem.name), reason: truncate_bytes(problem.reason) })
            }
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }

    /// Sends the machine the layers that it had when it was hibernated. It has the layers of its base already.
    pub(super) async fn give(&mut self, layers: &[Layer]) -> Result<(), EngineError> {
        layers.iter().try_for_each(check)?;
        for (layers, fds) in messages(layers) {
            self.tell(&MachineRequest::Layers { guest_request: None, layers }, &fds).await?;
        }
        self.mounted.set(layers.to_vec());
        Ok(())
    }

    /// Writes exactly the mounted layers to the header of the crash snapshot, if there is one.
    pub(super) async fn sync_header(&mut self) {
        if self.mounted.take_wide() {
            let layers = self.layers().iter().map(Layer::id).collect();
            if let Err(error) = self.remember(layers).await {
                // The header still names all layers that are needed. It names others as well.
                tracing::debug!(%error, "the header of a crash snapshot stays as it was");
            }
        }
    }

    /// Writes these layers to the header of the crash snapshot, if there is one.
    pub(super) async fn remember(&self, layers: Vec<LayerId>) -> Result<(), EngineError> {
        match &self.crash_snapshot {
            Some(path) => crash_snapshot::write_header(path.clone(), self.header_with(layers)).await,
            None => Ok(()),
        }
    }
}

impl Session {
    /// Mounts wheels as [`Machine::mount`] does. The checkpoint is then updated with these layers, as after a cell.
    ///
    /// # Errors
    /// The errors of [`Machine::mount`]. If the machine has ended, the errors of
    /// [`Session::execute`](crate::api::Session::execute).
    pub async fn mount(&self, layers: &[Layer]) -> Result<(), EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.mount(layers).await;
        self.changed(state, result).await
    }

    /// Unmounts packages as [`Machine::unmount`] does, while no cell runs.
    ///
    /// # Errors
    /// The errors of [`Session::execute`](crate::api::Session::execute).
    pub async fn unmount(&self, packages: &[String]) -> Result<(), EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.unmount(packages).await;
        self.changed(state, result).await
    }

    /// Returns the wheels that are mounted now. Does not wait.
    ///
    /// While a cell runs, the wheels that it has installed are included. They are removed if the cell is rolled back.
    pub fn layers(&self) -> Vec<Layer> {
        self.interrupt_handle().layers()
    }
}

/// Returns the layers that the session in the file `path` needs.
///
/// [`Sandbox::resume_session`](super::Sandbox::resume_session) needs them in
/// [`MachineSpec::layers`](crate::api::MachineSpec::layers). A newer crash snapshot replaces the file first, as in
/// [`Sandbox::resume`](super::Sandbox::resume).
///
/// # Errors
/// [`EngineError::Image`] when the file has no session, when another version of Brumate wrote it, or when its session
/// still runs. [`EngineError::Io`] when the file cannot be read.
pub async fn layers_of(path: &Path) -> Result<Vec<LayerId>, EngineError> {
    hibernate::layers_of(path).await
}
