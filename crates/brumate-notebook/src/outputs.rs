//! Messages of a kernel, collected into the outputs of cells.
//!
//! The rules are nbclient's: `clear_output` removes the outputs of its cell, `update_display_data` changes all outputs that have its
//! `display_id`, in earlier cells too. Texts of one stream that follow each other become one output. All content is hostile: what nbformat does
//! not allow is changed so that a file with it is valid, and the sizes of all outputs together are bounded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use brumate_engine_api::{FrontendKind, StreamName};
use serde_json::{Map, Value, json};

use crate::document::is_json_type;

/// Name in a cell's metadata of the number of outputs that were dropped because there was no room for them.
pub const OUTPUT_DROPPED: &str = "outputs_dropped";
/// Bytes that an output counts besides its texts.
const OVERHEAD: usize = 256;
/// Most outputs that have one `display_id`: each is changed by an update.
const MAX_SHOWN_AGAIN: usize = 1000;

/// Outputs of one cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// The outputs, as nbformat has them.
    pub outputs: Vec<Value>,
    /// Outputs, and updates of outputs, that were dropped because there was no room.
    pub dropped: u64,
}

/// Outputs of the cells of one notebook.
#[derive(Debug)]
pub struct Outputs {
    cells: Vec<Cell>,
    /// Cells and outputs that have a `display_id`.
    displays: HashMap<String, Vec<(usize, usize)>>,
    /// Bytes that still fit.
    room: usize,
}

#[derive(Debug, Default)]
struct Cell {
    outputs: Vec<Output>,
    /// Whether the next output replaces the outputs so far.
    clears: bool,
    dropped: u64,
}

#[derive(Debug)]
struct Output {
    value: Value,
    bytes: usize,
    display: Option<String>,
}

impl Outputs {
    /// Makes a collector for outputs of at most `bytes` in all.
    pub fn new(bytes: usize) -> Self {
        Self { cells: Vec::new(), displays: HashMap::new(), room: bytes }
    }

    /// Begins a cell: further outputs are its outputs.
    pub fn begin_cell(&mut self) {
        self.cells.push(Cell::default());
    }

    /// Adds text of a stream to the present cell.
    pub fn stream(&mut self, name: StreamName, text: &str) {
        let name = match name {
            StreamName::Stdout => "stdout",
            StreamName::Stderr => "stderr",
        };
        self.clear_if_due();
        let Some(cell) = self.cells.last_mut() else { return };
        match cell.outputs.last_mut() {
            Some(Output { value, bytes, .. }) if value["output_type"] == "stream" && value["name"] == name => {
                if text.len() > self.room {
                    cell.dropped = cell.dropped.saturating_add(1);
                } else if let Some(Value::String(whole)) = value.get_mut("text") {
                    self.room -= text.len();
                    *bytes += text.len();
                    whole.push_str(text);
                }
            }
            _ => self.push(json!({"output_type": "stream", "name": name, "text": text}), None),
        }
    }

    /// Takes a message of the present cell's code. `content` is that of the Jupyter messaging specification; messages that make no output are
    /// ignored.
    pub fn message(&mut self, kind: FrontendKind, content: Value) {
        let mut content = object(content);
        let display = content["transient"]["display_id"].as_str().map(str::to_owned);
        match kind {
            FrontendKind::DisplayData | FrontendKind::ExecuteResult => {
                let mut output = Map::new();
                let is_result = kind == FrontendKind::ExecuteResult;
                output.insert("output_type".to_owned(), kind.as_str().into());
                output.insert("data".to_owned(), bundle(content["data"].take()));
                output.insert("metadata".to_owned(), object(content["metadata"].take()));
                if is_result {
                    output.insert("execution_count".to_owned(), content["execution_count"].as_u64().into());
                }
                let output = Value::Object(output);
                if let Some(display) = &display {
                    self.update(display, &output);
                }
                self.clear_if_due();
                self.push(output, display);
            }
            FrontendKind::UpdateDisplayData => {
                if let Some(display) = display {
                    let data = bundle(content["data"].take());
                    self.update(&display, &json!({"data": data, "metadata": object(content["metadata"].take())}));
                }
            }
            FrontendKind::Error => {
                self.clear_if_due();
                let text = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
                let traceback = content["traceback"].as_array().map(|lines| lines.iter().map(text).collect::<Vec<_>>());
                let error = json!({
                    "output_type": "error",
                    "ename": text(&content["ename"]),
                    "evalue": text(&content["evalue"]),
                    "traceback": traceback.unwrap_or_default(),
                });
                self.push(error, None);
            }
            FrontendKind::ClearOutput => {
                let Some(cell) = self.cells.last_mut() else { return };
                cell.clears = true;
                // As with IPython, all that is not false asks to wait.
                if matches!(content["wait"], Value::Null | Value::Bool(false)) {
                    self.clear_if_due();
                }
            }
            FrontendKind::ExecuteInput | FrontendKind::CommOpen | FrontendKind::CommMsg | FrontendKind::CommClose => {}
        }
    }

