//! Packages that a run needs: given at start, stated in the code (PEP 723), or inferred from its imports.

use std::collections::HashSet;

use brumate_engine_api::Analysis;
use brumate_packages::{Bundle, PYTHON_FULL_VERSION, Requirement, ResolveProblem, ScriptMetadata};

use crate::packages::{ModuleIndex, PackageRequest};

/// Handling of imported modules that no known package provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inference {
    /// The run fails with an install error before code runs. The project with the module's name is tried first.
    Strict,
    /// Python handles the import: it may find the module in a mounted directory, or ask for its package then.
    Lenient,
}

/// Requirements that are known before the guest parses the code.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatedRequirements {
    /// Requirements given at start, then those in the code.
    pub(crate) requirements: Vec<Requirement>,
    /// Whether imports count: the code states no `dependencies`.
    pub(crate) infer: bool,
}

/// Reads the requirements given at start and those in the code (PEP 723).
///
/// # Errors
///
/// A text for the caller about the first requirement that cannot be read.
pub(crate) fn read_stated(startup: &[String], code: &str) -> Result<StatedRequirements, String> {
    let mut requirements = Vec::new();
    for text in startup {
        add(&mut requirements, read(text)?);
    }
    let metadata = ScriptMetadata::parse(code).map_err(|error| error.to_string())?.unwrap_or_default();
    if !metadata.allows_sandbox_python() {
        let wanted = metadata.requires_python.unwrap_or_default();
        return Err(format!(
            "the code has `requires-python = \"{wanted}\"`, but this is Python {PYTHON_FULL_VERSION}; \
             widen the specifier or leave it out"
        ));
    }
    let infer = metadata.dependencies.is_none();
    for text in metadata.dependencies.unwrap_or_default() {
        add(&mut requirements, read(&text)?);
    }
    Ok(StatedRequirements { requirements, infer })
}

fn read(text: &str) -> Result<Requirement, String> {
    text.parse().map_err(|error: brumate_packages::RequirementError| error.to_string())
}

impl StatedRequirements {
    /// Returns the stated requirements as package requests.
    pub(crate) fn requests(&self) -> Vec<PackageRequest> {
        self.requirements.iter().cloned().map(PackageRequest::from).collect()
    }

    /// Returns the stated requirements, and those for the packages that provide what the code imports.
    ///
    /// Optional imports (`try: import …`) are met from the bundle only; the code asks for others when it runs. Modules
    /// in `provided` are installed already.
    ///
    /// # Errors
    ///
    /// A text for the caller that lists every module that no known package provides.
    pub(crate) fn with_imports(
        &self,
        bundle: &Bundle,
        modules: &ModuleIndex,
        analysis: &Analysis,
        inference: Inference,
        provided: &HashSet<&str>,
    ) -> Result<Vec<PackageRequest>, String> {
        let mut requests = self.requests();
        let mut problems = Vec::new();
        // The guest may report a module in both lists. One `try` around it makes it optional.
        let optional: HashSet<&String> = analysis.optional_imports.iter().collect();
        // What the code means says more than the names of its imports. What cannot be read is the code's own business.
        let meant: Vec<Requirement> = analysis.requirements.iter().filter_map(|text| text.parse().ok()).collect();
        let required = analysis.imports.iter().filter(|module| !optional.contains(module));
        for (module, is_required) in
            required.map(|module| (module, true)).chain(analysis.optional_imports.iter().map(|module| (module, false)))
        {
            if provided.contains(module.as_str()) {
                continue;
            }
            let provider = match is_required || bundle.distribution_of(module).is_some() {
                true => modules.provider(bundle, module),
                false => None,
            };
            let provider = provider.filter(|provider| inference == Inference::Strict || !provider.is_guess);
            let is_guess = provider.as_ref().is_some_and(|provider| provider.is_guess);
            let requirement = provider.and_then(|provider| provider.name.parse::<Requirement>().ok());
            let requirement =
                requirement.map(|bare| meant.iter().find(|meant| meant.name == bare.name).cloned().unwrap_or(bare));
            let is_new =
                |requirement: &Requirement| !requests.iter().any(|old| old.requirement.name == requirement.name);
            match requirement {
                Some(requirement) if is_new(&requirement) => {
                    requests.push(PackageRequest { requirement, module: Some(module.clone()), is_guess });
                }
                None if is_required && inference == Inference::Strict => {
                    let (module, bundle) = (module.clone(), bundle.summary().to_owned());
                    problems.push(ResolveProblem::UnknownModule { module, bundle }.to_string());
                }
                _ => {}
            }
        }
        for requirement in meant {
            let is_known = requests.iter().any(|old| old.requirement.name == requirement.name);
            // Modules of stated packages need no package of their own.
            let is_provided = provided.contains(requirement.name.as_str());
            if !is_known && !is_provided {
                requests.push(PackageRequest::from(requirement));
            }
        }
        if problems.is_empty() { Ok(requests) } else { Err(problems.join("\n")) }
    }
}

/// Adds `new`, unless `requirements` have it already.
fn add(requirements: &mut Vec<Requirement>, new: Requirement) {
    let known =
        requirements.iter().any(|old| old.name == new.name && (new.is_bare() || old.to_string() == new.to_string()));
    if !known {
        requirements.push(new);
    }
}

