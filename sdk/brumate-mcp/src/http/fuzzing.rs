//! Functions for the fuzz targets: parsers and state that strangers' bytes reach. Not part of the interface.

use super::app::App;
use super::authority::{Authority, Origin, OriginPattern};
use super::budget::{Budget, BudgetLimits};
use super::charged_message::ChargedMessage;
use super::connections::speak;
use super::limits::ResumptionLimits;
use super::options::HttpOptions;
use super::streams::{NextEvent, STANDALONE, SessionStreams};
use crate::server::Server;
use rmcp::model::{JsonRpcMessage, NumberOrString, RequestId, ServerJsonRpcMessage, ServerResult};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio_util::sync::CancellationToken;

/// Most bytes of an answer that are read.
const MAX_ANSWER: u64 = 1 << 20;

/// Reads an authority. Returns its host, its port, and its text.
pub fn authority(text: &str) -> Option<(String, Option<u16>, String)> {
    let authority = Authority::parse(text)?;
    let (host, port) = authority.parts();
    Some((host.to_owned(), port, authority.to_string()))
}

/// Returns whether `pattern` lets in pages of `origin`.
pub fn admits_origin(pattern: &str, origin: &str) -> bool {
    let (pattern, origin) = (OriginPattern::parse(pattern), Origin::parse(origin));
    pattern.zip(origin).is_some_and(|(pattern, origin)| pattern.admits(&origin))
}

/// Sends `bytes` on a connection of a server with the default settings. Returns the bytes that the server answers until
/// it closes the connection. With a paused clock nothing waits.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub async fn answer(bytes: &[u8]) -> Vec<u8> {
    let router = App::new().mount("", Server::new("fuzz"), HttpOptions::new().legacy_sse()).router();
    let (ours, theirs) = duplex(16 << 10);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let served = speak(ours, address, false, router, CancellationToken::new());
    let asked = async {
        let (mut reader, mut writer) = tokio::io::split(theirs);
        let written = async {
            // A server that has heard enough closes its end.
            let _ = writer.write_all(bytes).await;
        };
        let mut answer = Vec::new();
        let read = async {
            let _ = (&mut reader).take(MAX_ANSWER).read_to_end(&mut answer).await;
        };
        // An event stream goes on until its client leaves.
        let _ = tokio::time::timeout(Duration::from_secs(300), async { tokio::join!(written, read) }).await;
        answer
    };
    tokio::select! {
        answer = asked => answer,
        () = async { served.await; std::future::pending::<()>().await } => Vec::new(),
    }
}

/// Runs `steps` on the streams of a session, and checks after each that the counted bytes are the held ones. Returns
/// whether anything was read.
///
/// # Panics
///
/// Panics if they are not.
pub fn resumption(steps: &[u8]) -> bool {
    const BOUNDS: ResumptionLimits =
        ResumptionLimits { max_events: 4, max_bytes: 400, max_streams: 3, retention: Duration::from_secs(60) };
    let budget = Budget::new(BudgetLimits { bytes_each: 4000, bytes: 4000, ..BudgetLimits::default() });
    let account = budget.account(None);
    let mut streams = SessionStreams::new(BOUNDS, None, account.clone());
    let (mut stream, mut reader, mut after, mut read) = (STANDALONE, 0, 0, false);
    for step in steps {
        let number = i64::from(step >> 5);
        let id: RequestId = NumberOrString::Number(number);
        match step % 9 {
            0 => stream = streams.open(id, None, None).unwrap_or(stream),
            1 | 2 => {
                let message = if step % 9 == 1 { answer_of(id, 10) } else { answer_of(id, 100 * number as usize) };
                streams.push(
                    streams.of_request(&NumberOrString::Number(number)).unwrap_or(STANDALONE),
                    ChargedMessage::small(message, &account),
                );
            }
            3 => {
                let ended = streams.end(&id);
                assert_eq!(streams.of_request(&id), None, "{ended:?}");
            }
            4 => (reader, after) = (streams.attach(stream, true).unwrap_or(reader), 0),
            5 => match streams.next(stream, reader, after, false) {
                NextEvent::Event(event) => {
                    assert!(event.number > after, "numbers grow");
                    (after, read) = (event.number, true);
                }
                NextEvent::Wait(_) | NextEvent::End => {}
            },
            6 => streams.detach(stream, (number % 2 == 0).then_some(reader)),
            7 => streams.forget_expired(),
            _ => streams.forget(stream),
        }
        streams.check();
        assert!(streams.running() <= 8);
    }
    drop(streams);
    assert_eq!(budget.held(), 0, "nothing stays on the account");
    read
}

fn answer_of(id: RequestId, bytes: usize) -> ServerJsonRpcMessage {
    let result = serde_json::json!({"text": "x".repeat(bytes)});
    JsonRpcMessage::response(ServerResult::CustomResult(rmcp::model::CustomResult::new(result)), id)
}
