//! Times fresh machines from the request to the first result; prints one JSON object a line. `bench/run.py` runs it.
//!
//! `latency [COUNT]` with `BRUMATE_CACHE_DIR` set. Times are in microseconds.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use brumate_engine::api::Machine as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Execute, ExecuteMode, Image, MachineSpec};
use brumate_engine::client::{EngineError, Sandbox, SandboxConfig, Session};

/// Runs measured, unless the command line says otherwise.
const COUNT: usize = 500;

/// Pause between runs: an idle server, not one under load.
const PAUSE: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = brumate_engine::internal_main(&arguments) {
        return code;
    }
    let count = arguments.first().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(COUNT).max(1);
    // One thread, as `brumate stdio` has.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_) => return ExitCode::FAILURE,
    };
    match runtime.block_on(run(count)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(count: usize) -> Result<(), EngineError> {
    let cache_dir: PathBuf = std::env::var_os("BRUMATE_CACHE_DIR").map(Into::into).unwrap_or_default();
    for image in [Image::plain(), Image::data()] {
        for ready in [0, 2] {
            let config = SandboxConfig { cache_dir: cache_dir.clone(), ready, ..SandboxConfig::default() };
            let begin = Instant::now();
            let sandbox = Sandbox::start(config).await?;
            sandbox.build_image(&image).await?;
            let started = begin.elapsed();
            let mut times = Vec::with_capacity(count);
            for _ in 0..count {
                tokio::time::sleep(PAUSE).await;
                times.push(first_result(&sandbox, &image).await?);
            }
            times.sort_unstable();
            let _ = writeln!(
                std::io::stdout(),
                r#"{{"image":"{image}","ready":{ready},"start":{},"p50":{},"p99":{}}}"#,
                started.as_micros(),
                times[count / 2].as_micros(),
                times[count * 99 / 100].as_micros(),
            );
        }
    }
    cells(count, cache_dir).await
}

/// The notebook's image: a new session to its first cell's result, and later cells.
async fn cells(count: usize, cache_dir: PathBuf) -> Result<(), EngineError> {
    let image = Image::notebook();
    let sandbox = Sandbox::start(SandboxConfig { cache_dir, ..SandboxConfig::default() }).await?;
    sandbox.build_image(&image).await?;
    let mut first = Vec::with_capacity(count);
    let mut later = Vec::with_capacity(count);
    for _ in 0..count {
        tokio::time::sleep(PAUSE).await;
        let begin = Instant::now();
        let session = sandbox.session(MachineSpec { image: image.clone(), ..MachineSpec::default() }).await?;
        cell(&session).await?;
        first.push(begin.elapsed());
        cell(&session).await?;
        tokio::time::sleep(PAUSE).await;
        let begin = Instant::now();
        cell(&session).await?;
        later.push(begin.elapsed());
    }
    for (name, times) in [("first cell", &mut first), ("later cell", &mut later)] {
        times.sort_unstable();
        let _ = writeln!(
            std::io::stdout(),
            r#"{{"image":"{image}","what":"{name}","p50":{},"p99":{}}}"#,
            times[count / 2].as_micros(),
            times[count * 99 / 100].as_micros(),
        );
    }
    Ok(())
}

async fn cell(session: &Session) -> Result<(), EngineError> {
    let (events, _) = tokio::sync::mpsc::channel(16);
    session
        .execute(Execute { code: "1+1".to_owned(), mode: ExecuteMode::NotebookCell, ..Execute::default() }, events)
        .await?;
    Ok(())
}

async fn first_result(sandbox: &Sandbox, image: &Image) -> Result<Duration, EngineError> {
    let begin = Instant::now();
    let mut machine = sandbox.machine(MachineSpec { image: image.clone(), ..MachineSpec::default() }).await?;
    let (events, _) = tokio::sync::mpsc::channel(16);
    machine.execute(Execute { code: "1+1".to_owned(), ..Execute::default() }, events).await?;
    Ok(begin.elapsed())
}
