//! Bodies of answers on their way to clients: counted on an account, sent in small pieces, given up when nobody reads.

use super::activity::Running;
use super::budget::{Account, Charge};
use super::service::Response;
use crate::sync::lock;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Bytes that a connection is given at once. The rest of a large answer waits until the client has read them.
const PIECE: usize = 16 << 10;

/// In a request's extensions: room on its principal's account that its answer will take.
#[derive(Clone, Debug)]
pub(crate) struct Reservation {
    account: Account,
    charge: Arc<Mutex<Option<Charge>>>,
}

impl Reservation {
    pub(crate) fn new(account: Account) -> Self {
        Self { account, charge: Arc::default() }
    }

    /// The reservation of a request: in its own extensions, or in those of its head over HTTP.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        let head = context.extensions.get::<http::request::Parts>();
        context.extensions.get().or_else(|| head?.extensions.get())
    }

    /// Waits up to `patience` for room for an answer of `bytes`.
    pub(crate) async fn reserve(&self, bytes: usize, patience: Duration) -> Result<(), super::budget::OverBudget> {
        let charge = self.account.reserve(bytes, patience).await?;
        *lock(&self.charge) = Some(charge);
        Ok(())
    }

    /// Takes the room for the answer's own use.
    pub(crate) fn take(&self) -> Option<Charge> {
        lock(&self.charge).take()
    }
}

/// Bytes that are counted until they are handed over or given up.
struct Counted {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The answers of one server that are on their way.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Mutex<Live>);

#[derive(Debug, Default)]
struct Live {
    next: u64,
    outputs: HashMap<u64, Weak<Mutex<Output>>>,
}

/// The part of an answer that was not handed over yet.
struct Output {
    /// `None` after it was given up.
    body: Option<Body>,
    /// The rest of the last large frame.
    rest: Bytes,
    account: Account,
    reservation: Option<Reservation>,
    /// The last time at which the connection asked for more.
    polled: Instant,
    /// The request runs until the last of its answer is handed over, or given up.
    running: Option<Running>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("account", &self.account).finish_non_exhaustive()
    }
}

impl Output {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.polled = Instant::now();
        if self.rest.is_empty() {
            let Some(body) = &mut self.body else {
                let given_up = std::io::Error::new(std::io::ErrorKind::TimedOut, "the client does not read");
                return Poll::Ready(Some(Err(axum::Error::new(given_up))));
            };
            let frame = match ready!(http_body::Body::poll_frame(Pin::new(body), context)) {
                Some(Ok(frame)) => frame,
                end => {
                    self.running = None;
                    return Poll::Ready(end);
                }
            };
            let bytes = match frame.into_data() {
                Ok(bytes) if bytes.len() > PIECE => bytes,
                Ok(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            };
            let charge = match self.reservation.as_ref().and_then(Reservation::take) {
                Some(mut charge) => {
                    charge.resize(bytes.len());
                    charge
                }
                None => self.account.charge(bytes.len()),
            };
            self.rest = Bytes::from_owner(Counted { bytes, _charge: charge });
        }
        let piece = self.rest.split_to(PIECE.min(self.rest.len()));
        // A copy: a connection that keeps a piece must not keep all that it was cut from.
        let piece = Bytes::copy_from_slice(&piece);
        if self.rest.is_empty() {
            self.rest = Bytes::new();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// The body that a connection reads.
struct Reader {
    output: Arc<Mutex<Output>>,
    outputs: Arc<Outputs>,
    id: u64,
    /// Fires when the token that was shown for the request is not valid any more.
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.outputs.0).outputs.remove(&self.id);
    }
}

impl http_body::Body for Reader {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.revoked.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        lock(&self.output).poll(context)
    }

