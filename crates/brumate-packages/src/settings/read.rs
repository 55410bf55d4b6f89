//! Reads settings from variables and files: uv's before pip's, variables before files.

use std::path::PathBuf;
use std::time::Duration;

use crate::index::IndexError;
use crate::settings::environment::{Environment, PipSettings, read_up_to, truth};
use crate::settings::files::UvSettings;
use crate::settings::netrc::{self, Netrc};
use crate::settings::{Credentials, FindLinks, Index, OnlyBinary, Prerelease, Settings, Tls, parse_exclude_newer};

impl Settings {
    /// Reads the settings of this machine's Python tools.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] when a value cannot be used, [`IndexError::File`] for files that exist and cannot be read.
    pub fn from_environment() -> Result<Self, IndexError> {
        Self::read(&Environment::of_process())
    }

    /// Reads the settings of an environment, as [`from_environment`](Self::from_environment) does.
    ///
    /// # Errors
    ///
    /// The errors of [`from_environment`](Self::from_environment).
    pub fn read(environment: &Environment) -> Result<Self, IndexError> {
        let pip = environment.pip()?;
        let uv = environment.uv()?;
        let mut settings = Self::default();
        settings.read_places(environment, &pip, &uv)?;
        settings.read_network(environment, &pip)?;
        settings.offline = environment.get("UV_OFFLINE").map(truth).or(uv.offline).unwrap_or(settings.offline);
        let named = |name: &str, error: String| IndexError::Settings(format!("{name}: {error}"));
        let in_file =
            uv.exclude_newer.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        if let Some(text) = environment.get("UV_EXCLUDE_NEWER").map(str::to_owned).or(in_file) {
            let moment = parse_exclude_newer(&text, environment.now).map_err(|error| named("exclude-newer", error))?;
            settings.exclude_newer = Some(moment);
        }
        if let Some(text) = environment.get("UV_PRERELEASE").or(uv.prerelease.as_deref()) {
            settings.prerelease = text.parse().map_err(|error| named("prerelease", error))?;
        } else if pip.get("pre").is_some_and(truth) {
            settings.prerelease = Prerelease::Allow;
        }
        let provider = environment.get("UV_KEYRING_PROVIDER").or(uv.keyring_provider.as_deref());
        if let Some(text) = provider.or_else(|| pip.get("keyring-provider")) {
            settings.keyring = text.parse().map_err(|error| named("keyring-provider", error))?;
        }
        if let Some(text) = environment.get("UV_INDEX_STRATEGY").or(uv.index_strategy.as_deref()) {
            settings.index_strategy = text.parse().map_err(|error| named("index-strategy", error))?;
        }
        settings.only_binary = only_binary(environment, &pip, &uv)?;
        Ok(settings)
    }

