//! Packages of sessions: what they begin with, what they have when they wake, and what is kept about that.

use std::path::Path;

use brumate_engine_api::{EngineError, Layer, Session};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::error::SessionError;
use crate::dependencies;
use crate::packages::KnownLayer;

impl Sessions {
    /// Layers of a session that begins.
    pub(super) async fn first_layers(&self, cancel: &CancellationToken) -> Result<Vec<Layer>, SessionError> {
        let settings = &self.inner.settings;
        let Some(packages) = &settings.packages else { return Ok(Vec::new()) };
        let stated = dependencies::stated(&settings.dependencies, "").map_err(SessionError::Packages)?;
        let installed = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SessionError::Cancelled),
            installed = packages.install(stated.wanted(), &|_| {}) => installed,
        };
        let installation = installed.map_err(|error| SessionError::Packages(error.to_string()))?;
        self.inner.engine.prepare(&installation.wheels).await?;
        Ok(installation.layers.clone())
    }

    /// Layers of the session in a file, of which `known` is known.
    pub(super) async fn layers_of(&self, path: &Path, known: &[KnownLayer]) -> Result<Vec<Layer>, EngineError> {
        let ids = self.inner.engine.layers_of(path).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let Some(packages) = &self.inner.settings.packages else {
            return Err(EngineError::Image(
                "it has packages installed, and this server has no package service".to_owned(),
            ));
        };
        let wanted: Vec<KnownLayer> = ids
            .iter()
            .map(|id| known.iter().find(|known| known.is(id)).cloned().unwrap_or_else(|| KnownLayer::of(id)))
            .collect();
        packages.recover(&wanted).await.map_err(|error| EngineError::Image(error.to_string()))
    }

    /// What is to be kept about the layers that a session has now; `before` is what was kept so far.
    pub(super) fn known_layers(&self, session: &dyn Session, before: &[KnownLayer]) -> Vec<KnownLayer> {
        let layers = session.layers();
        layers
            .iter()
            .map(|layer| {
                let id = layer.id();
                let kept = before.iter().find(|known| known.is(&id)).cloned();
                let learned = || self.inner.settings.packages.as_ref()?.known(&id);
                kept.or_else(learned).unwrap_or_else(|| KnownLayer::of(&id))
            })
            .collect()
    }
}
