//! The system's browser.

use webbrowser::{Browser, BrowserOptions};

/// Prints the address of a page that a person is to open.
pub(super) fn print(url: &str) {
    eprintln!("Open this page to authorize the client: {url}");
}

/// Opens a page in the system's browser, and prints its URL to standard error, in case the browser does not open. It
/// returns before the browser has started. No shell sees the URL.
///
/// Without a display (`DISPLAY`, `WAYLAND_DISPLAY`) and without a command in `BROWSER`, it only prints the URL.
pub fn open_in_browser(url: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "linux") && !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().any(|name| is_set(name)) {
        return print(url);
    }
    eprintln!("The client is to be authorized in the browser. If no page opens, open this one: {url}");
    let page = url.to_owned();
    // In a thread, because a browser in the terminal runs until the person leaves it.
    let started = std::thread::Builder::new().name("browser".to_owned()).spawn(move || {
        if let Err(error) = webbrowser::open_browser_with_options(Browser::Default, &page, &BrowserOptions::new()) {
            eprintln!("The system's browser does not start: {error}");
        }
    });
    if let Err(error) = started {
        eprintln!("The system's browser does not start: {error}");
    }
}
