//! Sessions: interpreters that keep their state between runs.

use std::path::Path;
use std::sync::Arc;

use brumate_notebook::OutputPolicy;
use brumate_session::CancellationToken;
use brumate_session::sessions::{FileName, LOCAL_PRINCIPAL, MAX_RESOURCE_BYTES, Upload};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Error;
use super::result::File;
use super::run_builder::RunBuilder;
use super::sandbox_core::SandboxCore;
use super::snapshot;

/// A Python interpreter that keeps its variables, modules and files between runs. An idle session is hibernated to a file.
///
/// ```no_run
/// # async fn example(sandbox: brumate::Sandbox) -> Result<(), brumate::Error> {
/// let session = sandbox.session().await?;
/// session.set("x", [1, 2]).await?;
/// session.run("x.append(3)").await?;
/// assert_eq!(session.get::<Vec<u8>>("x").await?, [1, 2, 3]);
/// session.delete().await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    core: Arc<SandboxCore>,
    id: String,
}

/// Bytes of one part of an upload.
const PART: usize = 1 << 20;

impl Session {
    pub(super) fn new(core: Arc<SandboxCore>, id: String) -> Self {
        Self { core, id }
    }

    /// Returns the id. [`Sandbox::open_session`](crate::Sandbox::open_session) opens the session by it, also in a later program.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Makes a run of `code` in the session. `await` starts it. Changes to the session stay, also when the code raises. Code that ends
    /// the interpreter changes nothing.
    pub fn run(&self, code: impl Into<String>) -> RunBuilder<'_> {
        RunBuilder::new(&self.core, Some(&self.id), code.into())
    }

    /// Returns the value of a variable, converted through JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Code`] when there is no such variable; [`Error::Value`] when it has another type.
    pub async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        check_name(name)?;
        self.run(name).unrecorded().await?.value()
    }

    /// Sets a variable to a value, converted through JSON.
    ///
    /// # Errors
    ///
    /// The session cannot be used, or the value cannot be converted.
    pub async fn set(&self, name: &str, value: impl Serialize) -> Result<(), Error> {
        check_name(name)?;
        self.run("").global(name, value).unrecorded().await?.ok().map(drop)
    }

    /// Writes a file in the working directory. An existing file is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::SessionFile`], or the session cannot be used.
    pub async fn upload(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<File, Error> {
        let (sessions, cancel) = (self.core.sessions().await?, CancellationToken::new());
        let name = FileName::parse(name)?;
        let mut rest = bytes.as_ref();
        let mut offset = 0;
        loop {
            let (part, next) = rest.split_at(rest.len().min(PART));
            rest = next;
            let last = rest.is_empty();
            let upload = Upload { name: name.clone(), offset, bytes: part.to_vec(), last };
            let (_, file) = sessions.upload(LOCAL_PRINCIPAL, Some(&self.id), upload, &cancel).await?;
            if last {
                return Ok(file.into());
            }
            offset += part.len() as u64;
        }
    }

    /// Returns the content of a file in the working directory.
    ///
    /// # Errors
    ///
    /// [`Error::SessionFile`], or the session cannot be used.
    pub async fn download(&self, name: &str) -> Result<Vec<u8>, Error> {
        let (sessions, cancel) = (self.core.sessions().await?, CancellationToken::new());
        let name = FileName::parse_existing(name)?;
        let mut bytes = Vec::new();
        loop {
            let offset = bytes.len() as u64;
            let chunk = sessions.read_file(LOCAL_PRINCIPAL, &self.id, &name, offset, &cancel).await?;
            let is_end = chunk.bytes.is_empty();
            bytes.extend(chunk.bytes);
            if is_end || bytes.len() as u64 >= chunk.size {
                return Ok(bytes);
            }
        }
    }

    /// Returns the files in the working directory.
    ///
    /// # Errors
    ///
    /// The session cannot be used.
    pub async fn files(&self) -> Result<Vec<File>, Error> {
        let files = self.core.sessions().await?.files(LOCAL_PRINCIPAL, &self.id).await?;
        Ok(files.into_iter().map(File::from).collect())
    }

    /// Returns the session as a Jupyter notebook (nbformat 4.5, JSON): its cells with their outputs and figures, as far as they are kept. The
    /// oldest outputs go first when they exceed 16 MiB. Scripts, widgets and addresses that a client would fetch are left out.
    ///
    /// # Errors
    ///
    /// The session cannot be used.
    pub async fn to_notebook(&self) -> Result<String, Error> {
        let sessions = self.core.sessions().await?;
        let notebook = sessions.notebook(LOCAL_PRINCIPAL, &self.id, OutputPolicy::Passive, MAX_RESOURCE_BYTES).await?;
        Ok(notebook.to_json())
    }

    /// Makes a copy of the session with all variables and files. Both continue independently.
    ///
    /// # Errors
    ///
    /// The session cannot be used, or there are too many sessions.
    pub async fn fork(&self) -> Result<Session, Error> {
        let sessions = self.core.sessions().await?;
        let id = sessions.fork(LOCAL_PRINCIPAL, &self.id, &CancellationToken::new()).await?;
        Ok(Session::new(Arc::clone(&self.core), id.as_str().to_owned()))
    }

    /// Writes a snapshot of the session to a file: variables, modules, files. The session continues. [`Sandbox::restore`](crate::Sandbox::restore) makes a new
    /// session from the file, also on another host.
    ///
    /// # Errors
    ///
    /// [`Error::HostFile`], or the session cannot be used.
    pub async fn snapshot(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let sessions = self.core.sessions().await?;
        let cancel = CancellationToken::new();
        snapshot::write(sessions, &self.core.cache_dir, &self.id, path.as_ref(), &cancel).await
    }

    /// Interrupts the code that the session runs (`KeyboardInterrupt`). Returns whether code was running.
    ///
    /// # Errors
    ///
    /// [`Error::SessionNotFound`].
    pub async fn interrupt(&self) -> Result<bool, Error> {
        Ok(self.core.sessions().await?.interrupt(LOCAL_PRINCIPAL, &self.id).await?)
    }

    /// Removes all variables and files.
    ///
    /// # Errors
    ///
    /// [`Error::SessionNotFound`].
    pub async fn reset(&self) -> Result<(), Error> {
        Ok(self.core.sessions().await?.reset(LOCAL_PRINCIPAL, &self.id).await?)
    }

    /// Deletes the session with its variables and files. A session that does not exist is no error.
    ///
    /// # Errors
    ///
    /// The data directory cannot be written.
    pub async fn delete(self) -> Result<(), Error> {
        self.core.sessions().await?.clear(LOCAL_PRINCIPAL, &self.id).await?;
        Ok(())
    }
}

/// Checks that `name` is a Python identifier.
fn check_name(name: &str) -> Result<(), Error> {
    let mut characters = name.chars();
    let is_name = characters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|character| character == '_' || character.is_alphanumeric());
    match is_name {
        true => Ok(()),
        false => Err(Error::Settings(format!("`{name}` is not a valid variable name"))),
    }
}
