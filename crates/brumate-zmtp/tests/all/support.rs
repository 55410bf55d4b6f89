//! Endpoints, messages, and peers that write their own bytes.

use std::time::Duration;

use brumate_zmtp::{Endpoint, Limits, Parts, Router};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Time for what needs none.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn any_port() -> Endpoint {
    Endpoint::Tcp { host: [127, 0, 0, 1].into(), port: 0 }
}

pub(crate) async fn router(limits: Limits) -> Router {
    Router::bind(any_port(), limits).await.unwrap()
}

pub(crate) fn parts<const N: usize>(parts: [&'static str; N]) -> Parts {
    parts.into_iter().map(Bytes::from).collect()
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("in time")
}

pub(crate) fn greeting() -> Vec<u8> {
    let mut greeting = vec![0; 64];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

/// A command of fewer than 256 bytes.
pub(crate) fn command(name: &str, data: &[u8]) -> Vec<u8> {
    let length = u8::try_from(1 + name.len() + data.len()).unwrap();
    [&[4, length, name.len() as u8], name.as_bytes(), data].concat()
}

pub(crate) fn ready(socket_type: &str, identity: &[u8]) -> Vec<u8> {
    let mut data = vec![11];
    data.extend_from_slice(b"Socket-Type");
    data.extend_from_slice(&(socket_type.len() as u32).to_be_bytes());
    data.extend_from_slice(socket_type.as_bytes());
    data.push(8);
    data.extend_from_slice(b"Identity");
    data.extend_from_slice(&(identity.len() as u32).to_be_bytes());
    data.extend_from_slice(identity);
    command("READY", &data)
}

/// Greeting and READY.
pub(crate) fn opening(socket_type: &str) -> Vec<u8> {
    [greeting(), ready(socket_type, b"")].concat()
}

pub(crate) async fn raw(endpoint: &Endpoint) -> TcpStream {
    let Endpoint::Tcp { host, port } = endpoint else { panic!("{endpoint}") };
    TcpStream::connect((*host, *port)).await.unwrap()
}

/// Connects, writes as much as the other side takes, and returns what it has sent when it closes.
pub(crate) async fn attack(endpoint: &Endpoint, bytes: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = raw(endpoint).await.into_split();
    let mut answer = Vec::new();
    let write = async {
        let _ = writer.write_all(bytes).await;
        // The writing side stays open.
        std::future::pending::<()>().await;
    };
    let read = async {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut chunk).await {
            answer.extend_from_slice(&chunk[..count]);
        }
    };
    soon(async {
        tokio::select! { () = write => {}, () = read => {} }
    })
    .await;
    answer
}

/// Connects as a peer that has done its handshake.
pub(crate) async fn opened(endpoint: &Endpoint, socket_type: &str) -> TcpStream {
    let mut stream = raw(endpoint).await;
    stream.write_all(&opening(socket_type)).await.unwrap();
    let mut answer = vec![0; 64];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(answer, greeting());
    let mut head = [0; 2];
    soon(stream.read_exact(&mut head)).await.unwrap();
    let mut command = vec![0; usize::from(head[1])];
    soon(stream.read_exact(&mut command)).await.unwrap();
    assert!(command.starts_with(b"\x05READY"), "{command:?}");
    stream
}
