//! Directories of the host, and the network, that the runs and sessions of a server get.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brumate_engine_api::{EngineError, Mount, NetworkAccess};
use brumate_packages::cache::Sha256Hash;

/// Stands for the principal in the path of a host directory. Each principal has a directory of its own then.
pub const PRINCIPAL: &str = "{principal}";

/// Longest directory name that a principal's name is written as, in bytes. Longer ones end with their SHA-256.
const MAX_NAME: usize = 180;

/// Gives runs and sessions their way to other hosts.
pub trait Network: fmt::Debug + Send + Sync {
    /// Returns the way of a new run or session. `None`: it has no network.
    fn access(&self, principal: &str) -> Option<Arc<dyn NetworkAccess>>;
}

/// Directories of the host, and the network, that every run and every session of a principal gets. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    mounts: Arc<[Mount]>,
    network: Option<Arc<dyn Network>>,
}

impl Grants {
    /// Makes the grants. A host path may contain [`PRINCIPAL`].
    pub fn new(mounts: Vec<Mount>) -> Self {
        Self { mounts: mounts.into(), network: None }
    }

    /// Grants a network, too.
    pub fn with_network(self, network: Option<Arc<dyn Network>>) -> Self {
        Self { network, ..self }
    }

    /// Returns the way to other hosts of a new run or session of a principal.
    pub(crate) fn network_of(&self, principal: &str) -> Option<Arc<dyn NetworkAccess>> {
        self.network.as_ref()?.access(principal)
    }

    /// Returns the mounts of a principal. Directories of its own are made if they are missing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Unavailable`] if a directory cannot be used. The text has its path in the sandbox; the log has that of the
    /// host.
    pub(crate) fn of(&self, principal: &str) -> Result<Vec<Mount>, EngineError> {
        let mounts = self.mounts.iter().map(|mount| {
            let host = usable(&mount.host, principal).map_err(|error| {
                tracing::error!(host = %mount.host.display(), guest = mount.guest, %error, "a directory cannot be mounted");
                EngineError::Unavailable(format!(
                    "{} cannot be mounted; the log of the server has the reason",
                    mount.guest
                ))
            })?;
            Ok(Mount { host, ..mount.clone() })
        });
        mounts.collect()
    }
}

/// Returns the directory of a principal. One of its own is made if it is missing.
fn usable(host: &Path, principal: &str) -> io::Result<PathBuf> {
    let path = match host.to_str().filter(|path| path.contains(PRINCIPAL)) {
        None => host.to_owned(),
        Some(_) if principal.is_empty() => return Err(io::Error::other("the client has no principal")),
        Some(template) => {
            let own = PathBuf::from(template.replace(PRINCIPAL, &directory_name(principal)));
            DirBuilder::new().recursive(true).mode(0o700).create(&own)?;
            own
        }
    };
    if path.metadata()?.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Returns a principal's name as the name of a directory. Two principals never have the same: letters, digits, `-`, `_`, `@`, `+` and
/// dots stay, except for a dot at the beginning; other bytes are written as `%` and two digits.
fn directory_name(principal: &str) -> String {
    let mut name = String::new();
    for (index, byte) in principal.bytes().enumerate() {
        let stays = byte.is_ascii_alphanumeric() || b"-_@+".contains(&byte) || (byte == b'.' && index > 0);
        if stays {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
        if name.len() > MAX_NAME {
            // No escape is `%-`.
            name.truncate(MAX_NAME / 2);
            return format!("{name}%-{}", Sha256Hash::of(principal.as_bytes()));
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mount(host: &Path, guest: &str) -> Mount {
        Mount { host: host.to_owned(), guest: guest.to_owned(), read_only: false }
    }

    #[test]
    fn each_principal_has_a_directory_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let shared = root.path().join("shared");
        std::fs::create_dir(&shared).unwrap();
        let grants = Grants::new(vec![
            Mount { read_only: true, ..mount(&shared, "/shared") },
            mount(&root.path().join("of/{principal}/work"), "/work"),
        ]);
        let of = |principal: &str| grants.of(principal).unwrap();
        let (ada, eve) = (of("ada"), of("../ada"));
        assert_eq!((&ada[0].host, ada[0].read_only), (&shared, true));
        assert_eq!(ada[1].host, root.path().join("of/ada/work"));
        assert_eq!(eve[1].host, root.path().join("of/%2E.%2Fada/work"));
        assert!(eve[1].host.is_dir() && !ada[1].read_only);
        let mode = std::fs::metadata(root.path().join("of/ada")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // The second time it is there.
        assert_eq!(of("ada")[1].host, ada[1].host);
    }

    #[test]
    fn what_cannot_be_mounted_is_named_by_its_path_in_the_sandbox() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        for (host, principal) in [("missing", "ada"), ("file", "ada"), ("file/{principal}", "ada"), ("{principal}", "")]
        {
            let grants = Grants::new(vec![mount(&root.path().join(host), "/work")]);
            let error = grants.of(principal).unwrap_err().to_string();
            assert!(error.contains("/work cannot be mounted"), "{error}");
            assert!(!error.contains(root.path().to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn names_of_directories_differ_as_those_of_principals_do() {
        let long = "x".repeat(400);
        let names = [
            "a",
            "A",
            "a/b",
            "a%2Fb",
            ".",
            "..",
            ".a",
            "%2E",
            "https://issuer.example#4",
            "é",
            "a\0",
            "~",
            "",
            &long,
            &long[1..],
        ];
        let mut written: Vec<String> = names.map(directory_name).to_vec();
        for name in &written {
            assert!(name.len() < 256 && !name.contains(['/', '\0']) && !name.starts_with('.'), "{name}");
        }
        written.sort();
        written.dedup();
        assert_eq!(written.len(), names.len());
    }
}
