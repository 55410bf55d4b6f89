//! Notebooks: reading, checks, the step to format 4.5, writing.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use thiserror::Error;

/// Longest file of a notebook that is read, in bytes.
pub const MAX_NOTEBOOK_BYTES: u64 = 256 << 20;
/// Most cells of a notebook that is read.
pub const MAX_CELLS: usize = 100_000;

/// Major version of the format.
const MAJOR: u64 = 4;
/// Minor version that notebooks are upgraded to.
const MINOR: u64 = 5;
/// First minor version whose cells have ids.
const MINOR_WITH_IDS: u64 = 5;
/// Names of metadata that are never in a file (nbformat's `strip_transient`).
const TRANSIENT: [&str; 3] = ["orig_nbformat", "orig_nbformat_minor", "signature"];
/// Types of representations, besides `text/*`, whose lines are written as a list.
const LISTED: [&str; 2] = ["application/javascript", "image/svg+xml"];
/// Longest id of a cell, in characters.
const MAX_ID: usize = 64;

/// Reason why a text is no notebook that can be run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NotebookError {
    /// The text is no JSON, or has numbers that cannot be kept.
    #[error("it is no notebook: {0}")]
    Json(String),
    /// A part is missing, or has another type.
    #[error("it is no notebook: {0}")]
    Form(String),
    /// The format is older than nbformat 4.
    #[error(
        "it has the notebook format {0}, which is too old: `jupyter nbconvert --to notebook FILE` makes a notebook of format 4"
    )]
    TooOld(u64),
    /// The format is newer than nbformat 4.
    #[error(
        "it has the notebook format {0}, and this version of Brumate knows 4: save it in format 4, or update Brumate"
    )]
    TooNew(u64),
    /// The notebook is for a kernel of another language.
    #[error(
        "it is a notebook in {0}, and Brumate runs Python: run it with a kernel for {0}, or change `metadata.kernelspec`"
    )]
    Language(String),
}

/// A notebook of format 4.5 or a later 4.x. Fields that nbformat does not know stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Notebook {
    /// All but the cells.
    root: Map<String, Value>,
    /// The cells. Each has a type, metadata, an id and a source that is one string.
    cells: Vec<Map<String, Value>>,
}

impl Notebook {
    /// Makes a notebook without cells, for this version of Python.
    pub fn new(version: &str) -> Self {
        let kernelspec = json!({"name": "python3", "display_name": "Python 3", "language": "python"});
        let metadata = json!({"kernelspec": kernelspec, "language_info": language_info(version)});
        let mut root = Map::new();
        root.insert("metadata".to_owned(), metadata);
        root.insert("nbformat".to_owned(), MAJOR.into());
        root.insert("nbformat_minor".to_owned(), MINOR.into());
        Self { root, cells: Vec::new() }
    }

    /// Reads a notebook. One of format 4.0 to 4.4 becomes one of format 4.5. A missing, wrong or repeated id of a cell is replaced.
    ///
    /// # Errors
    ///
    /// [`NotebookError`], but not [`NotebookError::Language`].
    pub fn parse(text: &str) -> Result<Self, NotebookError> {
        let value: Value = brumate_json::from_str(text).map_err(|error| NotebookError::Json(error.to_string()))?;
        let Value::Object(mut root) = value else { return Err(form("the file is no JSON object")) };
        let minor = check_format(&root)?;
        let metadata = root.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if !metadata.is_object() {
            return Err(form("`metadata` is no object"));
        }
        let Some(Value::Array(cells)) = root.shift_remove("cells") else {
            return Err(form("it has no list `cells`"));
        };
        if cells.len() > MAX_CELLS {
            return Err(NotebookError::Form(format!("it has more than {MAX_CELLS} cells")));
        }
        let cells = cells.into_iter().enumerate().map(|(index, cell)| checked_cell(index + 1, cell));
        let mut notebook = Self { root, cells: cells.collect::<Result<_, _>>()? };
        if minor < MINOR_WITH_IDS {
            notebook.cells.iter_mut().for_each(|cell| drop(cell.shift_remove("id")));
            notebook.root.insert("nbformat_minor".to_owned(), MINOR.into());
        }
        notebook.mend_ids();
        Ok(notebook)
    }

