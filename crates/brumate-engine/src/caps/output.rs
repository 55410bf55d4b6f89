//! Standard output and error, and the event channel of the guest's driver.

use std::collections::VecDeque;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::{
    Event, FrontendKind, FrontendMessage, GuestRequest, InstallRequest, MAX_BUFFERS, MAX_MIME_TYPES, MAX_PROMPT,
    MimeBundle, RequestBody, StreamName, bounded,
};

/// Largest text of one stream event, in bytes.
const MAX_STREAM_EVENT: usize = 64 << 10;

/// Largest frame the guest's driver may send, in bytes.
const MAX_FRAME: usize = 32 << 20;

/// Bytes of display events kept in one execution.
const MAX_EVENT_BYTES: u64 = 128 << 20;

/// Dropped output is reported when at least this much was dropped since the last report, in bytes, ...
const REPORT_DROPPED: u64 = 4096;

/// ... and at least this part of all that was dropped: a flood of output is no flood of reports.
const REPORT_PART: u64 = 16;

/// Where events go.
pub(crate) type EventSink = Box<dyn FnMut(Event) + Send>;

/// Collects what the guest prints and turns it into events, within limits.
pub(crate) struct GuestOutput {
    sink: Option<EventSink>,
    /// Bytes of stdout and stderr that may still be kept.
    remaining: u64,
    /// Bytes dropped since the last reset.
    dropped: u64,
    /// The next report comes when this many bytes are dropped.
    report_at: u64,
    /// Bytes of event frames that may still be kept.
    events_remaining: u64,
    /// Incomplete UTF-8 sequences at the end of each stream.
    partial: [Vec<u8>; 2],
    /// An incomplete frame.
    frame: Vec<u8>,
    /// Number of requests so far.
    guest_requests: u64,
    /// The last one, if it has no answer yet.
    guest_request: Option<PendingRequest>,
    /// What is left to read of the last answer: JSON, and the end of a line.
    answer: VecDeque<u8>,
}

/// The request that the guest waits with, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingRequest {
    /// A line of input.
    Input(u64),
    /// Packages.
    Install(u64),
}

/// Frame of the driver: one line of JSON.
#[derive(Deserialize)]
enum DriverFrame {
    DisplayData {
        #[serde(deserialize_with = "bounded::texts::<_, MAX_MIME_TYPES>")]
        data: MimeBundle,
    },
    ExecuteResult {
        #[serde(deserialize_with = "bounded::texts::<_, MAX_MIME_TYPES>")]
        data: MimeBundle,
    },
    Frontend {
        kind: FrontendKind,
        content: Box<RawValue>,
        metadata: Box<RawValue>,
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_BUFFERS>")]
        buffers: Vec<String>,
    },
    InputRequest {
        prompt: String,
        password: bool,
    },
    Install(InstallRequest),
}

impl GuestOutput {
    /// Drops everything until [`GuestOutput::begin`].
    pub(crate) fn new() -> GuestOutput {
        GuestOutput {
            sink: None,
            remaining: 0,
            dropped: 0,
            report_at: 1,
            events_remaining: 0,
            partial: [Vec::new(), Vec::new()],
            frame: Vec::new(),
            guest_requests: 0,
            guest_request: None,
            answer: VecDeque::new(),
        }
    }

    /// Starts an execution: events go to `sink`, at most `limit` bytes of text.
    pub(crate) fn begin(&mut self, sink: EventSink, limit: u64) {
        *self =
            GuestOutput { sink: Some(sink), remaining: limit, events_remaining: MAX_EVENT_BYTES, ..GuestOutput::new() };
    }

    /// Ends an execution; returns the number of bytes dropped.
    pub(crate) fn end(&mut self) -> u64 {
        for name in [StreamName::Stdout, StreamName::Stderr] {
            let rest = std::mem::take(&mut self.partial[name as usize]);
            if !rest.is_empty() {
                self.emit_text(name, String::from_utf8_lossy(&rest).into_owned());
            }
        }
        self.sink = None;
        std::mem::take(&mut self.dropped)
    }

    /// Bytes written to a standard stream.
    pub(crate) fn write(&mut self, name: StreamName, bytes: &[u8]) {
        if self.remaining == 0 {
            self.count_dropped(bytes.len() as u64);
            return;
        }
        for chunk in bytes.chunks(MAX_STREAM_EVENT) {
            let mut pending = std::mem::take(&mut self.partial[name as usize]);
            pending.extend_from_slice(chunk);
            let complete = complete_prefix(&pending);
            let rest = pending.split_off(complete);
            self.partial[name as usize] = rest;
            if !pending.is_empty() {
                let mut text = String::from_utf8(pending)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                self.allow(&mut text);
                if !text.is_empty() {
                    self.emit_text(name, text);
                }
            }
        }
    }

