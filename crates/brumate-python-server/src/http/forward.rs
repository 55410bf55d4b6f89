//! One request, from a client to a machine and back.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;

use super::connection::Connection;
use super::refusals::refusal;
use super::request_head::{ServedAddress, open_payload};
use super::response_head::ResponseHead;
use super::stream::StreamFailure;
use super::stream_table::OpenRefusal;

/// A request that is open. When it is dropped, the guest is told that the client is gone, unless the response is complete.
#[derive(Debug)]
struct OpenRequest {
    connection: Connection,
    number: u32,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.connection.table().abandon(self.number);
    }
}

/// Passes a request to a machine and returns the response, whose body is streamed.
pub(super) async fn forward(connection: &Connection, request: Request<Body>, served: &ServedAddress) -> Response {
    let (head, body) = request.into_parts();
    let Some(payload) = open_payload(&head, served) else {
        return refusal(StatusCode::BAD_REQUEST, "the target of the request is no path");
    };
    let opened = connection.table().open(payload);
    let (number, response_head) = match opened {
        Ok(opened) => opened,
        Err(OpenRefusal::TooMany) => {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server has too many requests: try again later");
        }
        Err(OpenRefusal::Ended) => return failure(StreamFailure::Machine),
    };
    let open = OpenRequest { connection: connection.clone(), number };
    if body.is_end_stream() {
        connection.table().complete_body(number);
    } else {
        // It ends with the stream.
        tokio::spawn(send_body(connection.clone(), number, body));
    }
    match response_head.await {
        Ok(Ok(ResponseHead { status, headers })) => {
            let has_body =
                head.method != Method::HEAD && status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED;
            // Without a body the request ends here for the client, and so it does for the application.
            let body = if has_body { Body::new(ResponseBody(open)) } else { Body::empty() };
            let mut response = Response::new(body);
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            response
        }
        Ok(Err(reason)) => failure(reason),
        Err(_) => failure(StreamFailure::Machine),
    }
}

/// Returns the response to a request that failed before its response began.
fn failure(reason: StreamFailure) -> Response {
    match reason {
        StreamFailure::Application => refusal(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        StreamFailure::Machine => {
            refusal(StatusCode::BAD_GATEWAY, "the server has ended while it worked on this request: try again")
        }
        StreamFailure::RequestBody => refusal(StatusCode::BAD_REQUEST, "the body could not be read"),
    }
}

/// Sends the body of a request, as fast as the application receives it.
async fn send_body(connection: Connection, number: u32, mut body: Body) {
    let mut rest = Bytes::new();
    loop {
        // The client is not read before there is room.
        let Some(room) = poll_fn(|context| connection.table().poll_room(number, context)).await else { return };
        if rest.is_empty() {
            let frame = tokio::select! {
                biased;
                () = poll_fn(|context| connection.table().poll_over(number, context)) => return,
                frame = body.frame() => frame,
            };
            match frame {
                Some(Ok(frame)) => rest = frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return connection.table().fail_body(number),
                None => return connection.table().complete_body(number),
            }
        }
        let piece = rest.split_to(rest.len().min(room));
        if !piece.is_empty() {
            connection.table().put_piece(number, piece);
        }
    }
}

/// The body of a response.
struct ResponseBody(OpenRequest);

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let OpenRequest { connection, number } = &self.0;
        let polled = connection.table().poll_data(*number, context);
        polled.map(|piece| piece.map(|piece| piece.map(Frame::data).map_err(CutOff)))
    }
}

/// The response ends before its end.
#[derive(Debug, thiserror::Error)]
#[error("the response was cut off: {0:?}")]
struct CutOff(StreamFailure);