    /// Reads indexes, directories and credentials.
    fn read_places(
        &mut self,
        environment: &Environment,
        pip: &PipSettings<'_>,
        uv: &UvSettings,
    ) -> Result<(), IndexError> {
        let credentials = &mut self.credentials;
        let words = |name: &str| environment.get(name).unwrap_or_default().split_whitespace().map(str::to_owned);
        let mut indexes: Vec<Index> = Vec::new();
        let mut default: Option<Index> = None;
        for text in words("UV_INDEX") {
            indexes.push(named_index(&text, environment, credentials)?);
        }
        for entry in uv.index.iter().filter(|entry| !entry.explicit) {
            let text = match &entry.name {
                Some(name) => format!("{name}={}", entry.url),
                None => entry.url.clone(),
            };
            let index = named_index(&text, environment, credentials)?;
            if entry.default {
                default.get_or_insert(index);
            } else {
                indexes.push(index);
            }
        }
        let mut extra: Vec<String> = words("UV_EXTRA_INDEX_URL").collect();
        if extra.is_empty() {
            extra = pip.list("extra-index-url");
        }
        if extra.is_empty() {
            extra = uv.extra_index_url.clone();
        }
        for text in extra {
            indexes.push(Index::new(&text, credentials)?);
        }
        let variable = environment.get("UV_DEFAULT_INDEX").or_else(|| environment.get("UV_INDEX_URL"));
        let variable = variable.or_else(|| environment.get("PIP_INDEX_URL"));
        if let Some(text) = variable {
            default = Some(named_index(text, environment, credentials)?);
        } else if default.is_none()
            && let Some(text) = uv.index_url.as_deref().or_else(|| pip.get("index-url"))
        {
            default = Some(Index::new(text, credentials)?);
        }
        indexes.push(default.unwrap_or_default());
        let mut seen = std::collections::HashSet::new();
        indexes.retain(|index| seen.insert(index.url.clone()));
        let no_index = environment.get("UV_NO_INDEX").or_else(|| pip.get("no-index")).map(truth).or(uv.no_index);
        self.indexes = if no_index.unwrap_or(false) { Vec::new() } else { indexes };

        let mut links: Vec<String> = words("UV_FIND_LINKS")
            .flat_map(|text| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>())
            .collect();
        links.extend(pip.list("find-links"));
        links.extend(uv.find_links.iter().cloned());
        self.find_links = links.iter().map(|text| FindLinks::new(text, credentials)).collect::<Result<_, _>>()?;

        let file = environment.get("NETRC").map(PathBuf::from);
        if let Some(file) = file.or_else(|| Some(environment.home()?.join(".netrc")))
            && let Some(text) = read_up_to(&file, netrc::MAX_BYTES)?
        {
            credentials.set_netrc(Netrc::parse(&text));
        }
        Ok(())
    }

    /// Reads proxy, certificates and time limits.
    fn read_network(&mut self, environment: &Environment, pip: &PipSettings<'_>) -> Result<(), IndexError> {
        self.proxy = pip
            .get("proxy")
            .map(|proxy| if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") });
        // SSL_CERT_FILE and SSL_CERT_DIR are read with the system's certificates.
        let named_for_all = environment.get("SSL_CERT_FILE").or_else(|| environment.get("SSL_CERT_DIR")).is_some();
        let bundle = environment.get("PIP_CERT").or_else(|| if named_for_all { None } else { pip.get("cert") });
        self.tls = Tls { bundle: bundle.map(PathBuf::from) };
        let seconds =
            environment.get("UV_HTTP_TIMEOUT").or_else(|| pip.get("timeout")).or_else(|| pip.get("default-timeout"));
        if let Some(text) = seconds {
            let seconds: f64 =
                text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e6).ok_or_else(|| {
                    IndexError::Settings(format!("the time limit `{text}` is not a number of seconds"))
                })?;
            self.timeout = Duration::from_secs_f64(seconds);
        }
        if let Some(text) = environment.get("UV_HTTP_RETRIES").or_else(|| pip.get("retries")) {
            self.retries = text
                .parse()
                .map_err(|_| IndexError::Settings(format!("the number of retries `{text}` is not a number")))?;
        }
        if let Some(text) = environment.get("UV_CONCURRENT_DOWNLOADS") {
            self.concurrency = text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                IndexError::Settings(format!("UV_CONCURRENT_DOWNLOADS: `{text}` is not a positive number"))
            })?;
        }
        Ok(())
    }
}

/// Reads from uv's and pip's settings which packages are not built. None takes back what another one adds.
fn only_binary(environment: &Environment, pip: &PipSettings<'_>, uv: &UvSettings) -> Result<OnlyBinary, IndexError> {
    let mut found = OnlyBinary::default();
    if environment.get("UV_NO_BUILD").map(truth).or(uv.no_build).unwrap_or(false) {
        found.add(":all:")?;
    }
    let names = environment.get("UV_NO_BUILD_PACKAGE").map(|text| text.split_whitespace().map(str::to_owned).collect());
    let lists = [names.unwrap_or_else(|| uv.no_build_package.clone()), uv.only_binary.clone(), pip.list("only-binary")];
    for list in lists {
        let mut of_list = OnlyBinary::default();
        list.iter().try_for_each(|text| of_list.add(text))?;
        found.extend(of_list);
    }
    Ok(found)
}