    /// Notes that an output of the present cell was dropped before it came here.
    pub fn note_dropped(&mut self) {
        if let Some(cell) = self.cells.last_mut() {
            cell.dropped = cell.dropped.saturating_add(1);
        }
    }

    /// Returns about how many bytes the outputs need.
    pub fn bytes(&self) -> usize {
        self.cells.iter().flat_map(|cell| &cell.outputs).map(|output| output.bytes).sum()
    }

    /// Adds an output that was stored. One that nbformat does not allow is changed, or left out.
    pub fn stored(&mut self, output: Value) {
        let text = |part: &Value| part.as_str().unwrap_or_default().to_owned();
        match output["output_type"].as_str() {
            Some("stream") => {
                let name = if output["name"] == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
                self.stream(name, &text(&output["text"]));
            }
            Some("display_data") => self.message(FrontendKind::DisplayData, output),
            Some("execute_result") => self.message(FrontendKind::ExecuteResult, output),
            Some("error") => self.message(FrontendKind::Error, output),
            _ => {}
        }
    }

    /// Returns the outputs of the cells, in the order in which they were begun.
    pub fn finish(self) -> Vec<Recorded> {
        let recorded = |cell: Cell| Recorded {
            outputs: cell.outputs.into_iter().map(|output| output.value).collect(),
            dropped: cell.dropped,
        };
        self.cells.into_iter().map(recorded).collect()
    }

    /// Returns the outputs of the cell that was begun with this number, from 0.
    pub fn of_cell(&self, number: usize) -> Recorded {
        self.cells.get(number).map_or_else(Recorded::default, |cell| Recorded {
            outputs: cell.outputs.iter().map(|output| output.value.clone()).collect(),
            dropped: cell.dropped,
        })
    }

    fn push(&mut self, value: Value, display: Option<String>) {
        let number = self.cells.len().saturating_sub(1);
        let Some(cell) = self.cells.last_mut() else { return };
        let bytes = size(&value).saturating_add(display.as_ref().map_or(0, String::len));
        if bytes > self.room {
            cell.dropped = cell.dropped.saturating_add(1);
            return;
        }
        self.room -= bytes;
        if let Some(display) = &display {
            let shown = self.displays.entry(display.clone()).or_default();
            if shown.len() < MAX_SHOWN_AGAIN {
                shown.push((number, cell.outputs.len()));
            }
        }
        cell.outputs.push(Output { value, bytes, display });
    }

    /// Replaces data and metadata of all outputs with a `display_id`. An update that does not fit changes nothing.
    fn update(&mut self, display: &str, new: &Value) {
        let Some(places) = self.displays.get(display) else { return };
        let data = size(&new["data"]).saturating_add(size(&new["metadata"]));
        let old: usize =
            places.iter().filter_map(|place| self.cells[place.0].outputs.get(place.1)).map(|o| o.bytes).sum();
        let after = data.saturating_add(OVERHEAD).saturating_mul(places.len());
        if after > self.room.saturating_add(old) {
            if let Some(cell) = self.cells.last_mut() {
                cell.dropped = cell.dropped.saturating_add(1);
            }
            return;
        }
        self.room = self.room + old - after;
        for &(cell, output) in places {
            if let Some(Output { value, bytes, .. }) = self.cells[cell].outputs.get_mut(output) {
                value["data"] = new["data"].clone();
                value["metadata"] = new["metadata"].clone();
                *bytes = data.saturating_add(OVERHEAD);
            }
        }
    }

