//! Finds the packages that provide imported modules.

use std::collections::HashMap;
use std::sync::Arc;

use brumate_engine_api::MissingModule;
use brumate_packages::{Bundle, DistributionName, Requirement, import_names};
use brumate_setting::Setting;

use super::{Installation, PackageError, PackageRequest, Packages, RequirementSet};

/// Imported modules for which packages are inferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InferenceScope {
    /// All modules. A module that no known package provides is looked for in the project of its name.
    #[default]
    All,
    /// Modules of known packages: the bundle, wheels in `--find-links` directories, and the table of well-known
    /// projects.
    Known,
    /// Modules of the bundle only; code states what else it needs.
    None,
}

/// Index from modules to the packages that provide them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModuleIndex {
    scope: InferenceScope,
    /// Modules of the wheels in `--find-links` directories.
    find_links_modules: Arc<HashMap<String, DistributionName>>,
}

/// Package that is expected to provide a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleProvider {
    /// Name of the project.
    pub(crate) name: String,
    /// Whether the module's name is the only evidence.
    pub(crate) is_guess: bool,
}

impl ModuleIndex {
    /// Makes an index of the bundle and of well-known projects, without wheels in directories.
    #[cfg(test)]
    pub(crate) fn with_scope(scope: InferenceScope) -> Self {
        Self { scope, find_links_modules: Arc::default() }
    }

    /// Returns the package that provides a module. The order is: the bundle, wheels in `--find-links` directories,
    /// well-known projects, the project of the module's name.
    pub(crate) fn provider(&self, bundle: &Bundle, module: &str) -> Option<ModuleProvider> {
        let known = |name: &str| Some(ModuleProvider { name: name.to_owned(), is_guess: false });
        if let Some(name) = bundle.distribution_of(module) {
            return known(name.as_str());
        }
        if self.scope == InferenceScope::None {
            return None;
        }
        if let Some(name) = self.find_links_modules.get(module) {
            return known(name.as_str());
        }
        if let Some(name) = import_names::distribution_for(module) {
            return known(name);
        }
        let is_plausible = self.scope == InferenceScope::All
            && !module.starts_with('_')
            && !module.contains('.')
            && !import_names::is_namespace(module);
        let name = DistributionName::new(module).filter(|_| is_plausible)?;
        Some(ModuleProvider { name: name.as_str().to_owned(), is_guess: true })
    }
}

impl Packages {
    /// Returns the index of modules. Unreadable directories are left out here; an installation from them reports the
    /// error.
    pub(crate) async fn modules(&self) -> ModuleIndex {
        let settings = self.settings();
        if settings.lock.is_some() || settings.policy.is_only_bundled() {
            // A known project is refused by its name, which helps the user; a guess would not.
            return ModuleIndex { scope: settings.infer.without_guesses(), find_links_modules: Arc::default() };
        }
        let find_links_modules = self.inner.find_links_modules.get_or_init(|| async {
            let found = match self.resolver(false).await {
                Ok(resolver) => resolver.find_links_modules().await.map_err(PackageError::from),
                Err(error) => Err(error),
            };
            Arc::new(found.unwrap_or_else(|error| {
                tracing::warn!(%error, "the modules of wheels in {} are not known", Setting::FindLinks.quoted());
                HashMap::new()
            }))
        });
        ModuleIndex { scope: settings.infer, find_links_modules: Arc::clone(find_links_modules.await) }
    }

    /// Returns the package request for a module that running code misses.
    ///
    /// # Errors
    ///
    /// [`PackageError::Requirement`] when no package is known, or the importing library does not declare it.
    pub(super) fn request_for_module(
        &self,
        missing: &MissingModule,
        modules: &ModuleIndex,
    ) -> Result<PackageRequest, PackageError> {
        let module = missing.name.as_str();
        let Some(provider) = modules.provider(self.bundle(), module) else {
            return Err(PackageError::requirement(match self.settings().infer {
                InferenceScope::None => {
                    format!("imports are not looked for in packages here ({})", Setting::Infer.with("none"))
                }
                _ => format!("no package is known that provides the module `{module}`"),
            }));
        };
        let mut requirement: Requirement = provider.name.parse().map_err(PackageError::requirement)?;
        if !missing.among.is_empty() {
            let mut declared = missing.among.iter().filter_map(|text| text.parse::<Requirement>().ok());
            let name = requirement.name;
            requirement = declared.find(|declared| declared.name == name).ok_or_else(|| {
                PackageError::requirement(format!("the library does not declare that it uses `{name}`"))
            })?;
        }
        Ok(PackageRequest { requirement, module: Some(module.to_owned()), is_guess: provider.is_guess })
    }
}

