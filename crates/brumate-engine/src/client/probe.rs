//! Tests of the jail from inside: `brumate doctor`.

use std::path::PathBuf;
use std::time::Duration;

use super::channel::pair;
use super::spawn::spawn;
use crate::api::EngineError;
use brumate_jail::ProbeResult;

/// Time for all probes of one jail.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Builds the jail of a zygote and of a compiler and tries every wall from inside. `program` is the binary that serves
/// `internal probe-zygote`; `None` is this process's own.
///
/// # Errors
/// When a jail cannot be built at all.
pub async fn probe(program: Option<PathBuf>) -> Result<Vec<ProbeResult>, EngineError> {
    let program = match program {
        Some(program) => program,
        None => std::env::current_exe()?,
    };
    let mut results = Vec::new();
    for command in ["probe-zygote", "probe-compile"] {
        let (mut channel, theirs) = pair()?;
        let _child = spawn(&program, command, theirs)?;
        let server = rustix::process::getpid().as_raw_nonzero().get();
        channel.send(&server, &[]).await.map_err(|error| EngineError::Unavailable(error.to_string()))?;
        let answer = tokio::time::timeout(PROBE_TIMEOUT, channel.receive::<Result<Vec<ProbeResult>, String>>()).await;
        match answer {
            Ok(Ok(Ok(list))) => results.extend(list),
            Ok(Ok(Err(reason))) => return Err(EngineError::Unavailable(reason)),
            Ok(Err(error)) => return Err(EngineError::Unavailable(format!("the probe ended: {error}"))),
            Err(_) => return Err(EngineError::Unavailable("the probe does not end".to_owned())),
        }
    }
    Ok(results)
}
