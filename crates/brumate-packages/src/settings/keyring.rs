//! Passwords from the host's `keyring` command, as pip and uv use it with `--keyring-provider subprocess`.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use url::Url;

/// Longest time of the command; it may ask a person.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Most bytes of a password.
const MAX_PASSWORD: u64 = 64 << 10;
/// Name of the command.
const COMMAND: &str = "keyring";

/// Provider of passwords that no setting has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyringProvider {
    /// No provider.
    #[default]
    Disabled,
    /// The command `keyring` of the host, for URLs with a known user name.
    Subprocess,
}

impl FromStr for KeyringProvider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            // pip's `auto` uses a command that happens to be installed; here commands run only on request.
            "disabled" | "auto" => Ok(Self::Disabled),
            "subprocess" => Ok(Self::Subprocess),
            other => Err(format!("`{other}` is not disabled or subprocess")),
        }
    }
}

/// Returns the password of `user` at `url`: that of the URL, else that of the host. Waits for the command.
pub(super) fn password(url: &Url, user: &str) -> Option<String> {
    let host = match (url.host_str()?, url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    ask(Path::new(COMMAND), url.as_str(), user).or_else(|| ask(Path::new(COMMAND), &host, user))
}

#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
fn ask(command: &Path, service: &str, user: &str) -> Option<String> {
    // Neither may be read as an option.
    if service.starts_with('-') || user.starts_with('-') {
        return None;
    }
    let spawned = Command::new(command)
        .args(["get", service, user])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(%error, "the command `keyring` cannot be run");
            return None;
        }
    };
    let output = child.stdout.take()?;
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        output.take(MAX_PASSWORD).read_to_string(&mut text).ok().map(|_| text)
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < COMMAND_TIMEOUT => std::thread::sleep(POLL_INTERVAL),
            _ => {
                // The command has ended meanwhile, or cannot be killed.
                let _ = child.kill();
                let _ = child.wait();
                tracing::warn!(service, "the command `keyring` gave no answer");
                return None;
            }
        }
    };
    let text = reading.join().ok()??;
    let password = text.trim_end_matches(['\r', '\n']);
    (status.success() && !password.is_empty()).then(|| password.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_command_is_asked_and_its_failures_are_no_passwords() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let command = directory.path().join("keyring");
        let script = "#!/bin/sh\n[ \"$1\" = get ] || exit 2\n[ \"$2\" = host.example ] || exit 1\necho \"of $3\"\n";
        std::fs::write(&command, script).expect("written");
        std::fs::set_permissions(&command, PermissionsExt::from_mode(0o755)).expect("executable");
        assert_eq!(ask(&command, "host.example", "me").as_deref(), Some("of me"));
        assert_eq!(ask(&command, "other.example", "me"), None);
        assert_eq!(ask(&command, "host.example", "--help"), None);
        assert_eq!(ask(&directory.path().join("none"), "host.example", "me"), None);
    }

    #[test]
    fn providers() {
        assert_eq!("subprocess".parse(), Ok(KeyringProvider::Subprocess));
        assert_eq!("disabled".parse(), Ok(KeyringProvider::Disabled));
        assert!("import".parse::<KeyringProvider>().is_err());
    }
}
