//! Answers to `pip install` in a machine.

use std::sync::Arc;

use brumate_engine_api::{InstallAnswer, InstallRequest, Layer};
use brumate_packages::wheel::WheelFileName;
use brumate_packages::{Requirement, RequirementSource, source_distribution_name};
use brumate_setting::Setting;

use super::{Installation, PackageError, PackageEvent, PackageRequest, Packages, RequirementSet};

/// Most requirements that are tried one by one to report what is wrong with each.
const MAX_ALONE: usize = 32;

impl Packages {
    /// Finds and fetches the requested packages for a machine that has `mounted`. Mounted packages stay, unless the
    /// request is impossible with them.
    ///
    /// # Errors
    ///
    /// As [`Packages::install`].
    pub async fn answer(
        &self,
        request: InstallRequest,
        mounted: &[Layer],
        event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
    ) -> Result<InstallAnswer, PackageError> {
        let read = |texts: &[String]| texts.iter().map(|text| requirement(text)).collect::<Result<Vec<_>, _>>();
        let (requirements, constraints) = (read(&request.requirements)?, read(&request.constraints)?);
        let present: Vec<WheelFileName> = mounted.iter().filter_map(|layer| layer.name.parse().ok()).collect();
        let mut requests: Vec<PackageRequest> = requirements.iter().cloned().map(Into::into).collect();
        if !request.modules.is_empty() {
            let modules = self.modules().await;
            for missing in &request.modules {
                requests.push(self.request_for_module(missing, &modules)?);
            }
        }
        let requirements: Vec<Requirement> = requests.iter().map(|request| request.requirement.clone()).collect();
        let (pre, no_deps) = (request.pre, request.no_deps);
        let set = RequirementSet { requests, constraints, pre, no_deps, ..RequirementSet::default() };
        let kept = self.with_pinned(&set, &present, request.upgrade);
        let outcome = match self.install_set(kept, event_sink).await {
            Err(error) if error.is_contradiction() && !present.is_empty() => {
                self.install_set(set.clone(), event_sink).await
            }
            outcome => outcome,
        };
        let installation = match outcome {
            Err(error) if request.keep_going => return Err(self.collect_errors(&set, error).await),
            outcome => outcome?,
        };
        self.inner.engine.compile_wheels(&installation.wheels).await.map_err(PackageError::internal)?;
        Ok(answer(&installation, &requirements, &present, request.no_deps))
    }

    /// Returns one error for all requirements that fail on their own; `error` if each alone can be met.
    async fn collect_errors(&self, set: &RequirementSet, error: PackageError) -> PackageError {
        let settings = &self.inner.settings;
        if settings.lock.is_some() {
            return error;
        }
        let mut texts: Vec<String> = Vec::new();
        for request in set.requests.iter().take(MAX_ALONE) {
            let alone = RequirementSet { requests: vec![request.clone()], ..set.clone() };
            let failed = match self.check_requirements(&alone) {
                Err(error) => Some(error),
                Ok(()) if settings.policy.is_only_bundled() => self.bundled(&alone).err(),
                Ok(()) if self.bundled(&alone).is_ok() => None,
                Ok(()) => self.search(&alone, Arc::new(|_| {})).await.err(),
            };
            texts.extend(failed.map(|error| format!("{}: {error}", request.requirement)));
        }
        match texts.len() {
            0 => error,
            _ => PackageError::Requirement(texts.join("\n")),
        }
    }

    /// Returns the request with the mounted packages pinned to their versions.
    fn with_pinned(&self, set: &RequirementSet, present: &[WheelFileName], upgrade: bool) -> RequirementSet {
        let mut set = set.clone();
        for wheel in present {
            let asked = set.requests.iter().find(|request| request.requirement.name == wheel.name);
            let stays = match asked.map(|request| &request.requirement.source) {
                None => true,
                Some(RequirementSource::Versions(versions)) => !upgrade && versions.contains(&wheel.version),
                Some(RequirementSource::Url(_)) => false,
            };
            let text = format!("{}=={}", wheel.name, wheel.version);
            if let (true, Ok(constraint)) = (stays, text.parse()) {
                set.constraints.push(constraint);
            }
        }
        set
    }
}

/// Reads a requirement, or the URL of a wheel or of a source distribution.
fn requirement(text: &str) -> Result<Requirement, PackageError> {
    let text = text.trim();
    let is_url = ["https://", "http://", "file://"].iter().any(|scheme| text.starts_with(scheme));
    if !is_url {
        if text.starts_with(['.', '/', '~']) || text.ends_with(".whl") {
            let reason = format!(
                "only names and addresses (https) of wheels can be installed; put the wheel's directory into {} and write the name",
                Setting::FindLinks.quoted()
            );
            return Err(PackageError::Requirement(format!("`{text}` is a path: {reason}")));
        }
        return text.parse().map_err(PackageError::requirement);
    }
    let path = text.split(['#', '?']).next().unwrap_or_default();
    let file_name = path.rsplit('/').next().unwrap_or_default().replace("%2B", "+");
    let name = match source_distribution_name(&file_name) {
        Some(name) => name,
        None => {
            let wheel = file_name.parse::<WheelFileName>();
            wheel.map_err(|error| PackageError::Requirement(format!("`{text}` cannot be installed: {error}")))?.name
        }
    };
    let text = format!("{name} @ {text}");
    text.parse().map_err(PackageError::requirement)
}

fn answer(
    installation: &Installation,
    requirements: &[Requirement],
    present: &[WheelFileName],
    no_deps: bool,
) -> InstallAnswer {
    let mut answer = InstallAnswer::default();
    for package in &installation.packages {
        let is_named = requirements.iter().any(|requirement| requirement.name.as_str() == package.name);
        if no_deps && !is_named {
            continue;
        }
        let is_present = present
            .iter()
            .any(|wheel| wheel.name.as_str() == package.name && wheel.version.to_string() == package.version);
        let pair = (package.name.clone(), package.version.clone());
        match &package.layer {
            Some(known) if !is_present => {
                let layer = installation.layers.iter().find(|layer| layer.name == known.file_name);
                answer.layers.extend(layer.cloned());
                answer.installed.push(pair);
            }
            _ if is_named => answer.satisfied.push(pair),
            _ => {}
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_requirements() {
        let read = |text| requirement(text).map(|requirement| requirement.to_string());
        assert_eq!(read(" rich<13 ").unwrap(), "rich<13");
        assert_eq!(
            read("https://example.org/a/Six-1.17.0-py2.py3-none-any.whl#sha256=00").unwrap(),
            "six @ https://example.org/a/Six-1.17.0-py2.py3-none-any.whl#sha256=00"
        );
        assert_eq!(
            read("https://example.org/six-1.17.0.tar.gz").unwrap(),
            "six @ https://example.org/six-1.17.0.tar.gz"
        );
        for (text, part) in [
            ("./six-1.17.0-py2.py3-none-any.whl", "is a path"),
            ("six-1.17.0-py2.py3-none-any.whl", "is a path"),
            ("https://example.org/six-1.17.0.tar.bz2", "source distribution"),
            ("six>>2", "not a valid requirement"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
