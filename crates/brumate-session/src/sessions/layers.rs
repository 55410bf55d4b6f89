//! Packages of sessions: those of new sessions, those of resumed ones, and their records.

use std::path::Path;

use brumate_engine_api::{EngineError, Layer, Session};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::error::SessionError;
use crate::dependencies;
use crate::packages::LayerRecord;

impl Sessions {
    /// Returns the layers that a new session starts with.
    pub(super) async fn first_layers(&self, cancel: &CancellationToken) -> Result<Vec<Layer>, SessionError> {
        let settings = &self.inner.settings;
        let Some(packages) = &settings.packages else { return Ok(Vec::new()) };
        let stated = dependencies::read_stated(&settings.dependencies, "").map_err(SessionError::Packages)?;
        let installed = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SessionError::Cancelled),
            installed = packages.install(stated.requests(), &|_| {}) => installed,
        };
        let installation = installed.map_err(|error| SessionError::Packages(error.to_string()))?;
        self.inner.engine.compile_wheels(&installation.wheels).await?;
        Ok(installation.layers.clone())
    }

    /// Returns the layers of the session in a file; `known` are their records.
    pub(super) async fn layers_of(&self, path: &Path, known: &[LayerRecord]) -> Result<Vec<Layer>, EngineError> {
        let ids = self.inner.engine.layers_of(path).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let Some(packages) = &self.inner.settings.packages else {
            return Err(EngineError::Image(
                "it has packages installed, and this server has no package service".to_owned(),
            ));
        };
        let records: Vec<LayerRecord> = ids
            .iter()
            .map(|id| {
                known
                    .iter()
                    .find(|known| known.describes(id))
                    .cloned()
                    .unwrap_or_else(|| LayerRecord::without_source(id))
            })
            .collect();
        packages.recover(&records).await.map_err(|error| EngineError::Image(error.to_string()))
    }

    /// Returns the records of a session's present layers; `before` are the records so far.
    pub(super) fn known_layers(&self, session: &dyn Session, before: &[LayerRecord]) -> Vec<LayerRecord> {
        let layers = session.layers();
        layers
            .iter()
            .map(|layer| {
                let id = layer.id();
                let kept = before.iter().find(|known| known.describes(&id)).cloned();
                let learned = || self.inner.settings.packages.as_ref()?.layer_record(&id);
                kept.or_else(learned).unwrap_or_else(|| LayerRecord::without_source(&id))
            })
            .collect()
    }
}
