//! Layouts and numbers of the calls on sockets.

use super::Guest;
use crate::caps::network::Network;
use crate::libc::files;
use crate::libc::sockets::{calls, names, private};
use brumate_abi::errno::Errno;

fn v4(port: u16) -> Vec<u8> {
    [&[2, 0][..], &port.to_be_bytes(), &[127, 0, 0, 1], &[0; 8]].concat()
}

/// A connection: the client's end and the server's.
fn connection(guest: &mut Guest) -> (i32, i32) {
    let address = guest.put(&v4(8080));
    let (from, length) = (guest.space(128), guest.words(&[128]));
    guest.call(|vfs, mem| {
        let server = calls::socket(vfs, 2, 1, 0).unwrap();
        calls::bind(vfs, mem, server, address, 16).unwrap();
        calls::listen(vfs, server, 5).unwrap();
        let client = calls::socket(vfs, 2, 1, 6).unwrap();
        calls::connect(vfs, &mut Network::default(), mem, client, address, 16).unwrap();
        let end = calls::accept(vfs, mem, server, from, length, 0x8_0800).unwrap();
        vfs.close(server).unwrap();
        (client, end)
    })
}

#[test]
fn addresses_have_the_layout_of_libc() {
    let mut guest = Guest::new();
    let (client, end) = connection(&mut guest);
    let (at, length) = (guest.space(128), guest.words(&[128]));
    assert_eq!(guest.call(|vfs, mem| calls::name(vfs, mem, end, at, length, false)), Ok(0));
    assert_eq!(guest.u32(length), 16);
    assert_eq!(guest.memory[at as usize..at as usize + 16], v4(8080)[..]);
    let short = guest.words(&[4]);
    assert_eq!(guest.call(|vfs, mem| calls::name(vfs, mem, client, at, short, true)), Ok(0));
    assert_eq!(guest.u32(short), 16, "the length is that of the whole address");
    let negative = guest.words(&[u32::MAX]);
    assert_eq!(guest.call(|vfs, mem| calls::name(vfs, mem, client, at, negative, true)), Err(Errno::EINVAL));
    assert_eq!(guest.call(|vfs, mem| calls::name(vfs, mem, client, u32::MAX - 1, length, true)), Err(Errno::EFAULT));

    let unix = guest.put(b"\x01\0/tmp/s\0rest");
    let six = guest.put(&[&[10, 0, 0, 80][..], &[0; 19], &[1], &[0; 4]].concat());
    for (domain, address, size) in [(1, unix, 14), (10, six, 28)] {
        let fd = guest.call(|vfs, _| calls::socket(vfs, domain, 1, 0)).unwrap();
        assert_eq!(guest.call(|vfs, mem| calls::bind(vfs, mem, fd, address, size)), Ok(0));
        let length = guest.words(&[128]);
        assert_eq!(guest.call(|vfs, mem| calls::name(vfs, mem, fd, at, length, false)), Ok(0));
        let found = guest.memory[at as usize..(at + guest.u32(length)) as usize].to_vec();
        let given = &guest.memory[address as usize..(address + guest.u32(length)) as usize];
        assert_eq!(found, given);
        assert_eq!(guest.call(|vfs, mem| calls::bind(vfs, mem, fd, address, 1)), Err(Errno::EINVAL));
        assert_eq!(guest.call(|vfs, mem| calls::bind(vfs, mem, fd, address, 129)), Err(Errno::EINVAL));
    }
    assert_eq!(guest.call(|vfs, mem| calls::bind(vfs, mem, client, six, 28)), Err(Errno::EAFNOSUPPORT));
}

#[test]
fn types_and_protocols_are_checked() {
    let mut guest = Guest::new();
    for (domain, kind, protocol, error) in [
        (16, 1, 0, Errno::EAFNOSUPPORT),
        (2, 3, 0, Errno::EPERM),
        (2, 5, 0, Errno::EPROTONOSUPPORT),
        (2, 1, 17, Errno::EPROTONOSUPPORT),
        (1, 1, 6, Errno::EPROTONOSUPPORT),
    ] {
        assert_eq!(guest.call(|vfs, _| calls::socket(vfs, domain, kind, protocol)), Err(error));
    }
    let fd = guest.call(|vfs, _| calls::socket(vfs, 2, 2 | 0x8_0800, 17)).unwrap();
    let zero = guest.words(&[0]);
    let flags = guest.call(|vfs, mem| files::fcntl64(vfs, mem, fd, 3, 0));
    assert_eq!(flags & 0x800, 0x800);
    let va = guest.words(&[zero]);
    assert_eq!(guest.call(|vfs, mem| files::ioctl(vfs, mem, fd, 0x5421, va)), 0, "FIONBIO");
    assert_eq!(guest.call(|vfs, mem| files::fcntl64(vfs, mem, fd, 3, 0)) & 0x800, 0);
    assert_eq!(guest.call(|vfs, _| calls::shutdown(vfs, fd, 3)), Err(Errno::EINVAL));
    assert_eq!(guest.call(|vfs, _| calls::shutdown(vfs, 0, 0)), Err(Errno::ENOTSOCK));
}

