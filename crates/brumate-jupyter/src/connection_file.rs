//! Connection files: the addresses and the key of a kernel. The frontend writes them.

use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use brumate_zmtp::Endpoint;
use serde::Deserialize;
use thiserror::Error;

/// Longest connection file, in bytes; what follows is not read.
const MAX_BYTES: u64 = 64 << 10;
/// The only signature scheme of the specification.
const SIGNATURE_SCHEME: &str = "hmac-sha256";

/// Content of a connection file.
#[derive(Debug, Clone, Deserialize)]
pub struct ConnectionFile {
    /// `tcp` or `ipc`.
    pub transport: String,
    /// Address to listen on; for `ipc` the beginning of each socket's path.
    pub ip: String,
    /// Port, or for `ipc` the number at the end of the path, of the shell socket.
    pub shell_port: u16,
    /// The same of the iopub socket.
    pub iopub_port: u16,
    /// The same of the stdin socket.
    pub stdin_port: u16,
    /// The same of the control socket.
    pub control_port: u16,
    /// The same of the heartbeat socket.
    pub hb_port: u16,
    /// Key of signatures. Empty: messages are not signed.
    #[serde(default)]
    pub key: String,
    /// Scheme of signatures.
    #[serde(default)]
    pub signature_scheme: String,
}

/// A connection file cannot be used.
#[derive(Debug, Error)]
pub enum ConnectionFileError {
    /// It cannot be read.
    #[error("the connection file {} cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Its content is wrong.
    #[error("the connection file {} cannot be used: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl ConnectionFile {
    /// Reads a connection file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no JSON of this form, or names a transport, an address or a signature scheme that is unknown.
    #[expect(clippy::disallowed_methods, reason = "at most `MAX_BYTES`")]
    pub fn read(path: &Path) -> Result<Self, ConnectionFileError> {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
        read.map_err(|error| ConnectionFileError::Read { path: path.to_owned(), error })?;
        Self::parse(&text).map_err(|reason| ConnectionFileError::Content { path: path.to_owned(), reason })
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let file: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if !file.key.is_empty() && file.signature_scheme != SIGNATURE_SCHEME {
            return Err(format!("the signature scheme {:?} is not {SIGNATURE_SCHEME}", file.signature_scheme));
        }
        file.endpoint(file.shell_port)?;
        Ok(file)
    }

    /// Returns the address of a socket.
    ///
    /// # Errors
    ///
    /// The transport or the address is unknown.
    pub(crate) fn endpoint(&self, port: u16) -> Result<Endpoint, String> {
        match self.transport.as_str() {
            "tcp" => match self.ip.parse::<IpAddr>() {
                Ok(host) => Ok(Endpoint::Tcp { host, port }),
                Err(_) if self.ip == "*" => Ok(Endpoint::Tcp { host: IpAddr::from([0, 0, 0, 0]), port }),
                Err(_) => Err(format!("{:?} is no IP address", self.ip)),
            },
            "ipc" => Ok(Endpoint::Ipc(PathBuf::from(format!("{}-{port}", self.ip)))),
            other => Err(format!("the transport {other:?} is neither tcp nor ipc")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(transport: &str, ip: &str, scheme: &str) -> String {
        format!(
            r#"{{"transport":"{transport}","ip":"{ip}","shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5,"key":"k","signature_scheme":"{scheme}","kernel_name":"x"}}"#
        )
    }

    #[test]
    fn files_that_cannot_be_used_are_errors() {
        let tcp = ConnectionFile::parse(file("tcp", "127.0.0.1", "hmac-sha256").as_bytes()).unwrap();
        assert_eq!(tcp.endpoint(9).unwrap(), Endpoint::Tcp { host: IpAddr::from([127, 0, 0, 1]), port: 9 });
        let ipc = ConnectionFile::parse(file("ipc", "/run/kernel", "hmac-sha256").as_bytes()).unwrap();
        assert_eq!(ipc.endpoint(9).unwrap(), Endpoint::Ipc("/run/kernel-9".into()));
        for (text, part) in [
            (file("tcp", "localhost.example", "hmac-sha256"), "no IP address"),
            (file("udp", "127.0.0.1", "hmac-sha256"), "neither tcp nor ipc"),
            (file("tcp", "127.0.0.1", "hmac-md5"), "signature scheme"),
            ("{}".to_owned(), "missing field"),
            ("[".to_owned(), "EOF"),
        ] {
            let error = ConnectionFile::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