#[cfg(test)]
mod tests {
    use brumate_packages::Distribution;

    use super::*;
    use crate::packages::InferenceScope;

    fn bundle() -> Bundle {
        Bundle::new([
            Distribution::new("numpy", "2.4.6").provides(["numpy"]),
            Distribution::new("pandas", "3.0.2").provides(["pandas"]).requires(["numpy>=2"]),
            Distribution::new("pillow", "12.2.0").provides(["PIL"]),
        ])
        .unwrap()
    }

    fn analysis(imports: &[&str], optional: &[&str]) -> Analysis {
        Analysis {
            imports: imports.iter().map(ToString::to_string).collect(),
            optional_imports: optional.iter().map(ToString::to_string).collect(),
            requirements: Vec::new(),
            syntax_error: false,
        }
    }

    fn dependencies(
        startup: &[&str],
        code: &str,
        analysis: &Analysis,
        inference: Inference,
    ) -> Result<Vec<String>, String> {
        let startup: Vec<String> = startup.iter().map(ToString::to_string).collect();
        let stated = read_stated(&startup, code)?;
        let wanted = match stated.infer {
            true => {
                let modules = ModuleIndex::with_scope(InferenceScope::Known);
                stated.with_imports(&bundle(), &modules, analysis, inference, &HashSet::from(["provided"]))?
            }
            false => stated.requests(),
        };
        Ok(wanted.iter().map(|wanted| wanted.requirement.to_string()).collect())
    }

    #[test]
    fn metadata_counts_instead_of_imports() {
        let code = "# /// script\n# dependencies = [\"pandas>=3\"]\n# ///\nimport PIL";
        let found = dependencies(&[], code, &analysis(&["PIL"], &[]), Inference::Strict);
        assert_eq!(found.unwrap(), ["pandas>=3"]);
        let none = "# /// script\n# dependencies = []\n# ///\nimport PIL";
        assert!(dependencies(&[], none, &analysis(&["PIL"], &[]), Inference::Strict).unwrap().is_empty());
    }

    #[test]
    fn imports_count_without_metadata_and_beside_what_was_given_at_start() {
        let imports = analysis(&["PIL", "numpy"], &["pandas", "nosuch"]);
        assert_eq!(dependencies(&[], "", &imports, Inference::Strict).unwrap(), ["pillow", "numpy", "pandas"]);
        assert_eq!(
            dependencies(&["NumPy", "numpy>=2"], "", &imports, Inference::Strict).unwrap(),
            ["NumPy", "numpy>=2", "pillow", "pandas"]
        );
    }

    #[test]
    fn a_module_that_is_optional_once_is_optional() {
        let imports = analysis(&["nosuch", "numpy"], &["nosuch"]);
        assert_eq!(dependencies(&[], "", &imports, Inference::Strict).unwrap(), ["numpy"]);
    }

    #[test]
    fn packages_are_found_by_modules_that_are_well_known() {
        let imports = analysis(&["yaml", "numpy", "requests"], &["bs4"]);
        for inference in [Inference::Strict, Inference::Lenient] {
            let found = dependencies(&["requests<3"], "", &imports, inference).unwrap();
            let found: Vec<String> = found.iter().map(|text| text.to_lowercase()).collect();
            assert_eq!(found, ["requests<3", "pyyaml", "numpy"]);
        }
    }

    #[test]
    fn what_the_code_means_says_more_than_its_imports() {
        let meant = |requirements: &[&str]| Analysis {
            requirements: requirements.iter().map(ToString::to_string).collect(),
            ..analysis(&["numpy", "provided"], &["pandas"])
        };
        for inference in [Inference::Strict, Inference::Lenient] {
            let found = |startup: &[&str], requirements: &[&str]| {
                dependencies(startup, "", &meant(requirements), inference).unwrap()
            };
            assert_eq!(found(&[], &["pandas<3", "pillow", "not valid="]), ["numpy", "pandas<3", "pillow"]);
            assert_eq!(found(&["pandas>=3"], &["pandas<3", "provided"]), ["pandas>=3", "numpy"]);
        }
    }

    #[test]
    fn unknown_modules_are_an_error_or_pythons_business() {
        let imports = analysis(&["not_a_package", "numpy", "provided"], &[]);
        let error = dependencies(&[], "", &imports, Inference::Strict).unwrap_err();
        assert!(error.contains("`not_a_package`") && error.contains("# dependencies = ["), "{error}");
        assert_eq!(dependencies(&[], "", &imports, Inference::Lenient).unwrap(), ["numpy"]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let none = Analysis::default();
        let metadata = |line: &str| format!("# /// script\n# {line}\n# ///\n");
        for (startup, code, part) in [
            (vec!["numpy=>2"], String::new(), "`numpy=>2` is not a valid requirement"),
            (vec![], metadata("dependencies = ['a b']"), "`a b` is not a valid requirement"),
            (vec![], metadata("requires-python = '<3.12'"), "requires-python = \"<3.12\""),
            (vec![], metadata("dependencies = 3"), "not valid TOML metadata"),
        ] {
            let error = dependencies(&startup, &code, &none, Inference::Strict).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
