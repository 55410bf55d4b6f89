//! A name server that answers as a test says, and records what it is asked.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// Types of records (RFC 1035, RFC 3596).
const A: u16 = 1;
const AAAA: u16 = 28;

/// The server.
pub(super) struct NameServer {
    pub(super) address: SocketAddr,
    /// Names that were asked for.
    pub(super) asked: Arc<Mutex<Vec<String>>>,
}

impl NameServer {
    /// Answers with the addresses of a name in turn: each question gets the next one. Other names do not exist.
    pub(super) fn start(names: HashMap<String, Vec<IpAddr>>) -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let recorded = asked.clone();
        thread::spawn(move || {
            let mut turns: HashMap<String, usize> = HashMap::new();
            let mut buffer = [0; 1500];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).unwrap();
                let Some((name, kind, end)) = question(&buffer[..length]) else { continue };
                recorded.lock().push(name.clone());
                let turn = turns.entry(name.clone()).or_default();
                let all = names.get(&name);
                let found = all.map(|all| all[*turn % all.len()]);
                let found =
                    found.filter(|address| (kind == A && address.is_ipv4()) || (kind == AAAA && address.is_ipv6()));
                if found.is_some() {
                    *turn += 1;
                }
                // Answer, recursion available; with no such name, the code 3.
                let code = if all.is_none() { 3 } else { 0 };
                let mut answer =
                    vec![buffer[0], buffer[1], 0x81, 0x80 | code, 0, 1, 0, u8::from(found.is_some()), 0, 0, 0, 0];
                answer.extend(&buffer[12..end]);
                if let Some(address) = found {
                    let bytes = match address {
                        IpAddr::V4(four) => four.octets().to_vec(),
                        IpAddr::V6(six) => six.octets().to_vec(),
                    };
                    // The name of the question, type, class, a life of 0 seconds.
                    answer.extend([0xc0, 12]);
                    answer.extend(kind.to_be_bytes());
                    answer.extend([0, 1, 0, 0, 0, 0]);
                    answer.extend((bytes.len() as u16).to_be_bytes());
                    answer.extend(bytes);
                }
                let _ = socket.send_to(&answer, from);
            }
        });
        NameServer { address, asked }
    }
}

/// Reads the question of a message: name, type, and where it ends.
fn question(message: &[u8]) -> Option<(String, u16, usize)> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    Some((labels.join("."), kind, at + 4))
}
