//! Copies bytes between a machine and a host.

use tokio::io::{AsyncReadExt, AsyncWriteExt, split};
use tokio::net::{TcpStream, UnixStream};

/// Bytes that one direction of a connection holds. A reader that is slow stops the writer.
pub(crate) const MAX_RELAY_BUFFER: usize = 64 << 10;

/// Copies both ways until both have ended, or one has failed. Calls `ended` when the host sends nothing more, with whether the connection was reset,
/// before the machine's end sees it. Returns how many bytes the host has received and sent.
pub(crate) async fn copy<E: Future<Output = ()>>(
    inside: UnixStream,
    outside: TcpStream,
    ended: impl Fn(bool) -> E,
) -> (u64, u64) {
    let (mut from_machine, mut to_machine) = split(inside);
    let (mut from_host, mut to_host) = split(outside);
    let (mut sent, mut received) = (0, 0);
    let outwards = async {
        let mut buffer = vec![0; MAX_RELAY_BUFFER];
        loop {
            match from_machine.read(&mut buffer).await? {
                0 => break to_host.shutdown().await,
                length => {
                    to_host.write_all(&buffer[..length]).await?;
                    sent += length as u64;
                }
            }
        }
    };
    let inwards = async {
        let mut buffer = vec![0; MAX_RELAY_BUFFER];
        loop {
            match from_host.read(&mut buffer).await {
                Ok(0) => {
                    ended(false).await;
                    break to_machine.shutdown().await;
                }
                Ok(length) => {
                    to_machine.write_all(&buffer[..length]).await?;
                    received += length as u64;
                }
                Err(error) => {
                    ended(true).await;
                    break Err(error);
                }
            }
        }
    };
    let _ = async { tokio::try_join!(outwards, inwards) }.await;
    (sent, received)
}
