//! Downloads of a resolution's wheels into the cache.

use std::time::Duration;

use async_trait::async_trait;
use brumate_setting::Setting;

use crate::cache::{Cache, CacheError, CachedWheel, Claim, FetchError, Sha256Hash, WheelWriter};
use crate::index::{DownloadSink, IndexClient, IndexError, blocking, check_sha256};
use crate::resolver::{LockedPackage, Resolver, SourceDistribution};
use crate::source::BuildProblem;
use crate::wheel::WheelFileName;

/// First wait for a wheel that another process fetches; it doubles up to [`MAX_POLL`].
const FIRST_POLL: Duration = Duration::from_millis(10);
/// Longest wait between two attempts.
const MAX_POLL: Duration = Duration::from_millis(250);

impl Resolver {
    /// Returns the verified wheel of `package` from `cache`, or downloads it. `progress` receives the number of
    /// downloaded bytes.
    ///
    /// A source distribution is built instead. A wheel without a known hash is downloaded each time, because it cannot be found
    /// in the cache.
    ///
    /// # Errors
    ///
    /// [`FetchError::Download`] when the download fails, also for a package of the bundle, which needs none;
    /// [`FetchError::Cache`] when the wheel is refused, most often because of another hash.
    pub async fn fetch(
        &self,
        package: &LockedPackage,
        cache: &Cache,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<CachedWheel, FetchError<IndexError>> {
        if let Some(source) = SourceDistribution::of_package(package) {
            if self.client().settings().only_binary.holds_for(&source.name) {
                let reason = format!("{}, or a setting of pip or uv, allows wheels only", Setting::OnlyBinary.quoted());
                return Err(FetchError::Download(source.error(BuildProblem::Refused(reason))));
            }
            let Some(builder) = self.builder() else {
                let reason = "it is a source distribution, and nothing is built here".to_owned();
                return Err(FetchError::Download(IndexError::File { path: package.file_name.clone(), reason }));
            };
            return builder.build(&source).await.map_err(FetchError::Download);
        }
        let name: WheelFileName =
            package.file_name.parse().map_err(|error| FetchError::Cache(CacheError::Wheel(error)))?;
        let hash: Option<Sha256Hash> = package.sha256.as_deref().and_then(|text| text.parse().ok());
        let fill = match hash {
            Some(hash) => match claim(cache, hash, &name).await? {
                Claim::Ready(wheel) => return Ok(wheel),
                Claim::Missing(fill) => fill,
            },
            None => {
                let cache = cache.clone();
                blocking(move || cache.writer_without_hash(&name)).await?
            }
        };
        let fill = download(self.client(), package, fill, progress).await?;
        Ok(blocking(move || fill.finish()).await?)
    }

    /// Downloads a source distribution of at most `limit` bytes, and compares its hash.
    ///
    /// # Errors
    ///
    /// [`IndexError`] of the download; [`IndexError::Hash`] if the content is not what the index states.
    pub async fn download_source(&self, source: &SourceDistribution, limit: u64) -> Result<Vec<u8>, IndexError> {
        let mut sink = SourceDownload(Vec::new());
        self.client().download(&source.url, limit, &mut sink).await?;
        let (bytes, url, expected) = (sink.0, source.url.clone(), source.sha256.clone());
        blocking(move || check_sha256(&url, &bytes, expected.as_deref()).map(|()| bytes)).await
    }
}

/// Source distribution that is being downloaded. [`IndexClient::download`] bounds its size.
struct SourceDownload(Vec<u8>);

#[async_trait]
impl DownloadSink for SourceDownload {
    async fn begin(&mut self) -> Result<(), IndexError> {
        self.0.clear();
        Ok(())
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), IndexError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Claims as [`Cache::claim`] does, without a thread that waits: a caller that is dropped leaves nothing behind.
async fn claim(cache: &Cache, hash: Sha256Hash, name: &WheelFileName) -> Result<Claim, CacheError> {
    let mut poll = FIRST_POLL;
    loop {
        let (cache, name) = (cache.clone(), name.clone());
        if let Some(claim) = blocking(move || cache.try_claim(&hash, &name)).await? {
            return Ok(claim);
        }
        tokio::time::sleep(poll).await;
        poll = (poll * 2).min(MAX_POLL);
    }
}

async fn download(
    client: &IndexClient,
    package: &LockedPackage,
    fill: WheelWriter,
    progress: &(dyn Fn(u64) + Send + Sync),
) -> Result<WheelWriter, FetchError<IndexError>> {
    let Some(url) = &package.url else {
        let reason = "it is part of the bundle, or its place is not known".to_owned();
        return Err(FetchError::Download(IndexError::File { path: package.file_name.clone(), reason }));
    };
    let limit = fill.limit();
    let mut sink = WheelDownload { fill, refused: None, progress };
    let ended = client.download(url, limit, &mut sink).await;
    match (ended, sink.refused) {
        (_, Some(refused)) => Err(FetchError::Cache(refused)),
        (Err(error), None) => Err(FetchError::Download(error)),
        (Ok(()), None) => Ok(sink.fill),
    }
}

/// Wheel that is being downloaded.
struct WheelDownload<'a> {
    fill: WheelWriter,
    /// Reason why the cache refused further bytes.
    refused: Option<CacheError>,
    progress: &'a (dyn Fn(u64) + Send + Sync),
}

impl WheelDownload<'_> {
    fn refuse(&mut self, error: CacheError) -> IndexError {
        let reason = error.to_string();
        self.refused = Some(error);
        IndexError::File { path: "the package cache".to_owned(), reason }
    }
}

#[async_trait]
impl DownloadSink for WheelDownload<'_> {
    async fn begin(&mut self) -> Result<(), IndexError> {
        self.fill.restart().map_err(|error| self.refuse(error))
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), IndexError> {
        self.fill.write(bytes).map_err(|error| self.refuse(error))?;
        (self.progress)(self.fill.bytes());
        Ok(())
    }
}
