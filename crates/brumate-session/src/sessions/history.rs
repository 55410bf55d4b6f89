//! History of a session: its cells with their outputs, for notebooks.
//!
//! A cell is recorded as it was reported, also when it failed, was stopped or was undone. The registry keeps the cells. They survive
//! hibernation, restarts, forks and snapshots, and go with a reset and with the session. All sizes are bounded: the outputs of the oldest cells
//! go first.

use std::path::Path;

use brumate_engine_api::{Event, ExecuteMode, FrontendKind, FrontendRequest, MimeBundle};
use brumate_notebook::{Notebook, OUTPUT_DROPPED, OutputPolicy, Outputs, Recorded};
use brumate_packages::PYTHON_FULL_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Sessions;
use super::directory::{DataDir, DataDirError};
use super::entry::SessionEntry;
use super::error::SessionError;
use super::figures::{DISPLAY_ID, ORIGINAL, PNG, SAVED};
use super::file_access::{FilePart, FileRange, ReadAdmission};
use super::id::SessionId;
use super::limits::MAX_RESOURCE_BYTES;
use super::registry::SqliteRegistry;
use super::report::CellReport;
use crate::report::prefix;
use crate::request::Request;

/// Most cells of a session that are kept.
pub const MAX_HISTORY_CELLS: u64 = 1000;
/// Most bytes of the cells of a session, code and outputs.
pub const MAX_HISTORY_BYTES: u64 = 16 << 20;
/// Most bytes of the outputs of one cell.
pub const MAX_CELL_OUTPUT_BYTES: usize = 4 << 20;
/// Most bytes of a cell's code; the rest is cut.
pub const MAX_CELL_CODE_BYTES: usize = 256 << 10;

/// Most bytes of the cells of a session in a snapshot.
pub const MAX_SNAPSHOT_CELL_BYTES: u64 = 6 << 20;

/// Bytes of a notebook's file that its cells' texts do not count.
const SMALL_NOTEBOOK_BYTES: u64 = 1 << 20;
/// MIME type of notebooks.
const NOTEBOOK_MIME: &str = "application/x-ipynb+json";

/// Name of Brumate's part of a cell's metadata.
const METADATA: &str = "brumate";
/// Name in it of whether the code was cut.
const CODE_CUT: &str = "code_cut";

/// A cell that a session has run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The code, or its beginning.
    pub code: String,
    /// Whether the code was cut.
    pub is_cut: bool,
    /// Number of the cell, as `In [n]` shows it.
    pub execution_count: Option<u64>,
    /// The outputs as nbformat has them, as JSON. `None`: they were dropped, because later cells needed the room.
    pub outputs: Option<String>,
    /// Outputs that were dropped because the cell had too many.
    pub dropped: u64,
}

impl CellRecord {
    /// Returns the bytes that the cell counts.
    pub(crate) fn bytes(&self) -> u64 {
        /// Bytes of a row besides its texts.
        const ROW: usize = 64;
        (ROW + self.code.len() + self.outputs.as_ref().map_or(0, String::len)) as u64
    }
}

/// Collects a cell while it runs.
#[derive(Debug)]
pub(super) struct CellRecorder {
    record: CellRecord,
    outputs: Outputs,
    has_error: bool,
}

impl CellRecorder {
    /// Makes the recorder of a request; `None` for one that is no cell. `number`: of the cell in its session.
    pub(super) fn of(request: &Request, number: u64) -> Option<Self> {
        let code = match request.mode {
            _ if request.unrecorded => return None,
            ExecuteMode::Cell | ExecuteMode::NotebookCell => request.code.clone(),
            ExecuteMode::Frontend => FrontendRequest::parse(&request.code).ok()?.cell()?.to_owned(),
            _ => return None,
        };
        if code.trim().is_empty() {
            return None;
        }
        let kept = prefix(&code, MAX_CELL_CODE_BYTES);
        let record = CellRecord {
            is_cut: kept.len() < code.len(),
            code: kept.to_owned(),
            execution_count: Some(number),
            ..CellRecord::default()
        };
        let mut outputs = Outputs::new(MAX_CELL_OUTPUT_BYTES);
        outputs.begin_cell();
        Some(Self { record, outputs, has_error: false })
    }

