//! Results of calls as JSON.

use brumate_engine_api::{ReturnValue, StopReason};
use brumate_session::Report;
use brumate_session::sessions::{CellReport, SessionFile, SessionRecord};

use serde_json::{Value, json};

/// Returns the result of a run: `success`, `value` (JSON text), `text`, `error` (the traceback, or why the code did not run),
/// `stopped`, `packages`, `output_dropped`.
pub(super) fn run_result(report: &Report) -> Value {
    json!({
        "success": report.is_success(),
        "status": report.status.as_str(),
        "value": report.value.as_ref().map(|value| value.json.as_str()),
        "text": report.result.clone().or_else(|| report.value.as_ref().map(ReturnValue::text)),
        "error": report.failure(),
        "stopped": report.stopped.map(stopped),
        "packages": report.dependencies,
        "output_dropped": report.output_dropped,
    })
}

/// Returns the result of a run in a session: the fields of [`run_result`], and `message` (`Name: message` of the
/// exception), `files`, `files_elsewhere`, `rolled_back`.
pub(super) fn cell_result(report: &CellReport) -> Value {
    let mut result = run_result(&report.run);
    result["message"] = json!(report.run.error);
    result["files"] = report.files.iter().map(file).collect();
    result["files_elsewhere"] = json!(report.files_elsewhere);
    result["rolled_back"] = json!(report.rolled_back);
    result["session"] = json!(report.id.as_str());
    result
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
