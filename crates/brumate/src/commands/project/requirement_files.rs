//! Files of requirements, as pip reads them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::MAX_METADATA_BYTES;
use crate::bounded_file::read_text;

/// Most files that name each other.
const MAX_FILES: usize = 64;
/// Most requirements of one file and those that it names.
pub(super) const MAX_FILE_REQUIREMENTS: usize = 2000;

/// Content of files of requirements.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileRequirements {
    /// Requirements of PEP 508.
    pub(super) requirements: Vec<String>,
    /// Lines that have no effect here.
    pub(super) ignored: Vec<String>,
}

/// Reads a file, and those that it names with `-r`. `project` is the directory of the project: a requirement for it is met.
///
/// # Errors
///
/// A text: a file cannot be read, or there are too many.
pub(super) fn read(file: &Path, project: &Path) -> Result<FileRequirements, String> {
    let mut found = FileRequirements::default();
    let mut seen = BTreeSet::new();
    let mut todo = vec![file.to_owned()];
    while let Some(file) = todo.pop() {
        if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
            continue;
        }
        if seen.len() > MAX_FILES {
            return Err(format!("{}: more than {MAX_FILES} files of requirements name each other", file.display()));
        }
        let text = read_text(&file, MAX_METADATA_BYTES)?;
        let directory = file.parent().unwrap_or(Path::new(""));
        for line in logical_lines(&text) {
            match parse(&line) {
                Line::Requirement(text) => found.requirements.push(text),
                Line::File(name) => todo.push(directory.join(name)),
                Line::Local(path)
                    if is_project(&directory.join(&path), project) || is_project(&project.join(&path), project) => {}
                Line::Local(_) | Line::Ignored => found.ignored.push(line),
            }
            if found.requirements.len() > MAX_FILE_REQUIREMENTS {
                return Err(format!("{}: more than {MAX_FILE_REQUIREMENTS} requirements", file.display()));
            }
        }
    }
    Ok(found)
}

fn is_project(path: &Path, project: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| project.canonicalize().is_ok_and(|project| path == project))
}

/// Joins lines that end with a backslash, and removes comments.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for part in text.trim_start_matches('\u{feff}').lines() {
        let comment = part
            .char_indices()
            .find(|(at, character)| *character == '#' && (*at == 0 || part[..*at].ends_with(char::is_whitespace)));
        let part = comment.map_or(part, |(at, _)| &part[..at]);
        match part.trim_end().strip_suffix('\\') {
            Some(begin) => line.push_str(begin),
            None => {
                line.push_str(part);
                lines.push(std::mem::take(&mut line).trim().to_owned());
            }
        }
    }
    lines.push(line.trim().to_owned());
    lines.retain(|line| !line.is_empty());
    lines
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Requirement(String),
    /// Another file.
    File(PathBuf),
    /// A project in a directory.
    Local(PathBuf),
    Ignored,
}

fn parse(line: &str) -> Line {
    let option = |short: &str, long: &str| {
        let value = line.strip_prefix(long).filter(|rest| rest.starts_with(['=', ' '])).map(|rest| &rest[1..]);
        value.or_else(|| line.strip_prefix(short)).map(str::trim).filter(|value| !value.is_empty())
    };
    if let Some(file) = option("-r", "--requirement") {
        return Line::File(PathBuf::from(file));
    }
    let editable = option("-e", "--editable");
    let text = editable.unwrap_or(line);
    if editable.is_none() && line.starts_with('-') {
        return Line::Ignored;
    }
    if text.starts_with(['.', '/']) {
        // Without extras, which the project's own options name.
        return Line::Local(PathBuf::from(text.split('[').next().unwrap_or_default()));
    }
    if editable.is_some() {
        return Line::Ignored;
    }
    // Hashes are for wheels of other platforms.
    let text = text.split(" --").next().unwrap_or_default().trim();
    Line::Requirement(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_by_pip() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir(root.join("requirements")).unwrap();
        let text = "# all\n-r ../base.txt\n--requirement=../base.txt\n-e .[dev]\n..\n./other\n-c limits.txt\n--index-url https://x\n\
                    a>=1 # why\nb @ https://x/b.whl#sha256=1\nc==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n  d ; os_name == 'nt'\n-e git+https://x\n";
        std::fs::write(root.join("requirements/dev.txt"), text).unwrap();
        std::fs::write(root.join("base.txt"), "\u{feff}base\n-r requirements/dev.txt\n").unwrap();
        let found = read(&root.join("requirements/dev.txt"), root).unwrap();
        assert_eq!(found.requirements, ["a>=1", "b @ https://x/b.whl#sha256=1", "c==1", "d ; os_name == 'nt'", "base"]);
        assert_eq!(found.ignored, ["./other", "-c limits.txt", "--index-url https://x", "-e git+https://x"]);
        assert!(read(&root.join("no.txt"), root).unwrap_err().contains("no.txt cannot be read"));
        std::fs::write(root.join("many.txt"), "a\n".repeat(MAX_FILE_REQUIREMENTS + 1)).unwrap();
        assert!(read(&root.join("many.txt"), root).unwrap_err().contains("more than 2000"));
    }
}
