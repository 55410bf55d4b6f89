//! Tables of `pylock.toml` that are read or written here.

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Index {
    pub(super) lock_version: String,
    #[serde(default)]
    pub(super) environments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requires_python: Option<String>,
    #[serde(default)]
    pub(super) extras: Vec<String>,
    #[serde(default)]
    pub(super) dependency_groups: Vec<String>,
    #[serde(default)]
    pub(super) default_groups: Vec<String>,
    pub(super) created_by: String,
    #[serde(default)]
    pub(super) packages: Vec<Package>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<Tool>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Package {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) marker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requires_python: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) dependencies: Vec<Dependency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) archive: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sdist: Option<File>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wheels: Vec<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<PackageTool>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
}

/// A wheel or a source distribution. An `archive` is the same table without `name`.
#[derive(Serialize, Deserialize)]
pub(super) struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    pub(super) hashes: Hashes,
}

#[derive(Serialize, Deserialize, Clone, Default)]
pub(super) struct Hashes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Tool {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) brumate: Option<ToolBrumate>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ToolBrumate {
    #[serde(default)]
    pub(super) requirements: Vec<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PackageTool {
    #[serde(skip_serializing_if = "Option::is_none")]
    brumate: Option<PackageToolBrumate>,
}

#[derive(Serialize, Deserialize)]
struct PackageToolBrumate {
    /// Key of the wheel in the bundle.
    bundle: String,
}

impl PackageTool {
    pub(super) fn of_bundle(key: &str) -> Self {
        Self { brumate: Some(PackageToolBrumate { bundle: key.to_owned() }) }
    }

    pub(super) fn bundle(&self) -> Option<&str> {
        self.brumate.as_ref().map(|brumate| brumate.bundle.as_str())
    }
}
