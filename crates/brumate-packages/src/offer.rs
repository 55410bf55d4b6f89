//! Files that the sources offer, for installers outside of the sandbox. They resolve and install on their own.

use std::sync::Arc;

use pep440_rs::Version;

use crate::index::{DownloadSink, Filename, IndexError, IndexFile, MetadataFile, Origin, url_for_error};
use crate::name::DistributionName;
use crate::resolver::Resolver;

/// File of a distribution, with its version.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Version in the name of the file.
    pub version: Version,
    /// The file.
    pub file: IndexFile,
}

impl Resolver {
    /// Lists the files of `name` that the sources offer, in their order, within the settings: `exclude-newer`, `only-binary`. Files of
    /// Pyodide are left out, since they run in WebAssembly only.
    ///
    /// # Errors
    ///
    /// [`IndexError::Offline`] if nothing is found and a source was not asked; the first error of another source.
    pub async fn offers(&self, name: &DistributionName) -> Result<Vec<Offer>, IndexError> {
        let listing = self.client().listing(name).await?;
        let settings = self.client().settings();
        let wheels_only = settings.only_binary.holds_for(name);
        let offer = |file: IndexFile| {
            let parsed = Filename::parse(&file.filename, name)?;
            let in_time = settings.exclude_newer.is_none_or(|moment| file.uploaded.is_some_and(|at| at < moment));
            let (version, is_wheel) = match parsed {
                Filename::Wheel(wheel) => (wheel.version, true),
                Filename::Source { version } => (version, false),
            };
            let usable = in_time && (is_wheel || !wheels_only) && !matches!(*file.origin, Origin::Pyodide(_));
            (usable && is_own_file(&file)).then_some(Offer { version, file })
        };
        let offers: Vec<Offer> = listing.files.into_iter().filter_map(offer).collect();
        match settings.indexes.first() {
            Some(index) if offers.is_empty() && listing.offline => {
                Err(IndexError::Offline { url: url_for_error(&index.url) })
            }
            _ => Ok(offers),
        }
    }

    /// Returns the metadata of a wheel. `None`: its source does not announce any, or it would have to fetch the whole wheel.
    ///
    /// # Errors
    ///
    /// [`IndexError`] of its source; [`IndexError::Hash`] if it is not what the index states.
    pub async fn metadata_file(&self, offer: &Offer) -> Result<Option<Arc<[u8]>>, IndexError> {
        match offer.file.metadata {
            MetadataFile::Present { .. } => self.client().cheap_metadata(&offer.file).await,
            _ => Ok(None),
        }
    }

    /// Downloads a file of at most `limit` bytes to `sink`. Its hash is not compared: installers do that.
    ///
    /// # Errors
    ///
    /// [`IndexError`] of its source or of the sink.
    pub async fn download(&self, offer: &Offer, limit: u64, sink: &mut dyn DownloadSink) -> Result<(), IndexError> {
        self.client().download(&offer.file.url, limit, sink).await
    }
}

/// Returns whether a file of this machine was named by a source of this machine. A page of another one may name any path.
fn is_own_file(file: &IndexFile) -> bool {
    let (Origin::Index(place) | Origin::FindLinks(place)) = &*file.origin else { return false };
    file.url.scheme() != "file" || !(place.starts_with("http:") || place.starts_with("https:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FindLinks, Settings};

    fn name(text: &str) -> DistributionName {
        DistributionName::new(text).expect("a name")
    }

    #[tokio::test]
    async fn wheels_and_source_distributions_of_a_directory_are_offered() {
        let directory = tempfile::tempdir().expect("temporary directory");
        for file in ["foo-1.0-py3-none-any.whl", "foo-1.1.tar.gz", "bar-1-py3-none-any.whl", "foo-2.exe"] {
            std::fs::write(directory.path().join(file), "").expect("written");
        }
        let find_links = vec![FindLinks::Directory(directory.path().to_owned())];
        let mut settings = Settings { indexes: Vec::new(), find_links, ..Settings::default() };
        let offered = |settings: &Settings| {
            let resolver = Resolver::new(settings.clone()).expect("a resolver");
            async move {
                let offers = resolver.offers(&name("foo")).await.expect("read");
                offers
                    .into_iter()
                    .map(|offer| (offer.version.to_string(), offer.file.filename.ends_with(".whl")))
                    .collect::<Vec<_>>()
            }
        };
        assert_eq!(offered(&settings).await, [("1.0".to_owned(), true), ("1.1".to_owned(), false)]);
        settings.only_binary.add("foo").expect("a name");
        assert_eq!(offered(&settings).await, [("1.0".to_owned(), true)]);
    }

    #[test]
    fn a_page_of_another_machine_names_no_file_of_this_one() {
        let file = |url: &str, origin: Origin| {
            let url = url::Url::parse(url).expect("a URL");
            IndexFile::new("foo-1.0.zip".to_owned(), url, Arc::new(origin))
        };
        let index = || Origin::Index("https://index.example/simple/".to_owned());
        assert!(is_own_file(&file("https://files.example/foo-1.0.zip", index())));
        assert!(!is_own_file(&file("file:///etc/shadow", index())));
        assert!(!is_own_file(&file("file:///etc/shadow", Origin::FindLinks("http://links.example/".to_owned()))));
        assert!(is_own_file(&file("file:///wheels/foo-1.0.zip", Origin::FindLinks("/wheels".to_owned()))));
    }
}
