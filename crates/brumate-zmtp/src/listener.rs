//! Listening, and the file of a Unix socket that listens.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use tokio::net::{TcpListener, UnixListener, UnixSocket, UnixStream};

use crate::endpoint::Endpoint;
use crate::error::BindError;
use crate::stream::Stream;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

/// A listening socket.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds it. Returns its address, and the file to remove in the end.
    pub(crate) async fn bind(endpoint: Endpoint) -> Result<(Self, Endpoint, Option<SocketFile>), BindError> {
        let failed = |source| BindError::Io { endpoint: endpoint.clone(), source };
        match &endpoint {
            Endpoint::Tcp { host, port } => {
                let listener = TcpListener::bind(SocketAddr::new(*host, *port)).await.map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?.into();
                Ok((Self::Tcp(listener), bound, None))
            }
            Endpoint::Ipc(path) => {
                let listener = match bind_path(path) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                        if !is_stale(path).await {
                            return Err(BindError::Exists(endpoint));
                        }
                        fs::remove_file(path).and_then(|()| bind_path(path)).map_err(failed)?
                    }
                    listener => listener.map_err(failed)?,
                };
                let file = SocketFile::at(path).map_err(failed)?;
                Ok((Self::Unix(listener), endpoint, Some(file)))
            }
        }
    }

    /// Waits for the next connection. Safe to cancel.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => listener.accept().await?.0.into(),
            Self::Unix(listener) => listener.accept().await?.0.into(),
        })
    }
}

fn bind_path(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    // The file has the mode of the socket from its beginning.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    socket.bind(path)?;
    socket.listen(BACKLOG)
}

/// Returns whether the path is a socket that nobody listens on.
async fn is_stale(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
        && UnixStream::connect(path).await.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// The file of a Unix socket. It is removed with this, unless another one has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl SocketFile {
    fn at(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: identity(path)? })
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_path_is_taken_only_from_a_socket_that_nobody_listens_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let bind = || Listener::bind(Endpoint::Ipc(path.clone()));

        let (listener, _, file) = bind().await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(bind().await, Err(BindError::Exists(_))));
        assert!(UnixStream::connect(&path).await.is_ok());

        // A crash leaves the file.
        drop(listener);
        std::mem::forget(file);
        let (_listener, _, file) = bind().await.unwrap();
        drop(file);
        assert!(!path.exists());

        fs::write(&path, "not a socket").unwrap();
        assert!(matches!(bind().await, Err(BindError::Exists(_))));
        assert!(path.exists());
    }

    #[tokio::test]
    async fn the_file_of_another_socket_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let (_first, _, first) = Listener::bind(Endpoint::Ipc(path.clone())).await.unwrap();
        fs::remove_file(&path).unwrap();
        // Something else takes the inode, so that the second socket has another one.
        fs::write(directory.path().join("other"), "").unwrap();
        let (_second, _, _file) = Listener::bind(Endpoint::Ipc(path.clone())).await.unwrap();
        drop(first);
        assert!(path.exists());
    }
}
