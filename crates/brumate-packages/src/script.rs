//! Inline script metadata (PEP 723): the `# /// script` block at the top of a file.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;

use crate::error::ScriptMetadataError;
use crate::marker::PYTHON_FULL_VERSION;
use crate::requirement::first_line;

/// Largest metadata block, in bytes.
pub const MAX_SCRIPT_METADATA_BYTES: usize = 64 << 10;

/// Inline metadata of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptMetadata {
    /// Requirements as written; `None` without the key, which leaves them to inference.
    pub dependencies: Option<Vec<String>>,
    /// `requires-python` specifier as written.
    pub requires_python: Option<String>,
}

/// TOML of the block. Other keys, most of all `[tool]`, belong to other programs.
#[derive(Deserialize)]
struct MetadataBlock {
    dependencies: Option<Vec<String>>,
    #[serde(rename = "requires-python")]
    requires_python: Option<String>,
}

impl ScriptMetadata {
    /// Parses the `script` block of `code`; `None` if there is none. Unclosed blocks and blocks of other types are
    /// ignored, as the specification demands.
    ///
    /// # Errors
    ///
    /// [`ScriptMetadataError`] for several blocks, for one that is not valid, and for an invalid `requires-python`.
    pub fn parse(code: &str) -> Result<Option<Self>, ScriptMetadataError> {
        let code = code.strip_prefix('\u{feff}').unwrap_or(code);
        let lines: Vec<&str> = code.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let mut blocks = blocks(&lines).into_iter().filter(|(kind, _)| *kind == "script");
        let Some((_, content)) = blocks.next() else { return Ok(None) };
        let others = blocks.count();
        if others > 0 {
            return Err(ScriptMetadataError::SeveralBlocks { count: others + 1 });
        }
        let bytes = content.iter().map(|line| line.len() + 1).sum();
        if bytes > MAX_SCRIPT_METADATA_BYTES {
            return Err(ScriptMetadataError::TooLarge { bytes, limit: MAX_SCRIPT_METADATA_BYTES });
        }
        let text: String = content.iter().flat_map(|line| [without_marker(line), "\n"]).collect();
        let document: MetadataBlock = toml::from_str(&text)
            .map_err(|error| ScriptMetadataError::Toml(error.to_string().trim_end().to_owned()))?;
        let metadata = Self { dependencies: document.dependencies, requires_python: document.requires_python };
        metadata.python_specifiers()?;
        Ok(Some(metadata))
    }

    /// Returns whether the sandbox's Python satisfies `requires-python`. True without the key.
    pub fn allows_sandbox_python(&self) -> bool {
        let version = Version::from_str(PYTHON_FULL_VERSION);
        match (self.python_specifiers(), version) {
            (Ok(Some(specifiers)), Ok(version)) => specifiers.contains(&version),
            (Ok(None), _) => true,
            _ => false,
        }
    }

    fn python_specifiers(&self) -> Result<Option<VersionSpecifiers>, ScriptMetadataError> {
        let Some(given) = &self.requires_python else { return Ok(None) };
        VersionSpecifiers::from_str(given).map(Some).map_err(|error| ScriptMetadataError::RequiresPython {
            given: given.chars().take(100).collect(),
            reason: first_line(&error.to_string()),
        })
    }
}

/// Returns all metadata blocks: their type and content lines, still with their `#`.
///
/// Accepts the same texts as the specification's regular expression: a block begins at a line `# /// TYPE`, continues
/// over lines that are `#` or start with `# `, and ends at the *last* line `# ///` of that run, with at least one line
/// in between.
fn blocks<'a>(lines: &[&'a str]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut blocks = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let first = index + 1;
        let kind = lines[index].strip_prefix("# /// ").filter(|kind| is_block_type(kind));
        index = first;
        let Some(kind) = kind else { continue };
        let length = lines[first..].iter().take_while(|line| **line == "#" || line.starts_with("# ")).count();
        let run = &lines[first..first + length];
        match run.iter().rposition(|line| *line == "# ///").filter(|end| *end > 0) {
            Some(end) => {
                blocks.push((kind, run[..end].to_vec()));
                index = first + end + 1;
            }
            // No other block inside this run can be closed either; searching again would take quadratic time.
            None => index = first + length,
        }
    }
    blocks
}

