//! Packages for the tests of a project: those that it cannot do without, and as many of the others as can be had.

use brumate_packages::{DistributionName, Requirement};
use brumate_session::packages::{PackageError, PackageRequest, Packages};

use crate::commands::project::Wanted;

/// The package that runs the tests.
const PYTEST: &str = "pytest";

/// Requirements that can be met together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Available {
    pub(super) requirements: Vec<String>,
    /// Requirements that are left out, each with its place and the reason.
    pub(super) left_out: Vec<(String, String, String)>,
}

/// Finds out which requirements of a project can be met, besides `always`. pytest is added if nothing names it.
///
/// # Errors
///
/// A text: requirements that the project cannot do without cannot be met.
pub(super) async fn available(packages: &Packages, always: &[String], wanted: &Wanted) -> Result<Available, String> {
    let mut required = Vec::new();
    for text in always.iter().chain(&wanted.required) {
        required.push(text.parse::<Requirement>().map_err(|error| error.to_string())?);
    }
    let mut left_out = Vec::new();
    let mut optional = Vec::new();
    for (text, place) in &wanted.optional {
        match text.parse::<Requirement>() {
            Ok(requirement) => optional.push((requirement, place.clone())),
            Err(error) => left_out.push((text.clone(), place.clone(), error.to_string())),
        }
    }
    // A version of pytest that a group names is not left out: nothing runs without it.
    let is_pytest = |requirement: &Requirement| Some(&requirement.name) == DistributionName::new(PYTEST).as_ref();
    let (named, mut optional): (Vec<_>, Vec<_>) =
        optional.into_iter().partition(|(requirement, _)| is_pytest(requirement));
    required.extend(named.into_iter().map(|(requirement, _)| requirement));
    if !required.iter().any(is_pytest) {
        required.extend(PYTEST.parse::<Requirement>());
    }
    let all = required.iter().chain(optional.iter().map(|(requirement, _)| requirement));
    if install(packages, all).await.is_err() {
        install(packages, required.iter()).await.map_err(|error| error.to_string())?;
        let mut met: Vec<(Requirement, String)> = Vec::new();
        for (requirement, place) in optional {
            let all = required.iter().chain(met.iter().map(|(requirement, _)| requirement)).chain([&requirement]);
            match install(packages, all).await {
                Ok(()) => met.push((requirement, place)),
                Err(error) => left_out.push((requirement.to_string(), place, error.to_string())),
            }
        }
        optional = met;
    }
    let optional = optional.into_iter().map(|(requirement, _)| requirement);
    // `always` comes by itself.
    let requirements =
        required.into_iter().skip(always.len()).chain(optional).map(|requirement| requirement.to_string());
    Ok(Available { requirements: requirements.collect(), left_out })
}

async fn install(packages: &Packages, all: impl Iterator<Item = &Requirement>) -> Result<(), PackageError> {
    let requests: Vec<PackageRequest> = all.cloned().map(PackageRequest::from).collect();
    packages.install(requests, &|_| {}).await.map(|_| ())
}
