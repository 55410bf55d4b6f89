//! The clients of a kernel: WebSockets, each with a queue of frames.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::ws::{self, CloseFrame, close_code};
use brumate_session::CancellationToken;
use bytes::Bytes;
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};

use super::frames::{Channel, Form, encode};
use crate::kernel::{Destination, Frontends, Peer};
use brumate_jupyter_protocol::{Message, now};

/// Most clients of a kernel.
pub(super) const MAX_CLIENTS: usize = 32;
/// Most frames that wait for one client. Then the kernel waits.
const QUEUE_FRAMES: usize = 1024;
/// Most bytes of frames that wait for one client, and one frame more. Then the kernel waits.
const QUEUE_BYTES: u32 = 8 << 20;
/// A client that has taken no frame for this time, and whose queue is full, is disconnected. Until then the kernel waits.
const SLOW_CLIENT: Duration = Duration::from_secs(10);

/// Number of a client. None has the number of an earlier one.
type ClientId = u64;

/// A frame in a queue, and the room that it takes until it is written.
pub(super) struct Queued {
    pub(super) frame: ws::Message,
    _room: OwnedSemaphorePermit,
    last_taken: Arc<Mutex<Instant>>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        *self.last_taken.lock() = Instant::now();
    }
}

/// A client, as the kernel sends to it. Clones share it.
#[derive(Clone)]
struct Client {
    form: Form,
    queue: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
    /// Time at which the client took a frame, or at which one came into its empty queue.
    last_taken: Arc<Mutex<Instant>>,
    closing: Closing,
}

/// Most bytes of the reason in a close frame (RFC 6455).
const MAX_REASON: usize = 123;

/// Returns a frame that ends a WebSocket with a reason.
pub(super) fn close_frame(code: u16, reason: &str) -> CloseFrame {
    CloseFrame { code, reason: reason[..reason.floor_char_boundary(MAX_REASON)].into() }
}

/// The end of a client's WebSocket, and its reason. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Closing {
    token: CancellationToken,
    reason: Arc<OnceLock<CloseFrame>>,
}

impl Closing {
    /// Ends the WebSocket. The first reason counts.
    pub(super) fn close(&self, code: u16, reason: &str) {
        let _ = self.reason.set(close_frame(code, reason));
        self.token.cancel();
    }

    /// Waits for the end. Returns the frame that says its reason.
    pub(super) async fn closed(&self) -> Option<CloseFrame> {
        self.token.cancelled().await;
        self.reason.get().cloned()
    }
}

/// The clients of one kernel.
#[derive(Default)]
pub(super) struct Clients {
    state: Mutex<State>,
    /// Fires when nobody can answer the question that a cell waits for.
    unanswerable: Notify,
}

#[derive(Default)]
struct State {
    clients: HashMap<ClientId, Client>,
    next: ClientId,
    /// The client that was asked for input last.
    asked: Option<ClientId>,
    /// Time of the last message, ISO 8601.
    last_activity: String,
    is_closed: bool,
}

impl State {
    /// Returns a client; `None` if it is gone.
    fn client(&self, peer: &Peer) -> Option<(ClientId, Client)> {
        let id = ClientId::from_be_bytes(peer.first()?.as_ref().try_into().ok()?);
        self.clients.get(&id).map(|client| (id, client.clone()))
    }
}

/// A connected client. It leaves when this value is dropped.
pub(super) struct Connected {
    clients: Arc<Clients>,
    id: ClientId,
    pub(super) closing: Closing,
}

impl Connected {
    /// Returns the client's name in requests.
    pub(super) fn peer(&self) -> Peer {
        vec![Bytes::copy_from_slice(&self.id.to_be_bytes())]
    }

    /// Notes that the client has answered. Returns whether it was asked.
    pub(super) fn answers(&self) -> bool {
        self.clients.state.lock().asked.take_if(|asked| *asked == self.id).is_some()
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut state = self.clients.state.lock();
        state.clients.remove(&self.id);
        if state.asked.take_if(|asked| *asked == self.id).is_some() {
            self.clients.unanswerable.notify_one();
        }
    }
}

impl Clients {
    /// Connects a client. Returns its queue, too. `None`: there are too many, or the kernel has ended.
    pub(super) fn connect(self: &Arc<Self>, form: Form) -> Option<(Connected, mpsc::Receiver<Queued>)> {
        let (sender, queue) = mpsc::channel(QUEUE_FRAMES);
        let room = Arc::new(Semaphore::new(QUEUE_BYTES as usize));
        let last_taken = Arc::new(Mutex::new(Instant::now()));
        let client = Client { form, queue: sender, room, last_taken, closing: Closing::default() };
        let mut state = self.state.lock();
        if state.clients.len() >= MAX_CLIENTS || state.is_closed {
            return None;
        }
        state.next += 1;
        let (id, closing) = (state.next, client.closing.clone());
        state.clients.insert(id, client);
        Some((Connected { clients: Arc::clone(self), id, closing }, queue))
    }

    /// Returns the number of clients.
    pub(super) fn count(&self) -> usize {
        self.state.lock().clients.len()
    }

    /// Returns the time of the last message, ISO 8601.
    pub(super) fn last_activity(&self) -> String {
        self.state.lock().last_activity.clone()
    }

    /// Notes that a message was sent or received.
    pub(super) fn touch(&self) {
        self.state.lock().last_activity = now();
    }

    /// Waits until nobody can answer the question of a cell.
    pub(super) async fn unanswerable(&self) {
        self.unanswerable.notified().await;
    }

