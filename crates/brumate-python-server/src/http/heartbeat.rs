//! The heartbeat of a machine: finds the request that keeps its loop busy beyond the time limit.

use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::limits::HttpLimits;
use super::stream_table::StreamTable;
use crate::MachineControl;

/// Longest time between an answer and the next question.
const MAX_INTERVAL: Duration = Duration::from_secs(5);
/// Questions within one time limit, unless [`MAX_INTERVAL`] asks for more.
const QUESTIONS_EACH_LIMIT: u32 = 4;
/// Time between two interrupts of a busy function.
const INTERRUPT_INTERVAL: Duration = Duration::from_secs(1);

/// Watches the machine as long as it works on requests: a loop that is busy beyond the time limit is interrupted. Returns when it is
/// still busy after the grace time. Has no timer while there are no requests.
pub(super) async fn watch(
    table: &Mutex<StreamTable>,
    stop: &CancellationToken,
    control: &dyn MachineControl,
    limits: &HttpLimits,
) {
    tokio::select! {
        // The application does not answer any more; it has its grace time.
        () = stop.cancelled() => std::future::pending().await,
        () = watch_requests(table, control, limits) => {}
    }
}

async fn watch_requests(table: &Mutex<StreamTable>, control: &dyn MachineControl, limits: &HttpLimits) {
    let mut busy = table.lock().busy();
    let interval = (limits.request_time_limit / QUESTIONS_EACH_LIMIT).min(MAX_INTERVAL);
    loop {
        if busy.wait_for(|busy| *busy).await.is_err() {
            return std::future::pending().await;
        }
        let mut unanswered = table.lock().ping();
        let mut answered = async |time| {
            let answer = unanswered.wait_for(|unanswered| !unanswered);
            tokio::time::timeout(time, answer).await.is_ok()
        };
        if !answered(limits.request_time_limit).await {
            tracing::warn!(limit = ?limits.request_time_limit, "a request keeps the server busy: it is interrupted");
            let interrupt = async {
                loop {
                    control.interrupt_busy_task();
                    if answered(INTERRUPT_INTERVAL).await {
                        return;
                    }
                }
            };
            if tokio::time::timeout(limits.interrupt_grace, interrupt).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(interval).await;
    }
}
