//! Sessions: interpreters that keep their state between calls, are hibernated when idle, and survive the server.
//!
//! [`Sessions`] is the entry point. A session is **fresh** (it has no state yet), **live** (its state is in a machine),
//! **hibernated** (its state is in a file) or **lost**. A call on a hibernated session resumes it. At most [`SessionSettings::max_live`] sessions are live;
//! when a further one needs a place, the least recently used idle session is hibernated. A session does one operation
//! at a time; others wait in order.
//!
//! The registry is written after the engine's answer and before the answer to the caller. With [`Durability::Cell`]
//! the session's file is written before the registry. With [`Durability::Shutdown`] that happens only if the session has
//! no crash recovery, or if its estimated size exceeds a limit of the disk. A file belongs to one *generation* of the session's state and is
//! never used for another. So a session has the state of its last answer, or is lost, but never has an older state.
//!
//! Several servers of one user can share a data directory. At most one server at a time owns a session, by its lease.
//! Another server that needs the session asks for it.

mod backup;
mod cell;
mod changes;
mod directory;
mod disk;
mod entry;
mod error;
mod examine;
pub(crate) mod figures;
mod file_access;
mod file_store;
mod files;
mod history;
mod id;
mod inputs;
mod layers;
mod lease;
mod limits;
mod live;
mod maintenance;
mod outputs;
mod ownership;
mod record;
mod registry;
mod report;
mod settings;
mod snapshot;
mod store;
mod uploads;
mod waiting;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use brumate_engine_api::{Engine, EngineError, Limits, MachineSpec};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use backup::{BACKUP_TIMEOUT, Backup, LeftOut};
pub use directory::DataDirError;
pub use error::SessionError;
pub use examine::{DataDirProblem, Examination, FileCheck, FileFault, ProblemSubject};
pub use file_access::{FilePart, FileRange, ReadAdmission};
pub use files::{FileName, is_text, mime_of_content};
pub use history::{
    CellRecord, MAX_CELL_CODE_BYTES, MAX_CELL_OUTPUT_BYTES, MAX_HISTORY_BYTES, MAX_HISTORY_CELLS,
    MAX_SNAPSHOT_CELL_BYTES, notebook_of,
};
pub use id::SessionId;
pub use inputs::{InputDirError, InputDirs, InputFile};
pub use limits::{LOCAL_PRINCIPAL, MAX_RESOURCE_BYTES, WORKSPACE};
pub use record::{FileRecord, SessionRecord, SessionState, StateFile};
pub use report::{CellReport, FullText, SessionFile};
pub use settings::{Durability, FreeSpace, SessionSettings, session_image};
pub use snapshot::{SessionSnapshot, SnapshotFiles};
pub use uploads::Upload;

use crate::admission::Admission;
use crate::allowance::OverLimit;
use directory::DataDir;
use entry::SessionEntry;
use file_store::FileStore;
use lease::{LeaseListener, Leases, LocalLeases};
use ownership::{LAST_USED_STEP, RequestHandler};
use registry::{Registry, SqliteRegistry};

/// Bytes of text that an answer about a cell should hold; the full text is in a file if there are more.
pub const ANSWER_BYTES: usize = limits::ANSWER_BYTES;

/// Longest time that a server waits for another one that has the data directory exclusively to make the registry.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two attempts.
const OPEN_RETRY: Duration = Duration::from_millis(20);

/// Sessions of one server. Clones share them.
#[derive(Clone)]
pub struct Sessions {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<dyn Engine>,
    settings: SessionSettings,
    directory: DataDir,
    /// Files of hibernated sessions.
    files: Box<dyn FileStore>,
    registry: Registry,
    leases: Box<dyn Leases>,
    entries: Mutex<HashMap<SessionId, Arc<SessionEntry>>>,
    /// Places of live sessions.
    places: Arc<Semaphore>,
    /// Calls that wait for a place.
    waiting_for_place: AtomicUsize,
    admission: Admission,
    /// Places of sessions that are written for backups.
    backups: Semaphore,
    /// Cancelled at shutdown: further calls are refused.
    closing: CancellationToken,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sessions").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Opens the data directory, reads its sessions, and starts their maintenance. Other servers may use the directory
    /// as well.
    ///
    /// # Errors
    ///
    /// [`DataDirError`], most often because another process has the directory exclusively.
    pub async fn open(engine: Arc<dyn Engine>, settings: SessionSettings) -> Result<Self, DataDirError> {
        Self::open_with(engine, settings, |directory| Box::new(directory.store())).await
    }

