//! A program with the sockets of a client, to be tried with other implementations: `clients ROUTER XPUB REP`.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use brumate_zmtp::{Dealer, Endpoint, Limits, Requester, Subscriber};
use bytes::Bytes;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [router, publisher, rep] = &arguments[..] else { return Err("three endpoints are missing".into()) };

    let dealer = Dealer::connect(&parse(router)?, Bytes::from("client"), Limits::default()).await?;
    dealer.send(vec![Bytes::new(), Bytes::from("hello"), Bytes::from(vec![0; 1 << 20])]).await?;
    let reply = dealer.recv().await?;
    expect(reply.first().is_some_and(|part| part == "reply") && reply.len() == 2)?;

    let subscriber = Subscriber::connect(&parse(publisher)?, &[Bytes::from("topic")], Limits::default()).await?;
    expect(subscriber.recv().await? == ["topic.a", "yes"])?;

    let mut requester = Requester::connect(&parse(rep)?, Limits::default()).await?;
    expect(requester.request(vec![Bytes::from("ping")]).await? == ["ping"])?;

    dealer.send(vec![Bytes::from("bye")]).await?;
    expect(dealer.close(Duration::from_secs(5)).await)
}

fn parse(text: &str) -> Result<Endpoint, Box<dyn Error>> {
    if let Some(path) = text.strip_prefix("ipc://") {
        return Ok(Endpoint::Ipc(path.into()));
    }
    Ok(text.strip_prefix("tcp://").ok_or("no endpoint")?.parse::<SocketAddr>()?.into())
}

fn expect(is_right: bool) -> Result<(), Box<dyn Error>> {
    if is_right { Ok(()) } else { Err("another answer was expected".into()) }
}
