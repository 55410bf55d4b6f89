//! Ranges and downloads of files, without the cache.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap, HeaderValue};
use url::Url;

use crate::index::attempt::AttemptFailure;
use crate::index::error::{IndexError, url_for_error};
use crate::index::http::Http;

/// Range of a file on a server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ByteRange {
    /// The last bytes of the file. The field is their number.
    Last(u64),
    /// From the first to the second offset, both included.
    Between(u64, u64),
}

/// Part of a file.
#[derive(Debug)]
pub(crate) struct FilePart {
    /// Offset of the first byte.
    pub(crate) first: u64,
    /// Size of the whole file.
    pub(crate) total: u64,
    pub(crate) bytes: Arc<[u8]>,
}

/// Destination of a download.
#[async_trait]
pub trait DownloadSink: Send {
    /// Starts the file. If it was started before, its bytes are dropped and it starts again.
    ///
    /// # Errors
    ///
    /// The download ends with this error.
    async fn begin(&mut self) -> Result<(), IndexError>;

    /// Appends bytes. The download waits for it.
    ///
    /// # Errors
    ///
    /// The download ends with this error.
    async fn take(&mut self, bytes: &[u8]) -> Result<(), IndexError>;
}

impl Http {
    /// Fetches a range of the file at `url`. Returns `None` if the server does not support ranges.
    ///
    /// The range is not cached.
    pub(crate) async fn get_range(
        &self,
        url: &Url,
        range: ByteRange,
        limit: u64,
    ) -> Result<Option<FilePart>, IndexError> {
        let mut headers = HeaderMap::new();
        let value = match range {
            ByteRange::Last(bytes) => format!("bytes=-{bytes}"),
            ByteRange::Between(first, last) => format!("bytes={first}-{last}"),
        };
        headers.insert(header::RANGE, HeaderValue::from_str(&value).expect("digits"));
        // The offsets are offsets of the file, not of a compressed form.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.part(url, &headers, limit, attempts).await {
                Err(failure) => self.wait_for_retry(url, failure, attempts).await?,
                Ok(done) => return Ok(done),
            }
        }
    }

    async fn part(
        &self,
        url: &Url,
        headers: &HeaderMap,
        limit: u64,
        attempts: u32,
    ) -> Result<Option<FilePart>, AttemptFailure> {
        let _slot = self.slots.acquire().await;
        let response = self.send(url, headers.clone(), attempts).await?;
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE || response.status() == StatusCode::OK {
            return Ok(None);
        }
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(self.failure(url, &response, attempts));
        }
        // The header is, for example, `bytes 10-20/100`.
        let placed =
            response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok()).and_then(|value| {
                let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
                let (first, _) = range.split_once('-')?;
                Some((first.parse::<u64>().ok()?, total.parse::<u64>().ok()?))
            });
        let Some((first, total)) = placed else { return Ok(None) };
        let bytes = self.read(url, response, limit, attempts).await?;
        Ok(Some(FilePart { first, total, bytes }))
    }

    /// Downloads the body at `url` to `sink`. A download that fails temporarily starts again.
    pub(crate) async fn download(&self, url: &Url, limit: u64, sink: &mut dyn DownloadSink) -> Result<(), IndexError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            sink.begin().await?;
            match self.pour(url, limit, sink, attempts).await {
                Err(failure) => self.wait_for_retry(url, failure, attempts).await?,
                Ok(done) => return Ok(done),
            }
        }
    }

    async fn pour(
        &self,
        url: &Url,
        limit: u64,
        sink: &mut dyn DownloadSink,
        attempts: u32,
    ) -> Result<(), AttemptFailure> {
        let _slot = self.slots.acquire().await;
        // The hash is the hash of the file, not of a compressed form.
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        let mut response = self.send(url, headers, attempts).await?;
        if response.status() != StatusCode::OK {
            return Err(self.failure(url, &response, attempts));
        }
        let too_large = || AttemptFailure::permanent(IndexError::TooLarge { url: url_for_error(url), limit });
        let mut left = limit;
        if response.content_length().is_some_and(|announced| announced > limit) {
            return Err(too_large());
        }
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport(url, &error, attempts))? {
            left = left.checked_sub(chunk.len() as u64).ok_or_else(too_large)?;
            sink.take(&chunk).await.map_err(AttemptFailure::permanent)?;
        }
        Ok(())
    }
}
