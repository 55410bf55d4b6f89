//! Each socket with its partner, over TCP and Unix sockets.

use brumate_zmtp::{
    ConnectError, ConnectionError, Dealer, Echo, Endpoint, Limits, PeerId, Publisher, Requester, Router, SendError,
    Subscriber,
};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{any_port, command, opened, parts, raw, ready, router, soon};

fn here() -> Limits {
    Limits::default()
}

#[tokio::test]
async fn a_router_answers_each_dealer_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    for endpoint in [any_port(), Endpoint::Ipc(directory.path().join("router"))] {
        let router = Router::bind(endpoint, here()).await.unwrap();
        let named = Dealer::connect(router.local_endpoint(), Bytes::from("me"), here()).await.unwrap();
        let nameless = Dealer::connect(router.local_endpoint(), Bytes::new(), here()).await.unwrap();
        for (dealer, length) in [(&named, 2), (&nameless, 5)] {
            let large = Bytes::from(vec![7; 3 << 20]);
            dealer.send(vec![Bytes::new(), Bytes::from("part"), large.clone()]).await.unwrap();
            let received = soon(router.recv()).await.unwrap();
            assert_eq!(received.peer.as_bytes().len(), length);
            assert_eq!(received.parts, [Bytes::new(), Bytes::from("part"), large]);
            router.send(&received.peer, received.parts.clone()).await.unwrap();
            assert_eq!(soon(dealer.recv()).await.unwrap(), received.parts);
        }
        router.send(&PeerId::new("me"), parts(["by its name"])).await.unwrap();
        assert_eq!(soon(named.recv()).await.unwrap(), ["by its name"]);
        assert_eq!(router.send(&PeerId::new("you"), parts([""])).await, Err(SendError::UnknownPeer));
        assert_eq!(router.send(&PeerId::new("me"), vec![]).await, Err(SendError::NoParts));
    }
}

#[tokio::test]
async fn messages_keep_their_order() {
    let router = router(here()).await;
    let dealer = Dealer::connect(router.local_endpoint(), Bytes::new(), here()).await.unwrap();
    let sending = tokio::spawn({
        let dealer = dealer.clone();
        async move {
            for number in 0..20_000_u32 {
                dealer.send(vec![Bytes::copy_from_slice(&number.to_be_bytes())]).await.unwrap();
            }
        }
    });
    let echoing = tokio::spawn(async move {
        while let Some(received) = router.recv().await {
            if router.send(&received.peer, received.parts).await.is_err() {
                return;
            }
        }
    });
    for number in 0..20_000_u32 {
        assert_eq!(soon(dealer.recv()).await.unwrap(), [&number.to_be_bytes()[..]]);
    }
    sending.await.unwrap();
    drop(dealer);
    echoing.abort();
}

#[tokio::test]
async fn a_client_comes_back_with_its_identity_and_another_one_cannot_take_it() {
    let router = router(Limits { handshake_timeout: std::time::Duration::from_secs(1), ..here() }).await;
    let connect = || Dealer::connect(router.local_endpoint(), Bytes::from("me"), here());
    let first = connect().await.unwrap();
    // The second one is closed without ERROR, after which libzmq would not try again.
    assert!(matches!(connect().await, Err(ConnectError::Handshake(ConnectionError::Closed))));
    router.send(&PeerId::new("me"), parts(["first"])).await.unwrap();
    assert_eq!(soon(first.recv()).await.unwrap(), ["first"]);

    let (second, ()) = tokio::join!(connect(), async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        drop(first);
    });
    let second = second.unwrap();
    router.send(&PeerId::new("me"), parts(["second"])).await.unwrap();
    assert_eq!(soon(second.recv()).await.unwrap(), ["second"]);
}

#[tokio::test]
async fn a_publisher_sends_to_those_who_subscribed() {
    let directory = tempfile::tempdir().unwrap();
    for endpoint in [any_port(), Endpoint::Ipc(directory.path().join("publisher"))] {
        let publisher = Publisher::bind(endpoint, here()).await.unwrap();
        let connect = |topics: Vec<Bytes>| {
            let endpoint = publisher.local_endpoint().clone();
            async move { Subscriber::connect(&endpoint, &topics, here()).await.unwrap() }
        };
        let all = connect(vec![Bytes::new()]).await;
        let first = soon(publisher.next_subscription()).await.unwrap();
        let some = connect(parts(["a", "bc"])).await;
        let [second, third] =
            [soon(publisher.next_subscription()).await.unwrap(), soon(publisher.next_subscription()).await.unwrap()];
        assert_eq!((&first.topic[..], &second.topic[..], &third.topic[..]), (&b""[..], &b"a"[..], &b"bc"[..]));
        assert_eq!(second.peer, third.peer);

        publisher.send_to(&second.peer, parts(["welcome"])).await.unwrap();
        for topic in ["b", "bcd", "a", "A"] {
            publisher.publish(parts([topic, "text"])).await.unwrap();
        }
        for topic in ["b", "bcd", "a", "A"] {
            assert_eq!(soon(all.recv()).await.unwrap(), [topic, "text"]);
        }
        assert_eq!(soon(some.recv()).await.unwrap(), ["welcome"]);
        for topic in ["bcd", "a"] {
            assert_eq!(soon(some.recv()).await.unwrap(), [topic, "text"]);
        }

        some.cancel(b"a").await.unwrap();
        some.subscribe(b"z").await.unwrap();
        assert_eq!(soon(publisher.next_subscription()).await.unwrap().topic, "z");
        publisher.publish(parts(["a"])).await.unwrap();
        publisher.publish(parts(["z"])).await.unwrap();
        assert_eq!(soon(some.recv()).await.unwrap(), ["z"]);
        assert_eq!(publisher.publish(vec![]).await, Err(SendError::NoParts));
    }
}

