//! Which packages a run needs: given at start, stated in the code (PEP 723), or inferred from its imports.

use brumate_engine::api::Analysis;
use brumate_packages::{Bundle, PYTHON_FULL_VERSION, Requirement, ScriptMetadata};

/// What to do with imported modules that nobody provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inference {
    /// They are an install error: the caller learns it before anything runs.
    Strict,
    /// They are left to Python, which may find them in a mounted directory.
    Lenient,
}

/// What to load for a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The requirements as the caller would write them.
    pub(crate) dependencies: Vec<String>,
    /// Wheels of the bundle, requirements first.
    pub(crate) wheels: Vec<String>,
}

/// The requirements that are known without asking the guest's parser.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    /// From the start, then from the code.
    requirements: Vec<Requirement>,
    /// The code has no `dependencies` of its own, so its imports count.
    pub(crate) infer: bool,
}

/// Reads the requirements given at start and those in the code.
///
/// # Errors
///
/// A text for the caller.
pub(crate) fn stated(startup: &[String], code: &str) -> Result<Stated, String> {
    let mut requirements = Vec::new();
    for text in startup {
        add(&mut requirements, text.parse().map_err(|error: brumate_packages::RequirementError| error.to_string())?);
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
        add(&mut requirements, text.parse().map_err(|error: brumate_packages::RequirementError| error.to_string())?);
    }
    Ok(Stated { requirements, infer })
}

/// Completes the stated requirements with the imports of the code and finds the wheels.
///
/// # Errors
///
/// A text for the caller: every requirement that the bundle cannot meet.
pub(crate) fn plan(bundle: &Bundle, stated: Stated, analysis: &Analysis, inference: Inference) -> Result<Plan, String> {
    let mut requirements = stated.requirements;
    let mut problems = Vec::new();
    if stated.infer {
        let (required, optional) = match inference {
            Inference::Strict => (analysis.imports.clone(), analysis.optional_imports.clone()),
            Inference::Lenient => {
                (Vec::new(), analysis.imports.iter().chain(&analysis.optional_imports).cloned().collect())
            }
        };
        // A guest is free to report a module in both lists; one `try` around it makes it optional.
        let required: Vec<String> = required.into_iter().filter(|module| !optional.contains(module)).collect();
        match bundle.requirements_of_imports(&required, &optional) {
            Ok(inferred) => inferred.into_iter().for_each(|requirement| add(&mut requirements, requirement)),
            Err(unknown) => problems.extend(unknown.iter().map(ToString::to_string)),
        }
    }
    let resolution = bundle.resolve(&requirements).unwrap_or_else(|error| {
        problems.insert(0, error.to_string());
        brumate_packages::Resolution::default()
    });
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let dependencies = requirements.iter().map(ToString::to_string).collect();
    Ok(Plan { dependencies, wheels: resolution.wheels })
}

/// Adds `new` unless it says nothing that `requirements` do not say already.
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
        plan(&bundle(), stated(&startup, code)?, analysis, inference).map(|plan| plan.dependencies)
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
    fn unknown_modules_are_an_error_or_pythons_business() {
        let imports = analysis(&["requests", "numpy"], &[]);
        let error = dependencies(&["nosuch"], "", &imports, Inference::Strict).unwrap_err();
        assert!(error.starts_with("`nosuch` is not in the bundle"), "{error}");
        assert!(error.lines().nth(1).unwrap().contains("`requests`"), "{error}");
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
