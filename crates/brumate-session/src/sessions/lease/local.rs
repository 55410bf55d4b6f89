//! Leases of servers on one machine: locked files, and a socket for each server.
//!
//! A lease is a lock (`flock`) on a file with the session's id as its name and the server's name as its content. The
//! kernel releases it when the process ends.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use rustix::fs::FlockOperation;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::directory::{DataDir, lock_file, private_file};
use super::super::id::SessionId;
use super::socket::{self, LeaseListener, LeaseReply, LeaseRequest};
use super::{Lease, LeaseRequestError, Leases, Urgency};

/// Most bytes of a server's name.
const MAX_NAME_BYTES: u64 = 64;

/// Leases of one server.
pub(crate) struct LocalLeases {
    leases: PathBuf,
    servers: PathBuf,
    /// Name of this server's socket.
    name: String,
    _listening: DropGuard,
}

/// Locked file, which is removed when the lease ends.
struct LockedFile {
    path: PathBuf,
    file: File,
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Removed while it is locked: a process that opened it before notices that its path names another file.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl LocalLeases {
    /// Joins the leases of a data directory. Requests of other servers wait until the listener serves.
    ///
    /// # Errors
    ///
    /// An I/O error when the socket cannot be made.
    pub(crate) fn begin(directory: &DataDir) -> io::Result<(Self, LeaseListener)> {
        let mut random = [0; 6];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let (servers, name) = (directory.servers(), format!("{}-{random}", std::process::id()));
        socket::remove_dead(&servers);
        let ended = CancellationToken::new();
        let listener = LeaseListener::bind(&servers, &name, ended.clone())?;
        Ok((Self { leases: directory.leases(), servers, name, _listening: ended.drop_guard() }, listener))
    }

    /// Returns the name of the server that owns a session. `None` if no server does, or its name is not written yet.
    #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
    fn owner(&self, id: &SessionId) -> Option<String> {
        let mut name = String::new();
        File::open(self.leases.join(id.as_str())).ok()?.take(MAX_NAME_BYTES).read_to_string(&mut name).ok()?;
        Some(name).filter(|name| !name.is_empty() && !name.contains('/'))
    }

    async fn ask(&self, id: &SessionId, request: LeaseRequest) -> Result<LeaseReply, LeaseRequestError> {
        match self.owner(id) {
            Some(name) => socket::ask(&self.servers, &name, &request).await,
            None if self.is_held(id) => Err(LeaseRequestError::Silent { process: None }),
            None => Ok(LeaseReply::Done { did: false }),
        }
    }
}

impl Drop for LocalLeases {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.servers.join(&self.name));
    }
}

impl Leases for LocalLeases {
    fn try_acquire(&self, id: &SessionId) -> io::Result<Option<Lease>> {
        let path = self.leases.join(id.as_str());
        loop {
            let file = private_file(&path)?;
            if !lock_file(&file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(None);
            }
            // The previous server may have removed the file since it was opened.
            if !is_at(&file, &path)? {
                continue;
            }
            let lease = LockedFile { path, file };
            lease.file.set_len(0)?;
            (&lease.file).write_all(self.name.as_bytes())?;
            return Ok(Some(Lease(Box::new(lease))));
        }
    }

    fn is_held(&self, id: &SessionId) -> bool {
        let Ok(file) = File::open(self.leases.join(id.as_str())) else { return false };
        matches!(lock_file(&file, FlockOperation::NonBlockingLockShared), Ok(false))
    }

    fn request<'a>(&'a self, id: &'a SessionId, urgency: Urgency) -> BoxFuture<'a, Result<(), LeaseRequestError>> {
        Box::pin(async move {
            match self.ask(id, LeaseRequest::Release { session: id.to_string(), urgency }).await? {
                LeaseReply::Refused { process, reason } => Err(LeaseRequestError::Refused { process, reason }),
                LeaseReply::Accepted { .. } | LeaseReply::Done { .. } => Ok(()),
            }
        })
    }

    fn interrupt<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<bool, LeaseRequestError>> {
        Box::pin(async move {
            let reply = self.ask(id, LeaseRequest::Interrupt { session: id.to_string() }).await?;
            Ok(matches!(reply, LeaseReply::Done { did: true }))
        })
    }
}

/// Returns whether a path leads to an open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