    /// Removes the outputs of the present cell, if a message has asked for that.
    fn clear_if_due(&mut self) {
        let number = self.cells.len().saturating_sub(1);
        let Some(cell) = self.cells.last_mut().filter(|cell| cell.clears) else { return };
        cell.clears = false;
        for Output { bytes, display, .. } in cell.outputs.drain(..) {
            self.room += bytes;
            if let Some(Entry::Occupied(mut places)) = display.map(|display| self.displays.entry(display)) {
                places.get_mut().retain(|place| place.0 != number);
                if places.get().is_empty() {
                    places.remove();
                }
            }
        }
    }
}

/// Returns a mime bundle that nbformat allows: payloads that must be text are text.
fn bundle(data: Value) -> Value {
    let Value::Object(data) = data else { return Value::Object(Map::new()) };
    let payload = |(mime, payload): (String, Value)| {
        let is_text = |value: &Value| match value {
            Value::String(_) => true,
            Value::Array(lines) => lines.iter().all(Value::is_string),
            _ => false,
        };
        let payload = if is_json_type(&mime) || is_text(&payload) { payload } else { payload.to_string().into() };
        (mime, payload)
    };
    Value::Object(data.into_iter().map(payload).collect())
}

fn object(value: Value) -> Value {
    if value.is_object() { value } else { Value::Object(Map::new()) }
}