    /// Charges `text` to the limit and cuts what goes beyond it. What counts is what is handed on: replacement characters
    /// of invalid bytes are longer than the bytes.
    fn allow(&mut self, text: &mut String) {
        let mut kept = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(text.len());
        while !text.is_char_boundary(kept) {
            kept -= 1;
        }
        let cut = text.len() - kept;
        // A character that does not fit ends the output: nothing shorter may follow it.
        self.remaining = if cut > 0 { 0 } else { self.remaining - kept as u64 };
        text.truncate(kept);
        self.count_dropped(cut as u64);
    }

    /// Counts what is dropped, and tells of it now and then: a machine that is killed can tell no more.
    fn count_dropped(&mut self, count: u64) {
        self.dropped = self.dropped.saturating_add(count);
        if self.dropped >= self.report_at {
            self.report_at = self.dropped.saturating_add(REPORT_DROPPED.max(self.dropped / REPORT_PART));
            self.emit(Event::OutputDropped { bytes: self.dropped });
        }
    }

    /// Bytes written to the event channel: one JSON [`Event`] a line, of the kinds that the driver sends. Anything else is
    /// dropped: only the guest itself is harmed. Text in mime bundles counts as output.
    pub(crate) fn write_frames(&mut self, bytes: &[u8]) {
        // A new request makes the rest of an older answer useless.
        self.answer.clear();
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.frame.len() + part.len() > MAX_FRAME {
                self.frame = Vec::new();
                continue;
            }
            self.frame.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let frame = std::mem::take(&mut self.frame);
                let size = frame.len() as u64;
                if size > self.events_remaining {
                    continue;
                }
                match serde_json::from_slice(&frame) {
                    Ok(DriverFrame::InputRequest { prompt, password }) => self.ask_for_input(prompt, password),
                    Ok(DriverFrame::Install(request)) => {
                        let id = self.next_request();
                        self.guest_request = Some(PendingRequest::Install(id));
                        self.emit(Event::Request(GuestRequest { id, body: RequestBody::Install(request) }));
                    }
                    Ok(DriverFrame::DisplayData { mut data }) => {
                        self.charge_bundle(size, &mut data);
                        self.emit(Event::DisplayData { data });
                    }
                    Ok(DriverFrame::ExecuteResult { mut data }) => {
                        self.charge_bundle(size, &mut data);
                        self.emit(Event::ExecuteResult { data });
                    }
                    Ok(DriverFrame::Frontend { kind, content, metadata, buffers }) => {
                        let decoded: Result<_, _> = buffers.iter().map(|text| BASE64_STANDARD.decode(text)).collect();
                        let Ok(buffers) = decoded else { continue };
                        self.events_remaining -= size;
                        let (content, metadata) = (content.get().to_owned(), metadata.get().to_owned());
                        self.emit(Event::Frontend(FrontendMessage { kind, content, metadata, buffers }));
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Charges a mime bundle whose frame has `size` bytes, and cuts its text.
    fn charge_bundle(&mut self, size: u64, data: &mut MimeBundle) {
        self.events_remaining -= size;
        if let Some(text) = data.get_mut("text/plain") {
            self.allow(text);
        }
    }

    /// The request of the guest that waits for an answer.
    pub(crate) fn guest_request(&self) -> Option<PendingRequest> {
        self.guest_request
    }

    /// It has one.
    pub(crate) fn answer(&mut self, line: Vec<u8>) {
        self.guest_request = None;
        self.answer = line.into();
    }

    /// Reads of the last answer; `None` when nothing is left of it.
    pub(crate) fn read_answer(&mut self, buf: &mut [u8]) -> Option<usize> {
        // Reading from memory does not fail.
        (!self.answer.is_empty()).then(|| std::io::Read::read(&mut self.answer, buf).unwrap_or(0))
    }

    fn ask_for_input(&mut self, mut prompt: String, password: bool) {
        prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT));
        let id = self.next_request();
        self.guest_request = Some(PendingRequest::Input(id));
        self.emit(Event::Request(GuestRequest { id, body: RequestBody::Input { prompt, password } }));
    }

    /// Returns the number of the next request.
    fn next_request(&mut self) -> u64 {
        self.guest_requests += 1;
        self.guest_requests
    }

    fn emit_text(&mut self, name: StreamName, text: String) {
        self.emit(Event::Stream { name, text });
    }

    fn emit(&mut self, event: Event) {
        if let Some(sink) = &mut self.sink {
            sink(event);
        }
    }
}

/// Length of the longest prefix that does not end inside a UTF-8 sequence.
fn complete_prefix(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        if byte & 0b1100_0000 == 0b1000_0000 {
            continue;
        }
        let length = match byte {
            0b1100_0000..=0b1101_1111 => 2,
            0b1110_0000..=0b1110_1111 => 3,
            0b1111_0000..=0b1111_0111 => 4,
            _ => 1,
        };
        return if length > back { bytes.len() - back } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    fn collect(limit: u64, writes: &[&[u8]]) -> (String, u64) {
        let text = Arc::new(Mutex::new(String::new()));
        let copy = text.clone();
        let mut output = GuestOutput::new();
        output.begin(
            Box::new(move |event| {
                if let Event::Stream { text, .. } = event {
                    copy.lock().push_str(&text);
                }
            }),
            limit,
        );
        for bytes in writes {
            output.write(StreamName::Stdout, bytes);
        }
        let dropped = output.end();
        let text = text.lock().clone();
        (text, dropped)
    }

    #[test]
    fn a_character_split_over_two_writes_arrives_whole() {
        assert_eq!(collect(100, &[b"a\xe2\x82", b"\xac!"]), ("a€!".to_owned(), 0));
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        assert_eq!(collect(100, &[b"\xff\xfea\xe2\x82"]), ("\u{fffd}\u{fffd}a\u{fffd}".to_owned(), 0));
    }

    #[test]
    fn output_past_the_limit_is_counted() {
        assert_eq!(collect(4, &[b"abc", b"def", b"ghi"]), ("abcd".to_owned(), 5));
    }

    #[test]
    fn replacement_characters_count_as_they_are() {
        assert_eq!(collect(7, &[b"\xff\xff\xff\xff"]), ("\u{fffd}\u{fffd}".to_owned(), 6));
    }

    #[test]
    fn a_guest_cannot_forge_streams_past_the_limit() {
        let frames = Arc::new(Mutex::new(Vec::new()));
        let copy = frames.clone();
        let mut output = GuestOutput::new();
        output.begin(Box::new(move |event| copy.lock().push(event)), 5);
        output.write_frames(b"{\"Stream\":{\"name\":\"stdout\",\"text\":\"forged\"}}\nnonsense\n");
        output.write_frames(b"{\"DisplayData\":{\"data\":{\"text/plain\":\"12345678\"}}}\n");
        assert_eq!(output.end(), 3);
        let data = [("text/plain".to_owned(), "12345".to_owned())].into();
        assert_eq!(*frames.lock(), [Event::OutputDropped { bytes: 3 }, Event::DisplayData { data }]);
    }

    #[test]
    fn dropped_output_is_reported_now_and_then() {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let copy = reports.clone();
        let mut output = GuestOutput::new();
        output.begin(
            Box::new(move |event| {
                if let Event::OutputDropped { bytes } = event {
                    copy.lock().push(bytes);
                }
            }),
            10,
        );
        const WRITES: u64 = 100_000;
        for _ in 0..WRITES {
            output.write(StreamName::Stderr, &[b'x'; 100]);
        }
        let dropped = output.end();
        assert_eq!(dropped, WRITES * 100 - 10);
        let reports = reports.lock();
        assert_eq!(reports[0], 90);
        assert!(reports.is_sorted() && reports.len() < 150, "{reports:?}");
        let last = reports[reports.len() - 1];
        assert!(last > dropped - dropped / REPORT_PART - 200, "{last} of {dropped}");
    }

    #[test]
    fn a_bundle_of_very_many_representations_is_no_event() {
        let frames = Arc::new(Mutex::new(Vec::new()));
        let copy = frames.clone();
        let mut output = GuestOutput::new();
        output.begin(Box::new(move |event| copy.lock().push(event)), 5);
        let bundle = |count: usize| {
            let data: crate::api::MimeBundle = (0..count).map(|number| (number.to_string(), String::new())).collect();
            serde_json::to_vec(&Event::DisplayData { data }).unwrap()
        };
        output.write_frames(&[&bundle(crate::api::MAX_MIME_TYPES + 1), &b"\n"[..]].concat());
        assert!(frames.lock().is_empty());
        output.write_frames(&[&bundle(crate::api::MAX_MIME_TYPES), &b"\n"[..]].concat());
        assert_eq!(frames.lock().len(), 1);
    }
}
