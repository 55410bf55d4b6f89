//! Bodies of responses: counted on an account, sent in small pieces, given up when nobody reads them.

use super::budget::{Account, BudgetExceeded, Charge};
use super::response::Response;
use super::running_requests::RunningRequest;
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

/// The most bytes that a connection gets at once. The rest of a large response waits until the client has read them.
const PIECE: usize = 16 << 10;

/// How long a large answer waits until its client has read enough of others.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Room on a principal's account for the answer to a request. It is in the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct ResponseReservation {
    account: Account,
    charge: Arc<Mutex<Option<Charge>>>,
}

impl ResponseReservation {
    pub(crate) fn new(account: Account) -> Self {
        Self { account, charge: Arc::default() }
    }

    /// Returns the reservation of a request: in its own extensions, or over HTTP in the extensions of its head.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        let head = context.extensions.get::<http::request::Parts>();
        context.extensions.get().or_else(|| head?.extensions.get())
    }

    /// Waits up to [`RESERVE_TIMEOUT`] for room for an answer of `bytes` to a request. Where answers are not bounded there is always room.
    ///
    /// # Errors
    ///
    /// Returns [`BudgetExceeded`] if there is no room by then.
    pub(crate) async fn reserve_for(context: &RequestContext<RoleServer>, bytes: usize) -> Result<(), BudgetExceeded> {
        match Self::of(context) {
            Some(reservation) => reservation.reserve(bytes, RESERVE_TIMEOUT).await,
            None => Ok(()),
        }
    }

    /// Waits up to `timeout` for room for an answer of `bytes`.
    async fn reserve(&self, bytes: usize, timeout: Duration) -> Result<(), BudgetExceeded> {
        let charge = self.account.reserve(bytes, timeout).await?;
        *lock(&self.charge) = Some(charge);
        Ok(())
    }

    /// Takes the room for the answer.
    pub(crate) fn take(&self) -> Option<Charge> {
        lock(&self.charge).take()
    }
}

/// Bytes that are counted until they are handed over or given up.
struct ChargedBytes {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bodies of one server that are on their way to clients.
#[derive(Debug, Default)]
pub(crate) struct ResponseBodies(Mutex<LiveBodies>);

#[derive(Debug, Default)]
struct LiveBodies {
    next: u64,
    bodies: HashMap<u64, Weak<Mutex<PendingBody>>>,
}

/// The part of a body that was not handed over yet.
struct PendingBody {
    /// `None` after it was given up.
    body: Option<Body>,
    /// The rest of the last large frame.
    rest: Bytes,
    account: Account,
    reservation: Option<ResponseReservation>,
    /// The last time at which the connection asked for more.
    polled: Instant,
    /// The request runs until the end of its body is handed over or given up.
    running: Option<RunningRequest>,
}

impl fmt::Debug for PendingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingBody").field("account", &self.account).finish_non_exhaustive()
    }
}