    fn is_end_stream(&self) -> bool {
        let output = lock(&self.output);
        output.rest.is_empty() && output.body.as_ref().is_some_and(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let output = lock(&self.output);
        match &output.body {
            Some(body) if output.rest.is_empty() => body.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

/// Everything about an answer beside its bytes.
pub(crate) struct Sending {
    pub(crate) account: Account,
    pub(crate) reservation: Option<Reservation>,
    pub(crate) running: Option<Running>,
    pub(crate) revoked: CancellationToken,
}

impl Outputs {
    /// Sends an answer so that it is counted, and ends when it is not read or its token is revoked.
    pub(crate) fn send(self: &Arc<Self>, response: Response, sending: Sending) -> Response {
        let Sending { account, reservation, running, revoked } = sending;
        response.map(|body| {
            let output =
                Output { body: Some(body), rest: Bytes::new(), account, reservation, polled: Instant::now(), running };
            let output = Arc::new(Mutex::new(output));
            let id = {
                let mut live = lock(&self.0);
                let id = live.next;
                live.next += 1;
                live.outputs.insert(id, Arc::downgrade(&output));
                id
            };
            let revoked = Box::pin(revoked.cancelled_owned());
            Body::new(Reader { output, outputs: self.clone(), id, revoked })
        })
    }

    /// Gives up the answers that no connection has asked more of for `limit`. Returns how many.
    pub(crate) fn give_up(&self, limit: Duration) -> usize {
        let outputs: Vec<Arc<Mutex<Output>>> = lock(&self.0).outputs.values().filter_map(Weak::upgrade).collect();
        let mut given_up = 0;
        for output in outputs {
            // Dropped after the lock: what ends with the body may look at it.
            let _dropped = {
                let mut output = lock(&output);
                if output.body.is_none() || output.polled.elapsed() < limit {
                    continue;
                }
                output.running = None;
                output.reservation = None;
                (output.body.take(), std::mem::take(&mut output.rest))
            };
            given_up += 1;
        }
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::{Budget, BudgetLimits};
    use super::*;
    use futures::StreamExt as _;
    use http_body_util::{BodyExt as _, StreamBody};

    fn sending(account: &Account) -> Sending {
        let reservation = Some(Reservation::new(account.clone()));
        Sending { account: account.clone(), reservation, running: None, revoked: CancellationToken::new() }
    }

    fn account() -> Account {
        Budget::new(BudgetLimits { bytes_each: 100_000, bytes: 100_000, ..BudgetLimits::default() }).account(None)
    }

    #[tokio::test]
    async fn bytes_are_counted_until_they_are_read_and_stay_what_they_are() {
        let (account, outputs) = (account(), Arc::new(Outputs::default()));
        let text: Vec<u8> = (0..50_000u32).map(|number| number as u8).collect();
        let mut body = outputs.send(Response::new(Body::from(text.clone())), sending(&account)).into_body();
        let mut read = Vec::new();
        let first = body.frame().await.expect("a frame").expect("it is whole").into_data().expect("data");
        assert_eq!(first.len(), PIECE);
        // Until the last piece is handed over, all of it is there.
        assert!(account.try_charge(60_000).is_err());
        read.extend_from_slice(&first);
        drop(first);
        while let Some(frame) = body.frame().await {
            let piece = frame.expect("it is whole").into_data().expect("data");
            assert!(piece.len() <= PIECE);
            read.extend_from_slice(&piece);
        }
        assert!(read == text);
        assert!(account.try_charge(100_000).is_ok());
        drop(body);
        assert!(lock(&outputs.0).outputs.is_empty());
    }

    #[tokio::test]
    async fn an_answer_takes_the_room_that_was_reserved_for_it() {
        let (account, outputs) = (account(), Arc::new(Outputs::default()));
        let sending = sending(&account);
        let reservation = sending.reservation.clone().expect("one");
        reservation.reserve(90_000, Duration::ZERO).await.expect("room");
        let mut body = outputs.send(Response::new(Body::from(vec![0; 80_000])), sending).into_body();
        body.frame().await.expect("a frame").expect("it is whole");
        assert!(account.try_charge(20_001).is_err());
        assert!(account.try_charge(20_000).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_read_is_given_up_and_what_waits_for_the_server_is_not() {
        let (account, outputs) = (account(), Arc::new(Outputs::default()));
        let mut unread = outputs.send(Response::new(Body::from(vec![0; 80_000])), sending(&account)).into_body();
        unread.frame().await.expect("a frame").expect("it is whole");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(outputs.give_up(Duration::from_secs(30)), 0);
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!((outputs.give_up(Duration::from_secs(30)), outputs.give_up(Duration::from_secs(30))), (1, 0));
        assert!(account.try_charge(100_000).is_ok(), "its bytes are gone though the connection is still there");
        assert!(unread.frame().await.expect("the end").is_err());
    }

    #[tokio::test]
    async fn a_revoked_token_ends_its_streams() {
        let (account, outputs) = (account(), Arc::new(Outputs::default()));
        let sending = sending(&account);
        let revoked = sending.revoked.clone();
        let events = futures::stream::pending::<Result<Frame<Bytes>, axum::Error>>().boxed();
        let stream = Body::new(StreamBody::new(events));
        let mut body = outputs.send(Response::new(stream), sending).into_body();
        let next = tokio::spawn(async move { body.frame().await.is_none() });
        tokio::task::yield_now().await;
        revoked.cancel();
        assert!(next.await.expect("it ends"));
    }

    /// Over HTTP/2 one connection carries many answers: it goes on when one of them is not read.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_read_over_http2_is_given_up() {
        use super::super::connections::speak;
        use hyper_util::rt::{TokioExecutor, TokioIo};
        let budget = Budget::default();
        let (account, outputs) = (budget.account(None), Arc::new(Outputs::default()));
        let sent = outputs.clone();
        let router = axum::Router::new().route(
            "/",
            axum::routing::get(move || {
                let answer = sent.send(Response::new(Body::from(vec![7; 1 << 20])), sending(&account));
                std::future::ready(answer)
            }),
        );
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(speak(ours, address, true, router, CancellationToken::new()));
        let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        client.initial_stream_window_size(32 << 10).timer(hyper_util::rt::TokioTimer::new());
        let (mut requests, connection) =
            client.handshake::<_, Body>(TokioIo::new(theirs)).await.expect("both speak HTTP/2");
        tokio::spawn(connection);
        let mut get = async || {
            let request = http::Request::get("http://localhost/").body(Body::empty()).expect("a request");
            requests.send_request(request).await.expect("an answer")
        };
        let unread = get().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(budget.held() > 900 << 10, "{} bytes are held", budget.held());
        tokio::time::sleep(Duration::from_secs(60)).await;
        // Another one is read meanwhile.
        let read = get().await.into_body().collect().await.expect("all of it").to_bytes();
        assert_eq!(read.len(), 1 << 20);
        assert!(budget.held() > 900 << 10);
        assert_eq!(outputs.give_up(Duration::from_secs(30)), 1);
        assert_eq!(budget.held(), 0, "though the connection and its stream are still there");
        let mut rest = unread.into_body();
        let mut last = rest.frame().await;
        while let Some(Ok(_)) = last {
            last = rest.frame().await;
        }
        assert!(last.is_some(), "what was given up does not look as if it were whole");
    }
}