/// Reads `name=URL` or `URL`. A name adds the credentials of its `UV_INDEX_<NAME>_USERNAME` and `_PASSWORD`.
fn named_index(text: &str, environment: &Environment, credentials: &mut Credentials) -> Result<Index, IndexError> {
    let (name, url) = match text.split_once('=') {
        Some((name, url)) if !name.contains([':', '/']) => (Some(name), url),
        _ => (None, text),
    };
    let mut index = Index::new(url, credentials)?;
    index.name = name.map(str::to_owned);
    if let Some(name) = name {
        let upper: String = name
            .chars()
            .map(|character| if character.is_ascii_alphanumeric() { character.to_ascii_uppercase() } else { '_' })
            .collect();
        let user = environment.get(&format!("UV_INDEX_{upper}_USERNAME"));
        let password = environment.get(&format!("UV_INDEX_{upper}_PASSWORD"));
        if user.is_some() || password.is_some() {
            credentials.add(&index.url, user.unwrap_or_default().to_owned(), password.map(str::to_owned));
        }
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::name::DistributionName;
    use crate::settings::{DEFAULT_INDEX, IndexStrategy, KeyringProvider};

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, IndexError> {
        let root = tempfile::tempdir().expect("temporary directory");
        with_root(variables, root.path())
    }

    fn with_root(variables: &[(&str, &str)], root: &Path) -> Result<Settings, IndexError> {
        let now = "2026-02-01T12:00:00Z".parse().expect("a moment");
        Settings::read(&Environment::of(variables.iter().copied(), root, now))
    }

    fn urls(settings: &Settings) -> Vec<&str> {
        settings.indexes.iter().map(|index| index.url.as_str()).collect()
    }

    #[test]
    fn nothing_set_means_the_default() {
        assert_eq!(urls(&settings(&[]).expect("valid")), [DEFAULT_INDEX]);
    }

    #[test]
    fn pip_variables() {
        let found = settings(&[
            ("PIP_INDEX_URL", "https://u:p@a.example/simple"),
            ("PIP_EXTRA_INDEX_URL", "https://b.example/x https://c.example/y/"),
            ("PIP_FIND_LINKS", "/wheels https://d.example/links.html"),
            ("PIP_CERT", "/c.pem"),
            ("PIP_PROXY", "proxy.example:3128"),
            ("PIP_TIMEOUT", "7"),
            ("PIP_RETRIES", "1"),
            ("PIP_PRE", "1"),
        ])
        .expect("valid");
        assert_eq!(urls(&found), ["https://b.example/x/", "https://c.example/y/", "https://a.example/simple/"]);
        assert_eq!(found.find_links[0], FindLinks::Directory("/wheels".into()));
        assert!(matches!(&found.find_links[1], FindLinks::Page(url) if url.as_str() == "https://d.example/links.html"));
        assert_eq!(found.tls.bundle, Some("/c.pem".into()));
        assert_eq!(found.proxy.as_deref(), Some("http://proxy.example:3128"));
        assert_eq!((found.timeout, found.retries), (Duration::from_secs(7), 1));
        assert_eq!(found.prerelease, Prerelease::Allow);
        assert!(found.credentials.authorization(&"https://a.example/simple/foo/".parse().expect("a URL")).is_some());
        assert_eq!(found.keyring, KeyringProvider::Disabled);
        let asking = settings(&[("PIP_KEYRING_PROVIDER", "subprocess")]).expect("valid");
        assert_eq!(asking.keyring, KeyringProvider::Subprocess);
        assert!(settings(&[("PIP_NO_INDEX", "1")]).expect("valid").indexes.is_empty());
    }

    #[test]
    fn uv_variables_count_before_pip_variables() {
        let found = settings(&[
            ("PIP_INDEX_URL", "https://pip.example/"),
            ("UV_DEFAULT_INDEX", "https://uv.example/"),
            ("UV_INDEX", "corp=https://corp.example/simple"),
            ("UV_INDEX_CORP_USERNAME", "u"),
            ("UV_OFFLINE", "1"),
            ("UV_EXCLUDE_NEWER", "2025-01-01"),
            ("UV_INDEX_STRATEGY", "unsafe-best-match"),
        ])
        .expect("valid");
        assert_eq!(urls(&found), ["https://corp.example/simple/", "https://uv.example/"]);
        assert_eq!(found.indexes[0].name.as_deref(), Some("corp"));
        assert!(found.credentials.authorization(&found.indexes[0].url).is_some());
        assert!(found.offline);
        assert_eq!(found.exclude_newer.expect("given").to_string(), "2025-01-02T00:00:00Z");
        assert_eq!(found.index_strategy, IndexStrategy::UnsafeBestMatch);
    }

    #[test]
    fn files_of_pip_uv_and_netrc() {
        let root = tempfile::tempdir().expect("temporary directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write(
            "etc/pip.conf",
            "[global]\nindex-url = https://system.example/\nextra-index-url = https://extra.example/\n",
        );
        write("home/.config/pip/pip.conf", "[global]\nindex-url = https://user.example/\n");
        write("home/.netrc", "machine user.example login l password p\n");
        let home = root.path().join("home").display().to_string();
        let found = with_root(&[("HOME", &home)], root.path()).expect("valid");
        assert_eq!(urls(&found), ["https://extra.example/", "https://user.example/"]);
        assert!(found.credentials.authorization(&found.indexes[1].url).is_some());

        let found = with_root(&[("HOME", &home), ("PIP_CONFIG_FILE", "/dev/null")], root.path()).expect("valid");
        assert_eq!(urls(&found), [DEFAULT_INDEX]);

        write("home/.config/uv/uv.toml", "offline = true\n[[index]]\nurl = \"https://uv.example/\"\ndefault = true\n");
        let found = with_root(&[("HOME", &home)], root.path()).expect("valid");
        assert_eq!(urls(&found), ["https://extra.example/", "https://uv.example/"]);
        assert!(found.offline);

        write("home/.config/uv/uv.toml", "offline = ");
        let error = with_root(&[("HOME", &home)], root.path()).expect_err("not TOML");
        assert!(error.to_string().contains("uv.toml"), "{error}");
    }

    #[test]
    fn what_is_not_built() {
        let holds = |variables: &[(&str, &str)]| {
            let only_binary = settings(variables).expect("valid").only_binary;
            ["rich", "a-b"].map(|name| only_binary.holds_for(&DistributionName::new(name).expect("a name")))
        };
        assert_eq!(holds(&[]), [false, false]);
        assert_eq!(holds(&[("PIP_ONLY_BINARY", ":all:")]), [true, true]);
        assert_eq!(holds(&[("PIP_ONLY_BINARY", ":none:")]), [false, false]);
        assert_eq!(holds(&[("PIP_ONLY_BINARY", "x,A_B")]), [false, true]);
        assert_eq!(holds(&[("UV_NO_BUILD", "1")]), [true, true]);
        assert_eq!(holds(&[("UV_NO_BUILD_PACKAGE", "rich x")]), [true, false]);
        let root = tempfile::tempdir().expect("temporary directory");
        let file = root.path().join("uv.toml");
        for (text, expected) in
            [("no-build = true", true), ("no-build-package = ['rich']", true), ("offline = true", false)]
        {
            std::fs::write(&file, text).expect("written");
            let found = with_root(&[("UV_CONFIG_FILE", &file.display().to_string())], root.path()).expect("valid");
            let rich = DistributionName::new("rich").expect("a name");
            assert_eq!(found.only_binary.holds_for(&rich), expected, "{text}");
        }
    }

    #[test]
    fn values_that_cannot_be_used_are_named() {
        for (name, value) in [
            ("PIP_INDEX_URL", "not a url"),
            ("UV_INDEX", "ftp://x.example/"),
            ("UV_EXCLUDE_NEWER", "soon"),
            ("UV_HTTP_TIMEOUT", "-1"),
            ("PIP_RETRIES", "many"),
            ("UV_PRERELEASE", "perhaps"),
            ("PIP_KEYRING_PROVIDER", "import"),
            ("PIP_ONLY_BINARY", "rich<13"),
        ] {
            let error = settings(&[(name, value)]).expect_err(name);
            assert!(matches!(error, IndexError::Settings(_)), "{name}: {error}");
        }
    }
}
