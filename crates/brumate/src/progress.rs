//! Progress of compilation and packages on a terminal, in one line that is overwritten and finally removed.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Once};
use std::time::Duration;

use brumate_engine::client::Progress;
use brumate_session::packages::PackageEvent;
use parking_lot::Mutex;

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
    let modules = Arc::new(Mutex::new((0, 0)));
    let begun = Once::new();
    Arc::new(move |progress| {
        *modules.lock() = (progress.done, progress.total);
        let modules = Arc::clone(&modules);
        begun.call_once(|| {
            // The thread is detached, and ends soon. If it cannot be started, only the message is missing.
            let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
                std::thread::sleep(MESSAGE_DELAY);
                let (done, total) = *modules.lock();
                if done < total {
                    // The reader may be gone.
                    let _ = writeln!(std::io::stderr().lock(), "{}", compiling(done, total, MESSAGE_DELAY));
                }
            });
        });
    })
}

/// Returns the message that code is compiled: `done` of `total` modules took `elapsed`. It estimates the rest from that.
fn compiling(done: usize, total: usize, elapsed: Duration) -> String {
    let left = total.saturating_sub(done);
    let rest = match u32::try_from(done) {
        Ok(done) if done > 0 => {
            let seconds = (elapsed * u32::try_from(left).unwrap_or(u32::MAX) / done).as_secs().max(1);
            match seconds {
                ..90 => format!(", about {seconds} s to go"),
                _ => format!(", about {} min to go", seconds.div_ceil(60)),
            }
        }
        _ => String::new(),
    };
    format!(
        "brumate: compiling Python to machine code, once: {done} of {total} modules are done{rest} (`brumate warmup` does it in advance)"
    )
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
    fn the_rest_of_a_compilation_is_estimated() {
        let elapsed = Duration::from_secs(2);
        for (done, total, rest) in [
            (0, 40, "0 of 40 modules are done (`"),
            (10, 25, "10 of 25 modules are done, about 3 s to go (`"),
            (39, 40, "about 1 s to go"),
            (1, 40, "about 78 s to go"),
            (1, 100, "about 4 min to go"),
        ] {
            let text = compiling(done, total, elapsed);
            assert!(text.contains(rest), "{text}");
        }
    }
}
