//! Peers that break the protocol. The socket serves the next one each time, and keeps nothing of theirs.

use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use brumate_zmtp::{
    ConnectError, ConnectionError, Dealer, Echo, Endpoint, Limits, ProtocolError, Publisher, Requester,
};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};

use crate::support::{any_port, attack, command, greeting, opened, opening, parts, raw, ready, router, soon};

fn quick() -> Limits {
    Limits {
        handshake_timeout: Duration::from_secs(1),
        message_bytes: 1 << 20,
        frame_bytes: 1 << 20,
        ..Limits::default()
    }
}

/// Most memory that this process has had, in KiB.
#[expect(clippy::disallowed_methods, reason = "64 KiB at most")]
fn peak_memory() -> usize {
    let mut status = String::new();
    File::open("/proc/self/status").unwrap().take(1 << 16).read_to_string(&mut status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Bytes that end a connection at once, with what they are.
fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    let with = |bytes: &[u8]| [opening("DEALER"), bytes.to_vec()].concat();
    let changed = |at: usize, bytes: &[u8]| {
        let mut opening = opening("DEALER");
        opening[at..at + bytes.len()].copy_from_slice(bytes);
        opening
    };
    vec![
        ("another protocol", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("zeros", vec![0; 1000]),
        ("ones", vec![255; 1 << 20]),
        ("version 1", b"\x01\0".to_vec()),
        ("version 2", changed(10, &[1])),
        ("mechanism PLAIN", changed(12, b"PLAIN")),
        ("mechanism CURVE", changed(12, b"CURVE")),
        ("a message before READY", [greeting(), b"\0\x05hello".to_vec()].concat()),
        ("a command before READY", [greeting(), command("PING", b"\0\0")].concat()),
        ("a giant command", [greeting(), b"\x06\x80\0\0\0\0\0\0\0".to_vec()].concat()),
        ("READY that is cut", [greeting(), command("READY", b"\x0bSocket-Type\0\0\0\xff")].concat()),
        ("READY without a type", [greeting(), command("READY", b"")].concat()),
        ("READY with a type that does not go", opening("PUB")),
        ("READY with an identity of the server's", [greeting(), ready("DEALER", b"\0\0\0\0\0")].concat()),
        ("ERROR", [greeting(), command("ERROR", b"\x02no")].concat()),
        ("a giant frame", with(b"\x02\x80\0\0\0\0\0\0\0")),
        ("the largest frame", with(b"\x02\xff\xff\xff\xff\xff\xff\xff\xff")),
        ("a frame above the limit", with(b"\x03\0\0\0\0\0\x10\0\x01")),
        ("flags without meaning", with(b"\x10\0")),
        ("a command with MORE", with(b"\x05\0")),
        ("an overlong command", with(&[b"\x06\0\0\0\0\0\x01\0\0".to_vec(), vec![b'x'; 1 << 16]].concat())),
        ("a broken command", with(b"\x04\x02\xffx")),
        ("an empty command", with(b"\x04\0")),
        ("endless parts", with(&b"\x01\0".repeat(5000))),
        (
            "a message of too many bytes",
            with(&[b"\x03\0\0\0\0\0\x0f\0\0".to_vec(), vec![0; 0xf_0000]].concat().repeat(2)),
        ),
        ("endless commands", with(&command("WHAT", b"ever").repeat(5000))),
        ("READY again and again", with(&ready("DEALER", b"").repeat(5000))),
    ]
}

#[tokio::test]
async fn a_router_serves_the_next_peer_after_each() {
    let router = router(quick()).await;
    for (case, bytes) in corpus() {
        attack(router.local_endpoint(), &bytes).await;
        let dealer = Dealer::connect(router.local_endpoint(), Bytes::from("next"), quick()).await.unwrap();
        dealer.send(parts(["hello"])).await.unwrap();
        assert_eq!(soon(router.recv()).await.unwrap().parts, ["hello"], "{case}");
    }
}

#[tokio::test]
async fn the_corpus_in_small_pieces_ends_the_same() {
    let echo = Echo::bind(any_port(), quick()).await.unwrap();
    for (case, bytes) in corpus().into_iter().filter(|(_, bytes)| bytes.len() < 1000) {
        let mut peer = raw(echo.local_endpoint()).await;
        for byte in bytes {
            if peer.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut answer = [0; 4096];
        while let Ok(1..) = soon(peer.read(&mut answer)).await {}
        let mut next = Requester::connect(echo.local_endpoint(), quick()).await.unwrap();
        assert_eq!(soon(next.request(parts(["x"]))).await.unwrap(), ["x"], "{case}");
    }
}

#[tokio::test]
async fn silence_and_half_a_greeting_end_in_time_and_fill_no_more_places_than_there_are() {
    let router = router(Limits { peers: 4, handshake_timeout: Duration::from_secs(3), ..quick() }).await;
    let began = Instant::now();
    let mut silent = Vec::new();
    for length in [0, 1, 10, 63] {
        let mut peer = raw(router.local_endpoint()).await;
        peer.write_all(&greeting()[..length]).await.unwrap();
        silent.push(peer);
    }
    // A fifth one is closed at once. Connections are accepted in order.
    assert_eq!(attack(router.local_endpoint(), &[]).await, []);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    for mut peer in silent {
        let mut answer = [0; 64];
        soon(peer.read_exact(&mut answer)).await.unwrap();
        assert_eq!(soon(peer.read(&mut answer)).await.unwrap_or(0), 0);
    }
    Dealer::connect(router.local_endpoint(), Bytes::new(), quick()).await.unwrap();

    // One byte at a time is no way to stay.
    let mut slow = raw(router.local_endpoint()).await;
    let began = Instant::now();
    for byte in greeting() {
        if slow.write_all(&[byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn endless_subscriptions_end_the_connection() {
    let limits = Limits { subscriptions: 100, topic_bytes: 10, ..quick() };
    let publisher = Publisher::bind(any_port(), limits).await.unwrap();
    let subscribe = |number: u32| [&b"\0\x05\x01"[..], &number.to_be_bytes()].concat();
    let endless: Vec<u8> = (0..10_000).flat_map(subscribe).collect();
    let commands: Vec<u8> = (0..10_000_u32).flat_map(|number| command("SUBSCRIBE", &number.to_be_bytes())).collect();
    for bytes in [
        endless,
        commands,
        b"\0\x0c\x01too long a.".to_vec(),
        command("SUBSCRIBE", b"too long a."),
        b"\0\x01\x07".repeat(3000),
        b"\0\0".repeat(3000),
        command("CANCEL", b"what is not there").repeat(3000),
        b"\x03\0\0\0\0\0\x01\0\0".to_vec(),
    ] {
        attack(publisher.local_endpoint(), &[opening("SUB"), bytes].concat()).await;
    }
    // Subscribing and cancelling in turns is allowed, and never fills anything.
    let mut turning = opened(publisher.local_endpoint(), "SUB").await;
    turning.write_all(&b"\0\x02\x01a\0\x02\x00a".repeat(20_000)).await.unwrap();
    turning.write_all(b"\0\x02\x01z").await.unwrap();
    let mut told = 0;
    while soon(publisher.next_subscription()).await.unwrap().topic != "z" {
        told += 1;
    }
    assert!(told <= 20_000);
    publisher.publish(parts(["z"])).await.unwrap();
    let mut message = [0; 3];
    soon(turning.read_exact(&mut message)).await.unwrap();
    assert_eq!(&message, b"\0\x01z");
}

#[tokio::test]
async fn announced_bytes_cost_nothing_and_large_messages_share_their_room() {
    let router = router(Limits {
        received_bytes: 4 << 20,
        write_timeout: Duration::from_millis(300),
        message_timeout: Duration::from_secs(3),
        ..Limits::default()
    })
    .await;
    let before = peak_memory();
    // Each announces 100 MiB. They send 20 MiB, and stop.
    let mut peers = Vec::new();
    for _ in 0..30 {
        let mut peer = opened(router.local_endpoint(), "DEALER").await;
        peer.write_all(b"\x02\0\0\0\0\x06\x40\0\0").await.unwrap();
        peers.push(peer);
    }
    let mut writers = tokio::task::JoinSet::new();
    for mut peer in peers {
        writers.spawn(async move {
            for _ in 0..320 {
                if peer.write_all(&[0; 1 << 16]).await.is_err() {
                    break;
                }
            }
            // All lose their connections: for want of room, or because they do not go on.
            let mut answer = [0; 64];
            while let Ok(1..) = soon(peer.read(&mut answer)).await {}
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    // The other tests of this process have their own memory, below 200 MiB in all.
    let grown = peak_memory() - before;
    assert!(grown < 300 << 10, "{grown} KiB");

    let dealer = Dealer::connect(router.local_endpoint(), Bytes::new(), Limits::default()).await.unwrap();
    dealer.send(vec![Bytes::from(vec![1; 30 << 20])]).await.unwrap();
    assert_eq!(soon(router.recv()).await.unwrap().parts[0].len(), 30 << 20);
}

#[tokio::test]
async fn a_client_survives_a_hostile_server() {
    let ends = |bytes: Vec<u8>| async move {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = tokio::spawn(async move {
            let _ = theirs.write_all(&bytes).await;
            let mut received = [0; 4096];
            while let Ok(1..) = theirs.read(&mut received).await {}
        });
        let ended = match Dealer::from_stream(ours, Bytes::new(), quick()).await {
            Ok(dealer) => loop {
                if let Err(error) = soon(dealer.recv()).await {
                    break error;
                }
            },
            Err(ConnectError::Handshake(error)) => error,
            Err(error) => panic!("{error}"),
        };
        soon(server).await.unwrap();
        ended
    };
    let open = |bytes: &[u8]| [opening("ROUTER"), bytes.to_vec()].concat();
    for (bytes, expected) in [
        (vec![], ConnectionError::TimedOut("finish the handshake")),
        (greeting(), ConnectionError::TimedOut("finish the handshake")),
        (b"SSH-2.0".to_vec(), ProtocolError::Signature.into()),
        (opening("PUB"), ProtocolError::SocketType("DEALER").into()),
        ([greeting(), command("ERROR", b"\x04no\x1b\n")].concat(), ConnectionError::Refused("no\\u{1b}\\n".to_owned())),
        (open(&command("ERROR", b"\x02no")), ConnectionError::Refused("no".to_owned())),
        (open(b"\x02\x80\0\0\0\0\0\0\0"), ProtocolError::Frame { length: 1 << 63, limit: 1 << 20 }.into()),
        (open(&b"\x01\0".repeat(5000)), ProtocolError::Parts(1024).into()),
        (open(&command("WHAT", b"").repeat(5000)), ProtocolError::Ignored.into()),
    ] {
        assert_eq!(ends(bytes).await, expected);
    }
}

#[tokio::test]
async fn a_client_gives_up_a_server_that_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::from(silent.local_addr().unwrap());
    let error = soon(Requester::connect(&endpoint, quick())).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot connect: the peer did not finish the handshake in time");
    drop(silent);
    assert!(matches!(Requester::connect(&endpoint, quick()).await, Err(ConnectError::Io { .. })));
}

#[tokio::test]
async fn random_bytes_after_the_opening_never_stop_a_socket() {
    let router = router(quick()).await;
    let draining = tokio::spawn({
        let router = router.clone();
        async move {
            loop {
                let received = router.recv().await.unwrap();
                if received.parts == ["hello"] {
                    return;
                }
            }
        }
    });
    let mut state = 0x5eed_u64;
    for _ in 0..200 {
        let mut bytes = opening("DEALER");
        for _ in 0..300 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Small numbers make frames of some sense.
            bytes.push(if state & 0x100 == 0 { (state % 8) as u8 } else { state as u8 });
        }
        let mut peer = raw(router.local_endpoint()).await;
        let _ = peer.write_all(&bytes).await;
    }
    let dealer = Dealer::connect(router.local_endpoint(), Bytes::new(), Limits::default()).await.unwrap();
    dealer.send(parts(["hello"])).await.unwrap();
    soon(draining).await.unwrap();
}
