use std::task::{Context, Poll, Waker};

use bytes::Buf as _;

use super::*;
use crate::http::frames::{CREDIT, StreamFrame};

fn table() -> StreamTable {
    let mut table = StreamTable::new(Arc::new(Notify::new()));
    table.take(GuestFrame::Ready).unwrap();
    table
}

fn open(table: &mut StreamTable) -> (u32, AwaitedHead) {
    table.open(Bytes::from_static(b"{}")).unwrap()
}

/// Writes everything. Returns the numbers of the frames, and their streams and payloads.
fn written(table: &mut StreamTable) -> Vec<(u8, u32, Bytes)> {
    let mut frames = Vec::new();
    loop {
        let mut bytes = BytesMut::new();
        table.write_frames(&mut bytes);
        if bytes.is_empty() {
            return frames;
        }
        while !bytes.is_empty() {
            let (length, frame, stream) = (bytes.get_u32() as usize, bytes.get_u8(), bytes.get_u32());
            frames.push((frame, stream, bytes.split_to(length).freeze()));
        }
    }
}

fn numbers(frames: &[(u8, u32, Bytes)]) -> Vec<(u8, u32)> {
    frames.iter().map(|(frame, stream, _)| (*frame, *stream)).collect()
}

fn take(table: &mut StreamTable, number: u32, frame: StreamFrame) {
    table.take(GuestFrame::Stream(number, frame)).unwrap();
}

fn start(table: &mut StreamTable, number: u32) {
    let head = ResponseHead::parse(br#"{"status":200,"headers":[]}"#).unwrap();
    take(table, number, StreamFrame::Start(head));
}

fn finish(table: &mut StreamTable, number: u32) {
    take(table, number, StreamFrame::Finish);
    take(table, number, StreamFrame::Closed);
}

#[test]
fn a_request_is_sent_as_its_guest_allows() {
    let mut table = table();
    let (number, _head) = open(&mut table);
    let mut context = Context::from_waker(Waker::noop());
    let mut sent = 0;
    let mut frames = Vec::new();
    while let Poll::Ready(Some(room)) = table.poll_room(number, &mut context) {
        table.put_piece(number, Bytes::from(vec![0; room]));
        sent += room;
        frames.extend(written(&mut table));
    }
    assert_eq!(sent, CREDIT);
    assert_eq!(numbers(&frames), [(1, 1), (2, 1), (2, 1), (2, 1), (2, 1)]);
    take(&mut table, number, StreamFrame::Window(10));
    assert_eq!(table.poll_room(number, &mut context), Poll::Ready(Some(10)));
    table.put_piece(number, Bytes::from_static(b"last"));
    table.complete_body(number);
    assert_eq!(numbers(&written(&mut table)), [(2, 1), (3, 1)]);
    let beyond = table.take(GuestFrame::Stream(number, StreamFrame::Window(CREDIT)));
    assert_eq!(beyond.unwrap_err(), ProtocolError::Window);
}

#[test]
fn a_guest_may_send_more_when_the_client_has_read() {
    let mut table = table();
    let (number, _head) = open(&mut table);
    written(&mut table);
    start(&mut table, number);
    take(&mut table, number, StreamFrame::Data(Bytes::from(vec![0; CREDIT])));
    assert_eq!((table.held_bytes(), written(&mut table).len()), (CREDIT, 0));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(Ok(piece))) = table.poll_data(number, &mut context) else { panic!() };
    assert_eq!(written(&mut table), [(5, 1, Bytes::copy_from_slice(&(piece.len() as u32).to_be_bytes()))]);
    take(&mut table, number, StreamFrame::Data(Bytes::from(vec![0; piece.len()])));
    let beyond = table.take(GuestFrame::Stream(number, StreamFrame::Data(Bytes::from_static(b"x"))));
    assert_eq!(beyond.unwrap_err(), ProtocolError::BeyondCredit);
}

#[test]
fn a_client_that_leaves_early_leaves_nothing() {
    let mut table = table();
    let (number, _head) = open(&mut table);
    table.abandon(number);
    assert!(written(&mut table).is_empty(), "the guest never hears of it");
    let (number, _head) = open(&mut table);
    written(&mut table);
    table.abandon(number);
    assert_eq!(numbers(&written(&mut table)), [(4, number)]);
    // The guest had answered meanwhile.
    start(&mut table, number);
    take(&mut table, number, StreamFrame::Data(Bytes::from_static(b"late")));
    assert_eq!(table.held_bytes(), 0);
    assert!(*table.busy().borrow());
    finish(&mut table, number);
    assert!(!*table.busy().borrow());
    let unknown = table.take(GuestFrame::Stream(number, StreamFrame::Abort));
    assert_eq!(unknown.unwrap_err(), ProtocolError::UnknownStream(number));
}

#[test]
fn requests_count_until_the_application_has_returned_and_the_client_has_read() {
    let mut table = table();
    let heads: Vec<_> = (0..MAX_STREAMS).map(|_| open(&mut table)).collect();
    assert_eq!(table.open(Bytes::new()).unwrap_err(), OpenRefusal::TooMany);
    written(&mut table);
    let (first, second) = (heads[0].0, heads[1].0);
    start(&mut table, first);
    finish(&mut table, first);
    assert_eq!(table.open(Bytes::new()).unwrap_err(), OpenRefusal::TooMany, "the client may read it");
    table.abandon(first);
    open(&mut table);
    table.abandon(second);
    assert_eq!(table.open(Bytes::new()).unwrap_err(), OpenRefusal::TooMany, "the application works on it");
    start(&mut table, second);
    finish(&mut table, second);
    open(&mut table);
}

#[tokio::test]
async fn the_end_of_a_machine_fails_what_is_open_and_keeps_what_is_complete() {
    let mut table = table();
    let (complete, _first) = open(&mut table);
    let (_, second) = open(&mut table);
    written(&mut table);
    start(&mut table, complete);
    take(&mut table, complete, StreamFrame::Data(Bytes::from_static(b"whole")));
    finish(&mut table, complete);
    table.end();
    assert_eq!(second.await.unwrap().unwrap_err(), StreamFailure::Machine);
    assert_eq!(table.open(Bytes::new()).unwrap_err(), OpenRefusal::Ended);
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(table.poll_data(complete, &mut context), Poll::Ready(Some(Ok(Bytes::from_static(b"whole")))));
    assert_eq!(table.poll_data(complete, &mut context), Poll::Ready(None));
}

#[test]
fn questions_have_one_answer() {
    let mut table = table();
    assert_eq!(table.take(GuestFrame::Pong).unwrap_err(), ProtocolError::WrongOrder("PONG"));
    let unanswered = table.ping();
    assert_eq!(numbers(&written(&mut table)), [(8, 0)]);
    assert!(*unanswered.borrow());
    table.take(GuestFrame::Pong).unwrap();
    assert!(!*unanswered.borrow());
    assert_eq!(table.take(GuestFrame::Pong).unwrap_err(), ProtocolError::WrongOrder("PONG"));
    table.shutdown();
    assert_eq!(numbers(&written(&mut table)), [(7, 0)]);
    assert_eq!(table.open(Bytes::new()).unwrap_err(), OpenRefusal::Ended);
}
