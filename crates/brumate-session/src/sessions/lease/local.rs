//! Leases of servers on one machine: locked files, and a socket for each server.
//!
//! A lease is a lock (`flock`) on a file. The file's name is the session's id, and its content is the server's name.
//! The kernel releases it when the process ends. An unlocked file can reserve the session for a server for a short time
//! ([`RESERVATION`]). Its content is then [`RESERVED`] and the server's name.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::FlockOperation;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::directory::{DataDir, lock_file, private_file};
use super::super::id::SessionId;
use super::socket::{self, Connection, LeaseListener, LeaseRequest};
use super::{Lease, LeaseHold, LeaseRequestError, Leases, OwnerWait, RETRY_INTERVAL, Urgency};

/// Most bytes of a server's name.
const MAX_NAME_BYTES: u64 = 64;
/// Beginning of a file that reserves a session.
const RESERVED: &str = "next ";
/// Time for which a session stays reserved. A server that gets a session takes it in a few milliseconds.
const RESERVATION: Duration = Duration::from_secs(1);

/// Leases of one server.
pub(crate) struct LocalLeases {
    leases: PathBuf,
    servers: PathBuf,
    /// Name of this server's socket.
    name: String,
    _listening: DropGuard,
}

/// Locked file of a lease. When the lease ends, the file is removed, or it reserves the session for the server `next`.
pub(crate) struct LockedFile {
    path: PathBuf,
    file: File,
    next: Option<String>,
}

impl LockedFile {
    /// Locks the file of a session for the server `name`. `None` if it is locked, or reserved for another server.
    fn acquire(path: &Path, servers: &Path, name: &str) -> io::Result<Option<Self>> {
        loop {
            let file = private_file(path)?;
            if !lock_file(&file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(None);
            }
            // The previous server may have removed the file since it was opened.
            if !is_at(&file, path)? {
                continue;
            }
            if is_reserved(&file, servers, name) {
                return Ok(None);
            }
            let lease = LockedFile { path: path.to_owned(), file, next: None };
            // A lease is also valid without a name in its file. On a full disk the name cannot be written; other
            // servers then wait.
            let named = lease.file.set_len(0).and_then(|()| lease.file.write_all_at(name.as_bytes(), 0));
            if let Err(error) = named
                && error.kind() != io::ErrorKind::StorageFull
            {
                return Err(error);
            }
            return Ok(Some(lease));
        }
    }
}

