//! Layers of machines and sessions: mounting them, and knowing which there are.

use std::path::Path;
use std::time::Duration;

use super::error::{Error, cut};
use super::machine::Machine;
use super::mounted::{RemountPlan, check, messages};
use super::session::Session;
use super::stop::InterruptHandle;
use super::{crash_snapshot, hibernate};
use crate::api::{Layer, LayerId};
use crate::wire::{FromMachine, ToMachine};

/// Longest a machine may take to mount what it is given.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(60);

impl Machine {
    /// Mounts wheels between executions: imports find them at once. Those that are mounted already are passed over; another
    /// version of a package that is mounted goes. Modules that are imported already stay as they are.
    ///
    /// # Errors
    /// [`Error::Layer`] when one cannot be mounted: none is then, and the machine goes on. Others when it has ended.
    pub async fn mount(&mut self, layers: &[Layer]) -> Result<(), Error> {
        let plan = RemountPlan::new(&self.layers(), layers)?;
        self.remount(plan).await
    }

    /// Takes away the packages with these normalised names (PEP 503), as far as they are layers.
    ///
    /// # Errors
    /// When the machine has ended.
    pub async fn unmount(&mut self, packages: &[String]) -> Result<(), Error> {
        let plan = RemountPlan::without(&self.layers(), packages);
        self.remount(plan).await
    }

    /// Wheels that are mounted.
    pub fn layers(&self) -> Vec<Layer> {
        self.mounted.get()
    }

    async fn remount(&mut self, plan: RemountPlan) -> Result<(), Error> {
        if plan.is_empty() {
            return Ok(());
        }
        self.remember(plan.before_and_after()).await?;
        self.mounted.mark_wide();
        for (message, fds) in plan.messages(None) {
            self.tell(&message, &fds).await?;
        }
        // Who stops a cell does not mean this.
        let nobody = InterruptHandle::new();
        let question = ToMachine::Remount { remove: plan.remove.clone() };
        match self.converse_until(&nobody, &question, &[], None, MOUNT_TIMEOUT).await?.0 {
            FromMachine::Mounted(Ok(())) => {
                self.mounted.set(plan.after);
                Ok(())
            }
            FromMachine::Mounted(Err(problem)) => {
                Err(Error::Layer { name: cut(problem.name), reason: cut(problem.reason) })
            }
            _ => Err(self.misbehaved("an answer to another question").await),
        }
    }

    /// Gives the machine the layers that it had when it hibernated, beside those of its base.
    pub(super) async fn give(&mut self, layers: &[Layer]) -> Result<(), Error> {
        layers.iter().try_for_each(check)?;
        for (layers, fds) in messages(layers) {
            self.tell(&ToMachine::Layers { question: None, layers }, &fds).await?;
        }
        self.mounted.set(layers.to_vec());
        Ok(())
    }

    /// If there is a crash snapshot, says in it which layers are mounted, and no others.
    pub(super) async fn remember_exactly(&mut self) {
        if self.mounted.take_wide() {
            let layers = self.layers().iter().map(Layer::id).collect();
            if let Err(error) = self.remember(layers).await {
                // It names more than are needed.
                tracing::debug!(%error, "the header of a crash snapshot stays as it was");
            }
        }
    }

    /// If there is a crash snapshot, says in it that these layers will be needed.
    pub(super) async fn remember(&self, layers: Vec<LayerId>) -> Result<(), Error> {
        match &self.crash_snapshot {
            Some(path) => crash_snapshot::write_header(path.clone(), self.header_with(layers)).await,
            None => Ok(()),
        }
    }
}

impl Session {
    /// As [`Machine::mount`]; the state with these layers is one that counts, as after a cell.
    ///
    /// # Errors
    /// Those of [`Machine::mount`], or of [`Session::execute`] when the machine has ended.
    pub async fn mount(&self, layers: &[Layer]) -> Result<(), Error> {
        let mut state = self.ready().await?;
        let result = state.machine.mount(layers).await;
        self.changed(state, result).await
    }

    /// As [`Machine::unmount`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Session::execute`].
    pub async fn unmount(&self, packages: &[String]) -> Result<(), Error> {
        let mut state = self.ready().await?;
        let result = state.machine.unmount(packages).await;
        self.changed(state, result).await
    }

    /// Wheels that are mounted at present. What a cell has installed is among them while it runs; when that cell is rolled back
    /// they are gone. Waits for nothing.
    pub fn layers(&self) -> Vec<Layer> {
        self.interrupt_handle().layers()
    }
}

/// Returns the layers that [`Sandbox::resume_session`](super::Sandbox::resume_session) of `path` wants in
/// [`MachineSpec::layers`](crate::api::MachineSpec::layers). A crash snapshot that is newer takes the file's place first, as in
/// [`Sandbox::resume`](super::Sandbox::resume).
///
/// # Errors
/// [`Error::Image`] when the file is of another version of Brumate or of a session that still runs, or is no session;
/// [`Error::Io`] when it cannot be read.
pub async fn layers_of(path: &Path) -> Result<Vec<LayerId>, Error> {
    hibernate::layers_of(path).await
}
