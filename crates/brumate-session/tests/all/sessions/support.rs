//! Sessions of a server whose clock the tests set.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use brumate_session::CancellationToken;
use brumate_session::Request;
use brumate_session::sessions::{
    CellReport, FileName, LOCAL_PRINCIPAL, ReadAdmission, SessionError, SessionSettings, SessionState, Sessions, Upload,
};
use brumate_session::testing::{FakeEngine, Script};

/// Longest wait of a test; only a failing test waits that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sessions with their engine and clock.
pub(crate) struct Host {
    pub(crate) sessions: Sessions,
    pub(crate) engine: Arc<FakeEngine>,
    clock: Arc<Clock>,
    directory: Arc<tempfile::TempDir>,
    change: fn(&mut SessionSettings),
}

/// Times of the clock in seconds.
pub(crate) struct Clock {
    /// Time of day, which can be set.
    wall: AtomicU64,
    /// Time since the machine started.
    elapsed: AtomicU64,
}

/// Returns an engine with the scripts that most tests need.
pub(crate) fn engine() -> FakeEngine {
    FakeEngine::default()
        .on("1 + 1", Script::returning("2"))
        .on("x = 1", Script::silent().sets("x", "1"))
        .on("x = 2", Script::silent().sets("x", "2"))
        .on("x", Script::silent().gets("x"))
        .on("loop", Script::silent().stdout("begun\n").endless())
        .on("1/0", Script::raising("ZeroDivisionError", "division by zero"))
        .on("crash", Script::dying(brumate_engine_api::ExitReason::MemoryLimit).stdout("half\n").sets("x", "crashed"))
        .on("unkeepable", Script::silent().sets("unkeepable", "1"))
}

impl Host {
    /// Reads a file of a session and its type.
    pub(crate) async fn read(&self, id: &str, name: &FileName) -> Result<(Vec<u8>, String), SessionError> {
        let cancel = CancellationToken::new();
        let part = self.sessions.read_part(LOCAL_PRINCIPAL, id, name, None, ReadAdmission::always(), &cancel).await?;
        Ok((part.bytes, part.mime))
    }

    pub(crate) async fn new() -> Self {
        Self::with(engine(), |_| {}).await
    }

