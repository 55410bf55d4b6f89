//! The kernel's description of itself.

use brumate_notebook::language_info;
use brumate_packages::{PYTHON_FULL_VERSION, PYTHON_VERSION};
use serde_json::{Value, json};

use brumate_jupyter_protocol::PROTOCOL_VERSION;

/// Returns the content of `kernel_info_reply`.
pub(crate) fn content() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL_VERSION,
        "implementation": "brumate",
        "implementation_version": version,
        "language_info": language_info(PYTHON_FULL_VERSION),
        "banner": format!("Python {PYTHON_FULL_VERSION} in the sandbox of Brumate {version}"),
        "debugger": false,
        "help_links": [{"text": "Python Reference", "url": format!("https://docs.python.org/{PYTHON_VERSION}")}],
        "supported_features": [],
    })
}
