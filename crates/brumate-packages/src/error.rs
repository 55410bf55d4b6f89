//! Errors of requests for packages. Every message names a fix.

use thiserror::Error;

/// Error of a requirement that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{requirement}` is not a valid requirement: {reason}")]
pub struct RequirementError {
    /// The text, shortened.
    pub requirement: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Error of inline script metadata (PEP 723) that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScriptMetadataError {
    /// More than one `# /// script` block.
    #[error("the code has {count} `# /// script` blocks; exactly one is allowed")]
    SeveralBlocks {
        /// Number of blocks.
        count: usize,
    },
    /// The block is too large.
    #[error("the `# /// script` block has {bytes} bytes; at most {limit} are allowed")]
    TooLarge {
        /// Size of the block in bytes.
        bytes: usize,
        /// Most bytes.
        limit: usize,
    },
    /// The block is not TOML, or its keys have the wrong types.
    #[error("the `# /// script` block is not valid TOML metadata: {0}")]
    Toml(String),
    /// `requires-python` is not a version specifier.
    #[error("`requires-python = \"{given}\"` is not a valid version specifier: {reason}")]
    RequiresPython {
        /// The text.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Error of a bundle's table that contradicts itself. The table is part of the program, so this is a packaging defect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the bundle's entry `{entry}` is unusable: {reason}")]
pub struct BundleError {
    /// Name of the entry.
    pub entry: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Requirements that the bundle cannot meet, with all problems.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ResolveError {
    /// Problems in the order in which they were met; never empty.
    pub problems: Vec<ResolveProblem>,
}

/// One reason why the bundle cannot meet the requirements.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolveProblem {
    /// The bundle has no distribution of that name.
    #[error(
        "`{name}`{} is not in the bundle of this Brumate ({bundle}), and nothing else may be used here. {}",
        because(.required_by),
        hint(.provided_by)
    )]
    NotInBundle {
        /// Normalised name.
        name: String,
        /// Distribution that requires it; `None` if the user does.
        required_by: Option<String>,
        /// Names and versions of the bundle's distributions.
        bundle: String,
        /// Distribution that provides a module of this name.
        provided_by: Option<String>,
    },
    /// No known distribution provides an imported module.
    #[error(
        "the code imports `{module}`, which is neither in the standard library, nor in the bundle of this Brumate \
         ({bundle}), nor a module of a well-known package. If a package provides it, name the package in a comment at the \
         top of the code:\n# /// script\n# dependencies = [\"NAME\"]\n# ///\nOtherwise use what is there, or import it \
         inside `try: … except ImportError:` if the code can do without it."
    )]
    UnknownModule {
        /// The module's top-level name.
        module: String,
        /// Names and versions of the bundle's distributions.
        bundle: String,
    },
    /// The bundle has another version.
    #[error(
        "`{requirement}`{} cannot be met: the bundle of this Brumate has exactly one version, {name} {version}. \
         Relax the version, or leave it out.",
        because(.required_by)
    )]
    WrongVersion {
        /// The requirement as written.
        requirement: String,
        /// Normalised name.
        name: String,
        /// Version in the bundle.
        version: String,
        /// Distribution that requires it; `None` if the user does.
        required_by: Option<String>,
    },
    /// The requirement is a direct reference (`name @ https://…`).
    #[error(
        "`{requirement}` points at a URL; only the bundle of this Brumate can be used ({bundle}). Write the name alone."
    )]
    DirectUrl {
        /// The requirement as written.
        requirement: String,
        /// Names and versions of the bundle's distributions.
        bundle: String,
    },
    /// There are too many requirements.
    #[error("{count} requirements were given; at most {limit} are allowed")]
    TooMany {
        /// Number of requirements.
        count: usize,
        /// Most requirements.
        limit: usize,
    },
}

fn because(required_by: &Option<String>) -> String {
    match required_by {
        Some(name) => format!(" (required by `{name}`)"),
        None => String::new(),
    }
}

fn hint(provided_by: &Option<String>) -> String {
    match provided_by {
        Some(name) => format!("Write `{name}`: that package provides the module."),
        None => "Use what is there, or leave it out.".to_owned(),
    }
}
