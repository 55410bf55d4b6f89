//! JSON of the API: descriptions of kernels and sessions.

use serde_json::{Value, json};

use super::served_kernel::ServedKernel;
use super::session_records::SessionRecord;

/// Name of the kernelspec. Clients ask for it unless they are told another.
pub(super) const KERNEL_NAME: &str = "python3";
/// Another name of the kernelspec: the name that `brumate kernel install` uses. It is not listed.
const OTHER_NAME: &str = "brumate";

/// Returns whether a kernelspec has this name.
pub(super) fn is_kernel_name(name: &str) -> bool {
    [KERNEL_NAME, OTHER_NAME].contains(&name)
}

/// Returns the kernelspec.
pub(super) fn kernelspec(name: &str) -> Value {
    json!({
        "name": name,
        "spec": {
            // Nobody starts it by a command.
            "argv": [],
            "env": {},
            "display_name": "Python (Brumate sandbox)",
            "language": "python",
            "interrupt_mode": "message",
            "metadata": {"debugger": false},
        },
        "resources": {},
    })
}

/// Returns the list of kernelspecs.
pub(super) fn kernelspecs() -> Value {
    json!({"default": KERNEL_NAME, "kernelspecs": {KERNEL_NAME: kernelspec(KERNEL_NAME)}})
}

/// Returns the model of a kernel.
pub(super) fn kernel(kernel: &ServedKernel) -> Value {
    json!({
        "id": kernel.id,
        "name": kernel.name,
        "last_activity": kernel.clients().last_activity(),
        "execution_state": kernel.state(),
        "connections": kernel.clients().count(),
    })
}

/// Returns the model of a session, in Jupyter's sense: a document and its kernel.
pub(super) fn session(record: &SessionRecord, kernel: &ServedKernel) -> Value {
    let mut model = json!({
        "id": record.id,
        "path": record.path,
        "name": record.name,
        "type": record.kind,
        "kernel": self::kernel(kernel),
    });
    if record.kind == "notebook" {
        model["notebook"] = json!({"path": record.path, "name": record.name});
    }
    model
}

/// Returns the identity of a principal.
pub(super) fn identity(principal: &str) -> Value {
    let initials: String = principal.chars().take(2).collect();
    json!({
        "identity": {
            "username": principal,
            "name": principal,
            "display_name": principal,
            "initials": initials,
            "avatar_url": null,
            "color": null,
        },
        "permissions": {},
    })
}
