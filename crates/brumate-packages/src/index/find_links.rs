//! Find-links directories, and indexes that are directories.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

use crate::index::MAX_PAGE_BYTES;
use crate::index::blocking::blocking;
use crate::index::error::{IndexError, url_for_error};
use crate::index::file::{IndexFile, Origin};
use crate::index::html;
use crate::index::simple::MAX_FILES;
use crate::index::transfer::DownloadSink;
use crate::name::DistributionName;
use crate::source::source_distribution_name;
use crate::wheel::{WheelFileName, modules_of};

/// Bytes of a local file that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Files of several distributions.
#[derive(Debug, Default)]
pub(crate) struct FindLinksFiles {
    by_name: HashMap<DistributionName, Vec<IndexFile>>,
    /// Whether a page was not read because the network is off.
    pub(crate) offline: bool,
}

impl FindLinksFiles {
    pub(crate) fn add(&mut self, files: Vec<IndexFile>) {
        for file in files {
            if let Some(name) = distribution(&file.filename) {
                self.by_name.entry(name).or_default().push(file);
            }
        }
    }

    pub(crate) fn files(&self, name: &DistributionName) -> &[IndexFile] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Returns the distribution that a file's name states.
fn distribution(filename: &str) -> Option<DistributionName> {
    if let Ok(wheel) = filename.parse::<WheelFileName>() {
        return Some(wheel.name);
    }
    source_distribution_name(filename)
}

/// Lists the files of a directory, without its subdirectories.
pub(crate) async fn directory(path: PathBuf) -> Result<Vec<IndexFile>, IndexError> {
    blocking(move || list(&path)).await
}

fn list(path: &Path) -> Result<Vec<IndexFile>, IndexError> {
    let wrong = |reason: String| IndexError::File { path: path.display().to_string(), reason };
    let absolute = std::path::absolute(path).map_err(|error| wrong(error.to_string()))?;
    let origin = Arc::new(Origin::FindLinks(path.display().to_string()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&absolute).map_err(|error| wrong(error.to_string()))? {
        let entry = entry.map_err(|error| wrong(error.to_string()))?;
        let Ok(filename) = entry.file_name().into_string() else { continue };
        if distribution(&filename).is_none() {
            continue;
        }
        if files.len() == MAX_FILES {
            return Err(wrong(format!("it holds more than {MAX_FILES} distribution files")));
        }
        let Ok(url) = Url::from_file_path(absolute.join(&filename)) else { continue };
        let size = entry.metadata().ok().map(|metadata| metadata.len());
        files.push(IndexFile { size, ..IndexFile::new(filename, url, origin.clone()) });
    }
    // File systems list directories in any order.
    files.sort_by(|a, b| a.filename.cmp(&b.filename));
    Ok(files)
}

/// Returns the modules of the wheels in a directory with their distributions. A file that is not a wheel has none.
pub(crate) async fn modules(path: PathBuf) -> Result<HashMap<String, DistributionName>, IndexError> {
    blocking(move || {
        let mut modules = HashMap::new();
        for file in list(&path)? {
            let Ok(name) = file.filename.parse::<WheelFileName>() else { continue };
            let opened = file.url.to_file_path().ok().and_then(|path| std::fs::File::open(path).ok());
            let found = opened.and_then(|wheel| modules_of(&wheel, &name).ok()).unwrap_or_default();
            modules.extend(found.into_iter().map(|module| (module, name.name.clone())));
        }
        Ok(modules)
    })
    .await
}

/// Reads a project page on disk: `index.html` of the directory that `url` names.
pub(crate) async fn local_page(url: &Url, origin: Arc<Origin>) -> Result<Vec<IndexFile>, IndexError> {
    let page =
        if url.path().ends_with('/') { url.join("index.html").unwrap_or_else(|_| url.clone()) } else { url.clone() };
    let body = match read_local(&page, MAX_PAGE_BYTES).await {
        Err(IndexError::NotFound { url: _, status }) => {
            return Err(IndexError::NotFound { url: url_for_error(url), status });
        }
        body => body?,
    };
    let url = url.clone();
    blocking(move || html::parse(&body, &page, &origin))
        .await
        .map_err(|reason| IndexError::Malformed { url: url_for_error(&url), reason })
}

/// Copies the file of a `file:` URL to `sink`.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub(crate) async fn pour_local(url: &Url, limit: u64, sink: &mut dyn DownloadSink) -> Result<(), IndexError> {
    let shown = url_for_error(url);
    let path = url
        .to_file_path()
        .map_err(|()| IndexError::File { path: shown.clone(), reason: "not a path of this machine".to_owned() })?;
    let wrong = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => IndexError::NotFound { url: shown.clone(), status: 404 },
        _ => IndexError::File { path: path.display().to_string(), reason: error.to_string() },
    };
    let file = Arc::new(std::fs::File::open(&path).map_err(wrong)?);
    let mut left = limit;
    loop {
        let source = file.clone();
        let piece = blocking(move || {
            let mut piece = Vec::new();
            source.as_ref().take(PIECE_BYTES).read_to_end(&mut piece).map(|_| piece)
        });
        let piece = piece.await.map_err(wrong)?;
        if piece.is_empty() {
            return Ok(());
        }
        left =
            left.checked_sub(piece.len() as u64).ok_or_else(|| IndexError::TooLarge { url: shown.clone(), limit })?;
        sink.take(&piece).await?;
    }
}

/// Reads the file of a `file:` URL, at most `limit` bytes.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub(crate) async fn read_local(url: &Url, limit: u64) -> Result<Arc<[u8]>, IndexError> {
    let shown = url_for_error(url);
    let path = url
        .to_file_path()
        .map_err(|()| IndexError::File { path: shown.clone(), reason: "not a path of this machine".to_owned() })?;
    blocking(move || {
        let wrong = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => IndexError::NotFound { url: shown.clone(), status: 404 },
            _ => IndexError::File { path: path.display().to_string(), reason: error.to_string() },
        };
        let mut bytes = Vec::new();
        std::fs::File::open(&path).map_err(wrong)?.take(limit + 1).read_to_end(&mut bytes).map_err(wrong)?;
        if bytes.len() as u64 > limit {
            return Err(IndexError::TooLarge { url: shown, limit });
        }
        Ok(bytes.into())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_lists_its_wheels() {
        let directory = tempfile::tempdir().expect("temporary directory");
        for name in ["foo-1.0-py3-none-any.whl", "foo-1.1.tar.gz", "bar-1-py3-none-any.whl", "README.txt"] {
            std::fs::write(directory.path().join(name), "").expect("written");
        }
        let mut flat = FindLinksFiles::default();
        flat.add(super::directory(directory.path().to_owned()).await.expect("read"));
        let name = DistributionName::new("foo").expect("a name");
        let files: Vec<&str> = flat.files(&name).iter().map(|file| file.filename.as_str()).collect();
        assert_eq!(files, ["foo-1.0-py3-none-any.whl", "foo-1.1.tar.gz"]);
        let missing = super::directory(directory.path().join("absent")).await.expect_err("absent");
        assert!(missing.to_string().contains("absent"), "{missing}");
    }
}
