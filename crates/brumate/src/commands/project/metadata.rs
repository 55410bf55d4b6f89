//! Metadata in files that are not TOML: `setup.cfg`, and the `PKG-INFO` of a source distribution.

/// Sections of a `setup.cfg`, each with its values. A value of several lines begins with a line feed.
#[derive(Debug, Default)]
pub(super) struct SetupConfig {
    sections: Vec<(String, Vec<(String, String)>)>,
}

impl SetupConfig {
    /// Reads the text. Lines that make no sense are passed over, as other programs' settings may lie there.
    pub(super) fn parse(text: &str) -> Self {
        let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                sections.push((name.trim().to_owned(), Vec::new()));
                continue;
            }
            let Some((_, values)) = sections.last_mut() else { continue };
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = values.last_mut() {
                    value.push('\n');
                    value.push_str(trimmed);
                }
            } else if let Some((name, value)) = line.split_once(['=', ':']) {
                values.push((name.trim().to_lowercase().replace('-', "_"), value.trim().to_owned()));
            }
        }
        Self { sections }
    }

    /// Returns the names and values of a section.
    pub(super) fn section(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let values = self.sections.iter().filter(move |(section, _)| section == name).flat_map(|(_, values)| values);
        values.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns a value; an empty one is none.
    pub(super) fn value(&self, section: &str, name: &str) -> Option<&str> {
        self.section(section).find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
    }
}

/// The headers of a `PKG-INFO`.
#[derive(Debug, Default)]
pub(super) struct PackageInfo {
    headers: Vec<(String, String)>,
}

impl PackageInfo {
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(": "));
        Self { headers: lines.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect() }
    }

    /// Adds the requirements of an `.egg-info`: lines, and sections `[EXTRA:MARKER]`, each part of which may be missing.
    pub(super) fn add_egg_requirements(&mut self, text: &str) {
        let (mut extra, mut marker) = (String::new(), String::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let (name, condition) = section.split_once(':').unwrap_or((section, ""));
                (extra, marker) = (name.trim().to_owned(), condition.trim().to_owned());
                continue;
            }
            let requirement = match (extra.is_empty(), marker.is_empty()) {
                (true, true) => line.to_owned(),
                (true, false) => format!("{line} ; {marker}"),
                (false, true) => format!("{line} ; extra == '{extra}'"),
                (false, false) => format!("{line} ; ({marker}) and extra == '{extra}'"),
            };
            self.headers.push(("requires-dist".to_owned(), requirement));
        }
    }

    /// Returns the first value of a header, whose name is in any case.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// Returns all values of a header.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns whether there are headers.
    pub(super) fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_several_lines() {
        let text = "; c\nlost = 1\n[options]\ninstall_requires =\n  a>=1\n  # no\n\n  b; python_version<'4'\nzip-safe: no\n[other]\n[options]\nx=\n";
        let setup = SetupConfig::parse(text);
        assert_eq!(setup.value("options", "install_requires"), Some("\na>=1\nb; python_version<'4'"));
        assert_eq!(setup.value("options", "zip_safe"), Some("no"));
        assert_eq!(
            (setup.value("options", "x"), setup.value("other", "x"), setup.value("", "lost")),
            (None, None, None)
        );
    }

    #[test]
    fn headers_end_at_an_empty_line() {
        let info = PackageInfo::parse("Name: a\nRequires-Dist: b\nRequires-Dist: c; extra == 'x'\n\nName: d\n");
        assert_eq!(info.value("name"), Some("a"));
        assert_eq!(info.values("requires-dist").collect::<Vec<_>>(), ["b", "c; extra == 'x'"]);
        assert!(!info.is_empty() && PackageInfo::parse("").is_empty());
    }
}
