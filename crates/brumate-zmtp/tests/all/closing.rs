//! Queued messages when a socket closes.

use std::time::Duration;

use brumate_zmtp::{ConnectionError, Dealer, Limits, Publisher, SendError, Subscriber};
use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::support::{SOON, any_port, opened, parts, router, soon};

#[tokio::test]
async fn a_reply_is_not_lost_when_the_socket_closes() {
    for length in [1, 10 << 20] {
        let router = router(Limits::default()).await;
        let dealer = Dealer::connect(router.local_endpoint(), Bytes::new(), Limits::default()).await.unwrap();
        dealer.send(parts(["shutdown_request"])).await.unwrap();
        let peer = soon(router.recv()).await.unwrap().peer;
        // Something stays unread at the side that closes.
        for _ in 0..200 {
            dealer.send(parts(["unread"])).await.unwrap();
        }
        router.send(&peer, vec![Bytes::from(vec![1; length])]).await.unwrap();
        assert!(soon(router.close(SOON)).await);
        assert_eq!(router.send(&peer, parts([""])).await, Err(SendError::UnknownPeer));
        assert_eq!(soon(dealer.recv()).await.unwrap()[0].len(), length);
        assert_eq!(soon(dealer.recv()).await, Err(ConnectionError::Closed));
        while soon(router.recv()).await.is_some() {}
        assert!(router.close(SOON).await);
    }
}

#[tokio::test]
async fn closing_gives_up_in_time() {
    let publisher = Publisher::bind(any_port(), Limits::default()).await.unwrap();
    let mut peer = opened(publisher.local_endpoint(), "SUB").await;
    peer.write_all(b"\0\x01\x01").await.unwrap();
    soon(publisher.next_subscription()).await.unwrap();
    publisher.publish(vec![Bytes::from(vec![0; 50 << 20])]).await.unwrap();
    assert!(!publisher.flush(Duration::from_millis(100)).await);
    assert!(!publisher.close(Duration::from_millis(100)).await);
    assert_eq!(soon(publisher.next_subscription()).await, None);
}

#[tokio::test]
async fn flushing_waits_until_all_is_written() {
    let publisher = Publisher::bind(any_port(), Limits::default()).await.unwrap();
    let subscriber = Subscriber::connect(publisher.local_endpoint(), &[Bytes::new()], Limits::default()).await.unwrap();
    soon(publisher.next_subscription()).await.unwrap();
    publisher.publish(vec![Bytes::from(vec![0; 20 << 20])]).await.unwrap();
    let (is_flushed, received) = tokio::join!(publisher.flush(SOON), soon(subscriber.recv()));
    assert!(is_flushed);
    assert_eq!(received.unwrap()[0].len(), 20 << 20);
}

#[tokio::test]
async fn a_client_writes_what_is_queued_before_it_closes() {
    let router = router(Limits::default()).await;
    let dealer = Dealer::connect(router.local_endpoint(), Bytes::new(), Limits::default()).await.unwrap();
    for _ in 0..1000 {
        dealer.send(parts(["a request"])).await.unwrap();
    }
    let received = async {
        for _ in 0..1000 {
            soon(router.recv()).await.unwrap();
        }
    };
    let (is_flushed, ()) = tokio::join!(dealer.close(SOON), received);
    assert!(is_flushed);
    assert_eq!(dealer.send(parts([""])).await, Err(SendError::Disconnected));
}
