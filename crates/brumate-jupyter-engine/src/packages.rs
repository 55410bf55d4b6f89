//! Packages for code in jails: the server answers on a port of each jail's own loopback interface.

use std::fmt::Debug;
use std::net::{Ipv4Addr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

/// Port of the package index in jails. It is in no one's way: each jail has an interface of its own.
pub(crate) const INDEX_PORT: u16 = 3141;
/// Time that installers wait for the index, in seconds. It waits for its turn and for its sources, and repeats failures.
const INSTALLER_TIMEOUT_SECONDS: u32 = 600;

/// Serves packages to code in jails.
pub trait PackageServer: Debug + Send + Sync {
    /// Serves a session on a listener that only its code reaches, as a package index (PEP 503) at `/simple/`, until the future is dropped.
    fn serve(&self, listener: tokio::net::TcpListener) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Starts serving on a jail's listener. It ends when the handle is dropped.
pub(crate) fn serve(server: &Arc<dyn PackageServer>, listener: TcpListener) -> std::io::Result<AbortOnDropHandle<()>> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    Ok(AbortOnDropHandle::new(tokio::spawn(server.serve(listener))))
}

/// Returns the environment of installers.
pub(crate) fn environment(is_served: bool) -> Vec<(String, String)> {
    let variable = |name: &str, value: String| (name.to_owned(), value);
    let mut variables = vec![variable("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned())];
    if !is_served {
        variables.push(variable("PIP_NO_INDEX", "1".to_owned()));
        return variables;
    }
    let url = format!("http://{}:{INDEX_PORT}/simple/", Ipv4Addr::LOCALHOST);
    variables.extend([
        variable("PIP_INDEX_URL", url.clone()),
        variable("PIP_DEFAULT_TIMEOUT", INSTALLER_TIMEOUT_SECONDS.to_string()),
        variable("PIP_RETRIES", "0".to_owned()),
        // A cache would count against the session's files, and go with them.
        variable("PIP_NO_CACHE_DIR", "1".to_owned()),
        variable("UV_DEFAULT_INDEX", url.clone()),
        variable("UV_INDEX_URL", url),
        variable("UV_HTTP_TIMEOUT", INSTALLER_TIMEOUT_SECONDS.to_string()),
        variable("UV_NO_CACHE", "1".to_owned()),
    ]);
    variables
}
