//! Progress of compilation and packages on a terminal, in one line that is overwritten and finally removed.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use brumate_engine::client::Progress;
use brumate_session::packages::PackageEvent;

use crate::guest_text::quoted;

/// Longest shown module name, in characters.
const MAX_NAME: usize = 40;
/// Longest line about packages, in characters. It must not wrap.
const MAX_LINE: usize = 78;

/// Time after which a message says that code is compiled.
const MESSAGE_DELAY: Duration = Duration::from_secs(2);

/// Returns a function that shows compilation, if standard error is a terminal.
pub(crate) fn on_terminal() -> Option<Arc<dyn Fn(Progress) + Send + Sync>> {
    std::io::stderr().is_terminal().then(|| Arc::new(show) as Arc<dyn Fn(Progress) + Send + Sync>)
}

/// Returns a function that prints one message when compilation takes longer than [`MESSAGE_DELAY`]. For standard error that is not a
/// terminal.
pub(crate) fn one_message() -> Arc<dyn Fn(Progress) + Send + Sync> {
    let latest: Arc<Mutex<Option<(usize, usize)>>> = Arc::default();
    let begun = Once::new();
    Arc::new(move |progress| {
        *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((progress.done, progress.total));
        let latest = Arc::clone(&latest);
        begun.call_once(|| {
            // The thread is detached, and ends soon. If it cannot be started, only the message is missing.
            let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
                std::thread::sleep(MESSAGE_DELAY);
                let latest = *latest.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(text) = latest.and_then(|(done, total)| message(done, total)) {
                    // The reader may be gone.
                    let _ = writeln!(std::io::stderr().lock(), "{text}");
                }
            });
        });
    })
}

/// Returns the message, unless everything is compiled. How long the rest takes depends on the modules and on the machine.
fn message(done: usize, total: usize) -> Option<String> {
    let left = total.saturating_sub(done);
    (left > 0).then(|| {
        format!(
            "brumate: compiling Python to machine code, once: {left} of {total} {} left (`brumate warmup` does it in advance)",
            if left == 1 { "modules is" } else { "modules are" }
        )
    })
}

/// A function that shows an event of a package.
pub(crate) type ShowPackages = fn(&PackageEvent);

/// Returns a function that shows packages, if standard error is a terminal.
pub(crate) fn packages_on_terminal() -> Option<ShowPackages> {
    std::io::stderr().is_terminal().then_some(show_packages as ShowPackages)
}

/// Removes the line.
pub(crate) fn clear() {
    // The terminal may be gone.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
}

fn show_packages(event: &PackageEvent) {
    let line = match event {
        PackageEvent::Ready { .. } => String::new(),
        event => quoted(&event.to_string()).chars().take(MAX_LINE).collect(),
    };
    // The terminal may be gone.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K{line}");
}

fn show(progress: Progress) {
    // The terminal may be gone.
    let _ = write!(std::io::stderr().lock(), "{}", line(&progress));
}

fn line(progress: &Progress) -> String {
    if progress.done >= progress.total {
        return "\r\x1b[K".to_owned();
    }
    let name: String = quoted(&progress.name).chars().take(MAX_NAME).collect();
    format!("\r\x1b[KCompiling, once: {name} ({} of {})", progress.done, progress.total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_how_much_is_left() {
        assert!(message(0, 30).unwrap().contains("30 of 30 modules are left"));
        assert!(message(29, 30).unwrap().contains("1 of 30 modules is left"));
        assert_eq!(message(30, 30), None);
    }
}