    /// Disconnects all clients when they have read their queues, and takes no others.
    pub(super) fn close(&self, reason: &str) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.clients.values().for_each(|client| client.closing.close(close_code::NORMAL, reason));
    }

    /// Asks a client for input, or notes that it is gone.
    async fn ask(&self, peer: &Peer, message: &Message) {
        let asked = {
            let mut state = self.state.lock();
            let client = state.client(peer);
            state.asked = client.as_ref().map(|(id, _)| *id);
            client
        };
        match asked {
            Some((_, client)) => client.send(encode(client.form, Channel::Stdin, message)).await,
            None => self.unanswerable.notify_one(),
        }
    }
}

impl Client {
    /// Puts a frame into the queue. Disconnects a client whose queue stays full.
    async fn send(&self, frame: ws::Message) {
        let bytes = match &frame {
            ws::Message::Text(text) => text.len(),
            ws::Message::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX).min(QUEUE_BYTES);
        if self.queue.capacity() == QUEUE_FRAMES {
            *self.last_taken.lock() = Instant::now();
        }
        let deadline = *self.last_taken.lock() + SLOW_CLIENT;
        let queued = timeout_at(deadline, async {
            let room = Arc::clone(&self.room).acquire_many_owned(permits).await.ok()?;
            let last_taken = Arc::clone(&self.last_taken);
            self.queue.send(Queued { frame, _room: room, last_taken }).await.ok()
        });
        if queued.await.is_err() {
            tracing::info!("a client of a kernel does not read its messages and is disconnected");
            self.closing.close(close_code::POLICY, "the client does not read its messages");
        }
    }
}

#[async_trait]
impl Frontends for Clients {
    async fn send(&self, to: Destination, message: Message) {
        self.touch();
        let (channel, peer) = match to {
            Destination::Shell(peer) => (Channel::Shell, peer),
            Destination::Control(peer) => (Channel::Control, peer),
            Destination::Stdin(peer) => return self.ask(&peer, &message).await,
            Destination::Iopub => {
                let clients: Vec<Client> = self.state.lock().clients.values().cloned().collect();
                // Clients share the bytes of a frame.
                let frame = |form| {
                    let is_used = clients.iter().any(|client| client.form == form);
                    is_used.then(|| encode(form, Channel::Iopub, &message))
                };
                let (default, v1) = (frame(Form::Default), frame(Form::V1));
                let sending = clients.iter().filter_map(|client| {
                    let frame = if client.form == Form::V1 { &v1 } else { &default };
                    frame.clone().map(|frame| client.send(frame))
                });
                join_all(sending).await;
                return;
            }
        };
        let client = self.state.lock().client(&peer);
        if let Some((_, client)) = client {
            client.send(encode(client.form, channel, &message)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use brumate_jupyter_protocol::Header;

    /// Text of a message in the tests, in bytes.
    const TEXT: usize = 1 << 20;

    fn message() -> Message {
        Message::new("stream", "s", &Header::default(), &json!({"name": "stdout", "text": "a".repeat(TEXT)}))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_holds_bounded_memory_and_stops_the_others_for_a_while_only() {
        let clients = Arc::new(Clients::default());
        let began = Instant::now();
        let (slow, waiting) = clients.connect(Form::Default).unwrap();
        // Clients that stop reading at other times do not add to the wait.
        let later = clients.connect(Form::Default).unwrap();
        let mut half = later.1;
        let (_fast, mut queue) = clients.connect(Form::V1).unwrap();
        let reading = tokio::spawn(async move {
            let mut count = 0;
            while queue.recv().await.is_some() {
                count += 1;
            }
            count
        });
        let count = 3 * QUEUE_BYTES as usize / TEXT;
        for number in 0..count {
            clients.send(Destination::Iopub, message()).await;
            if number < count / 4 {
                half.recv().await.unwrap();
            }
        }
        assert!(began.elapsed() <= SLOW_CLIENT + Duration::from_secs(1), "{:?}", began.elapsed());
        assert!(waiting.len() <= QUEUE_BYTES as usize / TEXT, "{}", waiting.len());
        assert_eq!(slow.closing.closed().await.unwrap().code, close_code::POLICY);
        clients.state.lock().clients.clear();
        assert_eq!(reading.await.unwrap(), count);
    }

    #[tokio::test]
    async fn a_message_that_is_larger_than_a_queue_passes() {
        let clients = Arc::new(Clients::default());
        let (client, mut queue) = clients.connect(Form::Default).unwrap();
        let mut large = message();
        large.buffers = vec![Bytes::from(vec![0; 2 * QUEUE_BYTES as usize])];
        for _ in 0..2 {
            let (_, read) = tokio::join!(clients.send(Destination::Shell(client.peer()), large.clone()), async {
                queue.recv().await
            });
            assert!(matches!(read.unwrap().frame, ws::Message::Binary(_)));
        }
    }

    #[test]
    fn clients_are_bounded_and_leave() {
        let clients = Arc::new(Clients::default());
        let mut connected: Vec<_> = (0..MAX_CLIENTS).map(|_| clients.connect(Form::V1).unwrap()).collect();
        assert!(clients.connect(Form::V1).is_none());
        connected.pop();
        assert_eq!(clients.count(), MAX_CLIENTS - 1);
        assert!(clients.connect(Form::Default).is_some());
        clients.close("it ends");
        assert!(clients.connect(Form::V1).is_none(), "the kernel has ended");
    }
}
