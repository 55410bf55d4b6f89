//! Where a library finds those that it needs.

use wasmtime::StoreContextMut;

use super::dlopen::{DlError, message};
use crate::code::compile::MAX_MODULE;
use crate::host::Host;
use brumate_module::dylink::Dylink;

/// Lexically absolute path.
pub(super) fn canonical(cwd: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    for part in absolute.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Finds a needed library: an absolute name, else the run-time path of the library that needs it, else `/lib`.
pub(super) fn find_needed(
    store: &mut StoreContextMut<'_, Host>,
    requirer: &str,
    name: &str,
    info: &Dylink,
) -> Result<(String, Vec<u8>), DlError> {
    let origin = requirer.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut candidates = Vec::new();
    if name.contains('/') {
        candidates.push(canonical(origin, name));
    } else {
        for directory in info.runtime_path.iter().flat_map(|entry| entry.split(':')) {
            candidates.push(canonical("/", &format!("{}/{name}", directory.replace("$ORIGIN", origin))));
        }
        candidates.push(canonical("/lib", name));
    }
    for candidate in candidates {
        if store.data().libraries.by_path.contains_key(&candidate) {
            return Ok((candidate, Vec::new()));
        }
        if let Ok(content) = store.data_mut().vfs.read_file_up_to(&candidate, MAX_MODULE as u64) {
            return Ok((candidate, content));
        }
    }
    message(format!("{requirer}: needs `{name}`, which was not found"))
}
