//! The gateway without a sandbox: a test speaks a machine's protocol with it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use brumate_gateway::client::{Gateway, NameSettings};
use brumate_network::host::Host;
use brumate_network::message::{Answer, Failure, MAX_MESSAGE, Request};
use brumate_network::packet::{self, PacketError};
use brumate_network::refusal::Reason;
use brumate_network::rules::Rules;
use brumate_test_support::{Random, count, seed};

use super::names::NameServer;
use super::{Server, http};

/// A machine's end.
struct Machine {
    socket: OwnedFd,
    last_id: u64,
}

impl Machine {
    async fn new(gateway: &Gateway, rules: &[String]) -> Machine {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let rules = Rules::new(rules, "`--allow-net HOST`").unwrap();
        let socket = gateway.serve(gateway.new_session(), "ada", &rules).await.unwrap();
        Machine { socket, last_id: 0 }
    }

    async fn ask(&mut self, request: impl FnOnce(u64) -> Request) -> (Answer, Option<OwnedFd>) {
        self.last_id += 1;
        packet::send(&self.socket, &request(self.last_id), None).unwrap();
        loop {
            match packet::receive(&self.socket, MAX_MESSAGE) {
                Ok((Answer::Ended { .. }, _)) => {}
                Ok(answer) => return answer,
                Err(PacketError::Os(_)) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn connect(&mut self, host: &Host, port: u16) -> Result<OwnedFd, Failure> {
        match self.ask(|id| Request::Connect { id, host: host.clone(), port }).await {
            (Answer::Connected { .. }, Some(stream)) => Ok(stream),
            (Answer::Failed { failure, .. }, None) => Err(failure),
            other => panic!("{other:?}"),
        }
    }
}

fn gateway(servers: Vec<std::net::SocketAddr>) -> Gateway {
    Gateway::new(env!("CARGO_BIN_EXE_brumate").into(), NameSettings { servers }, Arc::new(|_| {}))
}

fn reason(failure: &Failure) -> Option<Reason> {
    match failure {
        Failure::Refused(refusal) => Some(refusal.reason),
        _ => None,
    }
}

/// Addresses that must not be reached by a name: of IANA's registries, and those that lead to other addresses.
const SPECIAL: [&str; 40] = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.255",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "ff02::1",
];

#[tokio::test]
async fn names_lead_to_no_special_address() {
    let server = Server::start(http);
    let names = SPECIAL.iter().enumerate();
    let names = names.map(|(index, address)| (format!("n{index}.evil.test"), vec![address.parse::<IpAddr>().unwrap()]));
    let names = NameServer::start(names.collect());
    let gateway = gateway(vec![names.address]);
    let mut machine = Machine::new(&gateway, &[format!("*.evil.test:{}", server.port)]).await;
    for (index, address) in SPECIAL.iter().enumerate() {
        let host = Host::parse(&format!("n{index}.evil.test")).unwrap();
        let failure = machine.connect(&host, server.port).await.unwrap_err();
        assert_eq!(reason(&failure), Some(Reason::Address), "{address}: {failure:?}");
    }
    assert_eq!(server.count(), 0);
    let mut machine = Machine::new(&gateway, &[format!("*.brumate.internal:{}", server.port)]).await;
    let failure = machine.connect(&Host::parse("host.brumate.internal").unwrap(), server.port).await.unwrap_err();
    assert_eq!(reason(&failure), Some(Reason::Address), "{failure:?}");
    assert_eq!(server.count(), 0);
    // With a rule for the address it is reached.
    let rules = [format!("*.evil.test:{}", server.port), format!("127.0.0.1:{}", server.port)];
    let mut machine = Machine::new(&gateway, &rules).await;
    machine.connect(&Host::parse("n6.evil.test").unwrap(), server.port).await.unwrap();
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_name_that_changes_its_address_leads_nowhere_else() {
    let server = Server::start(http);
    // A name's first answer is harmless, its next one is not. The gateway asks once for a connection, and checks each answer.
    let addresses = ["203.0.113.7", "127.0.0.1", "169.254.169.254"].map(|text| text.parse().unwrap()).to_vec();
    let names = NameServer::start(HashMap::from([("rebind.test".to_owned(), addresses)]));
    let gateway = gateway(vec![names.address]);
    let mut machine = Machine::new(&gateway, &[format!("rebind.test:{}", server.port)]).await;
    let host = Host::parse("rebind.test").unwrap();
    for _ in 0..6 {
        let failure = machine.connect(&host, server.port).await.unwrap_err();
        assert_eq!(reason(&failure), Some(Reason::Address), "{failure:?}");
    }
    assert_eq!(server.count(), 0);
}

/// Spells an address of IPv4 in one of the ways that programs read.
fn spell(random: &mut Random, address: [u8; 4]) -> String {
    let number = u32::from_be_bytes(address);
    let [a, b, c, d] = address;
    let part = |random: &mut Random, value: u32| match random.below(3) {
        0 => format!("{value}"),
        1 => format!("0x{value:x}"),
        _ => format!("0{value:o}"),
    };
    match random.below(8) {
        0 => part(random, number),
        1 => format!("{}.{}", part(random, a.into()), part(random, number & 0xff_ffff)),
        2 => format!("{}.{}.{}", part(random, a.into()), part(random, b.into()), part(random, number & 0xffff)),
        3 => [a, b, c, d].map(|byte| part(random, byte.into())).join("."),
        4 => format!("::ffff:{a}.{b}.{c}.{d}"),
        5 => format!("[::ffff:{:x}:{:x}]", number >> 16, number & 0xffff),
        6 => format!("{a}.{b}.{c}.{d}."),
        _ => format!("{a}.{b}.{c}.{d}")
            .chars()
            .map(|figure| match figure {
                '.' => '。',
                figure => char::from_u32(u32::from(figure) - u32::from('0') + 0xff10).unwrap(),
            })
            .collect(),
    }
}

#[tokio::test]
async fn hostile_hosts_reach_nothing_and_are_not_looked_up() {
    let mut random = Random::new(seed());
    let server = Server::start(http);
    let names = NameServer::start(HashMap::from([("api.granted.test".to_owned(), vec!["127.0.0.1".parse().unwrap()])]));
    let gateway = gateway(vec![names.address]);
    let mut machine =
        Machine::new(&gateway, &[format!("api.granted.test:{}", server.port), "93.184.216.34:80".to_owned()]).await;
    let targets =
        [[127, 0, 0, 1], [169, 254, 169, 254], [10, 0, 0, 1], [192, 168, 1, 1], [0, 0, 0, 0], [100, 100, 100, 200]];
    for _ in 0..count(1_000, 10_000) {
        let text = match random.below(4) {
            0 => format!("api.granted.test.{}.example", random.next()),
            1 => format!("{}.api.granted.test", random.next()),
            2 => format!("api.granted.test{}x.example", ['\u{0}', '@', '#', '%', '/', '\\', ' '][random.index(7)]),
            _ => {
                let target = *random.pick(&targets);
                spell(&mut random, target)
            }
        };
        // A text that is no host is refused by the machine. The gateway gets hosts only.
        let Ok(host) = Host::parse(&text) else { continue };
        let failure = machine.connect(&host, server.port).await.unwrap_err();
        assert_eq!(reason(&failure), Some(Reason::Host), "{text}: {failure:?}");
        let (answer, _) = machine.ask(|id| Request::Resolve { id, host }).await;
        assert!(
            matches!(&answer, Answer::Failed { failure, .. } if reason(failure) == Some(Reason::Host)),
            "{text}: {answer:?}"
        );
    }
    assert_eq!((server.count(), names.asked.lock().len()), (0, 0));
}

#[tokio::test]
async fn machines_that_break_the_protocol_are_left() {
    let server = Server::start(http);
    let gateway = gateway(Vec::new());
    let rules = [format!("host.brumate.internal:{}", server.port)];
    let mut random = Random::new(seed());
    let host = Host::parse("host.brumate.internal").unwrap();
    let mut good = Machine::new(&gateway, &rules).await;
    for _ in 0..count(50, 500) {
        let machine = Machine::new(&gateway, &rules).await;
        let length = 1 + random.index(200);
        match random.below(3) {
            // Bytes that are no message.
            0 => drop(rustix::net::send(&machine.socket, &random.bytes(length), rustix::net::SendFlags::NOSIGNAL)),
            // A descriptor.
            1 => {
                let request = Request::Resolve { id: 1, host: host.clone() };
                packet::send(&machine.socket, &request, Some(machine.socket.as_fd())).unwrap();
            }
            // Requests without end, and no answer is taken.
            _ => {
                for id in 0..10_000 {
                    let request = Request::Connect { id, host: host.clone(), port: server.port };
                    if packet::send(&machine.socket, &request, None).is_err() {
                        break;
                    }
                }
            }
        }
    }
    // Others are served.
    good.connect(&host, server.port).await.unwrap();
}

#[tokio::test]
async fn a_session_has_so_many_connections() {
    let server = Server::start(|stream| {
        std::thread::sleep(Duration::from_secs(30));
        drop(stream);
    });
    let gateway = gateway(Vec::new());
    let rules = [format!("host.brumate.internal:{}", server.port)];
    let host = Host::parse("host.brumate.internal").unwrap();
    let mut machine = Machine::new(&gateway, &rules).await;
    let mut streams = Vec::new();
    let failure = loop {
        match machine.connect(&host, server.port).await {
            Ok(stream) => streams.push(stream),
            Err(failure) => break failure,
        }
    };
    assert_eq!((streams.len(), reason(&failure)), (64, Some(Reason::Limit)));
    streams.pop();
    // The place is free when the gateway has seen the end.
    while machine.connect(&host, server.port).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_gateway_that_was_killed_is_started_again() {
    let server = Server::start(http);
    let gateway = gateway(Vec::new());
    let rules = [format!("host.brumate.internal:{}", server.port)];
    let host = Host::parse("host.brumate.internal").unwrap();
    let mut machine = Machine::new(&gateway, &rules).await;
    let stream = machine.connect(&host, server.port).await.unwrap();
    rustix::process::kill_process(gateway.process_id().await.unwrap(), rustix::process::Signal::KILL).unwrap();
    // The stream ends without the message that the host has ended it.
    let mut byte = [0];
    loop {
        match rustix::io::read(&stream, &mut byte) {
            Ok(count) => break assert_eq!(count, 0),
            Err(rustix::io::Errno::AGAIN) => tokio::time::sleep(Duration::from_millis(1)).await,
            Err(errno) => break assert_eq!(errno, rustix::io::Errno::CONNRESET),
        }
    }
    let mut machine = Machine::new(&gateway, &rules).await;
    machine.connect(&host, server.port).await.unwrap();
    assert_eq!(server.count(), 2);
}
