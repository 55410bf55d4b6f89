//! Streams: the messages that are kept, their readers, and the time for which they are kept.

use super::super::budget::Budget;
use super::stream::KEEP_READ;
use super::*;
use rmcp::model::{JsonRpcMessage, NumberOrString, ServerJsonRpcMessage, ServerResult};
use std::time::Duration;

fn message(id: u32) -> ChargedMessage {
    let message = ServerJsonRpcMessage::response(ServerResult::empty(()), NumberOrString::Number(id.into()));
    ChargedMessage::small(message, &account())
}

fn account() -> Account {
    Budget::default().account(None)
}

fn streams(bounds: ResumptionLimits) -> SessionStreams {
    SessionStreams::new(bounds, None, account())
}

fn bounds(events: usize, bytes: usize, streams: usize) -> ResumptionLimits {
    ResumptionLimits { max_events: events, max_bytes: bytes, max_streams: streams, retention: Duration::from_secs(60) }
}

fn request(id: u32) -> RequestId {
    NumberOrString::Number(id.into())
}

fn read(streams: &mut SessionStreams, id: u64, reader: u64, mut after: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let NextEvent::Event(event) = streams.next(id, reader, after, false) {
        after = event.number;
        numbers.push(event.number);
    }
    numbers
}

#[test]
fn a_stream_keeps_its_newest_messages() {
    let mut streams = streams(bounds(3, usize::MAX, 8));
    let id = streams.open(request(1), None, None).expect("a free id");
    for number in 0..5 {
        streams.push(id, message(number));
    }
    let reader = streams.attach(id, true).expect("a stream");
    assert_eq!(read(&mut streams, id, reader, 0), [3, 4, 5]);
    assert_eq!(read(&mut streams, id, reader, 4), [5]);
}

/// Returns the text of an event that is an error.
fn error_of(event: &StreamEvent) -> Option<String> {
    match &*event.message {
        JsonRpcMessage::Error(error) => Some(error.error.message.to_string()),
        _ => None,
    }
}

fn event(streams: &mut SessionStreams, id: u64, reader: u64, after: u64) -> StreamEvent {
    match streams.next(id, reader, after, false) {
        NextEvent::Event(event) => event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_large_answer_goes_to_its_reader_and_is_not_kept() {
    let mut streams = streams(bounds(8, 10, 8));
    let id = streams.open(request(1), None, None).expect("a free id");
    let reader = streams.attach(id, true).expect("a stream");
    streams.push(id, message(1));
    streams.end(&request(1));
    assert_eq!(error_of(&event(&mut streams, id, reader, 0)), None);
    // A client that comes back for it is told to ask again.
    let second = streams.attach(id, true).expect("a stream");
    let text = error_of(&event(&mut streams, id, second, 0)).expect("an error");
    assert!(text.contains("send the request again"), "{text}");
    assert!(matches!(streams.next(id, second, 1, false), NextEvent::End));
}

#[test]
fn a_large_answer_that_nobody_reads_is_not_held() {
    let mut streams = streams(bounds(8, 10, 8));
    let [gone, absent] = [1, 2].map(|id| streams.open(request(id), None, None).expect("a free id"));
    let reader = streams.attach(gone, true);
    for id in [gone, absent] {
        streams.push(id, message(1));
    }
    streams.detach(gone, reader);
    for id in [gone, absent] {
        let reader = streams.attach(id, true).expect("a stream");
        assert!(error_of(&event(&mut streams, id, reader, 0)).is_some());
    }
}

#[test]
fn what_was_read_is_kept_for_a_short_time_only() {
    let mut streams = streams(bounds(8, 1000, 8));
    let [read, unread] = [1, 2].map(|id| streams.open(request(id), None, None).expect("a free id"));
    for id in [1, 2] {
        streams.push(u64::from(id), message(id));
        streams.end(&request(id));
    }
    let reader = streams.attach(read, true).expect("a stream");
    assert_eq!(self::read(&mut streams, read, reader, 0), [1]);
    streams.detach(read, Some(reader));
    streams.forget_expired();
    assert!(streams.newest(read).is_some(), "the connection may have broken");
    // As if that time had gone by.
    let past = Instant::now().checked_sub(KEEP_READ).expect("a clock that runs for a while");
    streams.streams.get_mut(&read).expect("a stream").read = Some(past);
    streams.forget_expired();
    assert_eq!((streams.newest(read), streams.newest(unread)), (None, Some(1)));
}

#[test]
fn ended_streams_are_bounded_and_running_ones_stay() {
    let mut streams = streams(bounds(8, usize::MAX, 2));
    let ids: Vec<_> = (1..=5).map(|number| streams.open(request(number), None, None).expect("a free id")).collect();
    for number in [1, 2, 4, 5] {
        streams.end(&request(number));
    }
    let left: Vec<bool> = ids.iter().map(|id| streams.attach(*id, true).is_some()).collect();
    assert_eq!(left, [false, false, true, true, true]);
    assert_eq!(streams.running(), 1);
}

#[test]
fn an_id_is_in_use_until_it_is_answered() {
    let mut streams = streams(bounds(8, usize::MAX, 8));
    let first = streams.open(request(1), None, None).expect("a free id");
    assert_eq!(streams.open(request(1), None, None), None);
    assert_eq!((streams.of_request(&request(1)), streams.running()), (Some(first), 1));
    assert_eq!(streams.end(&request(1)), Some(first));
    assert!(streams.open(request(1), None, None).is_some());
}

#[test]
fn a_resumed_stream_has_one_reader() {
    let mut streams = streams(bounds(8, usize::MAX, 8));
    let id = streams.open(request(1), None, None).expect("a free id");
    let first = streams.attach(id, true).expect("a stream");
    streams.push(id, message(1));
    let second = streams.attach(id, true).expect("a stream");
    assert!(matches!(streams.next(id, first, 0, false), NextEvent::End));
    assert!(matches!(streams.next(id, second, 0, false), NextEvent::Event(_)));
}

#[test]
fn a_second_standalone_reader_waits_for_the_first_to_leave() {
    let mut streams = streams(bounds(8, usize::MAX, 8));
    let first = streams.attach(STANDALONE, false).expect("a stream");
    let second = streams.attach(STANDALONE, false).expect("a stream");
    streams.push(STANDALONE, message(1));
    assert!(matches!(streams.next(STANDALONE, second, 0, true), NextEvent::Wait(_)));
    streams.detach(STANDALONE, Some(first));
    assert!(matches!(streams.next(STANDALONE, second, 0, true), NextEvent::Event(_)));
}