    /// Opens the data directory as [`Sessions::open`] does, with the store of session files that `files` makes.
    async fn open_with(
        engine: Arc<dyn Engine>,
        settings: SessionSettings,
        files: impl FnOnce(&DataDir) -> Box<dyn FileStore>,
    ) -> Result<Self, DataDirError> {
        let deadline = tokio::time::Instant::now() + OPEN_TIMEOUT;
        let (directory, registry, leases, listener) = loop {
            match open_directory(&settings.data_dir) {
                Err(DataDirError::InUse { .. }) if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(OPEN_RETRY).await;
                }
                // On a full disk the reserve is room for the registry's log.
                Err(DataDirError::Registry { .. } | DataDirError::Io { .. })
                    if DataDir::at(&settings.data_dir, None).release_reserve() => {}
                opened => break opened?,
            }
        };
        let max_live = settings.max_live.clamp(1, Semaphore::MAX_PERMITS);
        let inner = Inner {
            engine,
            files: files(&directory),
            directory,
            registry,
            leases: Box::new(leases),
            entries: Mutex::default(),
            places: Arc::new(Semaphore::new(max_live)),
            waiting_for_place: AtomicUsize::new(0),
            admission: (settings.admission.clone()).unwrap_or_else(|| {
                Admission::new(settings.max_concurrent, settings.allowances.clone(), settings.when_full)
            }),
            backups: Semaphore::new(maintenance::WRITTEN_AT_ONCE),
            closing: CancellationToken::new(),
            settings,
        };
        let sessions = Self { inner: Arc::new(inner) };
        listener.serve(Arc::new(RequestHandler(Arc::downgrade(&sessions.inner))));
        sessions.load().await?;
        sessions.spawn_maintenance();
        Ok(sessions)
    }

    /// Lists the sessions of a data directory, also while a server uses it.
    ///
    /// # Errors
    ///
    /// [`DataDirError::Registry`] when it cannot be read.
    pub fn read_records(data_dir: &Path) -> Result<Vec<SessionRecord>, DataDirError> {
        DataDir::open_read_only(data_dir).map_or(Ok(Vec::new()), |directory| SqliteRegistry::read(&directory))
    }

    /// Returns the limits of each session.
    pub fn limits(&self) -> &Limits {
        &self.inner.settings.limits
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SessionSettings {
        &self.inner.settings
    }

    /// Returns in words after how long without use a session is removed; `None` if sessions never expire.
    pub fn timeout_in_words(&self) -> Option<String> {
        self.inner.settings.timeout.map(error::duration_in_words)
    }

    /// Returns the records of a principal's sessions, the oldest first. Those of other servers are as stored.
    pub async fn list(&self, principal: &str) -> Vec<SessionRecord> {
        if let Err(error) = self.refresh().await {
            tracing::warn!(%error, "the registry cannot be read; sessions of other servers may be missing");
        }
        let entries: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        let mut records: Vec<SessionRecord> = entries
            .iter()
            .filter(|entry| entry.principal() == principal && !entry.is_cleared())
            .map(|entry| entry.record().clone())
            .collect();
        records.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        records
    }

    /// Returns the files of a session as they were after its last cell. Does not resume the session.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`]; [`SessionError::Lost`], because the files are lost as well.
    pub async fn files(&self, principal: &str, id: &str) -> Result<Vec<SessionFile>, SessionError> {
        let entry = self.find(principal, id).await?;
        let record = entry.record();
        if record.state == SessionState::Lost {
            return Err(SessionError::Lost { id: record.id.clone(), reason: record.note.clone() });
        }
        let file = |(name, file): (&String, &FileRecord)| SessionFile {
            name: name.clone(),
            mime: file.mime.clone(),
            size: file.size,
        };
        let mut files: Vec<SessionFile> = record.files.iter().map(file).collect();
        files.sort_by(|a, b| files::natural_order(&a.name, &b.name));
        Ok(files)
    }

    /// Revokes a principal's access: ends its running cells, which are rolled back, and refuses its waiting calls. Its
    /// sessions stay. See [`Admission::revoke`].
    pub fn revoke(&self, principal: &str) {
        self.inner.admission.revoke(principal);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<SessionEntry>>> {
        self.inner.entries.lock()
    }

    /// Returns the session with that id, if it belongs to the principal and has not expired.
    async fn find(&self, principal: &str, id: &str) -> Result<Arc<SessionEntry>, SessionError> {
        let not_found = || SessionError::NotFound {
            id: id.escape_debug().take(64).collect(),
            timeout: self.inner.settings.timeout,
        };
        let id = SessionId::parse(id).ok_or_else(not_found)?;
        self.refresh().await?;
        let entry = self.entries().get(&id).cloned().ok_or_else(not_found)?;
        if entry.principal() != principal || entry.is_cleared() {
            return Err(not_found());
        }
        if self.has_expired(&entry)
            && let Some(guard) = self.try_lock_session(&entry).await
            && self.has_expired(&entry)
        {
            self.remove(&entry, guard).await?;
            return Err(not_found());
        }
        self.touch(&entry);
        self.store_last_used(std::slice::from_ref(&entry), LAST_USED_STEP).await;
        Ok(entry)
    }

    /// Adds a session, which this server owns from the beginning.
    fn add(&self, record: SessionRecord) -> Result<Arc<SessionEntry>, SessionError> {
        let lease = self.inner.leases().try_acquire(&record.id);
        let lease = lease.map_err(|error| SessionError::Storage(error.to_string()))?;
        let settings = &self.inner.settings;
        if self.inner.closing.is_cancelled() {
            return Err(SessionError::ShuttingDown);
        }
        let (principal, allowance) = (record.principal.as_str(), settings.allowances.of(&record.principal));
        let mut entries = self.entries();
        if let Some(limit) = allowance.sessions
            && entries.values().filter(|entry| entry.principal() == principal).count() >= limit
        {
            return Err(SessionError::OverLimit(OverLimit::Sessions { limit }));
        }
        if entries.len() >= settings.max_sessions {
            return Err(SessionError::TooMany { limit: settings.max_sessions });
        }
        let id = record.id.clone();
        let entry = Arc::new(SessionEntry::new(record, (self.inner.settings.elapsed)()));
        entry.set_lease(lease);
        self.inner.registry.mark_unstored(id.clone());
        entries.insert(id, Arc::clone(&entry));
        Ok(entry)
    }

    /// Adds an empty session, which is not in the registry yet.
    async fn create(&self, principal: &str) -> Result<Arc<SessionEntry>, SessionError> {
        self.refresh().await?;
        self.make_disk_space_for_new(principal).await?;
        self.add(SessionRecord::new(SessionId::random()?, principal, self.now()))
    }

    fn now(&self) -> i64 {
        let since = (self.inner.settings.now)().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    /// Notes that a session is used.
    fn touch(&self, entry: &SessionEntry) {
        entry.set_used((self.inner.settings.elapsed)());
        entry.record().last_used = self.now();
    }

    /// Returns how long a session has not been used.
    fn idle_time(&self, entry: &SessionEntry) -> Duration {
        entry.idle((self.inner.settings.elapsed)())
    }

    fn has_expired(&self, entry: &SessionEntry) -> bool {
        self.inner.settings.timeout.is_some_and(|timeout| self.idle_time(entry) > timeout)
    }

    /// Returns the order for a session's machine.
    ///
    /// # Errors
    ///
    /// A granted directory cannot be used.
    fn spec(&self, entry: &SessionEntry) -> Result<MachineSpec, EngineError> {
        let settings = &self.inner.settings;
        let (id, principal) = {
            let record = entry.record();
            (record.id.clone(), record.principal.clone())
        };
        let network = settings.grants.network_of(&principal);
        Ok(MachineSpec {
            mounts: settings.grants.of(&principal)?,
            principal: principal.into(),
            image: settings.image.clone(),
            limits: settings.limits,
            network,
            private_image: self.inner.directory.existing_private_image(&id),
            ..MachineSpec::default()
        })
    }

    /// Returns the number of sessions.
    pub fn count(&self) -> usize {
        self.entries().len()
    }

    /// Returns the number of live sessions.
    pub fn live(&self) -> usize {
        let max = self.inner.settings.max_live.clamp(1, Semaphore::MAX_PERMITS);
        max.saturating_sub(self.inner.places.available_permits())
    }

    /// Runs `work` in a task of its own, so that it is completed when the caller drops the future. Dropping the future
    /// cancels the token that `work` gets.
    async fn detached<T, F>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce(Sessions, CancellationToken) -> F,
    ) -> Result<T, SessionError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, SessionError>> + Send + 'static,
    {
        let cancel = cancel.child_token();
        let _lost_interest = cancel.clone().drop_guard();
        match tokio::spawn(work(self.clone(), cancel)).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(SessionError::Storage(error.to_string())),
        }
    }
}