    /// Checks that the notebook is for Python. A notebook that names no language is.
    ///
    /// # Errors
    ///
    /// [`NotebookError::Language`].
    pub fn check_language(&self) -> Result<(), NotebookError> {
        let metadata = &self.root["metadata"];
        let named = [&metadata["kernelspec"]["language"], &metadata["language_info"]["name"]];
        for language in named.into_iter().filter_map(Value::as_str) {
            let lower = language.to_ascii_lowercase();
            if !lower.starts_with("python") && !lower.starts_with("ipython") && !lower.is_empty() {
                return Err(NotebookError::Language(language.escape_debug().take(MAX_ID).collect()));
            }
        }
        Ok(())
    }

    /// Sets the description of the language, as the kernel that has run the notebook gives it.
    pub fn set_language_info(&mut self, language_info: Value) {
        self.metadata_mut().insert("language_info".to_owned(), language_info);
    }

    /// Sets the states of widgets (`application/vnd.jupyter.widget-state+json`).
    pub fn set_widgets(&mut self, state: Map<String, Value>) {
        let widgets = json!({"state": state, "version_major": 2, "version_minor": 0});
        let widgets = json!({"application/vnd.jupyter.widget-state+json": widgets});
        self.metadata_mut().insert("widgets".to_owned(), widgets);
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the code of the cell with this index, if it is a code cell with code in it.
    pub fn code(&self, index: usize) -> Option<&str> {
        let cell = self.cells.get(index).filter(|cell| cell["cell_type"] == "code")?;
        cell["source"].as_str().filter(|source| !source.trim().is_empty())
    }

    /// Returns whether the cell with this index has a tag.
    pub fn has_tag(&self, index: usize, tag: &str) -> bool {
        let tags = self.cells.get(index).and_then(|cell| cell["metadata"].get("tags"));
        tags.and_then(Value::as_array).is_some_and(|tags| tags.iter().any(|own| own == tag))
    }

    /// Returns the index of the first cell with a tag.
    pub fn tagged(&self, tag: &str) -> Option<usize> {
        (0..self.cells.len()).find(|&index| self.has_tag(index, tag))
    }

    /// Sets the number of a code cell that has run, and removes its outputs.
    pub fn set_execution_count(&mut self, index: usize, count: Option<u64>) {
        if let Some(cell) = self.cells.get_mut(index) {
            cell.insert("execution_count".to_owned(), count.into());
        }
        self.set_outputs(index, Vec::new());
    }

    /// Sets the outputs of a code cell.
    pub fn set_outputs(&mut self, index: usize, outputs: Vec<Value>) {
        if let Some(cell) = self.cells.get_mut(index) {
            cell.insert("outputs".to_owned(), Value::Array(outputs));
        }
    }

    /// Sets a field of a cell's metadata.
    pub fn set_cell_metadata(&mut self, index: usize, name: &str, value: Value) {
        if let Some(metadata) = self.cells.get_mut(index).and_then(|cell| cell["metadata"].as_object_mut()) {
            metadata.insert(name.to_owned(), value);
        }
    }

    /// Inserts a code cell before the one with this index. It gets a random id, or `id` if it is given and right.
    pub fn insert_code(&mut self, index: usize, source: String, id: Option<String>) {
        let mut cell = Map::new();
        cell.insert("cell_type".to_owned(), "code".into());
        cell.insert("execution_count".to_owned(), Value::Null);
        cell.insert("id".to_owned(), id.unwrap_or_default().into());
        cell.insert("metadata".to_owned(), Value::Object(Map::new()));
        cell.insert("outputs".to_owned(), Value::Array(Vec::new()));
        cell.insert("source".to_owned(), source.into());
        self.cells.insert(index.min(self.cells.len()), cell);
        self.mend_ids();
    }

    /// Removes the cell with this index.
    pub fn remove(&mut self, index: usize) {
        if index < self.cells.len() {
            self.cells.remove(index);
        }
    }

    /// Returns the file: JSON in the form in which nbformat writes it. Names are sorted, and texts of several lines are lists.
    pub fn to_json(&self) -> String {
        let cells = self.cells.iter().map(|cell| Value::Object(split_cell(cell.clone()))).collect();
        let mut root = self.root.clone();
        if let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) {
            TRANSIENT.iter().for_each(|name| drop(metadata.shift_remove(*name)));
        }
        root.insert("cells".to_owned(), Value::Array(cells));
        let mut value = Value::Object(root);
        value.sort_all_objects();
        let mut text = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        // Writing values to memory does not fail, and JSON is UTF-8.
        let _ = serde::Serialize::serialize(&value, &mut serializer);
        text.push(b'\n');
        String::from_utf8(text).unwrap_or_default()
    }

    fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        let metadata = self.root.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if !metadata.is_object() {
            *metadata = Value::Object(Map::new());
        }
        match metadata {
            Value::Object(metadata) => metadata,
            // It has just become one.
            _ => unreachable!("metadata is an object"),
        }
    }

    /// Gives each cell whose id is missing, wrong or another cell's a new one.
    fn mend_ids(&mut self) {
        let mut seen = HashSet::new();
        for cell in &mut self.cells {
            let id = cell.get("id").and_then(Value::as_str).filter(|id| is_id(id) && !seen.contains(*id));
            let id = id.map_or_else(|| new_id(&seen), str::to_owned);
            cell.insert("id".to_owned(), id.as_str().into());
            seen.insert(id);
        }
    }
}

/// Returns the description of Python of this version, as kernels and notebooks have it.
pub fn language_info(version: &str) -> Value {
    json!({
        "name": "python",
        "version": version,
        "mimetype": "text/x-python",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "pygments_lexer": "ipython3",
        "nbconvert_exporter": "python",
        "file_extension": ".py",
    })
}

fn form(reason: &str) -> NotebookError {
    NotebookError::Form(reason.to_owned())
}

/// Returns the minor version of the format, if it can be read.
fn check_format(root: &Map<String, Value>) -> Result<u64, NotebookError> {
    let Some(major) = root.get("nbformat").and_then(Value::as_u64) else {
        return Err(form("it has no number `nbformat`"));
    };
    match major {
        0..MAJOR => return Err(NotebookError::TooOld(major)),
        MAJOR => {}
        _ => return Err(NotebookError::TooNew(major)),
    }
    match root.get("nbformat_minor") {
        None => Ok(0),
        Some(minor) => minor.as_u64().ok_or_else(|| form("`nbformat_minor` is no number")),
    }
}

/// Checks the parts of a cell that running it needs. `number` counts from 1.
fn checked_cell(number: usize, cell: Value) -> Result<Map<String, Value>, NotebookError> {
    let wrong = |reason: &str| NotebookError::Form(format!("cell {number}: {reason}"));
    let Value::Object(mut cell) = cell else { return Err(wrong("it is no object")) };
    let is_code = match cell.get("cell_type").and_then(Value::as_str) {
        Some("code") => true,
        Some(_) => false,
        None => return Err(wrong("it has no string `cell_type`")),
    };
    let source = match cell.get_mut("source").map(Value::take) {
        Some(Value::String(text)) => text,
        Some(Value::Array(lines)) => {
            let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
            lines.ok_or_else(|| wrong("`source` has lines that are no strings"))?.concat()
        }
        _ => return Err(wrong("`source` is neither a string nor a list of strings")),
    };
    cell.insert("source".to_owned(), source.into());
    if !cell.entry("metadata").or_insert_with(|| Value::Object(Map::new())).is_object() {
        return Err(wrong("`metadata` is no object"));
    }
    if is_code {
        if !cell.entry("outputs").or_insert_with(|| Value::Array(Vec::new())).is_array() {
            return Err(wrong("`outputs` is no list"));
        }
        cell.entry("execution_count").or_insert(Value::Null);
    }
    Ok(cell)
}

