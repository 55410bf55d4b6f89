//! Compilation and packages on a terminal: one line that is written over and removed at the end.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use brumate_engine::client::Progress;
use brumate_session::packages::PackageEvent;

/// Longest module name that is shown.
const MAX_NAME: usize = 40;
/// Longest line about packages: it must not wrap.
const MAX_LINE: usize = 78;

/// Shows compilation when standard error is a terminal.
pub(crate) fn on_terminal() -> Option<Arc<dyn Fn(Progress) + Send + Sync>> {
    std::io::stderr().is_terminal().then(|| Arc::new(show) as Arc<dyn Fn(Progress) + Send + Sync>)
}

/// Shows what becomes of packages.
pub(crate) type ShowPackages = fn(&PackageEvent);

/// Shows packages when standard error is a terminal.
pub(crate) fn packages_on_terminal() -> Option<ShowPackages> {
    std::io::stderr().is_terminal().then_some(show_packages as ShowPackages)
}

/// Removes what was shown.
pub(crate) fn clear() {
    // As below.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
}

fn show_packages(event: &PackageEvent) {
    let line = match event {
        PackageEvent::Ready { .. } => String::new(),
        event => event.to_string().chars().take(MAX_LINE).collect(),
    };
    // The terminal may be gone; that is no reason to stop.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K{line}");
}

fn show(progress: Progress) {
    // The terminal may be gone; that is no reason to stop.
    let _ = write!(std::io::stderr().lock(), "{}", line(&progress));
}

fn line(progress: &Progress) -> String {
    if progress.done >= progress.total {
        return "\r\x1b[K".to_owned();
    }
    let name: String = progress.name.chars().take(MAX_NAME).collect();
    format!("\r\x1b[KCompiling, once: {name} ({} of {})", progress.done, progress.total)
}
