//! Results of calls as JSON.

use brumate_engine_api::{ReturnValue, StopReason};
use brumate_session::sessions::{CellReport, SessionFile, SessionRecord};
use brumate_session::{RunReport, RunStatus};
use serde_json::{Value, json};

/// Returns the result of a run: `success`, `value` (JSON text), `text`, `error` (the traceback, or why the code did not run),
/// `stopped`, `packages`, `output_dropped`.
pub(super) fn run_result(report: &RunReport) -> Value {
    json!({
        "success": report.status == RunStatus::Success,
        "status": report.status.as_str(),
        "value": report.return_value.as_ref().map(|value| value.json.as_str()),
        "text": report.return_value.as_ref().map(ReturnValue::text),
        "error": report.error,
        "stopped": report.stopped.map(stopped),
        "packages": report.dependencies,
        "output_dropped": report.output_dropped,
    })
}

/// Returns the result of a run in a session: the fields of [`run_result`], and `message` (`Name: message` of the exception), `files`, `files_elsewhere`,
/// `rolled_back`.
pub(super) fn cell_result(report: &CellReport) -> Value {
    json!({
        "success": report.success,
        "status": if report.success { RunStatus::Success.as_str() } else { RunStatus::RunError.as_str() },
        "value": report.value.as_ref().map(|value| value.json.as_str()),
        "text": report.result.clone().or_else(|| report.value.as_ref().map(ReturnValue::text)),
        "error": report.failure(),
        "message": report.error,
        "stopped": report.stopped.map(stopped),
        "packages": [],
        "output_dropped": report.output_dropped,
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "files_elsewhere": report.files_elsewhere,
        "rolled_back": report.rolled_back,
        "session": report.id.as_str(),
    })
}

/// Returns a file: `name`, `mime`, `size`.
pub(super) fn file(file: &SessionFile) -> Value {
    json!({"name": file.name, "mime": file.mime, "size": file.size})
}

/// Returns a session: `session`, `state`, `created` and `last_used` in milliseconds since 1970, `executions`, `files`.
pub(super) fn session(record: &SessionRecord) -> Value {
    json!({
        "session": record.id.as_str(),
        "state": record.state.as_str(),
        "created": record.created,
        "last_used": record.last_used,
        "executions": record.executions,
        "files": record.files.len(),
    })
}

fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::TimeLimit => "time-limit",
        StopReason::CpuLimit => "cpu-limit",
        StopReason::Cancelled => "cancelled",
    }
}
