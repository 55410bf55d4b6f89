//! The system's browser.

use webbrowser::{Browser, BrowserOptions};

/// Prints the address of a page that a person is to open.
pub(super) fn print(url: &str) {
    eprintln!("Open this page to authorize the client: {url}");
}

/// Opens a page in the system's browser; prints its address where that fails. No shell sees the address. It was checked before: it is one
/// of HTTP.
pub(super) fn open_or_print(url: &str) {
    let options = BrowserOptions::new();
    match webbrowser::open_browser_with_options(Browser::Default, url, &options) {
        // A browser that is started does not say that it shows the page.
        Ok(()) => {
            eprintln!("The client is to be authorized in the browser. If no page has opened, open this one: {url}")
        }
        Err(error) => {
            eprintln!("The system's browser does not start: {error}.");
            print(url);
        }
    }
}