#[test]
fn messages_are_gathered_and_scattered() {
    let mut guest = Guest::new();
    let (client, end) = connection(&mut guest);
    let (one, two) = (guest.put(b"one"), guest.put(b"second"));
    let vectors = guest.words(&[one, 3, two, 6]);
    let message = guest.words(&[0, 0, vectors, 2, 0, 0, 0]);
    let out = guest.call(|vfs, mem| calls::gather(vfs, mem, client, message, 0)).unwrap();
    assert_eq!(guest.vfs.send(client, &out.data, None), Ok(9));
    let (first, second) = (guest.space(5), guest.space(50));
    let vectors = guest.words(&[first, 5, second, 50]);
    let received = guest.words(&[0, 0, vectors, 2, 0, 99, 99]);
    assert_eq!(guest.call(|vfs, mem| calls::receive_message(vfs, mem, end, received, 0)), Ok(9));
    assert_eq!(guest.memory[first as usize..first as usize + 5], *b"onese");
    assert_eq!(guest.memory[second as usize..second as usize + 4], *b"cond");
    assert_eq!((guest.u32(received + 20), guest.u32(received + 24)), (0, 0));
    assert_eq!(guest.call(|vfs, mem| calls::receive_message(vfs, mem, end, received, 0)), Err(Errno::EAGAIN));

    let ancillary = guest.words(&[0, 0, vectors, 2, 64, 12, 0]);
    let refused = guest.call(|vfs, mem| calls::gather(vfs, mem, client, ancillary, 0)).err();
    assert_eq!(refused, Some(Errno::EOPNOTSUPP));
    let many = guest.words(&[0, 0, vectors, 1025, 0, 0, 0]);
    let refused = guest.call(|vfs, mem| calls::gather(vfs, mem, client, many, 0)).err();
    assert_eq!(refused, Some(Errno::EMSGSIZE));
    assert_eq!(guest.call(|vfs, mem| calls::receive(vfs, mem, end, (first, 5), 1, (0, 0))), Err(Errno::EINVAL));
}

#[test]
fn datagrams_tell_their_length_and_sender() {
    let mut guest = Guest::new();
    let address = guest.put(&v4(53));
    let data = guest.put(b"datagram");
    let (buf, from, length) = (guest.space(3), guest.space(16), guest.words(&[16]));
    guest.call(|vfs, mem| {
        let server = calls::socket(vfs, 2, 2, 0).unwrap();
        calls::bind(vfs, mem, server, address, 16).unwrap();
        let client = calls::socket(vfs, 2, 2, 0).unwrap();
        let to = calls::destination(vfs, mem, client, 0, address, 16).unwrap();
        assert_eq!(calls::send(vfs, mem, client, (data, 8), to.as_ref()), Ok(8));
        assert_eq!(calls::send(vfs, mem, client, (u32::MAX - 3, 8), to.as_ref()), Err(Errno::EFAULT));
        assert_eq!(calls::receive(vfs, mem, server, (buf, 3), 0x22, (from, length)), Ok(8), "peeked");
        assert_eq!(calls::receive(vfs, mem, server, (buf, 3), 0, (from, length)), Ok(3));
    });
    assert_eq!((&guest.memory[buf as usize..buf as usize + 3], guest.u32(length)), (&b"dat"[..], 16));
    assert_eq!(guest.memory[from as usize + 4..from as usize + 8], [127, 0, 0, 1]);
}

