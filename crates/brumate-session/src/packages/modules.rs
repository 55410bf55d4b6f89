//! Finds the packages that provide imported modules.

use std::collections::HashMap;
use std::sync::Arc;

use brumate_engine_api::MissingModule;
use brumate_packages::{Bundle, DistributionName, Requirement, import_names};

use super::{Installation, Order, PackageError, Packages, Wanted};

/// Imported modules for which packages are inferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Infer {
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
pub(crate) struct Modules {
    infer: Infer,
    /// Modules of the wheels in `--find-links` directories.
    linked: Arc<HashMap<String, DistributionName>>,
}

/// Package that is expected to provide a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    /// Name of the project.
    pub(crate) name: String,
    /// Whether the module's name is the only evidence.
    pub(crate) is_guess: bool,
}

impl Modules {
    /// Makes an index of the bundle and of well-known projects, without wheels in directories.
    #[cfg(test)]
    pub(crate) fn of(infer: Infer) -> Self {
        Self { infer, linked: Arc::default() }
    }

    /// Returns the package that provides a module. The order is: the bundle, wheels in `--find-links` directories,
    /// well-known projects, the project of the module's name.
    pub(crate) fn provider(&self, bundle: &Bundle, module: &str) -> Option<Provider> {
        let known = |name: &str| Some(Provider { name: name.to_owned(), is_guess: false });
        if let Some(name) = bundle.distribution_of(module) {
            return known(name.as_str());
        }
        if self.infer == Infer::None {
            return None;
        }
        if let Some(name) = self.linked.get(module) {
            return known(name.as_str());
        }
        if let Some(name) = import_names::distribution_for(module) {
            return known(name);
        }
        let is_plausible = self.infer == Infer::All
            && !module.starts_with('_')
            && !module.contains('.')
            && !import_names::is_namespace(module);
        let name = DistributionName::new(module).filter(|_| is_plausible)?;
        Some(Provider { name: name.as_str().to_owned(), is_guess: true })
    }
}

impl Packages {
    /// Returns the index of modules. Unreadable directories are left out here; an installation from them reports the
    /// error.
    pub(crate) async fn modules(&self) -> Modules {
        let settings = self.settings();
        if settings.lock.is_some() || settings.policy.is_only_bundled() {
            // A known project is refused by its name, which helps the user; a guess would not.
            return Modules { infer: settings.infer.without_guesses(), linked: Arc::default() };
        }
        let linked = self.inner.linked.get_or_init(|| async {
            let found = match self.resolver(false).await {
                Ok(resolver) => resolver.linked_modules().await.map_err(PackageError::from),
                Err(error) => Err(error),
            };
            Arc::new(found.unwrap_or_else(|error| {
                tracing::warn!(%error, "the modules of wheels in `--find-links` are not known");
                HashMap::new()
            }))
        });
        Modules { infer: settings.infer, linked: Arc::clone(linked.await) }
    }

    /// Returns the package request for a module that running code misses.
    ///
    /// # Errors
    ///
    /// [`PackageError::Requirement`] when no package is known, or the importing library does not declare it.
    pub(super) fn wanted_for(&self, missing: &MissingModule, modules: &Modules) -> Result<Wanted, PackageError> {
        let module = missing.name.as_str();
        let Some(provider) = modules.provider(self.bundle(), module) else {
            return Err(PackageError::requirement(match self.settings().infer {
                Infer::None => "imports are not looked for in packages here (`--infer none`)".to_owned(),
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
        Ok(Wanted { requirement, module: Some(module.to_owned()), is_guess: provider.is_guess })
    }
}

impl Infer {
    fn without_guesses(self) -> Infer {
        if self == Infer::All { Infer::Known } else { self }
    }
}

/// Checks that packages which were guessed from the name of a module provide it.
///
/// # Errors
///
/// [`PackageError::Requirement`] for the first that does not.
pub(super) fn check_guesses(order: &Order, installation: &Installation) -> Result<(), PackageError> {
    for wanted in order.wanted.iter().filter(|wanted| wanted.is_guess) {
        let Some(module) = &wanted.module else { continue };
        let named = wanted.requirement.name.as_str();
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
pub(super) fn explained(order: &Order, error: PackageError) -> PackageError {
    let guessed: Vec<String> = order
        .wanted
        .iter()
        .filter(|wanted| wanted.is_guess)
        .filter_map(|wanted| Some(format!("`{}`", wanted.module.as_deref()?)))
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
        let linked = [("house", "acme-house"), ("yaml", "acme-yaml"), ("PIL", "acme-pil")];
        let linked = linked.map(|(module, name)| (module.to_owned(), DistributionName::new(name).unwrap()));
        let linked = Arc::new(HashMap::from(linked));
        let name = |infer, module: &str| {
            let modules = Modules { infer, linked: Arc::clone(&linked) };
            modules.provider(&bundle, module).map(|provider| (provider.name.to_lowercase(), provider.is_guess))
        };
        let known = |name: &str| Some((name.to_owned(), false));
        for infer in [Infer::All, Infer::Known] {
            assert_eq!(name(infer, "PIL"), known("pillow"));
            assert_eq!(name(infer, "house"), known("acme-house"));
            assert_eq!(name(infer, "yaml"), known("acme-yaml"));
            assert_eq!(name(infer, "bs4"), known("beautifulsoup4"));
        }
        assert_eq!(name(Infer::All, "Some_Thing"), Some(("some-thing".to_owned(), true)));
        assert_eq!(name(Infer::All, "_private"), None);
        assert_eq!(name(Infer::All, "google.nothing"), None);
        assert_eq!(name(Infer::Known, "some_thing"), None);
        assert_eq!(name(Infer::None, "PIL"), known("pillow"));
        assert_eq!(name(Infer::None, "yaml"), None);
    }
}
