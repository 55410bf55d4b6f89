//! Configuration files of pip and uv, as far as they are used here.

use std::collections::HashMap;

use serde::Deserialize;

/// Reads pip's sections `[global]`, then `[install]`, then `[download]` as a map; later sections win.
pub(crate) fn pip(text: &str) -> HashMap<String, String> {
    let mut sections: HashMap<String, HashMap<String, String>> = HashMap::new();
    let mut section = String::new();
    let mut last: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        // An indented line continues the value above.
        if line.starts_with([' ', '\t'])
            && let Some(value) =
                last.as_ref().and_then(|key| sections.get_mut(&section).and_then(|keys| keys.get_mut(key)))
        {
            value.push(' ');
            value.push_str(trimmed);
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
            last = None;
        } else if let Some((key, value)) = trimmed.split_once(['=', ':']) {
            // pip treats `index_url` and `--index-url` as `index-url`.
            let key = key.trim().trim_start_matches("--").replace('_', "-").to_ascii_lowercase();
            sections.entry(section.clone()).or_default().insert(key.clone(), value.trim().to_owned());
            last = Some(key);
        }
    }
    let order = ["global", "install", "download"];
    order.into_iter().filter_map(|name| sections.remove(name)).flatten().collect()
}

/// Keys of `uv.toml`.
#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct UvSettings {
    pub(crate) index: Vec<UvIndex>,
    pub(crate) index_url: Option<String>,
    pub(crate) extra_index_url: Vec<String>,
    pub(crate) find_links: Vec<String>,
    pub(crate) no_index: Option<bool>,
    pub(crate) offline: Option<bool>,
    pub(crate) exclude_newer: Option<toml::Value>,
    pub(crate) prerelease: Option<String>,
    pub(crate) index_strategy: Option<String>,
    pub(crate) no_build: Option<bool>,
    pub(crate) no_build_package: Vec<String>,
    pub(crate) only_binary: Vec<String>,
    pub(crate) keyring_provider: Option<String>,
    pub(crate) pip: Option<Box<UvSettings>>,
}

/// Table `[[index]]`.
#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(crate) struct UvIndex {
    pub(crate) name: Option<String>,
    pub(crate) url: String,
    pub(crate) default: bool,
    pub(crate) explicit: bool,
}

impl UvSettings {
    /// Parses `uv.toml`. Keys of its `[pip]` table win over the same keys at the top.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut settings: Self = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if let Some(pip) = settings.pip.take() {
            settings.index_url = pip.index_url.or(settings.index_url);
            settings.no_index = pip.no_index.or(settings.no_index);
            settings.exclude_newer = pip.exclude_newer.or(settings.exclude_newer);
            settings.prerelease = pip.prerelease.or(settings.prerelease);
            settings.index_strategy = pip.index_strategy.or(settings.index_strategy);
            settings.no_build = pip.no_build.or(settings.no_build);
            settings.no_build_package.extend(pip.no_build_package);
            settings.only_binary.extend(pip.only_binary);
            settings.keyring_provider = pip.keyring_provider.or(settings.keyring_provider);
            settings.extra_index_url.extend(pip.extra_index_url);
            settings.find_links.extend(pip.find_links);
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_sections_and_continuations() {
        let keys = pip(
            "[global]\nindex-url = https://a.example/\nno_index: true\n# c\n[install]\nfind-links =\n  /one\n  /two\n\
                        index-url = https://b.example/\n[freeze]\ntimeout = 1\n",
        );
        assert_eq!(keys["index-url"], "https://b.example/");
        assert_eq!(keys["no-index"], "true");
        assert_eq!(keys["find-links"].split_whitespace().collect::<Vec<_>>(), ["/one", "/two"]);
        assert!(!keys.contains_key("timeout"));
    }

    #[test]
    fn uv_tables() {
        let uv = UvSettings::parse(
            "index-url = \"https://a.example/\"\nunknown = 1\n[pip]\nindex-url = \"https://b.example/\"\n\
             [[index]]\nname = \"x\"\nurl = \"https://c.example/\"\ndefault = true\n",
        )
        .expect("valid");
        assert_eq!(uv.index_url.as_deref(), Some("https://b.example/"));
        assert!(uv.index[0].default && !uv.index[0].explicit);
        assert!(UvSettings::parse("index = 3").is_err());
    }
}
