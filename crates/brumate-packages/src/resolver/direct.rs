//! Pins and direct references of the user's requirements.

use std::sync::Arc;

use pep440_rs::Operator;
use url::Url;

use crate::index::{IndexFile, MetadataFile, Origin, filename, sha256};
use crate::marker::MarkerEnvironment;
use crate::name::DistributionName;
use crate::requirement::{Requirement, RequirementSource};
use crate::resolver::fetcher::Fetcher;
use crate::resolver::{Policy, ResolutionError};
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
                let file = direct(text, &requirement.name, policy).map_err(wrong)?;
                if fetcher.direct(&requirement.name).is_some_and(|known| known.url != file.url) {
                    return Err(wrong("another requirement names another URL for it".to_owned()));
                }
                fetcher.set_direct(&requirement.name, file);
            }
        }
    }
    Ok(())
}

/// Returns the wheel at the URL of a requirement.
fn direct(text: &str, name: &DistributionName, policy: &Policy) -> Result<IndexFile, String> {
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
    let Ok(wheel) = filename.parse::<WheelFileName>() else {
        return Err(format!("`{filename}` is not a wheel; the sandbox installs wheels only"));
    };
    if wheel.name != *name {
        return Err(format!("`{filename}` is a wheel of {}", wheel.name));
    }
    Ok(IndexFile {
        filename,
        url,
        sha256,
        size: None,
        requires_python: None,
        yanked: None,
        uploaded: None,
        metadata: MetadataFile::Absent,
        origin: Arc::new(Origin::Direct),
        known: None,
    })
}

/// Returns whether a requirement's URL names the file at `url`, ignoring the fragment with its hash.
pub(crate) fn same_file(written: &str, url: &Url) -> bool {
    Url::parse(written).is_ok_and(|mut written| {
        written.set_fragment(None);
        written == *url
    })
}
