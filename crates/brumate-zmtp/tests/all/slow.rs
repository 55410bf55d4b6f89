//! Peers that do not read, and sockets that nobody reads from.

use std::time::{Duration, Instant};

use brumate_zmtp::{Dealer, Limits, Publisher, SendError, Subscriber};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{any_port, opened, parts, router, soon};

fn small() -> Limits {
    Limits { queue_bytes: 1 << 20, write_timeout: Duration::from_millis(500), ..Limits::default() }
}

#[tokio::test]
async fn a_peer_that_reads_nothing_is_waited_for_and_then_loses_its_connection() {
    let router = router(small()).await;
    let mut peer = opened(router.local_endpoint(), "DEALER").await;
    peer.write_all(b"\0\x05hello").await.unwrap();
    let id = soon(router.recv()).await.unwrap().peer;
    let other = Dealer::connect(router.local_endpoint(), Bytes::from("other"), small()).await.unwrap();

    let piece = Bytes::from(vec![0; 100 << 10]);
    let began = Instant::now();
    let (mut sent, mut error) = (0, None);
    while error.is_none() && sent < 1000 {
        match soon(router.send(&id, vec![piece.clone()])).await {
            Ok(()) => sent += 1,
            Err(refused) => error = Some(refused),
        }
    }
    // Buffers of the system and the queue are full: what is queued is bounded, and sending does not wait for ever.
    assert!(matches!(error, Some(SendError::TimedOut | SendError::Disconnected)), "{error:?} after {sent}");
    assert!(began.elapsed() >= Duration::from_millis(400), "{:?}", began.elapsed());
    // The end of the connection is seen by its own task.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(router.send(&id, parts([""])).await, Err(SendError::UnknownPeer));

    other.send(parts(["still here"])).await.unwrap();
    let received = soon(router.recv()).await.unwrap();
    router.send(&received.peer, received.parts).await.unwrap();
    assert_eq!(soon(other.recv()).await.unwrap(), ["still here"]);
}

#[tokio::test]
async fn a_slow_peer_gets_all_and_slows_down_who_sends() {
    let router = router(Limits { write_timeout: Duration::from_secs(10), ..small() }).await;
    let mut peer = opened(router.local_endpoint(), "DEALER").await;
    peer.write_all(b"\0\x05hello").await.unwrap();
    let id = soon(router.recv()).await.unwrap().peer;
    let sending = tokio::spawn(async move {
        for _ in 0..200 {
            router.send(&id, vec![Bytes::from(vec![7; 100_000])]).await.unwrap();
        }
        router
    });
    let mut message = vec![0; 9 + 100_000];
    for number in 0..200 {
        if number % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        soon(peer.read_exact(&mut message)).await.unwrap();
        assert_eq!(message[..9], *b"\x02\0\0\0\0\0\x01\x86\xa0");
    }
    soon(sending).await.unwrap();
}

#[tokio::test]
async fn one_subscriber_that_does_not_read_holds_the_others_up_once() {
    let limits = Limits { write_timeout: Duration::from_secs(2), ..small() };
    let publisher = Publisher::bind(any_port(), limits).await.unwrap();
    let mut silent = opened(publisher.local_endpoint(), "SUB").await;
    silent.write_all(b"\0\x01\x01").await.unwrap();
    soon(publisher.next_subscription()).await.unwrap();
    let reading = Subscriber::connect(publisher.local_endpoint(), &[Bytes::new()], small()).await.unwrap();
    soon(publisher.next_subscription()).await.unwrap();

    let received = tokio::spawn(async move {
        for _ in 0..300 {
            assert_eq!(soon(reading.recv()).await.unwrap()[0].len(), 100_000);
        }
    });
    let began = Instant::now();
    for _ in 0..300 {
        publisher.publish(vec![Bytes::from(vec![7; 100_000])]).await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    soon(received).await.unwrap();
}

#[tokio::test]
async fn a_socket_that_nobody_reads_from_stops_its_peers_and_loses_nothing() {
    let router = router(Limits { received_bytes: 2 << 20, ..small() }).await;
    let patient = Limits { queue_bytes: 1 << 20, ..Limits::default() };
    let dealer = Dealer::connect(router.local_endpoint(), Bytes::new(), patient).await.unwrap();
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let sending = tokio::spawn({
        let sent = sent.clone();
        async move {
            for number in 0..300_u32 {
                let body = Bytes::from(vec![number as u8; 300_000]);
                dealer.send(vec![Bytes::copy_from_slice(&number.to_be_bytes()), body]).await.unwrap();
                sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            dealer
        }
    });
    // Longer than the time after which a message without room would be refused, if no other one waited to be taken.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let stopped_at = sent.load(std::sync::atomic::Ordering::Relaxed);
    assert!(stopped_at < 100, "{stopped_at}");
    for number in 0..300_u32 {
        assert_eq!(soon(router.recv()).await.unwrap().parts[0], number.to_be_bytes()[..]);
    }
    soon(sending).await.unwrap();
}