impl PendingBody {
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
            let charge = match self.reservation.as_ref().and_then(ResponseReservation::take) {
                Some(mut charge) => {
                    charge.resize(bytes.len());
                    charge
                }
                None => self.account.charge(bytes.len()),
            };
            self.rest = Bytes::from_owner(ChargedBytes { bytes, _charge: charge });
        }
        let piece = self.rest.split_to(PIECE.min(self.rest.len()));
        // A copy, so that a connection that keeps a piece does not keep the whole frame.
        let piece = Bytes::copy_from_slice(&piece);
        if self.rest.is_empty() {
            self.rest = Bytes::new();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// The body that a connection reads.
struct ResponseBody {
    pending: Arc<Mutex<PendingBody>>,
    bodies: Arc<ResponseBodies>,
    id: u64,
    /// Fires when the token of the request is not valid any more.
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        lock(&self.bodies.0).bodies.remove(&self.id);
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.revoked.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        lock(&self.pending).poll(context)
    }

    fn is_end_stream(&self) -> bool {
        let pending = lock(&self.pending);
        pending.rest.is_empty() && pending.body.as_ref().is_some_and(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let pending = lock(&self.pending);
        match &pending.body {
            Some(body) if pending.rest.is_empty() => body.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

/// The parts of a response besides its bytes.
pub(crate) struct ResponseContext {
    pub(crate) account: Account,
    pub(crate) reservation: Option<ResponseReservation>,
    pub(crate) running: Option<RunningRequest>,
    pub(crate) revoked: CancellationToken,
}

impl ResponseBodies {
    /// Sends a response so that it is counted. It ends when nobody reads it or its token is revoked.
    pub(crate) fn send(self: &Arc<Self>, response: Response, sent: ResponseContext) -> Response {
        let ResponseContext { account, reservation, running, revoked } = sent;
        response.map(|body| {
            let pending = PendingBody {
                body: Some(body),
                rest: Bytes::new(),
                account,
                reservation,
                polled: Instant::now(),
                running,
            };
            let pending = Arc::new(Mutex::new(pending));
            let id = {
                let mut live = lock(&self.0);
                let id = live.next;
                live.next += 1;
                live.bodies.insert(id, Arc::downgrade(&pending));
                id
            };
            let revoked = Box::pin(revoked.cancelled_owned());
            Body::new(ResponseBody { pending, bodies: self.clone(), id, revoked })
        })
    }

    /// Gives up each body if its connection has not asked for more within `limit`. Returns the number of such bodies.
    pub(crate) fn give_up(&self, limit: Duration) -> usize {
        let bodies: Vec<Arc<Mutex<PendingBody>>> = lock(&self.0).bodies.values().filter_map(Weak::upgrade).collect();
        let mut given_up = 0;
        for pending in bodies {
            // Dropped after the lock, because dropping the body may take the lock.
            let _dropped = {
                let mut pending = lock(&pending);
                if pending.body.is_none() || pending.polled.elapsed() < limit {
                    continue;
                }
                pending.running = None;
                pending.reservation = None;
                (pending.body.take(), std::mem::take(&mut pending.rest))
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

    fn context_of(account: &Account) -> ResponseContext {
        let reservation = Some(ResponseReservation::new(account.clone()));
        ResponseContext { account: account.clone(), reservation, running: None, revoked: CancellationToken::new() }
    }

    fn account() -> Account {
        Budget::new(BudgetLimits { bytes_each: 100_000, bytes: 100_000, ..BudgetLimits::default() }).account(None)
    }

    #[tokio::test]
    async fn bytes_are_counted_until_they_are_read_and_stay_what_they_are() {
        let (account, bodies) = (account(), Arc::new(ResponseBodies::default()));
        let text: Vec<u8> = (0..50_000u32).map(|number| number as u8).collect();
        let mut body = bodies.send(Response::new(Body::from(text.clone())), context_of(&account)).into_body();
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
        assert!(lock(&bodies.0).bodies.is_empty());
    }

    #[tokio::test]
    async fn an_answer_takes_the_room_that_was_reserved_for_it() {
        let (account, bodies) = (account(), Arc::new(ResponseBodies::default()));
        let context = context_of(&account);
        let reservation = context.reservation.clone().expect("one");
        reservation.reserve(90_000, Duration::ZERO).await.expect("room");
        let mut body = bodies.send(Response::new(Body::from(vec![0; 80_000])), context).into_body();
        body.frame().await.expect("a frame").expect("it is whole");
        assert!(account.try_charge(20_001).is_err());
        assert!(account.try_charge(20_000).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_read_is_given_up_and_what_waits_for_the_server_is_not() {
        let (account, bodies) = (account(), Arc::new(ResponseBodies::default()));
        let mut unread = bodies.send(Response::new(Body::from(vec![0; 80_000])), context_of(&account)).into_body();
        unread.frame().await.expect("a frame").expect("it is whole");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(bodies.give_up(Duration::from_secs(30)), 0);
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!((bodies.give_up(Duration::from_secs(30)), bodies.give_up(Duration::from_secs(30))), (1, 0));
        assert!(account.try_charge(100_000).is_ok(), "its bytes are gone though the connection is still there");
        assert!(unread.frame().await.expect("the end").is_err());
    }

    #[tokio::test]
    async fn a_revoked_token_ends_its_streams() {
        let (account, bodies) = (account(), Arc::new(ResponseBodies::default()));
        let context = context_of(&account);
        let revoked = context.revoked.clone();
        let events = futures::stream::pending::<Result<Frame<Bytes>, axum::Error>>().boxed();
        let stream = Body::new(StreamBody::new(events));
        let mut body = bodies.send(Response::new(stream), context).into_body();
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
        let (account, bodies) = (budget.account(None), Arc::new(ResponseBodies::default()));
        let sent = bodies.clone();
        let router = axum::Router::new().route(
            "/",
            axum::routing::get(move || {
                let answer = sent.send(Response::new(Body::from(vec![7; 1 << 20])), context_of(&account));
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
        assert_eq!(bodies.give_up(Duration::from_secs(30)), 1);
        assert_eq!(budget.held(), 0, "though the connection and its stream are still there");
        let mut rest = unread.into_body();
        let mut last = rest.frame().await;
        while let Some(Ok(_)) = last {
            last = rest.frame().await;
        }
        assert!(last.is_some(), "what was given up does not look as if it were whole");
    }
}
