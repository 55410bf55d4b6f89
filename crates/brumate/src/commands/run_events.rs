//! The events of a run: output, and progress of packages on a terminal.

use brumate_engine_api::StreamName;
use brumate_session::RunEvent;
use tokio::sync::mpsc;

use crate::progress;

/// Passes the output of a run to `write` until the run has ended. Shows packages that are installed on standard error, if that is a
/// terminal.
pub(super) fn for_each_output(mut events: mpsc::Receiver<RunEvent>, mut write: impl FnMut(StreamName, &str)) {
    let show = progress::packages_on_terminal();
    let mut showing = false;
    while let Some(event) = events.blocking_recv() {
        if let (RunEvent::Packages(event), Some(show)) = (&event, show) {
            show(event);
            showing = true;
            continue;
        }
        if std::mem::take(&mut showing) {
            progress::clear();
        }
        if let RunEvent::Output { name, text } = event {
            write(name, &text);
        }
    }
    if showing {
        progress::clear();
    }
}
