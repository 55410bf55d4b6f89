//! Pins and direct references of the user's requirements.

use std::sync::Arc;

use pep440_rs::Operator;
use url::Url;

use crate::index::{Filename, IndexFile, Origin, filename, sha256};
use crate::marker::MarkerEnvironment;
use crate::name::DistributionName;
use crate::requirement::{Requirement, RequirementSource};
use crate::resolver::candidates::Rejection;
use crate::resolver::fetcher::Fetcher;
use crate::resolver::{Policy, ResolutionError};
use crate::source::is_buildable;
use crate::wheel::WheelFileName;

/// Registers pinned versions and direct references with the fetcher.
pub(super) fn prepare<'a>(
    fetcher: &mut Fetcher,
    requirements: impl Iterator<Item = &'a Requirement>,
    policy: &Policy,
) -> Result<(), ResolutionError> {
    let here = MarkerEnvironment::default();
    for requirement in requirements.filter(|requirement| requirement.applies_in(&here)) {
        match &requirement.source {
            RequirementSource::Versions(specifiers) => {
                let mut specifiers = specifiers.iter();
                if let (Some(only), None) = (specifiers.next(), specifiers.next())
                    && matches!(only.operator(), Operator::Equal | Operator::ExactEqual)
                {
                    fetcher.pin(&requirement.name, only.version().clone());
                }
            }
            RequirementSource::Url(text) => {
                let wrong = |reason: String| ResolutionError::Url { requirement: requirement.to_string(), reason };
                let no_sources = fetcher.no_sources(&requirement.name);
                let file = direct(text, &requirement.name, policy, no_sources).map_err(wrong)?;
                if fetcher.direct(&requirement.name).is_some_and(|known| known.url != file.url) {
                    return Err(wrong("another requirement names another URL for it".to_owned()));
                }
                fetcher.set_direct(&requirement.name, file);
            }
        }
    }
    Ok(())
}

/// Returns the wheel or the source distribution at the URL of a requirement.
fn direct(
    text: &str,
    name: &DistributionName,
    policy: &Policy,
    no_sources: Option<Rejection>,
) -> Result<IndexFile, String> {
    let mut url = Url::parse(text).map_err(|error| format!("its URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}:` is not http or https", url.scheme()));
    }
    (policy.url)(&url)?;
    let fragment = url.fragment().unwrap_or_default().to_owned();
    let sha256 = fragment
        .split('&')
        .find_map(|part| part.strip_prefix("sha256="))
        .map(|digest| sha256(digest).ok_or("its sha256 is not a SHA-256"))
        .transpose()?;
    url.set_fragment(None);
    let filename = filename(&url).ok_or("its URL does not end with the name of a file")?;
    match (filename.parse::<WheelFileName>(), Filename::parse(&filename, name)) {
        (Ok(wheel), _) if wheel.name != *name => return Err(format!("`{filename}` is a wheel of {}", wheel.name)),
        (Ok(_), _) => {}
        (Err(_), Some(_)) if is_buildable(&filename) => {
            if let Some(rejection) = no_sources {
                return Err(format!("`{filename}` {rejection}"));
            }
        }
        (Err(_), _) => {
            return Err(format!("`{filename}` is neither a wheel nor a source distribution (`{name}-VERSION.tar.gz`)"));
        }
    }
    Ok(IndexFile { sha256, ..IndexFile::new(filename, url, Arc::new(Origin::Direct)) })
}

/// Returns whether a requirement's URL names the file at `url`, ignoring the fragment with its hash.
pub(crate) fn same_file(written: &str, url: &Url) -> bool {
    Url::parse(written).is_ok_and(|mut written| {
        written.set_fragment(None);
        written == *url
    })
}
