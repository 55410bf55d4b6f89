//! States of widgets, collected from the messages of comms, as nbclient does.
//!
//! A notebook keeps the states, so that a client can show its widgets without a kernel. An output widget (`@jupyter-widgets/output`) takes
//! the outputs of the request that it names.

use std::collections::BTreeMap;

use brumate_engine_api::FrontendKind;
use serde_json::{Map, Value, json};

use crate::outputs::{Outputs, size};

/// Most bytes of the states of all widgets. What would exceed them is dropped.
const MAX_BYTES: usize = 64 << 20;
/// Most bytes of the outputs in one output widget.
const MAX_OUTPUT_BYTES: usize = 4 << 20;
/// Most output widgets. Further ones take no outputs: their cells show them.
const MAX_OUTPUT_WIDGETS: usize = 128;
/// Most output widgets that take outputs at the same time: they are nested.
const MAX_NESTED: usize = 100;

/// The widgets of a notebook.
#[derive(Debug, Default)]
pub struct Widgets {
    models: BTreeMap<String, Model>,
    /// Requests whose outputs are taken, each with the id of the output widget; the last one counts.
    takers: Vec<(String, String)>,
    bytes: usize,
    /// Number of output widgets that can take outputs.
    output_widgets: usize,
}

#[derive(Debug, Default)]
struct Model {
    state: Map<String, Value>,
    /// Binary parts of the state by path, as notebooks have them.
    buffers: BTreeMap<String, Value>,
    output: Option<OutputWidget>,
}

#[derive(Debug)]
struct OutputWidget {
    outputs: Outputs,
    /// Whether the kernel does not know the outputs yet.
    is_changed: bool,
}

impl Widgets {
    /// Takes a message of a comm. `buffers`: its binary parts, in base64.
    pub fn message(&mut self, kind: FrontendKind, content: &Value, buffers: &[String]) {
        let Some(id) = content.get("comm_id").and_then(Value::as_str) else { return };
        let data = &content["data"];
        let Some(state) = data.get("state").and_then(Value::as_object) else { return };
        let bytes = size(&data["state"]).saturating_add(buffers.iter().map(String::len).sum()).saturating_add(id.len());
        if !matches!(kind, FrontendKind::CommOpen | FrontendKind::CommMsg)
            || bytes > MAX_BYTES.saturating_sub(self.bytes)
        {
            return;
        }
        // Values that are replaced still count: the code sends the same ones again and again.
        self.bytes = self.bytes.saturating_add(bytes);
        let model = self.models.entry(id.to_owned()).or_default();
        model.state.extend(state.iter().map(|(name, value)| (name.clone(), value.clone())));
        let paths = data.get("buffer_paths").and_then(Value::as_array);
        for (path, buffer) in paths.into_iter().flatten().zip(buffers) {
            let buffer = json!({"data": buffer, "encoding": "base64", "path": path});
            model.buffers.insert(path.to_string(), buffer);
        }
        if kind == FrontendKind::CommOpen {
            let is_output = state.get("_model_module").is_some_and(|module| module == "@jupyter-widgets/output")
                && state.get("_model_name").is_some_and(|name| name == "OutputModel");
            if is_output && model.output.is_none() && self.output_widgets < MAX_OUTPUT_WIDGETS {
                self.output_widgets += 1;
                let mut outputs = Outputs::new(MAX_OUTPUT_BYTES);
                outputs.begin_cell();
                model.output = Some(OutputWidget { outputs, is_changed: false });
            }
        } else if model.output.is_some()
            && let Some(request) = state.get("msg_id").and_then(Value::as_str)
        {
            if request.is_empty() {
                let last = self.takers.iter().rposition(|(_, widget)| widget == id);
                last.map(|last| self.takers.remove(last));
            } else if self.takers.len() < MAX_NESTED {
                self.takers.push((request.to_owned(), id.to_owned()));
            }
        }
    }

    /// Returns the outputs of the widget that takes those of a request, if one does.
    pub fn taker(&mut self, request: &str) -> Option<&mut Outputs> {
        let (_, id) = self.takers.iter().rev().find(|(taken, _)| taken == request)?;
        let output = self.models.get_mut(id)?.output.as_mut()?;
        output.is_changed = true;
        Some(&mut output.outputs)
    }

