//! Sessions of this host's engine.

use std::path::Path;
use std::sync::Arc;

use brumate_engine::client;
use brumate_engine_api::{
    BoxFuture, CellAndFiles, EngineError, Event, Execute, FileChunk, FileError, FileInfo, InterruptHandle, Layer,
    Outcome, Session,
};
use tokio::sync::mpsc;

use super::errors::engine_error;
use super::local::LocalInterrupter;

/// Converts a list of files. A missing directory has no files.
fn listing(listed: Result<Vec<FileInfo>, client::Error>) -> Result<Vec<FileInfo>, EngineError> {
    match listed.map_err(engine_error) {
        Err(EngineError::File(FileError::NotFound)) => Ok(Vec::new()),
        listed => listed,
    }
}

/// A session of the sandbox.
#[derive(Debug)]
pub(super) struct LocalSession(pub(super) client::Session);

impl Session for LocalSession {
    fn execute<'a>(
        &'a self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move { self.0.execute(request, events).await.map_err(engine_error) })
    }

    fn execute_and_list<'a>(
        &'a self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &'a str,
    ) -> BoxFuture<'a, Result<CellAndFiles, EngineError>> {
        Box::pin(async move {
            let (outcome, listed) = self.0.execute_and_list(request, events, directory).await.map_err(engine_error)?;
            Ok((outcome, listing(listed)))
        })
    }

    fn begin(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move { self.0.begin().await.map_err(engine_error) })
    }

    fn commit(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move { self.0.commit().await.map_err(engine_error) })
    }

    fn roll_back(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move { self.0.roll_back().await.map_err(engine_error) })
    }

    fn estimated_bytes(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(self.0.estimated_bytes())
    }

    fn measured_bytes(&self) -> BoxFuture<'_, Result<u64, EngineError>> {
        Box::pin(async move { self.0.measured_bytes().await.map_err(engine_error) })
    }

    fn mount<'a>(&'a self, layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.0.mount(layers).await.map_err(engine_error) })
    }

    fn layers(&self) -> Vec<Layer> {
        self.0.layers()
    }

    fn fork(&self) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            let forked = self.0.fork().await.map_err(engine_error)?;
            Ok(Box::new(LocalSession(forked)) as Box<dyn Session>)
        })
    }

    fn hibernate<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(async move { self.0.hibernate(path).await.map_err(engine_error) })
    }

    fn enable_crash_recovery<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.0.enable_crash_recovery(path).await.map_err(engine_error) })
    }

    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle> {
        Arc::new(LocalInterrupter(self.0.interrupt_handle()))
    }

    fn list_files<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, EngineError>> {
        Box::pin(async move { listing(self.0.list_files(directory).await) })
    }

    fn read_file<'a>(
        &'a self,
        path: &'a str,
        offset: u64,
        length: u64,
    ) -> BoxFuture<'a, Result<FileChunk, EngineError>> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Box::pin(async move { self.0.read_file(path, offset, length).await.map_err(engine_error) })
    }

    fn write_file<'a>(
        &'a self,
        path: &'a str,
        offset: u64,
        bytes: Vec<u8>,
        truncate: bool,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.0.write_file(path, offset, bytes, truncate).await.map_err(engine_error) })
    }

    fn remove_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.0.remove_file(path).await.map_err(engine_error) })
    }
}