#[test]
fn the_driver_makes_calls_by_blocks() {
    let mut guest = Guest::new();
    let call = |guest: &mut Guest, fd: i32, words: [u32; 5], data: &[u8]| {
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let at = guest.put(&[&head, data].concat());
        let result =
            guest.call(|vfs, mem| private::Block::read(mem, at).and_then(|block| block.try_call(vfs, mem, fd)));
        (result, at + 20)
    };
    let (made, at) = call(&mut guest, 0, [0, 1, 1, 0, 8], &[0; 8]);
    assert_eq!(made, Ok(0));
    let (one, other) = (guest.u32(at) as i32, guest.u32(at + 4) as i32);
    assert_eq!(guest.vfs.send(one, b"pair", None), Ok(4));
    let (count, at) = call(&mut guest, other, [8, 0, 128, 0, 128 + 10], &[0; 138]);
    assert_eq!((count, &guest.memory[at as usize + 128..at as usize + 132]), (Ok(4), &b"pair"[..]));
    assert_eq!(guest.u32(at - 4), 0, "streams name no sender");
    assert_eq!(call(&mut guest, one, [1, 1, 9, 0, 4], &[1, 0, 0, 0]).0, Ok(0));
    assert_eq!(guest.vfs.socket_option(one, 1, 9), Ok(vec![1, 0, 0, 0]));
    assert_eq!(call(&mut guest, one, [7, 0, 9, 0, 4], b"data").0, Err(Errno::EINVAL), "an address beyond the data");
    assert_eq!(call(&mut guest, one, [99, 0, 0, 0, 0], b"").0, Err(Errno::EINVAL));
    assert_eq!(call(&mut guest, 0, [2, 0, 0, 0, 2], &[1, 0]).0, Err(Errno::ENOTSOCK));
    assert_eq!(call(&mut guest, 0, [0, 1, 1, 0, 4], &[0; 4]).0, Err(Errno::EINVAL));
    assert_eq!(call(&mut guest, 0, [0, 1, 1, 0, u32::MAX], &[0; 4]).0, Err(Errno::EFAULT));
}

#[test]
fn names_of_the_machine_itself_have_addresses() {
    let mut guest = Guest::new();
    let find = |guest: &mut Guest, node: Option<&str>, service: Option<&str>, hints: [u32; 4]| {
        let text = |guest: &mut Guest, text: Option<&str>| text.map_or(0, |text| guest.string(text));
        let (node, service, hints) = (text(guest, node), text(guest, service), guest.words(&hints));
        guest.call(|_, mem| names::find(mem, node, service, hints)).map(|found| format!("{found:?}"))
    };
    for (node, service, hints, expected) in [
        (Some("localhost"), Some("http"), [0, 0, 1, 0], "127.0.0.1, 80"),
        (Some("a.LOCALHOST."), Some("53"), [0, 10, 0, 0], "::1, 53"),
        (Some("emscripten"), None, [0, 2, 0, 0], "127.0.0.1, 0"),
        (None, Some("0"), [1, 2, 0, 0], "0.0.0.0, 0"),
        (None, Some("1"), [1, 10, 0, 0], "::, 1"),
        (Some("192.0.2.1"), Some("domain"), [4, 0, 2, 17], "192.0.2.1, 53"),
        (Some("127.1"), Some("80"), [4, 2, 1, 0], "127.0.0.1, 80"),
        (Some("0x7f.0.0x102"), None, [0, 0, 1, 0], "127.0.1.2, 0"),
        (Some("010.1.2.3"), None, [0, 0, 1, 0], "8.1.2.3, 0"),
        (Some("4294967295"), None, [0, 0, 1, 0], "255.255.255.255, 0"),
    ] {
        let found = find(&mut guest, node, service, hints).unwrap();
        assert!(found.contains(&format!("Ip({expected})")), "{found}");
    }
    // The gateway is asked for others, and says which of them are no names.
    for node in
        ["example.com", "127.256.1", "1.2.3.256", "127.16777216", "127.0.0.0.1", "127.", "127.+1", "09.0.0.1", "0x"]
    {
        let found = find(&mut guest, Some(node), None, [0; 4]).unwrap();
        assert!(found.starts_with(&format!("Outside({node:?}")), "{found}");
    }
    for (node, service, hints, expected) in [
        (Some("localhost"), None, [4, 0, 0, 0], -2),
        (Some("example.com"), None, [0, 10, 0, 0], -2),
        (Some("::1"), None, [0, 2, 0, 0], -2),
        (None, None, [0; 4], -2),
        (Some("localhost"), Some("none"), [0; 4], -8),
        (Some("localhost"), Some("http"), [0x400, 0, 0, 0], -2),
        (Some("localhost"), None, [0x8000, 0, 0, 0], -1),
        (Some("localhost"), None, [0, 16, 0, 0], -6),
        (Some("localhost"), None, [0, 0, 5, 0], -7),
    ] {
        assert_eq!(find(&mut guest, node, service, hints), Err(expected), "{node:?} {service:?}");
    }
    let address = guest.put(&v4(443));
    let (host, service) = (guest.space(20), guest.space(20));
    let told = guest.call(|_, mem| names::name_info(mem, (address, 16), (host, 20), (service, 20), 0));
    assert_eq!(told, Ok(()));
    assert_eq!(guest.memory[host as usize..host as usize + 10], *b"localhost\0");
    assert_eq!(guest.memory[service as usize..service as usize + 6], *b"https\0");
    let narrow = guest.call(|_, mem| names::name_info(mem, (address, 16), (host, 5), (service, 20), 0));
    assert_eq!(narrow, Err(-12));
    let beyond = guest.call(|_, mem| names::name_info(mem, (u32::MAX, 16), (host, 5), (service, 20), 0));
    assert_eq!(beyond, Err(-6));
}
