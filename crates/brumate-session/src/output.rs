//! Output of running code: collected within its limits.

use brumate_engine_api::{Event, Limits, MimeBundle, StreamName};

use crate::sessions::figures::{Figures, figure_of, picture_of, text_of};

/// Most pictures of one run.
pub const MAX_RUN_FIGURES: usize = 32;
/// Most bytes of all pictures of one run.
pub const MAX_RUN_FIGURE_BYTES: usize = 64 << 20;

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Stream that it was written to.
    pub name: StreamName,
    /// The text.
    pub text: String,
}

/// Collects what code writes and shows, and enforces the limits itself: the guest's own counts are not trusted.
#[derive(Debug)]
pub(crate) struct OutputCollector {
    /// Written and displayed text, in order.
    pub(crate) chunks: Vec<OutputChunk>,
    /// Bytes of text beyond the limit, which were dropped.
    pub(crate) dropped: u64,
    /// Text of the last expression's value, if the machine shows it.
    pub(crate) result: Option<String>,
    pub(crate) pictures: Pictures,
    /// Whether text of the same stream may be joined to the last chunk.
    joins: bool,
    /// Bytes of text that still fit.
    room: usize,
}

/// Pictures that code shows.
#[derive(Debug)]
pub(crate) enum Pictures {
    /// Pictures of a run, shown with its answer. Their text is output as well.
    Shown(Vec<Vec<u8>>),
    /// Pictures of a cell, which become files. They replace their text.
    Kept(Figures),
}

impl Pictures {
    /// Returns the pictures of a run.
    pub(crate) fn into_shown(self) -> Vec<Vec<u8>> {
        match self {
            Self::Shown(shown) => shown,
            Self::Kept(_) => Vec::new(),
        }
    }

    /// Returns the pictures of a cell.
    pub(crate) fn into_kept(self) -> Figures {
        match self {
            Self::Shown(_) => Figures::default(),
            Self::Kept(figures) => figures,
        }
    }
}

impl OutputCollector {
    /// Makes the collector of a run.
    pub(crate) fn of_run(limits: &Limits) -> Self {
        Self::new(limits, Pictures::Shown(Vec::new()))
    }

    /// Makes the collector of a cell.
    pub(crate) fn of_cell(limits: &Limits) -> Self {
        Self::new(limits, Pictures::Kept(Figures::default()))
    }

    fn new(limits: &Limits, pictures: Pictures) -> Self {
        let room = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
        Self { chunks: Vec::new(), dropped: 0, result: None, pictures, joins: true, room }
    }

    /// Collects an event. Returns the output to forward.
    pub(crate) fn take(&mut self, event: Event) -> Option<OutputChunk> {
        match event {
            Event::DisplayData { data } => {
                let text = self.show(&data)?;
                // A cell's answer lists displayed objects one by one.
                let is_apart = matches!(self.pictures, Pictures::Kept(_));
                self.joins &= !is_apart;
                let kept = self.push(StreamName::Stdout, &text)?;
                self.joins = !is_apart;
                Some(kept)
            }
            Event::ExecuteResult { data } if matches!(self.pictures, Pictures::Kept(_)) => {
                // With `ast_node_interactivity` a cell has several results; the last one counts.
                if let Some(earlier) = self.result.take() {
                    self.joins = false;
                    self.chunks.push(OutputChunk { name: StreamName::Stdout, text: format!("{earlier}\n") });
                }
                self.result = text_of(&data).map(|text| self.keep(text).to_owned());
                if let Pictures::Kept(figures) = &mut self.pictures {
                    figures.keep(&data);
                }
                None
            }
            event => output_of(event).and_then(|OutputChunk { name, text }| {
                let kept = self.push(name, &text)?;
                self.joins = true;
                Some(kept)
            }),
        }
    }

    /// Keeps the picture of a displayed object. Returns its text; `None` if the picture replaces it.
    fn show(&mut self, data: &MimeBundle) -> Option<String> {
        match &mut self.pictures {
            Pictures::Kept(figures) => {
                if figure_of(data) && figures.keep(data) {
                    return None;
                }
            }
            Pictures::Shown(shown) => {
                let picture = picture_of(data).filter(|picture| {
                    let all = shown.iter().map(Vec::len).sum::<usize>() + picture.len();
                    shown.len() < MAX_RUN_FIGURES && all <= MAX_RUN_FIGURE_BYTES
                });
                shown.extend(picture);
            }
        }
        shown_text(data)
    }

    /// Adds as much of a text as fits, and returns that part; `None` if nothing of it fits.
    fn push(&mut self, name: StreamName, text: &str) -> Option<OutputChunk> {
        let kept = self.keep(text).to_owned();
        match self.chunks.last_mut() {
            _ if kept.is_empty() => return None,
            Some(last) if self.joins && last.name == name => last.text.push_str(&kept),
            _ => self.chunks.push(OutputChunk { name, text: kept.clone() }),
        }
        Some(OutputChunk { name, text: kept })
    }

    /// Returns the part of a text that fits. After a cut nothing more fits, so that the output has no gap.
    fn keep<'a>(&mut self, text: &'a str) -> &'a str {
        let kept = prefix(text, self.room);
        self.dropped = self.dropped.saturating_add((text.len() - kept.len()) as u64);
        self.room = if kept.len() < text.len() { 0 } else { self.room - kept.len() };
        kept
    }
}

/// Returns the output of an event. A displayed object is shown by its text, as a terminal shows it.
pub(crate) fn output_of(event: Event) -> Option<OutputChunk> {
    match event {
        Event::Stream { name, text } => Some(OutputChunk { name, text }),
        Event::DisplayData { data } => shown_text(&data).map(|text| OutputChunk { name: StreamName::Stdout, text }),
        // The value, the error and the status come with the outcome.
        Event::ExecuteResult { .. }
        | Event::Error { .. }
        | Event::InputRequest { .. }
        | Event::Install(_)
        | Event::OutputDropped { .. }
        | Event::Status { .. } => None,
    }
}

/// Returns the text of a displayed object, as a line.
fn shown_text(data: &MimeBundle) -> Option<String> {
    text_of(data).map(|text| format!("{text}\n"))
}

/// Returns the longest prefix of at most `limit` bytes that ends at a character boundary.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
