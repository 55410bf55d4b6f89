//! The index of a directory of wheels: HTML pages (PEP 503), JSON files (PEP 691), and `SHA256SUMS`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use brumate_packages::DistributionName;
use serde_json::json;

/// File with the digests, in the format of `sha256sum --check`.
const SUMS: &str = "SHA256SUMS";
/// Directory of the index.
const SIMPLE: &str = "simple";

/// A wheel of the directory.
pub(super) struct WheelEntry {
    pub(super) distribution: DistributionName,
    pub(super) file: String,
    /// Digest in lower-case hexadecimal.
    pub(super) sha256: String,
    pub(super) bytes: u64,
    pub(super) requires_python: Option<String>,
}

/// Writes the index. An earlier one is replaced.
///
/// # Errors
///
/// The directory cannot be written.
pub(super) fn write(directory: &Path, entries: &[WheelEntry]) -> io::Result<()> {
    let sums: String = entries.iter().map(|entry| format!("{}  {}\n", entry.sha256, entry.file)).collect();
    let mut projects: BTreeMap<&str, Vec<&WheelEntry>> = BTreeMap::new();
    for entry in entries {
        projects.entry(entry.distribution.as_str()).or_default().push(entry);
    }
    // Written beside the old index and then renamed, so that readers find one of the two.
    let (new, old) = (directory.join(format!("{SIMPLE}.new")), directory.join(format!("{SIMPLE}.old")));
    for left in [&new, &old] {
        if left.exists() {
            fs::remove_dir_all(left)?;
        }
    }
    fs::create_dir(&new)?;
    let links: String = projects.keys().map(|name| format!("<a href=\"{name}/\">{name}</a><br>\n")).collect();
    fs::write(new.join("index.html"), page("Simple index", &links))?;
    let names: Vec<_> = projects.keys().map(|name| json!({ "name": name })).collect();
    fs::write(new.join("index.json"), json!({ "meta": { "api-version": "1.0" }, "projects": names }).to_string())?;
    for (name, entries) in &projects {
        fs::create_dir(new.join(name))?;
        let links: String = entries.iter().map(|entry| link(entry)).collect();
        fs::write(new.join(name).join("index.html"), page(name, &links))?;
        let files: Vec<_> = entries.iter().map(|entry| file(entry)).collect();
        let text = json!({ "meta": { "api-version": "1.0" }, "name": name, "files": files }).to_string();
        fs::write(new.join(name).join("index.json"), text)?;
    }
    let simple = directory.join(SIMPLE);
    if simple.exists() {
        fs::rename(&simple, &old)?;
    }
    fs::rename(&new, &simple)?;
    if old.exists() {
        fs::remove_dir_all(&old)?;
    }
    fs::write(directory.join(SUMS), sums)
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html>\n<head><meta name=\"pypi:repository-version\" content=\"1.0\"><title>{title}</title></head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

fn link(entry: &WheelEntry) -> String {
    let python = entry
        .requires_python
        .as_deref()
        .map_or_else(String::new, |python| format!(" data-requires-python=\"{}\"", escaped(python)));
    let (address, name) = (address(&entry.file), escaped(&entry.file));
    format!("<a href=\"{address}#sha256={}\"{python}>{name}</a><br>\n", entry.sha256)
}

fn file(entry: &WheelEntry) -> serde_json::Value {
    let mut file = json!({
        "filename": entry.file,
        "url": address(&entry.file),
        "hashes": { "sha256": entry.sha256 },
        "size": entry.bytes,
    });
    if let Some(python) = &entry.requires_python {
        file["requires-python"] = json!(python);
    }
    file
}

/// Returns the relative URL of a wheel from a project's page. Local versions contain `+`.
fn address(file: &str) -> String {
    format!("../../{}", file.replace('%', "%25").replace('+', "%2B").replace('#', "%23").replace('?', "%3F"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: &str, python: Option<&str>) -> WheelEntry {
        let distribution = DistributionName::new(file.split('-').next().unwrap()).unwrap();
        let requires_python = python.map(str::to_owned);
        WheelEntry { distribution, file: file.to_owned(), sha256: "ab".repeat(32), bytes: 7, requires_python }
    }

    #[test]
    fn pages_quote_what_they_quote() {
        let entry = entry("Some_Thing-1.0+local.1-py3-none-any.whl", Some(">=3.9,<4"));
        let link = link(&entry);
        assert!(link.contains("href=\"../../Some_Thing-1.0%2Blocal.1-py3-none-any.whl#sha256=abab"), "{link}");
        assert!(link.contains("data-requires-python=\"&gt;=3.9,&lt;4\">Some_Thing-1.0+local.1-"), "{link}");
        assert_eq!(file(&entry)["requires-python"], ">=3.9,<4");
    }

    #[test]
    fn a_new_index_replaces_the_old_one() {
        let directory = std::env::temp_dir().join(format!("brumate-index-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        write(&directory, &[entry("a_b-1-py3-none-any.whl", None), entry("c-1-py3-none-any.whl", None)]).unwrap();
        assert!(directory.join("simple/a-b/index.html").exists());
        write(&directory, &[entry("c-2-py3-none-any.whl", None)]).unwrap();
        let root = fs::read_to_string(directory.join("simple/index.html")).unwrap();
        assert!(root.contains("<a href=\"c/\">c</a>") && !root.contains("a-b"));
        assert!(!directory.join("simple/a-b").exists() && !directory.join("simple.old").exists());
        assert_eq!(fs::read_to_string(directory.join(SUMS)).unwrap().lines().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
