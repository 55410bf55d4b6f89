//! The first line of a machine, which says what its server serves.

use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// Longest first line, in bytes.
const MAX_ANNOUNCEMENT_BYTES: u64 = 16 << 10;

/// The protocol that a server speaks. Its first line is this as JSON: `{"serve":"stdio"}` or `{"serve":"http","host":"127.0.0.1","port":8000,"root_path":""}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "serve", rename_all = "lowercase")]
pub enum Announcement {
    /// Lines of JSON-RPC, in both directions.
    Stdio {
        /// The program speaks the protocol itself: an SDK is not involved.
        #[serde(default)]
        raw: bool,
    },
    /// An ASGI application over frames.
    Http {
        /// Address that the program names.
        host: String,
        /// Port that the program names.
        port: u16,
        /// Path prefix that the program names; may be empty.
        #[serde(default)]
        root_path: String,
    },
}

/// The first line of a machine is not there or not valid.
#[derive(Debug, thiserror::Error)]
pub enum AnnouncementError {
    /// The machine's messages ended before it.
    #[error("the server ended before it served anything")]
    Ended,
    /// It is no announcement.
    #[error("the server's first line is not valid: {0}")]
    Invalid(String),
    /// It could not be read.
    #[error("the server's first line cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

impl Announcement {
    /// Reads the first line of a machine.
    ///
    /// # Errors
    ///
    /// [`AnnouncementError`] when there is none, or it is not valid.
    pub async fn read(mut from_server: impl AsyncBufRead + Unpin) -> Result<Self, AnnouncementError> {
        let mut line = Vec::new();
        (&mut from_server).take(MAX_ANNOUNCEMENT_BYTES).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Err(AnnouncementError::Ended);
        }
        serde_json::from_slice(&line).map_err(|error| AnnouncementError::Invalid(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn announcements_are_read() {
        let http = Announcement::Http { host: "0.0.0.0".to_owned(), port: 9000, root_path: "/x".to_owned() };
        for (line, announced) in [
            ("{\"serve\":\"stdio\"}\n", Announcement::Stdio { raw: false }),
            ("{\"serve\": \"stdio\", \"raw\": true}\n", Announcement::Stdio { raw: true }),
            ("{\"serve\":\"http\",\"host\":\"0.0.0.0\",\"port\":9000,\"root_path\":\"/x\"}\n", http),
        ] {
            assert_eq!(Announcement::read(line.as_bytes()).await.unwrap(), announced, "{line}");
        }
        assert!(matches!(Announcement::read(&b""[..]).await, Err(AnnouncementError::Ended)));
        let long = format!("{{\"serve\":\"{}\"}}\n", "x".repeat(1 << 20));
        for line in ["\n", "{}\n", "{\"serve\":\"ftp\"}\n", "{\"serve\":\"http\"}\n", "\u{0}", &long] {
            let error = Announcement::read(line.as_bytes()).await.unwrap_err();
            assert!(matches!(error, AnnouncementError::Invalid(_)), "{error}");
        }
    }
}