    /// Takes an event of the cell.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Stream { name, text } => self.outputs.stream(*name, text),
            Event::DisplayData { data } | Event::ExecuteResult { data } => {
                let is_result = matches!(event, Event::ExecuteResult { .. });
                let kind = if is_result { FrontendKind::ExecuteResult } else { FrontendKind::DisplayData };
                if data.values().map(String::len).sum::<usize>() > 2 * MAX_CELL_OUTPUT_BYTES {
                    return self.outputs.note_dropped();
                }
                self.show(kind, data);
            }
            Event::Frontend(message) if message.content.len() > MAX_CELL_OUTPUT_BYTES => self.outputs.note_dropped(),
            Event::Frontend(message) => {
                let Ok(content) = serde_json::from_str::<Value>(&message.content) else { return };
                match message.kind {
                    FrontendKind::ExecuteInput => self.record.execution_count = content["execution_count"].as_u64(),
                    kind => {
                        self.has_error |= kind == FrontendKind::Error;
                        self.outputs.message(kind, content);
                    }
                }
            }
            Event::OutputDropped { .. } | Event::Request(_) => {}
        }
    }

    /// Takes a displayed object, or the value of the last expression.
    fn show(&mut self, kind: FrontendKind, bundle: &MimeBundle) {
        let mut data = Map::new();
        for (mime, payload) in bundle {
            let is_json = mime == "application/json" || mime.ends_with("+json");
            let payload = match mime.as_str() {
                ORIGINAL | SAVED | DISPLAY_ID => continue,
                // The picture as it was drawn.
                PNG => bundle.get(ORIGINAL).unwrap_or(payload).as_str().into(),
                _ if is_json => serde_json::from_str(payload).unwrap_or_else(|_| payload.as_str().into()),
                _ => payload.as_str().into(),
            };
            data.insert(mime.clone(), payload);
        }
        let mut content = json!({"data": data, "metadata": {}, "execution_count": self.record.execution_count});
        let display = bundle.get(DISPLAY_ID).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let mut kind = kind;
        if let Some(display) = display {
            if display["update"] == true {
                kind = FrontendKind::UpdateDisplayData;
            }
            content["transient"] = json!({"display_id": display["display_id"]});
        }
        self.outputs.message(kind, content);
    }

    /// Returns the cell as it was reported.
    pub(super) fn finish(mut self, report: &CellReport) -> CellRecord {
        let error = report.run.error.as_deref().filter(|_| !self.has_error || report.rolled_back);
        if let Some(error) = error {
            self.outputs.message(FrontendKind::Error, error_of(error, &report.run.traceback));
        }
        let [Recorded { outputs, dropped }] = &self.outputs.finish()[..] else { return self.record };
        self.record.dropped = *dropped;
        self.record.outputs = Some(json!(outputs).to_string());
        self.record
    }
}

/// Returns the content of an error: a text that begins with the name of an exception, and its traceback.
fn error_of(error: &str, traceback: &[String]) -> Value {
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_');
    let (name, message) = match error.split_once(": ").filter(|(name, _)| is_name(name)) {
        Some((name, message)) => (name, message),
        None if is_name(&error) => (error, ""),
        None => ("SandboxError", error),
    };
    let traceback: Vec<&str> = match traceback {
        [] => error.lines().collect(),
        lines => lines.iter().map(String::as_str).collect(),
    };
    json!({"ename": name, "evalue": message, "traceback": traceback})
}

/// Removes the oldest cells until the others have at most `max_bytes`.
pub(super) fn keep_newest(cells: &mut Vec<CellRecord>, max_bytes: u64) {
    let mut bytes = 0_u64;
    let kept = cells.iter().rev().take_while(|cell| {
        bytes = bytes.saturating_add(cell.bytes());
        bytes <= max_bytes
    });
    let kept = kept.count();
    cells.drain(..cells.len() - kept);
}