    /// Returns the ids and outputs of the output widgets that have changed since the last call. Their states have the outputs now.
    pub fn changed(&mut self) -> Vec<(String, Value)> {
        let mut changed = Vec::new();
        for (id, model) in &mut self.models {
            if let Some(output) = model.output.as_mut().filter(|output| output.is_changed) {
                output.is_changed = false;
                let outputs = Value::Array(output.outputs.of_cell(0).outputs);
                model.state.insert("outputs".to_owned(), outputs.clone());
                changed.push((id.clone(), outputs));
            }
        }
        changed
    }

    /// Returns the states by id, as `application/vnd.jupyter.widget-state+json` has them.
    pub fn finish(self) -> Map<String, Value> {
        let is_widget = |model: &Model| model.state.contains_key("_model_name");
        let shown = |model: Model| {
            let part = |name: &str| model.state.get(name).cloned().unwrap_or_default();
            let mut shown = json!({
                "model_name": part("_model_name"),
                "model_module": part("_model_module"),
                "model_module_version": part("_model_module_version"),
                "state": model.state,
            });
            if !model.buffers.is_empty() {
                shown["buffers"] = model.buffers.into_values().collect();
            }
            shown
        };
        self.models.into_iter().filter(|(_, model)| is_widget(model)).map(|(id, model)| (id, shown(model))).collect()
    }
}

#[cfg(test)]
mod tests {
    use FrontendKind::{CommMsg, CommOpen};
    use brumate_engine_api::StreamName;

    use super::*;

    fn message(id: &str, state: Value) -> Value {
        json!({"comm_id": id, "data": {"state": state, "buffer_paths": [["a"]]}})
    }

    #[test]
    fn states_are_merged() {
        let mut widgets = Widgets::default();
        widgets.message(CommOpen, &message("a", json!({"_model_name": "X", "v": 1, "w": 2})), &["AA==".to_owned()]);
        widgets.message(CommMsg, &message("a", json!({"v": 3})), &[]);
        widgets.message(CommOpen, &message("b", json!({"v": 1})), &[]);
        for wrong in [json!(1), json!({"comm_id": 1}), json!({"comm_id": "a"}), json!({"comm_id": "a", "data": []})] {
            widgets.message(CommMsg, &wrong, &[]);
        }
        let buffer = json!({"data": "AA==", "encoding": "base64", "path": ["a"]});
        let model = json!({
            "model_name": "X",
            "model_module": null,
            "model_module_version": null,
            "state": {"_model_name": "X", "v": 3, "w": 2},
            "buffers": [buffer],
        });
        assert_eq!(Value::Object(widgets.finish()), json!({"a": model}));
    }

    #[test]
    fn output_widgets_take_outputs() {
        let mut widgets = Widgets::default();
        let output = json!({"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output", "msg_id": ""});
        widgets.message(CommOpen, &message("a", output), &[]);
        assert!(widgets.taker("r").is_none());
        widgets.message(CommMsg, &message("a", json!({"msg_id": "r"})), &[]);
        assert!(widgets.taker("other").is_none());
        widgets.taker("r").unwrap().stream(StreamName::Stdout, "x");
        widgets.message(CommMsg, &message("a", json!({"msg_id": ""})), &[]);
        assert!(widgets.taker("r").is_none());
        let outputs = json!([{"output_type": "stream", "name": "stdout", "text": "x"}]);
        assert_eq!(widgets.changed(), [("a".to_owned(), outputs.clone())]);
        assert!(widgets.changed().is_empty());
        assert_eq!(widgets.finish()["a"]["state"]["outputs"], outputs);
    }

    #[test]
    fn states_are_bounded() {
        let mut widgets = Widgets::default();
        let large = "x".repeat(MAX_BYTES / 4);
        for number in 0..10 {
            widgets.message(CommOpen, &message(&number.to_string(), json!({"_model_name": large})), &[]);
        }
        for _ in 0..10_000 {
            widgets.message(CommMsg, &message("0", json!({"msg_id": "r"})), &[]);
        }
        assert!(widgets.takers.len() <= MAX_NESTED);
        let output = json!({"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output"});
        for number in 0..2 * MAX_OUTPUT_WIDGETS {
            widgets.message(CommOpen, &message(&format!("o{}", number % 200), output.clone()), &[]);
        }
        assert_eq!(widgets.models.values().filter(|model| model.output.is_some()).count(), MAX_OUTPUT_WIDGETS);
        assert_eq!(widgets.models.keys().filter(|id| id.len() == 1).count(), 3);
    }
}