fn is_block_type(kind: &str) -> bool {
    !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn without_marker(line: &str) -> &str {
    line.strip_prefix("# ").or_else(|| line.strip_prefix('#')).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependencies(code: &str) -> Option<Vec<String>> {
        ScriptMetadata::parse(code).unwrap().and_then(|metadata| metadata.dependencies)
    }

    #[test]
    fn reads_the_block() {
        let code = "#!/usr/bin/env python\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"pydantic\",\n#\n#   \"email-validator\",\n# ]\n# [tool.uv]\n# x = 1\n# ///\nimport pydantic\n";
        assert_eq!(dependencies(code).unwrap(), ["pydantic", "email-validator"]);
        assert_eq!(dependencies(&code.replace('\n', "\r\n")).unwrap(), ["pydantic", "email-validator"]);
    }

    #[test]
    fn no_block_no_metadata() {
        for code in [
            "",
            "import numpy",
            "# /// script\n# dependencies = []\n",
            "# /// script\n# ///\n",
            "# /// pyproject\n# dependencies = 3\n# ///\n",
            " # /// script\n # dependencies = []\n # ///\n",
            "# /// script\n#dependencies = []\n# ///\n",
            "# /// script \n# dependencies = []\n# ///\n",
        ] {
            assert_eq!(ScriptMetadata::parse(code), Ok(None), "{code:?}");
        }
    }

    #[test]
    fn the_last_closing_line_of_the_run_counts() {
        let code = "# /// script\n# dependencies = ['a']\n# ///\n# comment = 1\n# ///\nimport a\n";
        assert!(ScriptMetadata::parse(code).unwrap_err().to_string().contains("not valid TOML"));
        let separated = code.replace("# comment = 1\n", "\n");
        assert_eq!(dependencies(&separated).unwrap(), ["a"]);
    }

    #[test]
    fn missing_dependencies_are_not_empty_ones() {
        assert_eq!(dependencies("# /// script\n# requires-python = '>=3'\n# ///\n"), None);
        assert_eq!(dependencies("# /// script\n# dependencies = []\n# ///"), Some(Vec::new()));
    }

    #[test]
    fn many_unclosed_blocks_are_read_once() {
        let code = "# /// script\n".repeat(300_000);
        assert_eq!(ScriptMetadata::parse(&code), Ok(None));
    }

    #[test]
    fn errors() {
        let block = "# /// script\n# dependencies = []\n# ///\n";
        let error = |code: &str| ScriptMetadata::parse(code).unwrap_err().to_string();
        assert_eq!(error(&format!("{block}\n{block}")), "the code has 2 `# /// script` blocks; exactly one is allowed");
        assert!(error("# /// script\n# dependencies = [\n# ///\n").contains("line"));
        assert!(error("# /// script\n# dependencies = 'numpy'\n# ///\n").contains("sequence"));
        assert!(error("# /// script\n# requires-python = 'new'\n# ///\n").contains("version specifier"));
        let large = format!("# /// script\n# x = '{}'\n# ///\n", "y".repeat(MAX_SCRIPT_METADATA_BYTES));
        assert!(error(&large).contains("at most 65536"));
    }

    #[test]
    fn requires_python_is_checked_against_the_sandbox() {
        let allows = |specifier: &str| {
            let code = format!("# /// script\n# requires-python = '{specifier}'\n# ///\n");
            ScriptMetadata::parse(&code).unwrap().unwrap().allows_sandbox_python()
        };
        assert!(allows(">=3.11"));
        assert!(allows("==3.14.*"));
        assert!(!allows("<3.12"));
        assert!(!allows(">=3.15"));
        assert!(ScriptMetadata::default().allows_sandbox_python());
    }
}
