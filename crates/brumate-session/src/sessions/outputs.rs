//! Output of a cell: pictures and long texts become files, and written files are reported.

use brumate_engine_api::{EngineError, FileInfo, Session};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::entry::SessionEntry;
use super::error::SessionError;
use super::figures::{FigureFormat, Figures, next_number};
use super::file_access::{OUTPUTS, ReadAdmission, read_range};
use super::files::{FileChanges, SNIFFED_BYTES, UNKNOWN_MIME, guest_path, mime_of_content};
use super::limits::{ANSWER_BYTES, MAX_FIGURE_BYTES, MAX_KEPT_OUTPUTS, MAX_REPORTED_FILES, WORKSPACE};
use super::registry::RecordParts;
use super::report::{CellReport, FullText, SessionFile};
use super::uploads::write_all;
use crate::report::ShownImage;

/// Most saved pictures that are shown, if the cell showed none itself.
const MAX_SAVED_SHOWN: usize = 4;

impl Sessions {
    /// Compares the files with the record and updates it.
    pub(super) async fn note_files(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
    ) -> Result<FileChanges, SessionError> {
        let there = session.list_files(WORKSPACE).await?;
        Ok(self.note_listed(entry, session, there).await)
    }

    async fn note_listed(&self, entry: &SessionEntry, session: &dyn Session, there: Vec<FileInfo>) -> FileChanges {
        let mut changes = FileChanges::between(&entry.record().files, there);
        for name in &changes.written {
            if let Some(file) = changes.files.get_mut(name)
                && file.mime.is_empty()
            {
                let start = session.read_file(&guest_path(name), 0, SNIFFED_BYTES).await;
                file.mime = start.map_or(UNKNOWN_MIME, |chunk| mime_of_content(&chunk.bytes)).to_owned();
            }
        }
        entry.record().files.clone_from(&changes.files);
        changes
    }

    /// Stores the cell's pictures and long texts as files, and reports the files that it wrote. Returns which parts of
    /// the record changed.
    pub(super) async fn after_cell(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
        listed: Result<Vec<FileInfo>, EngineError>,
        figures: Figures,
        report: &mut CellReport,
    ) -> RecordParts {
        let mut changes = match listed {
            Ok(there) => self.note_listed(entry, session, there).await,
            Err(EngineError::Unavailable(_)) => FileChanges::default(),
            Err(error) => {
                tracing::warn!(%error, "the files of a session cannot be listed");
                FileChanges::default()
            }
        };
        if !figures.shown.is_empty() {
            keep_figures(session, figures, &changes, report).await;
            // The cell's own files come before its pictures.
            if let Ok(more) = self.note_files(entry, session).await {
                changes.written.extend(more.written.iter().cloned());
                changes.files = more.files;
            }
        } else {
            show_saved(session, &changes, report).await;
        }
        report.files_changed = changes.any();
        report.files_left_out = changes.written.len().saturating_sub(MAX_REPORTED_FILES);
        let reported = changes.written.iter().take(MAX_REPORTED_FILES);
        report.files = reported
            .filter_map(|name| {
                let file = changes.files.get(name)?;
                Some(SessionFile { name: name.clone(), mime: file.mime.clone(), size: file.size })
            })
            .collect();
        if report.text_bytes() > ANSWER_BYTES {
            let number = entry.record().executions;
            report.full_text = keep_text(session, report, number).await;
        }
        if changes.any() { RecordParts::All } else { RecordParts::WithoutFiles }
    }
}

/// Writes the pictures of a cell to files. A picture that cannot be written is still shown.
async fn keep_figures(session: &dyn Session, figures: Figures, changes: &FileChanges, report: &mut CellReport) {
    let mut number = next_number(changes.files.keys().map(String::as_str));
    for figure in figures.shown {
        let mut formats = figure.formats;
        if let Some(name) = figure.saved.filter(|name| changes.files.contains_key(name)) {
            // The cell has saved this picture itself.
            let saved = formats.remove(0);
            show(saved, name, report);
        }
        // Without other formats no number is used.
        number += u32::from(!formats.is_empty());
        for format in formats {
            let name = format!("figure_{}.{}", number - 1, format.ending);
            let kept = write_all(session, &name, 0, format.bytes.clone(), true).await;
            if let Err(error) = kept {
                report.add_note(format!("{name} could not be kept: {error}\n"));
            }
            show(format, name, report);
        }
    }
    if figures.left_out > 0 {
        report.add_note(format!("{} more figures were left out\n", figures.left_out));
    }
}

/// Adds a picture to the answer, if its type can be shown and it is small enough.
fn show(format: FigureFormat, name: String, report: &mut CellReport) {
    let shown = matches!(format.mime, "image/png" | "image/jpeg" | "image/gif");
    let bytes = format.shown.unwrap_or(format.bytes);
    if shown && !bytes.is_empty() {
        report.run.images.push(ShownImage { name: Some(name), mime: format.mime.to_owned(), bytes });
    }
}

/// Shows pictures that the cell saved, if it showed none: `plt.savefig` is meant to be seen.
async fn show_saved(session: &dyn Session, changes: &FileChanges, report: &mut CellReport) {
    let pictures = changes.written.iter().filter_map(|name| {
        let file = changes.files.get(name)?;
        let shown = matches!(file.mime.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp");
        (shown && file.size <= MAX_FIGURE_BYTES as u64).then_some((name, file))
    });
    for (name, file) in pictures.take(MAX_SAVED_SHOWN) {
        let never = CancellationToken::new();
        let all = read_range(session, name, None, MAX_FIGURE_BYTES as u64, ReadAdmission::always(), &never).await;
        if let Ok((bytes, ..)) = all {
            report.run.images.push(ShownImage { name: Some(name.clone()), mime: file.mime.clone(), bytes });
        }
    }
}

/// Writes the full text of a cell to a file, and removes the oldest of these files.
async fn keep_text(session: &dyn Session, report: &CellReport, number: u64) -> FullText {
    let mut text: String = report.run.output.iter().map(|chunk| chunk.text.as_str()).collect();
    if let Some(result) = &report.run.result {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(result);
    }
    let name = format!("{OUTPUTS}/{number}.txt");
    if let Some(old) = number.checked_sub(MAX_KEPT_OUTPUTS as u64) {
        // Usually there is none: most cells write little.
        let _ = session.remove_file(&guest_path(&format!("{OUTPUTS}/{old}.txt"))).await;
    }
    let mut written = write_all(session, &name, 0, text.clone().into_bytes(), true).await;
    if written.is_err() && session.remove_file(&guest_path(OUTPUTS)).await.is_ok() {
        // The cell had made a file with the directory's name.
        written = write_all(session, &name, 0, text.into_bytes(), true).await;
    }
    match written {
        Ok(()) => FullText::InFile(name),
        Err(error) => FullText::Unavailable(error.to_string()),
    }
}