impl LeaseHold for LockedFile {
    fn reserve(&mut self, server: String) {
        self.next = Some(server);
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        let reserve = |next: String| {
            let text = format!("{RESERVED}{next}");
            self.file.set_len(0).and_then(|()| self.file.write_all_at(text.as_bytes(), 0)).is_ok()
        };
        if !self.next.take().is_some_and(reserve) {
            // The file is removed while it is locked. A process that has opened it before notices that the path no
            // longer leads to this file.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns whether the locked file reserves the session for a server other than `name`. The reservation must be new,
/// and the socket of that server must exist.
fn is_reserved(file: &File, servers: &Path, name: &str) -> bool {
    let Some(next) = name_in(file).and_then(|text| text.strip_prefix(RESERVED).map(str::to_owned)) else {
        return false;
    };
    let age = file.metadata().and_then(|found| found.modified()).map(|time| time.elapsed());
    let is_new = matches!(age, Ok(Ok(age)) if age < RESERVATION);
    is_new && next != name && is_server_name(&next) && servers.join(next).exists()
}

/// Reads the name in the file of a session. Returns `None` if the file is empty or its content cannot be a name.
fn name_in(file: &File) -> Option<String> {
    let mut bytes = [0; MAX_NAME_BYTES as usize];
    let read = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(bytes.get(..read)?).ok()?;
    (!text.is_empty() && !text.contains('/')).then(|| text.to_owned())
}

/// Returns whether a text can be the name of a server.
pub(super) fn is_server_name(text: &str) -> bool {
    let length = text.len() + RESERVED.len();
    length <= MAX_NAME_BYTES as usize && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
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

    /// Sends a request to the owner of a session. Returns true if the session has an owner and the owner had something
    /// to do.
    async fn ask(
        &self,
        id: &SessionId,
        request: LeaseRequest,
        wait: &mut OwnerWait,
    ) -> Result<bool, LeaseRequestError> {
        let asked = ask_owner(&self.leases.join(id.as_str()), &self.servers, request, wait).await?;
        Ok(asked.is_some_and(|(did, _)| did))
    }
}

/// Sends a request to the owner of a session. `None` if no server owns it.
async fn ask_owner(
    path: &Path,
    servers: &Path,
    request: LeaseRequest,
    wait: &mut OwnerWait,
) -> Result<Option<(bool, Connection)>, LeaseRequestError> {
    let owner = File::open(path).ok().and_then(|file| name_in(&file));
    match owner {
        Some(name) if name.starts_with(RESERVED) => Ok(None),
        Some(name) => socket::ask(servers, &name, &request, wait).await.map(Some),
        // A server is taking the session, or a backup holds it.
        None if is_locked(path) => Err(LeaseRequestError::Silent { process: None }),
        None => Ok(None),
    }
}

/// Returns whether any process has locked a file.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(lock_file(&file, FlockOperation::NonBlockingLockShared), Ok(false))
}

/// Session that no server changes until this value is dropped.
pub(crate) enum FrozenElsewhere {
    /// No server owns it, and none takes it.
    Unowned(#[expect(dead_code, reason = "it is only held until it is dropped")] LockedFile),
    /// Its server has written it.
    ByOwner(#[expect(dead_code, reason = "it is only held until it is dropped")] Connection),
}

/// Freezes a session for a process that is no server of sessions. If a server owns the session, waits until the server
/// has written it.
///
/// # Errors
///
/// [`LeaseRequestError`] when the owner refuses or hangs.
pub(crate) async fn freeze(directory: &DataDir, id: &SessionId) -> Result<FrozenElsewhere, LeaseRequestError> {
    let (path, servers) = (directory.leases().join(id.as_str()), directory.servers());
    let mut wait = OwnerWait::begin();
    loop {
        let acquired = LockedFile::acquire(&path, &servers, "");
        let failed = |error: io::Error| LeaseRequestError::Refused { process: None, reason: error.to_string() };
        if let Some(file) = acquired.map_err(failed)? {
            return Ok(FrozenElsewhere::Unowned(file));
        }
        match ask_owner(&path, &servers, LeaseRequest::Freeze { session: id.to_string() }, &mut wait).await {
            Ok(Some((true, connection))) => return Ok(FrozenElsewhere::ByOwner(connection)),
            Ok(_) => {}
            Err(error @ LeaseRequestError::Refused { .. }) => return Err(error),
            Err(error) if wait.is_over() => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

impl Drop for LocalLeases {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.servers.join(&self.name));
    }
}

#[async_trait]
impl Leases for LocalLeases {
    fn try_acquire(&self, id: &SessionId) -> io::Result<Option<Lease>> {
        let acquired = LockedFile::acquire(&self.leases.join(id.as_str()), &self.servers, &self.name)?;
        Ok(acquired.map(|file| Lease(Box::new(file))))
    }

    fn is_held(&self, id: &SessionId) -> bool {
        is_locked(&self.leases.join(id.as_str()))
    }

    async fn request(&self, id: &SessionId, urgency: Urgency, wait: &mut OwnerWait) -> Result<(), LeaseRequestError> {
        let waited_ms = u64::try_from(wait.waited().as_millis()).unwrap_or(u64::MAX);
        let server = Some(self.name.clone());
        let request = LeaseRequest::Release { session: id.to_string(), urgency, server, waited_ms };
        self.ask(id, request, wait).await.map(drop)
    }

    async fn interrupt(&self, id: &SessionId) -> Result<bool, LeaseRequestError> {
        let request = LeaseRequest::Interrupt { session: id.to_string() };
        self.ask(id, request, &mut OwnerWait::begin()).await
    }
}

/// Returns whether `path` still leads to the open file `file`.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