impl InferenceScope {
    fn without_guesses(self) -> InferenceScope {
        if self == InferenceScope::All { InferenceScope::Known } else { self }
    }
}

/// Checks that packages which were guessed from the name of a module provide it.
///
/// # Errors
///
/// [`PackageError::Requirement`] for the first that does not.
pub(super) fn check_guesses(set: &RequirementSet, installation: &Installation) -> Result<(), PackageError> {
    for request in set.requests.iter().filter(|request| request.is_guess) {
        let Some(module) = &request.module else { continue };
        let named = request.requirement.name.as_str();
        let package = installation.packages.iter().find(|package| package.name == named);
        // Packages of the bundle have their modules in another table, and are never guessed.
        let has = |names: &Vec<String>| names.is_empty() || names.contains(module);
        if package.is_some_and(|package| package.layer.is_some() && !has(&package.import_names)) {
            let text = format!("the project `{named}` does not provide the module `{module}`");
            return Err(PackageError::requirement(text));
        }
    }
    Ok(())
}

/// Adds to an error that packages were guessed from the names of modules, and how to name others.
pub(super) fn with_guess_hint(set: &RequirementSet, error: PackageError) -> PackageError {
    let guessed: Vec<String> = set
        .requests
        .iter()
        .filter(|request| request.is_guess)
        .filter_map(|request| Some(format!("`{}`", request.module.as_deref()?)))
        .collect();
    if guessed.is_empty() || matches!(error, PackageError::Refused(_)) {
        return error;
    }
    let (modules, them) = (guessed.join(", "), if guessed.len() == 1 { "it" } else { "them" });
    PackageError::Requirement(format!(
        "{error}\nThe code imports {modules}. No package is known that provides {them}, so a project of the same name was looked for. \
         If another package provides {them}, name it in a comment at the top of the code:\n\
         # /// script\n# dependencies = [\"NAME\"]\n# ///"
    ))
}

#[cfg(test)]
mod tests {
    use brumate_packages::Distribution;

    use super::*;

    #[test]
    fn the_bundle_comes_first_then_wheels_then_the_table_then_the_name() {
        let bundle = Bundle::new([Distribution::new("pillow", "12").provides(["PIL"])]).unwrap();
        let find_links_modules = [("house", "acme-house"), ("yaml", "acme-yaml"), ("PIL", "acme-pil")];
        let find_links_modules =
            find_links_modules.map(|(module, name)| (module.to_owned(), DistributionName::new(name).unwrap()));
        let find_links_modules = Arc::new(HashMap::from(find_links_modules));
        let name = |infer, module: &str| {
            let modules = ModuleIndex { scope: infer, find_links_modules: Arc::clone(&find_links_modules) };
            modules.provider(&bundle, module).map(|provider| (provider.name.to_lowercase(), provider.is_guess))
        };
        let known = |name: &str| Some((name.to_owned(), false));
        for infer in [InferenceScope::All, InferenceScope::Known] {
            assert_eq!(name(infer, "PIL"), known("pillow"));
            assert_eq!(name(infer, "house"), known("acme-house"));
            assert_eq!(name(infer, "yaml"), known("acme-yaml"));
            assert_eq!(name(infer, "bs4"), known("beautifulsoup4"));
        }
        assert_eq!(name(InferenceScope::All, "Some_Thing"), Some(("some-thing".to_owned(), true)));
        assert_eq!(name(InferenceScope::All, "_private"), None);
        assert_eq!(name(InferenceScope::All, "google.nothing"), None);
        assert_eq!(name(InferenceScope::Known, "some_thing"), None);
        assert_eq!(name(InferenceScope::None, "PIL"), known("pillow"));
        assert_eq!(name(InferenceScope::None, "yaml"), None);
    }
}
