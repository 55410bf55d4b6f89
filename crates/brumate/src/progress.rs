//! Compilation and packages on a terminal: one line that is written over and removed at the end.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use brumate_engine::client::Progress;
use brumate_session::packages::PackageEvent;

/// Longest module name that is shown.
const MAX_NAME: usize = 40;
/// Longest line about packages: it must not wrap.
const MAX_LINE: usize = 78;

/// How long a user waits without a word.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a user reads who waits longer.
const COMPILING: &str = "brumate: compiling Python to machine code, once; this takes about a minute (`brumate warmup` does all of it ahead)";

/// Shows compilation when standard error is a terminal.
pub(crate) fn on_terminal() -> Option<Arc<dyn Fn(Progress) + Send + Sync>> {
    std::io::stderr().is_terminal().then(|| Arc::new(show) as Arc<dyn Fn(Progress) + Send + Sync>)
}

/// Says in one line that something is compiled, when that takes longer than [`PATIENCE`] and standard error is no terminal.
pub(crate) fn in_one_line() -> Arc<dyn Fn(Progress) + Send + Sync> {
    let compiling = Arc::new(AtomicBool::new(false));
    let begun = Once::new();
    Arc::new(move |progress| {
        compiling.store(progress.done < progress.total, Ordering::Relaxed);
        let compiling = Arc::clone(&compiling);
        begun.call_once(|| {
            // Detached: it ends soon. Without it the line is missing, and nothing else.
            let _ = std::thread::Builder::new().name("patience".to_owned()).spawn(move || {
                std::thread::sleep(PATIENCE);
                if compiling.load(Ordering::Relaxed) {
                    // The reader may be gone; that is no reason to stop.
                    let _ = writeln!(std::io::stderr().lock(), "{COMPILING}");
                }
            });
        });
    })
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