impl Inner {
    fn leases(&self) -> &dyn Leases {
        &*self.leases
    }
}

/// Opens a directory, its registry and its leases together with other servers. The first server makes the registry.
fn open_directory(path: &Path) -> Result<(DataDir, Registry, LocalLeases, LeaseListener), DataDirError> {
    let io = |source| DataDirError::Io { path: path.to_owned(), source };
    let (directory, alone) = DataDir::share(path)?;
    let registry = Registry::new(SqliteRegistry::open(&directory)?);
    if alone {
        // No server runs: incomplete files are of servers that ended.
        directory.clean(|name| DataDir::session_of(name).is_some()).map_err(io)?;
        directory.allow_others()?;
    }
    let (leases, listener) = LocalLeases::begin(&directory).map_err(io)?;
    Ok((directory, registry, leases, listener))
}

/// Counts a waiting call until it is dropped.
struct WaitCounter<'a>(&'a AtomicUsize);

impl<'a> WaitCounter<'a> {
    /// Returns `None` when `limit` calls wait already.
    fn new(counter: &'a AtomicUsize, limit: usize) -> Option<Self> {
        let waiting = WaitCounter(counter);
        (counter.fetch_add(1, Ordering::SeqCst) < limit).then_some(waiting)
    }
}

impl Drop for WaitCounter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
