//! A program with the sockets of a kernel, to be tried with other implementations: `zmtp_servers tcp` or `zmtp_servers ipc DIRECTORY`.
//!
//! It prints the endpoints of ROUTER, XPUB and REP, one a line. ROUTER sends each message back and publishes it; a new subscriber
//! is welcomed. The message `end` ends the program.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use brumate_zmtp::{Echo, Endpoint, Limits, Publisher, Router};
use bytes::Bytes;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let endpoint = |name: &str| match &arguments[..] {
        [kind, directory] if kind == "ipc" => Endpoint::Ipc(PathBuf::from(directory).join(name)),
        _ => Endpoint::Tcp { host: [127, 0, 0, 1].into(), port: 0 },
    };
    let router = Router::bind(endpoint("router"), Limits::default()).await?;
    let publisher = Publisher::bind(endpoint("publisher"), Limits::default()).await?;
    let echo = Echo::bind(endpoint("echo"), Limits::default()).await?;
    for endpoint in [router.local_endpoint(), publisher.local_endpoint(), echo.local_endpoint()] {
        writeln!(std::io::stdout(), "{endpoint}")?;
    }

    let welcoming = publisher.clone();
    tokio::spawn(async move {
        while let Some(subscription) = welcoming.next_subscription().await {
            // A subscriber may be gone already.
            let _ = welcoming.send_to(&subscription.peer, vec![subscription.topic, Bytes::from("welcome")]).await;
        }
    });
    while let Some(received) = router.recv().await {
        let is_end = received.parts.last().is_some_and(|part| part == "end");
        publisher.publish(received.parts.clone()).await?;
        // The peer may be gone already.
        let _ = router.send(&received.peer, received.parts).await;
        if is_end {
            break;
        }
    }
    let within = Duration::from_secs(5);
    let is_flushed = router.close(within).await & publisher.close(within).await & echo.close(within).await;
    if is_flushed { Ok(()) } else { Err("not all was written".into()) }
}