/// Makes a notebook of cells. Its file has at most `max_bytes`, as far as outputs can be left out: those of the oldest cells go first.
pub fn notebook_of(cells: Vec<CellRecord>, policy: OutputPolicy, max_bytes: u64) -> Notebook {
    let mut notebook = Notebook::new(PYTHON_FULL_VERSION);
    let mut room = usize::try_from(MAX_HISTORY_BYTES).unwrap_or(usize::MAX).saturating_mul(2);
    // The newest cells get the room first.
    let made = cells.into_iter().rev().map(|cell| {
        let CellRecord { code, is_cut, execution_count, outputs, dropped } = cell;
        let mut collected = Outputs::new(room.min(2 * MAX_CELL_OUTPUT_BYTES));
        collected.begin_cell();
        let stored = outputs.as_ref().and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
        let lost = if stored.is_none() { 1 } else { 0 };
        stored.into_iter().flatten().for_each(|output| collected.stored(policy.output(output)));
        room = room.saturating_sub(collected.bytes());
        let Recorded { outputs, dropped: more } = collected.of_cell(0);
        let dropped = dropped.saturating_add(more).saturating_add(lost);
        (code, is_cut, execution_count, outputs, dropped)
    });
    let made: Vec<_> = made.collect();
    for (index, (code, is_cut, execution_count, outputs, dropped)) in made.into_iter().rev().enumerate() {
        notebook.insert_code(index, code, Some(format!("cell-{}", index + 1)));
        notebook.set_execution_count(index, execution_count);
        notebook.set_outputs(index, outputs);
        let mut metadata = Map::new();
        if dropped > 0 {
            metadata.insert(OUTPUT_DROPPED.to_owned(), dropped.into());
        }
        if is_cut {
            metadata.insert(CODE_CUT.to_owned(), true.into());
        }
        if !metadata.is_empty() {
            notebook.set_cell_metadata(index, METADATA, metadata.into());
        }
    }
    shorten(&mut notebook, max_bytes);
    notebook
}

/// Drops outputs, beginning with the oldest cells, until the notebook's file has at most `max_bytes`.
fn shorten(notebook: &mut Notebook, max_bytes: u64) {
    let mut first = 0;
    while notebook.to_json().len() as u64 > max_bytes && first < notebook.len() {
        // Half of the cells that are left, so that few files are made.
        let next = first + (notebook.len() - first).div_ceil(2);
        for index in first..next {
            notebook.set_outputs(index, Vec::new());
            notebook.set_cell_metadata(index, METADATA, json!({OUTPUT_DROPPED: 1}));
        }
        first = next;
    }
}

impl Sessions {
    /// Returns a session as a notebook: its cells with their outputs, as far as they are kept. Does not resume the session. The notebook's
    /// file has at most `max_bytes`.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`], [`SessionError::Storage`].
    pub async fn notebook(
        &self,
        principal: &str,
        id: &str,
        policy: OutputPolicy,
        max_bytes: u64,
    ) -> Result<Notebook, SessionError> {
        let entry = self.find(principal, id).await?;
        let id = entry.record().id.clone();
        let cells = self.inner.registry.store().cells(id).await?;
        let made = tokio::task::spawn_blocking(move || notebook_of(cells, policy, max_bytes)).await;
        made.map_err(|error| SessionError::Storage(error.to_string()))
    }

    /// Returns a session as the file of a notebook, or a range of it, as [`Sessions::read_part`] does. Outputs do nothing in the client that
    /// shows them.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`], [`SessionError::Storage`], [`SessionError::Refused`].
    pub async fn read_notebook(
        &self,
        principal: &str,
        id: &str,
        range: Option<FileRange>,
        admission: ReadAdmission,
    ) -> Result<FilePart, SessionError> {
        let history = self.find(principal, id).await?.record().history_bytes;
        // JSON with white space, and the cells' other fields.
        let most = history.saturating_mul(4).saturating_add(SMALL_NOTEBOOK_BYTES).min(MAX_RESOURCE_BYTES);
        admission.admit(most).await?;
        let notebook = self.notebook(principal, id, OutputPolicy::Passive, most).await?;
        let mut bytes = notebook.to_json().into_bytes();
        let size = bytes.len() as u64;
        let FileRange { offset, length } = range.unwrap_or(FileRange { offset: 0, length: None });
        let offset = offset.min(size);
        let end = length.map_or(size, |length| offset.saturating_add(length).min(size));
        // Both are at most the length.
        bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        bytes.drain(..usize::try_from(offset).unwrap_or_default());
        Ok(FilePart { bytes, mime: NOTEBOOK_MIME.to_owned(), offset, size })
    }