/// Returns about how many bytes a value needs.
pub(crate) fn size(value: &Value) -> usize {
    /// Bytes of a value that has no text.
    const SMALL: usize = 32;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => SMALL,
        Value::String(text) => SMALL.saturating_add(text.len()),
        Value::Array(items) => items.iter().map(size).fold(OVERHEAD, usize::saturating_add),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len().saturating_add(size(value)))
            .fold(OVERHEAD, usize::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use FrontendKind::{ClearOutput, DisplayData, Error, ExecuteResult, UpdateDisplayData};

    use super::*;

    fn shown(text: &str, display: Option<&str>) -> Value {
        let transient = display.map_or_else(|| json!({}), |id| json!({"display_id": id}));
        json!({"data": {"text/plain": text}, "metadata": {}, "transient": transient})
    }

    fn collected(work: impl FnOnce(&mut Outputs)) -> Vec<Recorded> {
        let mut outputs = Outputs::new(100_000);
        outputs.begin_cell();
        work(&mut outputs);
        outputs.finish()
    }

    fn texts(cell: &Recorded) -> Vec<&str> {
        cell.outputs
            .iter()
            .filter_map(|output| output.pointer("/text").or_else(|| output.pointer("/data/text~1plain")))
            .filter_map(Value::as_str)
            .collect()
    }

    #[test]
    fn neighbouring_texts_of_a_stream_are_one_output() {
        let cells = collected(|outputs| {
            for (name, text) in [(StreamName::Stdout, "a"), (StreamName::Stdout, "\rb"), (StreamName::Stderr, "c")] {
                outputs.stream(name, text);
            }
            outputs.message(DisplayData, shown("d", None));
            outputs.stream(StreamName::Stderr, "e");
        });
        assert_eq!(texts(&cells[0]), ["a\rb", "c", "d", "e"]);
        assert_eq!(cells[0].outputs[0], json!({"output_type": "stream", "name": "stdout", "text": "a\rb"}));
    }

    #[test]
    fn outputs_are_cleared_at_once_or_by_the_next_output() {
        let cells = collected(|outputs| {
            outputs.stream(StreamName::Stdout, "a");
            outputs.message(ClearOutput, json!({"wait": false}));
            outputs.stream(StreamName::Stdout, "b");
            outputs.message(ClearOutput, json!({"wait": true}));
            outputs.begin_cell();
            outputs.stream(StreamName::Stdout, "c");
            outputs.message(ClearOutput, json!({"wait": true}));
            outputs.message(DisplayData, shown("d", None));
        });
        assert_eq!((texts(&cells[0]), texts(&cells[1])), (vec!["b"], vec!["d"]));
    }

    #[test]
    fn an_update_changes_all_outputs_with_its_id() {
        let cells = collected(|outputs| {
            outputs.message(DisplayData, shown("a", Some("x")));
            outputs.message(ExecuteResult, shown("b", Some("y")));
            outputs.begin_cell();
            outputs.message(DisplayData, shown("c", Some("x")));
            outputs.message(UpdateDisplayData, shown("d", Some("y")));
            outputs.message(UpdateDisplayData, shown("e", Some("unknown")));
            outputs.message(UpdateDisplayData, shown("f", None));
        });
        assert_eq!((texts(&cells[0]), texts(&cells[1])), (vec!["c", "d"], vec!["c"]));
        let cells = collected(|outputs| {
            outputs.message(DisplayData, shown("a", Some("x")));
            outputs.message(ClearOutput, json!({}));
            outputs.message(DisplayData, shown("b", None));
            outputs.message(UpdateDisplayData, shown("c", Some("x")));
        });
        assert_eq!(texts(&cells[0]), ["b"]);
    }

    #[test]
    fn hostile_content_becomes_valid() {
        let cells = collected(|outputs| {
            for content in [
                json!(null),
                json!([1]),
                json!({"data": 1, "metadata": [], "transient": 2}),
                json!({"data": {"text/plain": 1, "text/html": {"a": [null]}, "application/x+json": 1, "x": ["a", 1]}}),
            ] {
                outputs.message(DisplayData, content.clone());
                outputs.message(ExecuteResult, content.clone());
                outputs.message(Error, content);
            }
            outputs.message(Error, json!({"ename": 1, "evalue": null, "traceback": ["a", 2]}));
            outputs.message(ExecuteResult, json!({"execution_count": -1}));
        });
        let outputs = &cells[0].outputs;
        assert_eq!(outputs.len(), 14);
        let data = json!({"text/plain": "1", "text/html": "{\"a\":[null]}", "application/x+json": 1, "x": "[\"a\",1]"});
        assert_eq!(outputs[9], json!({"output_type": "display_data", "data": data, "metadata": {}}));
        let error = json!({"output_type": "error", "ename": "1", "evalue": "null", "traceback": ["a", "2"]});
        assert_eq!(outputs[12], error);
        assert_eq!(outputs[13]["execution_count"], Value::Null);
    }

    #[test]
    fn stored_outputs_come_back() {
        let first = collected(|outputs| {
            outputs.stream(StreamName::Stderr, "a");
            outputs.message(DisplayData, shown("b", None));
            outputs.message(ExecuteResult, json!({"data": {}, "execution_count": 3}));
            outputs.message(Error, json!({"ename": "E", "evalue": "", "traceback": ["t"]}));
        });
        let again = collected(|outputs| {
            first[0].outputs.iter().cloned().for_each(|output| outputs.stored(output));
            [json!(null), json!([]), json!({"output_type": "other"})]
                .into_iter()
                .for_each(|wrong| outputs.stored(wrong));
        });
        assert_eq!(first, again);
    }

    #[test]
    fn sizes_are_bounded_also_by_updates() {
        let mut outputs = Outputs::new(100_000);
        outputs.begin_cell();
        for _ in 0..20 {
            outputs.message(DisplayData, shown("small", Some("x")));
        }
        outputs.message(UpdateDisplayData, shown(&"a".repeat(50_000), Some("x")));
        outputs.stream(StreamName::Stdout, &"b".repeat(99_000));
        outputs.stream(StreamName::Stdout, &"c".repeat(50_000));
        outputs.stream(StreamName::Stdout, &"d".repeat(60_000));
        let [cell] = &outputs.finish()[..] else { panic!("one cell") };
        assert_eq!((cell.outputs.len(), cell.dropped), (21, 3));
        let mut outputs = Outputs::new(100_000);
        outputs.begin_cell();
        for _ in 0..10_000 {
            outputs.message(DisplayData, json!({}));
            outputs.message(ClearOutput, json!({}));
        }
        outputs.message(DisplayData, shown(&"a".repeat(90_000), None));
        assert_eq!(outputs.finish()[0].dropped, 0, "cleared outputs give their room back");
    }
}