#[tokio::test]
async fn subscriptions_of_version_3_1_are_understood() {
    let publisher = Publisher::bind(any_port(), here()).await.unwrap();
    let mut peer = opened(publisher.local_endpoint(), "SUB").await;
    peer.write_all(&[command("SUBSCRIBE", b"a"), command("SUBSCRIBE", b"b"), command("CANCEL", b"a")].concat())
        .await
        .unwrap();
    while soon(publisher.next_subscription()).await.unwrap().topic != "b" {}
    publisher.publish(parts(["a"])).await.unwrap();
    publisher.publish(parts(["b", "text"])).await.unwrap();
    let mut message = [0; 9];
    soon(peer.read_exact(&mut message)).await.unwrap();
    assert_eq!(&message, b"\x01\x01b\0\x04text");
}

#[tokio::test]
async fn an_echo_answers_requests_and_a_late_reply_is_skipped() {
    let directory = tempfile::tempdir().unwrap();
    for endpoint in [any_port(), Endpoint::Ipc(directory.path().join("echo"))] {
        let echo = Echo::bind(endpoint, here()).await.unwrap();
        let mut requester = Requester::connect(echo.local_endpoint(), here()).await.unwrap();
        assert_eq!(soon(requester.request(parts(["ping"]))).await.unwrap(), ["ping"]);
        // Polled once and cancelled: the request is sent.
        tokio::select! { biased; _ = requester.request(parts(["cancelled"])) => panic!(), () = async {} => {} }
        assert_eq!(soon(requester.request(parts(["again", ""]))).await.unwrap(), ["again", ""]);
    }
}

#[tokio::test]
async fn sockets_use_streams_that_are_connected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let echo = Echo::bind(Endpoint::Ipc(path.clone()), here()).await.unwrap();
    let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let dealer = Dealer::from_stream(stream, Bytes::new(), here()).await.unwrap();
    dealer.send(parts(["", "hello"])).await.unwrap();
    assert_eq!(soon(dealer.recv()).await.unwrap(), ["", "hello"]);
    drop(echo);
    assert!(!path.exists());
    assert_eq!(soon(dealer.recv()).await, Err(ConnectionError::Closed));
    assert_eq!(dealer.send(parts([""])).await, Err(SendError::Disconnected));
}

#[tokio::test]
async fn sockets_that_do_not_go_together_are_refused_with_a_reason() {
    let router = router(here()).await;
    let Err(error) = Subscriber::connect(router.local_endpoint(), &[], here()).await else { panic!() };
    // Our own client sees that ROUTER does not go with SUB when it gets READY; the server is first with ERROR.
    assert_eq!(error.to_string(), "cannot connect: the peer refuses: a socket of a type that does not go with ROUTER");

    let mut peer = raw(router.local_endpoint()).await;
    peer.write_all(&[crate::support::greeting(), ready("PUSH", b"")].concat()).await.unwrap();
    let mut answer = Vec::new();
    let mut reading = tokio::io::AsyncReadExt::take(&mut peer, 4096);
    let mut chunk = [0; 512];
    while let Ok(count @ 1..) = soon(reading.read(&mut chunk)).await {
        answer.extend_from_slice(&chunk[..count]);
    }
    assert!(answer[64..].starts_with(b"\x04"), "{answer:?}");
    assert!(answer.windows(5).any(|window| window == b"ERROR"));
}

#[tokio::test]
async fn ping_gets_pong() {
    let router = router(here()).await;
    let mut peer = opened(router.local_endpoint(), "DEALER").await;
    peer.write_all(&command("PING", b"\0\x0acontext")).await.unwrap();
    let mut pong = [0; 14];
    soon(peer.read_exact(&mut pong)).await.unwrap();
    assert_eq!(&pong, b"\x04\x0c\x04PONGcontext");
}

#[tokio::test]
async fn a_socket_that_is_dropped_closes_its_port_and_its_connections() {
    let router = router(here()).await;
    let endpoint = router.local_endpoint().clone();
    let dealer = Dealer::connect(&endpoint, Bytes::new(), here()).await.unwrap();
    drop(router.clone());
    dealer.send(parts(["still here"])).await.unwrap();
    assert_eq!(soon(router.recv()).await.unwrap().parts, ["still here"]);
    drop(router);
    assert!(matches!(soon(dealer.recv()).await, Err(ConnectionError::Closed | ConnectionError::Io(_))));
    assert!(matches!(Dealer::connect(&endpoint, Bytes::new(), here()).await, Err(ConnectError::Io { .. })));
}

#[tokio::test]
async fn a_place_is_free_again_when_its_peer_has_left() {
    let echo = Echo::bind(any_port(), Limits { peers: 1, ..here() }).await.unwrap();
    for _ in 0..50 {
        let mut requester = Requester::connect(echo.local_endpoint(), here()).await.unwrap();
        soon(requester.request(parts(["x"]))).await.unwrap();
        drop(requester);
        // The server sees the end a moment later.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