    pub(crate) async fn with(engine: FakeEngine, change: fn(&mut SessionSettings)) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let clock = Clock { wall: AtomicU64::new(1_000_000), elapsed: AtomicU64::new(100) };
        Self::start(Arc::new(engine), Arc::new(clock), directory, change).await
    }

    async fn start(
        engine: Arc<FakeEngine>,
        clock: Arc<Clock>,
        directory: Arc<tempfile::TempDir>,
        change: fn(&mut SessionSettings),
    ) -> Self {
        let mut settings = SessionSettings::new(directory.path());
        let shown = Arc::clone(&clock);
        settings.now = Arc::new(move || UNIX_EPOCH + Duration::from_secs(shown.wall.load(Ordering::SeqCst)));
        let shown = Arc::clone(&clock);
        settings.elapsed = Arc::new(move || Duration::from_secs(shown.elapsed.load(Ordering::SeqCst)));
        settings.max_concurrent = 64;
        change(&mut settings);
        let fake: Arc<FakeEngine> = Arc::clone(&engine);
        let sessions = Sessions::open(fake, settings).await.unwrap();
        Self { sessions, engine, clock, directory, change }
    }

    /// Starts another server on the same directory, after a regular shutdown or as if this one had been killed.
    pub(crate) async fn restart(self, in_order: bool) -> Self {
        if in_order {
            self.sessions.close().await;
        }
        let Self { sessions, engine, clock, directory, change } = self;
        drop(sessions);
        // The maintenance tasks of the old sessions end at their next poll.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        Self::start(engine, clock, directory, change).await
    }

    /// Starts another server on a directory at another path.
    pub(crate) async fn move_to(self, place: &Path) -> Self {
        let (engine, clock, change) = (Arc::clone(&self.engine), Arc::clone(&self.clock), self.change);
        drop(self);
        let directory = tempfile::tempdir().unwrap();
        std::fs::remove_dir(directory.path()).unwrap();
        std::fs::rename(place, directory.path()).unwrap();
        Self::start(engine, clock, Arc::new(directory), change).await
    }

    /// Ends this server as if it had been killed, and returns its directory.
    pub(crate) async fn abandon(self) -> Arc<tempfile::TempDir> {
        let Self { sessions, directory, .. } = self;
        drop(sessions);
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        directory
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the names of session files, without crash snapshots.
    pub(crate) fn images(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("sessions")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.contains(".will")).collect()
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.wall.fetch_add(seconds, Ordering::SeqCst);
        self.clock.elapsed.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Sets the time of day.
    pub(crate) fn set_time(&self, seconds: u64) {
        self.clock.wall.store(seconds, Ordering::SeqCst);
    }

    /// Restarts the machine that the server runs on.
    pub(crate) fn reboot(&self) {
        self.clock.elapsed.store(1, Ordering::SeqCst);
    }

    pub(crate) async fn cell(&self, id: Option<&str>, code: &str) -> Result<CellReport, SessionError> {
        let cancel = CancellationToken::new();
        let mut event_sink = |_| {};
        let run =
            self.sessions.execute(Request::cell(id, code).with_principal(LOCAL_PRINCIPAL), &cancel, &mut event_sink);
        tokio::time::timeout(PATIENCE, run).await.expect("a report in time")
    }

    /// Makes a session in which `code` was run, and returns its id.
    pub(crate) async fn open(&self, code: &str) -> String {
        let report = self.cell(None, code).await.unwrap();
        assert!(report.created);
        report.id.to_string()
    }

    /// Uploads a file of `bytes` bytes.
    pub(crate) async fn upload(&self, id: &str, name: &str, bytes: usize) -> Result<(), SessionError> {
        let name = FileName::parse(name).unwrap();
        let upload = Upload { name, offset: 0, bytes: vec![b'u'; bytes], last: true };
        self.sessions.upload(LOCAL_PRINCIPAL, Some(id), upload, &CancellationToken::new()).await.map(drop)
    }

    /// Returns the value of `x` in a session.
    pub(crate) async fn x(&self, id: &str) -> String {
        let report = self.cell(Some(id), "x").await.unwrap();
        report.run.result.or(report.run.error).unwrap()
    }

    /// Starts a cell in the background.
    pub(crate) fn begin(&self, id: &str, code: &str) -> tokio::task::JoinHandle<Result<CellReport, SessionError>> {
        let (sessions, id, code) = (self.sessions.clone(), id.to_owned(), code.to_owned());
        tokio::spawn(async move {
            let request = Request::cell(Some(&id), code);
            sessions.execute(request.with_principal(LOCAL_PRINCIPAL), &CancellationToken::new(), &mut |_| {}).await
        })
    }

    pub(crate) async fn until_executed(&self, count: usize) {
        let reached = async {
            while self.engine.executed().len() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.expect("code that begins in time");
    }

    /// Starts another server of the same user beside this one.
    pub(crate) async fn beside(&self) -> Self {
        self.beside_with(engine()).await
    }

    /// Starts another server as [`Host::beside`] does, with another engine.
    pub(crate) async fn beside_with(&self, engine: FakeEngine) -> Self {
        let (clock, directory) = (Arc::clone(&self.clock), Arc::clone(&self.directory));
        Self::start(Arc::new(engine), clock, directory, self.change).await
    }

    pub(crate) async fn states(&self, ids: &[&str]) -> Vec<SessionState> {
        let mut states = Vec::new();
        for id in ids {
            states.push(self.state(id).await);
        }
        states
    }

    pub(crate) async fn state(&self, id: &str) -> SessionState {
        let record = self.sessions.list(LOCAL_PRINCIPAL).await.into_iter().find(|record| record.id.as_str() == id);
        record.expect("a session of that name").state
    }
}

/// Returns the texts of a cell's output.
pub(super) fn texts(report: &CellReport) -> Vec<&str> {
    report.run.output.iter().map(|chunk| chunk.text.as_str()).collect()
}