/// Returns whether a text can be the id of a cell.
fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(fits)
}

/// Makes an id that no other cell has.
fn new_id(others: &HashSet<String>) -> String {
    let mut random = [0; 4];
    let first = getrandom::fill(&mut random).map_or(0, |()| u32::from_le_bytes(random));
    let ids = (0..).map(|step: u32| format!("{:08x}", first.wrapping_add(step)));
    ids.into_iter().find(|id| !others.contains(id)).unwrap_or_default()
}

/// Makes lists of the texts of several lines in a cell.
fn split_cell(mut cell: Map<String, Value>) -> Map<String, Value> {
    // A client must find out itself whether it trusts the file.
    if let Some(metadata) = cell.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("trusted");
    }
    if let Some(source) = cell.get_mut("source") {
        split(source);
    }
    if let Some(attachments) = cell.get_mut("attachments").and_then(Value::as_object_mut) {
        attachments.values_mut().for_each(split_bundle);
    }
    if let Some(outputs) = cell.get_mut("outputs").and_then(Value::as_array_mut) {
        for output in outputs {
            if let Some(text) = output.get_mut("text").filter(|text| text.is_string()) {
                split(text);
            }
            if let Some(data) = output.get_mut("data") {
                split_bundle(data);
            }
        }
    }
    cell
}

fn split_bundle(bundle: &mut Value) {
    let Some(bundle) = bundle.as_object_mut() else { return };
    let listed = bundle.iter_mut().filter(|(mime, _)| mime.starts_with("text/") || LISTED.contains(&mime.as_str()));
    listed.for_each(|(_, payload)| split(payload));
}

/// Makes a list of lines of a text.
fn split(text: &mut Value) {
    if let Some(whole) = text.as_str() {
        *text = whole.split_inclusive('\n').collect();
    }
}

