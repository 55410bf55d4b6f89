//! A server's sessions with a clock that tests set.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use brumate_session::CancellationToken;
use brumate_session::sessions::{
    CellReport, CellRequest, LOCAL_PRINCIPAL, SessionError, SessionSettings, SessionState, Sessions,
};
use brumate_session::testing::{FakeEngine, Script};

/// Longest wait for what must happen; only a failing test waits that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sessions, the engine behind them, and the time of day.
pub(crate) struct Host {
    pub(crate) sessions: Sessions,
    pub(crate) engine: Arc<FakeEngine>,
    clock: Arc<AtomicU64>,
    directory: Arc<tempfile::TempDir>,
    change: fn(&mut SessionSettings),
}

/// Code that most tests need.
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
    pub(crate) async fn new() -> Self {
        Self::with(engine(), |_| {}).await
    }

    pub(crate) async fn with(engine: FakeEngine, change: fn(&mut SessionSettings)) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        Self::start(Arc::new(engine), Arc::new(AtomicU64::new(1_000_000)), directory, change).await
    }

    async fn start(
        engine: Arc<FakeEngine>,
        clock: Arc<AtomicU64>,
        directory: Arc<tempfile::TempDir>,
        change: fn(&mut SessionSettings),
    ) -> Self {
        let mut settings = SessionSettings::new(directory.path());
        let seconds = Arc::clone(&clock);
        settings.now = Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)));
        settings.max_concurrent = 64;
        change(&mut settings);
        let fake: Arc<FakeEngine> = Arc::clone(&engine);
        let sessions = Sessions::open(fake, settings).await.unwrap();
        Self { sessions, engine, clock, directory, change }
    }

    /// Another server on the same directory: after an end in order, or as if this one had been killed.
    pub(crate) async fn restart(self, in_order: bool) -> Self {
        if in_order {
            self.sessions.close().await;
        }
        let Self { sessions, engine, clock, directory, change } = self;
        drop(sessions);
        // The tasks that look after the old ones let go of them at their next turn at the latest.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        Self::start(engine, clock, directory, change).await
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Names of the files of sleeping sessions; wills are not counted.
    pub(crate) fn images(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("sessions")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.contains(".will")).collect()
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) async fn cell(&self, id: Option<&str>, code: &str) -> Result<CellReport, SessionError> {
        let cancel = CancellationToken::new();
        let mut onlooker = |_| {};
        let run = self.sessions.execute(LOCAL_PRINCIPAL, CellRequest::new(id, code), &cancel, &mut onlooker);
        tokio::time::timeout(PATIENCE, run).await.expect("a report in time")
    }

    /// A new session in which `code` was run.
    pub(crate) async fn open(&self, code: &str) -> String {
        let report = self.cell(None, code).await.unwrap();
        assert!(report.created);
        report.id.to_string()
    }

    /// What `x` is in a session.
    pub(crate) async fn x(&self, id: &str) -> String {
        let report = self.cell(Some(id), "x").await.unwrap();
        report.result.or(report.error).unwrap()
    }

    /// Begins a cell in the background.
    pub(crate) fn begin(&self, id: &str, code: &str) -> tokio::task::JoinHandle<Result<CellReport, SessionError>> {
        let (sessions, id, code) = (self.sessions.clone(), id.to_owned(), code.to_owned());
        tokio::spawn(async move {
            let request = CellRequest::new(Some(&id), code);
            sessions.execute(LOCAL_PRINCIPAL, request, &CancellationToken::new(), &mut |_| {}).await
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

    pub(crate) fn state(&self, id: &str) -> SessionState {
        let record = self.sessions.list(LOCAL_PRINCIPAL).into_iter().find(|record| record.id.as_str() == id);
        record.expect("a session of that name").state
    }
}
