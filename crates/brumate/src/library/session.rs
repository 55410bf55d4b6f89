//! Sessions: interpreters that keep their state.

use std::path::Path;
use std::sync::Arc;

use brumate_session::CancellationToken;
use brumate_session::sessions::{FileName, LOCAL_PRINCIPAL, Upload};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::code::Code;
use super::core::Core;
use super::error::Error;
use super::result::File;
use super::snapshot;

/// A Python interpreter that keeps its variables, modules and files between calls. It sleeps in a file when it is not used.
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
    core: Arc<Core>,
    id: String,
}

/// Bytes of a file that are handed over at a time.
const PART: usize = 1 << 20;

impl Session {
    pub(super) fn new(core: Arc<Core>, id: String) -> Self {
        Self { core, id }
    }

    /// Returns its name; [`Sandbox::open_session`](crate::Sandbox::open_session) finds it again, also in a later program.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Prepares code for the session. `await` runs it. What it changes stays, also when it fails; code that ends the interpreter
    /// changes nothing.
    pub fn run(&self, code: impl Into<String>) -> Code<'_> {
        Code::new(&self.core, Some(&self.id), code.into())
    }

    /// Returns a variable, through JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Code`] when there is none; [`Error::Value`] when it has another type.
    pub async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        check_name(name)?;
        self.run(name).await?.value()
    }

    /// Sets a variable, through JSON.
    ///
    /// # Errors
    ///
    /// Why the session cannot be used, or the value cannot be passed in.
    pub async fn set(&self, name: &str, value: impl Serialize) -> Result<(), Error> {
        check_name(name)?;
        self.run("").global(name, value).await?.ok().map(drop)
    }

    /// Writes a file in the working directory.
    ///
    /// # Errors
    ///
    /// [`Error::SessionFile`], or why the session cannot be used.
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

    /// Returns the bytes of a file in the working directory.
    ///
    /// # Errors
    ///
    /// [`Error::SessionFile`], or why the session cannot be used.
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
    /// Why the session cannot be used.
    pub async fn files(&self) -> Result<Vec<File>, Error> {
        let files = self.core.sessions().await?.files(LOCAL_PRINCIPAL, &self.id).await?;
        Ok(files.into_iter().map(File::from).collect())
    }

    /// Makes another session that goes on from the present state of this one.
    ///
    /// # Errors
    ///
    /// Why the session cannot be used, or there can be no more.
    pub async fn fork(&self) -> Result<Session, Error> {
        let sessions = self.core.sessions().await?;
        let id = sessions.fork(LOCAL_PRINCIPAL, &self.id, &CancellationToken::new()).await?;
        Ok(Session::new(Arc::clone(&self.core), id.as_str().to_owned()))
    }

    /// Writes the present state to a file: variables, modules, files. The session goes on; [`Sandbox::restore`](crate::Sandbox::restore) makes another one of the
    /// file, here or on another host.
    ///
    /// # Errors
    ///
    /// [`Error::HostFile`], or why the session cannot be used.
    pub async fn snapshot(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let sessions = self.core.sessions().await?;
        let cancel = CancellationToken::new();
        snapshot::write(sessions, &self.core.cache_dir, &self.id, path.as_ref(), &cancel).await
    }

    /// Interrupts the code that runs in the session. Returns whether code ran.
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

    /// Deletes the session with all that it has. One that is gone already is no error.
    ///
    /// # Errors
    ///
    /// When the data directory cannot be written.
    pub async fn delete(self) -> Result<(), Error> {
        self.core.sessions().await?.clear(LOCAL_PRINCIPAL, &self.id).await?;
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let mut characters = name.chars();
    let is_name = characters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|character| character == '_' || character.is_alphanumeric());
    match is_name {
        true => Ok(()),
        false => Err(Error::Settings(format!("`{name}` is no name of a variable"))),
    }
}