/// Returns whether representations of this type are JSON, and not text.
pub(crate) fn is_json_type(mime: &str) -> bool {
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(cells: Value, minor: u64) -> String {
        json!({"cells": cells, "metadata": {"x": {"y": [1.5]}}, "nbformat": 4, "nbformat_minor": minor}).to_string()
    }

    #[test]
    fn a_notebook_comes_back_as_it_was() {
        let cells = json!([
            {"cell_type": "markdown", "id": "a", "metadata": {"z": 0}, "source": ["# A\n", "b"], "attachments": {}},
            {"cell_type": "code", "id": "b", "metadata": {}, "source": "1", "outputs": [{"output_type": "x"}],
             "execution_count": 3, "other": null},
        ]);
        let read = Notebook::parse(&notebook(cells.clone(), 5)).unwrap();
        assert_eq!((read.len(), read.code(0), read.code(1)), (2, None, Some("1")));
        let written: Value = serde_json::from_str(&read.to_json()).unwrap();
        let mut expected: Value = serde_json::from_str(&notebook(cells, 5)).unwrap();
        expected["cells"][1]["source"] = json!(["1"]);
        assert_eq!(written, expected);
        assert!(read.to_json().starts_with("{\n \"cells\": [\n  {\n   \"attachments\""), "{}", read.to_json());
    }

    #[test]
    fn ids_are_made_where_they_are_missing_wrong_or_repeated() {
        let cell = |id: Value| json!({"cell_type": "raw", "metadata": {}, "source": "", "id": id});
        let ids = [json!("a"), json!("a"), json!("b c"), json!(7), json!("x".repeat(65)), json!(""), json!("-_9")];
        let read = Notebook::parse(&notebook(ids.into_iter().map(cell).collect(), 5)).unwrap();
        let ids: Vec<&str> = read.cells.iter().map(|cell| cell["id"].as_str().unwrap()).collect();
        assert_eq!((ids[0], ids[6]), ("a", "-_9"));
        assert!(ids.iter().all(|id| is_id(id)), "{ids:?}");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        let old = Notebook::parse(&notebook(json!([{"cell_type": "code", "source": []}]), 2)).unwrap();
        assert!(is_id(old.cells[0]["id"].as_str().unwrap()));
        assert_eq!(old.root["nbformat_minor"], 5);
    }

    #[test]
    fn what_is_no_notebook_is_refused_with_its_reason() {
        let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
        for (text, part) in [
            ("", "EOF"),
            ("print(1)", "expected"),
            ("[]", "no JSON object"),
            ("{}", "`nbformat`"),
            (r#"{"nbformat": 3, "worksheets": []}"#, "nbconvert --to notebook"),
            (r#"{"nbformat": 5, "cells": []}"#, "update Brumate"),
            (r#"{"nbformat": 4}"#, "no list `cells`"),
            (r#"{"nbformat": 4, "nbformat_minor": "5", "cells": []}"#, "nbformat_minor"),
            (r#"{"nbformat": 4, "cells": {}}"#, "no list `cells`"),
            (r#"{"nbformat": 4, "cells": [], "metadata": []}"#, "`metadata`"),
            (r#"{"nbformat": 4, "cells": [1]}"#, "cell 1: it is no object"),
            (r#"{"nbformat": 4, "cells": [{}]}"#, "cell 1: it has no string `cell_type`"),
            (r#"{"nbformat": 4, "cells": [{"cell_type": "code"}]}"#, "cell 1: `source`"),
            (r#"{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}"#, "no strings"),
            (r#"{"nbformat": 4, "cells": [{"cell_type": "code", "source": "", "outputs": 1}]}"#, "`outputs`"),
            (r#"{"nbformat": 4, "cells": [], "metadata": {"a": 123456789012345678901234567890}}"#, "64 bits"),
            (&deep, "recursion limit"),
        ] {
            let error = Notebook::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text:.80}: {error}");
        }
    }

    #[test]
    fn only_notebooks_in_python_are_run() {
        let with = |metadata: &str| {
            let text = format!(r#"{{"nbformat": 4, "cells": [], "metadata": {metadata}}}"#);
            Notebook::parse(&text).unwrap().check_language()
        };
        for python in [
            "{}",
            r#"{"kernelspec": 1, "language_info": []}"#,
            r#"{"kernelspec": {"language": "python"}}"#,
            r#"{"language_info": {"name": "ipython"}}"#,
        ] {
            assert_eq!(with(python), Ok(()), "{python}");
        }
        let error = with(r#"{"kernelspec": {"language": "R"}}"#).unwrap_err().to_string();
        assert!(error.contains("a notebook in R"), "{error}");
        assert!(with(r#"{"language_info": {"name": "julia"}}"#).is_err());
    }

    #[test]
    fn texts_of_several_lines_are_lists() {
        for (text, list) in
            [("", json!([])), ("a", json!(["a"])), ("a\n", json!(["a\n"])), ("a\n\nb", json!(["a\n", "\n", "b"]))]
        {
            let mut value = Value::from(text);
            split(&mut value);
            assert_eq!(value, list);
        }
        let mut bundle = json!({"image/png": "AAAA", "text/html": "a\nb", "text/x": [1], "application/json": "a\nb"});
        split_bundle(&mut bundle);
        let split = json!({"image/png": "AAAA", "text/html": ["a\n", "b"], "text/x": [1], "application/json": "a\nb"});
        assert_eq!(bundle, split);
    }
}