    /// Reads the cells of a session in a data directory, also while a server uses it. Returns `None` if there is no such session.
    ///
    /// # Errors
    ///
    /// [`DataDirError::Registry`] when they cannot be read.
    pub fn read_cells(data_dir: &Path, id: &str) -> Result<Option<Vec<CellRecord>>, DataDirError> {
        let (Some(directory), Some(id)) = (DataDir::open_read_only(data_dir), SessionId::parse(id)) else {
            return Ok(None);
        };
        SqliteRegistry::read_cells(&directory, &id)
    }

    /// Stores a cell that has run. A failure is only logged: the session itself is stored.
    pub(super) async fn record_cell(&self, entry: &SessionEntry, cell: CellRecord) {
        let id = entry.record().id.clone();
        match self.inner.registry.store().add_cell(id, cell).await {
            Ok(bytes) => entry.record().history_bytes = bytes,
            Err(error) => tracing::warn!(session = ?entry.record().id, %error, "a cell is missing in the history"),
        }
    }

    /// Gives `child`, a copy of a session, the cells of that session.
    pub(super) async fn copy_cells(&self, parent: SessionId, child: &SessionEntry) -> Result<(), SessionError> {
        let cells = self.inner.registry.store().cells(parent).await?;
        self.set_cells(child, cells).await
    }

    /// Sets the cells of a session that has none.
    pub(super) async fn set_cells(&self, entry: &SessionEntry, cells: Vec<CellRecord>) -> Result<(), SessionError> {
        let id = entry.record().id.clone();
        let bytes = self.inner.registry.store().set_cells(id, cells).await?;
        entry.record().history_bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_name_of_their_exception() {
        for (error, name, message) in [
            ("ValueError: a: b", "ValueError", "a: b"),
            ("KeyboardInterrupt", "KeyboardInterrupt", ""),
            ("The code was killed: it is dead.", "SandboxError", "The code was killed: it is dead."),
        ] {
            let content = error_of(error, &[]);
            assert_eq!((&content["ename"], &content["evalue"]), (&json!(name), &json!(message)));
            assert_eq!(content["traceback"], json!([error]));
        }
    }

    #[test]
    fn hostile_records_make_a_small_valid_notebook() {
        let deep = format!(
            "[{{\"output_type\": \"display_data\", \"data\": {{\"application/json\": {}1{}}}}}]",
            "[".repeat(120),
            "]".repeat(120)
        );
        let wide = json!([{"output_type": "display_data", "data": {"application/json": vec![1; 20_000]}}]).to_string();
        let html = json!([{"output_type": "display_data", "data": {"text/html": "<script>a</script>"}}]).to_string();
        let texts = ["", "x", "{}", "[1]", r#"[{"output_type": "stream", "text": 1, "more": 2}]"#, &deep, &wide, &html];
        let cell =
            |text: &&str| CellRecord { code: "a".to_owned(), outputs: Some((*text).to_owned()), ..Default::default() };
        let cells: Vec<CellRecord> = texts.iter().map(cell).collect();
        let notebook = notebook_of(cells.clone(), OutputPolicy::Passive, MAX_HISTORY_BYTES);
        let text = notebook.to_json();
        let written: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(written["cells"][4]["outputs"], json!([{"output_type": "stream", "name": "stdout", "text": []}]));
        assert_eq!(written["cells"][0]["metadata"], json!({"brumate": {"outputs_dropped": 1}}));
        assert!(!text.contains("script"));
        let short = notebook_of(vec![cells[6].clone(); 40], OutputPolicy::Active, 1 << 20);
        assert!(short.to_json().len() <= 1 << 20);
        assert!(short.to_json().contains("application/json"), "the newest outputs stay");
    }
}
