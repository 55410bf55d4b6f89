//! Measures sessions: what many of them cost, and how long they take to hibernate and to resume; prints one JSON object a
//! line. `bench/run.py` runs it.
//!
//! `sessions [LIVE]` with `BRUMATE_CACHE_DIR` set. Times are in microseconds, sizes in bytes.

#![allow(clippy::disallowed_methods, reason = "it reads its own files")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use brumate_engine::api::Session as _;
use brumate_engine::api::{Execute, ExecuteMode, Image, MachineSpec};
use brumate_engine::client::{EngineError, Sandbox, SandboxConfig, Session};

/// Live sessions in the end, unless the command line says otherwise.
const LIVE: usize = 2000;

/// Live sessions when latency is measured; those above the command line's number are left out.
const STEPS: [usize; 6] = [10, 100, 500, 1000, 1500, 2000];

/// Sessions of one kind whose memory is measured.
const WEIGHED: usize = 100;

/// Samples of each latency.
const SAMPLES: usize = 100;

/// How long a session is not used before it is weighed.
const IDLE: Duration = Duration::from_secs(5);

/// After that an idle session has given back what it can.
const SETTLED: Duration = Duration::from_millis(2500);

/// Sessions that are used after such a pause.
const AT_ONCE: usize = 10;

/// Pause between samples: an idle server, whose checkpoints are made.
const PAUSE: Duration = Duration::from_millis(10);

/// A table of 1 MB that does not compress.
const TABLE: &str = "import numpy as np, pandas as pd\ndf = pd.DataFrame(np.random.rand(16384, 8))";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = brumate_engine::internal_main(&arguments) {
        return code;
    }
    let live = arguments.first().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(LIVE);
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(EngineError::from)
        .and_then(|runtime| runtime.block_on(run(live)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(live: usize) -> Result<(), EngineError> {
    let cache_dir: PathBuf = std::env::var_os("BRUMATE_CACHE_DIR").map(Into::into).unwrap_or_default();
    let sandbox =
        Sandbox::start(SandboxConfig { cache_dir: cache_dir.clone(), ready: 0, ..SandboxConfig::default() }).await?;
    for image in [Image::plain(), Image::data(), Image::notebook()] {
        sandbox.build_image(&image).await?;
        weigh(&sandbox, &image).await?;
    }
    sleep(&sandbox, &cache_dir).await?;
    crowd(&sandbox, live).await
}

/// Memory of idle sessions.
async fn weigh(sandbox: &Sandbox, image: &Image) -> Result<(), EngineError> {
    tokio::time::sleep(IDLE).await;
    let before = memory_of_all();
    let mut sessions = Vec::new();
    for _ in 0..WEIGHED {
        let session = begin(sandbox, image).await?;
        cell(&session, "x = 1").await?;
        sessions.push(session);
    }
    tokio::time::sleep(IDLE).await;
    let more = memory_of_all().saturating_sub(before);
    say(&format!(r#"{{"what":"memory","image":"{image}","sessions":{WEIGHED},"bytes":{}}}"#, more / WEIGHED as u64));
    Ok(())
}

/// Size and times of hibernated sessions.
async fn sleep(sandbox: &Sandbox, directory: &Path) -> Result<(), EngineError> {
    let path = directory.join("bench.session");
    let (mut hibernate, mut wake, mut size) = (Vec::new(), Vec::new(), 0);
    for _ in 0..SAMPLES {
        let session = begin(sandbox, &Image::data()).await?;
        cell(&session, TABLE).await?;
        tokio::time::sleep(PAUSE).await;
        let start = Instant::now();
        size = session.write_to(&path).await?;
        hibernate.push(start.elapsed());
        drop(session);
        tokio::time::sleep(PAUSE).await;
        let start = Instant::now();
        let (session, _) = sandbox.resume_session(&path, MachineSpec::default()).await?;
        cell(&session, "int(df.shape[0])").await?;
        wake.push(start.elapsed());
    }
    let _ = std::fs::remove_file(path);
    say(&format!(r#"{{"what":"size","bytes":{size}}}"#));
    times("hibernate", 1, &mut hibernate);
    times("wake and next cell", 1, &mut wake);
    Ok(())
}

/// Latency beside more and more live sessions.
async fn crowd(sandbox: &Sandbox, live: usize) -> Result<(), EngineError> {
    let image = Image::data();
    let mut sessions: Vec<Session> = Vec::new();
    for step in STEPS.into_iter().filter(|&step| step <= live) {
        while sessions.len() < step {
            let session = begin(sandbox, &image).await?;
            cell(&session, "x = 1").await?;
            sessions.push(session);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (mut fresh, mut resumed, mut later) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        while later.len() < SAMPLES {
            // Long enough that idle sessions have settled.
            tokio::time::sleep(SETTLED).await;
            for _ in 0..AT_ONCE.min(step) {
                let start = Instant::now();
                let session = begin(sandbox, &image).await?;
                cell(&session, "1+1").await?;
                fresh.push(start.elapsed());
                drop(session);
                tokio::time::sleep(PAUSE).await;
                next += 1;
                let session = &sessions[next * 7919 % step];
                for times in [&mut resumed, &mut later] {
                    let start = Instant::now();
                    cell(session, "x += 1").await?;
                    times.push(start.elapsed());
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        times("new session", step, &mut fresh);
        times("cell after a pause", step, &mut resumed);
        times("later cell", step, &mut later);
    }
    Ok(())
}

async fn begin(sandbox: &Sandbox, image: &Image) -> Result<Session, EngineError> {
    sandbox.session(MachineSpec { image: image.clone(), ..MachineSpec::default() }).await
}

async fn cell(session: &Session, code: &str) -> Result<(), EngineError> {
    let (events, _) = tokio::sync::mpsc::channel(16);
    session.execute(Execute { code: code.to_owned(), mode: ExecuteMode::Cell, ..Execute::default() }, events).await?;
    Ok(())
}

fn times(what: &str, live: usize, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_micros();
    say(&format!(r#"{{"what":"{what}","live":{live},"p50":{},"p99":{}}}"#, at(50), at(99)));
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Memory of all processes below this one, zygotes included: what a session adds to it is its own, shared with none.
fn memory_of_all() -> u64 {
    let parent = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: std::collections::HashMap<u32, u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let is_below = |mut pid: u32| {
        while let Some(&parent) = parents.get(&pid) {
            if parent == std::process::id() {
                return true;
            }
            pid = parent;
        }
        false
    };
    parents.keys().filter(|&&pid| is_below(pid)).filter_map(|&pid| memory(pid)).sum()
}

/// Dirty memory of a process, with its share of what it has in common with others, and page tables.
fn memory(pid: u32) -> Option<u64> {
    let field = |file: &str, name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    };
    Some(field("smaps_rollup", "Pss_Dirty:")? + field("status", "VmPTE:")?)
}
