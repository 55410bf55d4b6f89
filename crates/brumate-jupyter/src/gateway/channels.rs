//! The WebSocket of a client: it brings requests to a kernel, and messages of the kernel to the client.

use std::time::Duration;

use axum::extract::ws::{self, CloseFrame, WebSocket, close_code};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::clients::{Connected, Queued, close_frame};
use super::frames::{Channel, Form, FrameError, decode_binary, decode_text};
use super::served_kernel::ServedKernel;
use brumate_jupyter_protocol::Message;

/// Largest message of a client, in bytes.
pub(super) const MAX_MESSAGE: usize = 16 << 20;
/// Time between two pings.
const PING: Duration = Duration::from_secs(30);
/// A client from which nothing comes for this time, not even the answer to a ping, is gone.
const SILENCE: Duration = Duration::from_secs(95);
/// Longest time for the last messages of a kernel, and for the end of the WebSocket.
pub(super) const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// Serves a client until it leaves, its token is not valid any more, or the kernel ends.
pub(super) async fn serve(
    socket: WebSocket,
    form: Form,
    (client, mut queue): (Connected, mpsc::Receiver<Queued>),
    kernel: &ServedKernel,
    revoked: impl Future<Output = ()>,
) {
    let (mut writer, mut reader) = socket.split();
    let end = tokio::select! {
        end = read(&mut reader, form, &client, kernel) => end,
        () = write(&mut writer, &mut queue) => return,
        end = client.closing.closed() => end,
        () = revoked => Some(close_frame(close_code::POLICY, "the token is not valid any more")),
    };
    let Some(end) = end else { return };
    let has_ended_well = end.code == close_code::NORMAL;
    let ending = async {
        // The last messages of a kernel say why it has ended.
        while let Some(queued) = queue.try_recv().ok().filter(|_| has_ended_well) {
            writer.send(queued.frame.clone()).await?;
        }
        writer.send(ws::Message::Close(Some(end))).await?;
        // The client answers with a close frame.
        while let Some(Ok(_)) = reader.next().await {}
        Ok::<_, axum::Error>(())
    };
    // A client that is slow loses its last messages.
    let _ = timeout(LAST_MESSAGES, ending).await;
}

/// Writes the frames of the queue, and pings in between. Ends when the WebSocket does.
async fn write(writer: &mut SplitSink<WebSocket, ws::Message>, queue: &mut mpsc::Receiver<Queued>) {
    let mut pings = interval(PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let written = tokio::select! {
            Some(queued) = queue.recv() => {
                let written = writer.send(queued.frame.clone()).await;
                // Its room is free when it is written.
                drop(queued);
                written
            }
            _ = pings.tick() => writer.send(ws::Message::Ping(Default::default())).await,
        };
        if let Err(error) = written {
            tracing::debug!(%error, "a client of a kernel is gone");
            return;
        }
    }
}

/// Brings the requests of the client to the kernel. Returns the frame that ends the WebSocket; `None` if the client has ended it.
async fn read(
    reader: &mut SplitStream<WebSocket>,
    form: Form,
    client: &Connected,
    kernel: &ServedKernel,
) -> Option<CloseFrame> {
    loop {
        let received = match timeout(SILENCE, reader.next()).await {
            Ok(Some(Ok(received))) => received,
            Ok(Some(Err(error))) => {
                tracing::debug!(%error, "a client of a kernel is gone");
                // Most often the message is too large, and the client learns its limit.
                let reason = format!("the connection failed, or a message has more than {} MiB", MAX_MESSAGE >> 20);
                return Some(close_frame(close_code::SIZE, &reason));
            }
            Ok(None) => return None,
            Err(_) => return Some(close_frame(close_code::AWAY, "the client does not answer")),
        };
        let (size, message) = match &received {
            ws::Message::Text(text) => (text.len(), decode_text(form, text)),
            ws::Message::Binary(bytes) => (bytes.len(), decode_binary(form, bytes)),
            // The next call writes the answer to a ping, or to the end of the WebSocket, which is then over.
            ws::Message::Ping(_) | ws::Message::Pong(_) | ws::Message::Close(_) => continue,
        };
        match message {
            Ok((channel, message)) => bring(channel, message, size, client, kernel).await,
            Err(error) => {
                let code = if error == FrameError::Channel { close_code::POLICY } else { close_code::INVALID };
                return Some(close_frame(code, &error.to_string()));
            }
        }
    }
}

async fn bring(channel: Channel, message: Message, size: usize, client: &Connected, kernel: &ServedKernel) {
    kernel.clients().touch();
    match channel {
        Channel::Shell | Channel::Control => {
            kernel.request(channel == Channel::Control, client.peer(), message, size).await;
        }
        // Others do not answer the question of one client.
        Channel::Stdin if client.answers() => kernel.answer(&message),
        Channel::Stdin | Channel::Iopub => {}
    }
}
