//! Sockets: semantics of Linux, bounds, saved state.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::support::vfs;
use crate::bytes::Bytes;
use crate::limits::*;
use crate::option::*;
use crate::{Family, FileType, Kind, OpenFlags as O, Readiness, Shutdown, SocketAddress, Vfs, Whence, at};
use brumate_abi::errno::Errno;

const NO_FLAGS: O = O(0);
const RDHUP: i16 = 0x2000;

fn v4(last: u8, port: u16) -> SocketAddress {
    SocketAddress::ip(Ipv4Addr::new(127, 0, 0, last).into(), port)
}

fn any4(port: u16) -> SocketAddress {
    SocketAddress::ip(Ipv4Addr::UNSPECIFIED.into(), port)
}

fn v6(address: Ipv6Addr, port: u16) -> SocketAddress {
    SocketAddress::ip(address.into(), port)
}

fn path(name: &str) -> SocketAddress {
    SocketAddress::Path(Bytes(name.as_bytes().to_vec()))
}

fn tcp(vfs: &mut Vfs) -> i32 {
    vfs.socket(Family::Inet, Kind::Stream, NO_FLAGS).unwrap()
}

fn udp(vfs: &mut Vfs) -> i32 {
    vfs.socket(Family::Inet, Kind::Datagram, NO_FLAGS).unwrap()
}

fn unix(vfs: &mut Vfs, kind: Kind) -> i32 {
    vfs.socket(Family::Unix, kind, NO_FLAGS).unwrap()
}

fn listener(vfs: &mut Vfs, address: &SocketAddress, backlog: i32) -> i32 {
    let fd = tcp(vfs);
    vfs.bind(fd, address).unwrap();
    vfs.listen(fd, backlog).unwrap();
    fd
}

/// A connection over TCP: the client's end and the server's.
fn connection(vfs: &mut Vfs) -> (i32, i32) {
    let server = listener(vfs, &v4(1, 0), 1);
    let address = vfs.local_address(server).unwrap();
    let client = tcp(vfs);
    vfs.connect(client, &address).unwrap();
    let end = vfs.accept(server, NO_FLAGS).unwrap();
    vfs.close(server).unwrap();
    (client, end)
}

fn read(vfs: &mut Vfs, fd: i32) -> Result<Vec<u8>, Errno> {
    let mut buf = vec![0; 1 << 20];
    let count = vfs.receive(fd, &mut buf, false)?.count;
    buf.truncate(count);
    Ok(buf)
}

fn has(vfs: &mut Vfs, fd: i32, bits: i16) -> bool {
    vfs.poll(fd).unwrap().0 & bits == bits
}

fn number(vfs: &mut Vfs, fd: i32, name: i32) -> i32 {
    let value = vfs.socket_option(fd, SOL_SOCKET, name).unwrap();
    i32::from_le_bytes(value[..4].try_into().unwrap())
}

#[test]
fn a_stream_carries_bytes_both_ways_until_it_ends() {
    let mut vfs = vfs();
    let (client, server) = connection(&mut vfs);
    assert_eq!(vfs.remote_address(server), vfs.local_address(client));
    assert_eq!(vfs.remote_address(client), vfs.local_address(server));
    assert_eq!(read(&mut vfs, server), Err(Errno::EAGAIN));
    assert_eq!(vfs.send(client, b"hello", None), Ok(5));
    assert_eq!(vfs.readable_bytes(server), Ok(5));
    let mut buf = [0; 3];
    assert_eq!(vfs.receive(server, &mut buf, true).unwrap().count, 3);
    assert_eq!(vfs.read(server, &mut buf), Ok(3));
    assert_eq!((&buf, read(&mut vfs, server)), (b"hel", Ok(b"lo".to_vec())));
    assert_eq!(vfs.write(server, b"answer"), Ok(6));
    vfs.shutdown(server, Shutdown::Write).unwrap();
    assert_eq!(vfs.write(server, b"x"), Err(Errno::EPIPE));
    assert!(has(&mut vfs, client, Readiness::IN | RDHUP));
    assert_eq!(read(&mut vfs, client), Ok(b"answer".to_vec()));
    assert_eq!(read(&mut vfs, client), Ok(Vec::new()), "the end");
    assert_eq!(vfs.send(client, b"still", None), Ok(5), "half is open");
    assert_eq!(read(&mut vfs, server), Ok(b"still".to_vec()));
    vfs.shutdown(client, Shutdown::Write).unwrap();
    assert!(has(&mut vfs, client, Readiness::HUP));
    vfs.check().unwrap();
}

#[test]
fn a_socket_is_no_file_with_a_position() {
    let mut vfs = vfs();
    let fd = tcp(&mut vfs);
    assert_eq!(vfs.fstat(fd).unwrap().mode & 0xF000, 0xC000);
    assert_eq!(vfs.file_type(fd), Ok(FileType::Socket));
    assert_eq!(vfs.seek(fd, 0, Whence::Current), Err(Errno::ESPIPE));
    assert_eq!(vfs.pread(fd, 0, &mut [0]), Err(Errno::ESPIPE));
    assert_eq!(vfs.pwrite(fd, 0, b"x"), Err(Errno::ESPIPE));
    assert_eq!(vfs.open(&format!("/proc/self/fd/{fd}"), O::RDWR), Err(Errno::ENXIO));
    let name = vfs.readlinkat(at::FDCWD, format!("/proc/self/fd/{fd}").as_bytes()).unwrap();
    assert!(name.starts_with(b"socket:["));
    let file = vfs.open("/tmp/f", O::CREAT | O::RDWR).unwrap();
    assert_eq!(vfs.listen(file, 1), Err(Errno::ENOTSOCK));
    assert_eq!(vfs.listen(99, 1), Err(Errno::EBADF));
}

#[test]
fn closing_with_unread_bytes_resets() {
    let mut vfs = vfs();
    let (client, server) = connection(&mut vfs);
    vfs.send(client, b"unread", None).unwrap();
    vfs.close(server).unwrap();
    assert!(has(&mut vfs, client, Readiness::IN | Readiness::ERR | Readiness::HUP));
    assert_eq!(read(&mut vfs, client), Err(Errno::ECONNRESET));
    assert_eq!(read(&mut vfs, client), Ok(Vec::new()));
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::EPIPE));

    let (client, server) = connection(&mut vfs);
    vfs.set_socket_option(server, SOL_SOCKET, SO_LINGER, &[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    vfs.close(server).unwrap();
    assert_eq!(number(&mut vfs, client, SO_ERROR), i32::from(Errno::ECONNRESET.raw()));

    let (client, server) = connection(&mut vfs);
    vfs.close(server).unwrap();
    assert!(!has(&mut vfs, client, Readiness::ERR));
    assert_eq!(vfs.send(client, b"x", None), Ok(1), "TCP learns of it by the answer");
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::EPIPE));
    assert_eq!(read(&mut vfs, client), Ok(Vec::new()));
}

#[test]
fn connecting_follows_linux() {
    let mut vfs = vfs();
    let client = tcp(&mut vfs);
    assert_eq!(vfs.connect(client, &v4(1, 80)), Err(Errno::ECONNREFUSED));
    let foreign: IpAddr = Ipv4Addr::new(10, 0, 0, 1).into();
    assert_eq!(vfs.connect(client, &SocketAddress::ip(foreign, 80)), Err(Errno::EACCES));
    assert_eq!(vfs.bind(client, &SocketAddress::ip(foreign, 80)), Err(Errno::EADDRNOTAVAIL));
    assert_eq!(vfs.connect(client, &path("/tmp/s")), Err(Errno::EINVAL));
    assert_eq!(vfs.remote_address(client), Err(Errno::ENOTCONN));
    assert_eq!(vfs.shutdown(client, Shutdown::Both), Err(Errno::ENOTCONN));
    assert_eq!(vfs.accept(client, NO_FLAGS), Err(Errno::EINVAL));

    let server = listener(&mut vfs, &any4(8080), 0);
    assert_eq!(vfs.accept(server, NO_FLAGS), Err(Errno::EAGAIN));
    assert_eq!(vfs.connect(client, &any4(8080)), Ok(()));
    assert_eq!(vfs.remote_address(client), Ok(v4(1, 8080)));
    assert_eq!(vfs.connect(client, &v4(1, 8080)), Err(Errno::EISCONN));
    assert_eq!(vfs.connect(server, &v4(1, 8080)), Err(Errno::EISCONN));
    assert_eq!(vfs.listen(client, 1), Err(Errno::EINVAL));

    let late = tcp(&mut vfs);
    assert_eq!(vfs.connect(late, &v4(7, 8080)), Err(Errno::EINPROGRESS), "the backlog is full");
    assert_eq!(vfs.connect(late, &v4(7, 8080)), Err(Errno::EALREADY));
    assert_eq!(vfs.poll(late).unwrap().0, 0);
    vfs.check().unwrap();
    let first = vfs.accept(server, O(O::NONBLOCK | O::CLOEXEC)).unwrap();
    assert!(vfs.status_flags(first).unwrap().has(O::NONBLOCK) && vfs.close_on_exec(first).unwrap());
    assert!(has(&mut vfs, late, Readiness::OUT));
    let second = vfs.accept(server, NO_FLAGS).unwrap();
    assert_eq!(vfs.local_address(second), Ok(v4(7, 8080)));
    assert_eq!(vfs.send(second, b"hi", None), Ok(2));
    assert_eq!(read(&mut vfs, late), Ok(b"hi".to_vec()));

    let (queued, waiting) = (tcp(&mut vfs), tcp(&mut vfs));
    vfs.connect(queued, &v4(1, 8080)).unwrap();
    assert_eq!(vfs.connect(waiting, &v4(1, 8080)), Err(Errno::EINPROGRESS));
    vfs.close(server).unwrap();
    assert_eq!(read(&mut vfs, queued), Err(Errno::ECONNRESET));
    assert_eq!(number(&mut vfs, waiting, SO_ERROR), i32::from(Errno::ECONNREFUSED.raw()));
    assert_eq!(number(&mut vfs, waiting, SO_ERROR), 0, "an error is told once");
    vfs.check().unwrap();
}

#[test]
fn a_refusal_is_pending_where_connect_does_not_block() {
    let mut vfs = vfs();
    let client = tcp(&mut vfs);
    assert_eq!(vfs.connect(client, &v4(1, 8080)), Err(Errno::ECONNREFUSED));
    assert_eq!(number(&mut vfs, client, SO_ERROR), 0);
    vfs.set_status_flags(client, O(O::NONBLOCK)).unwrap();
    assert_eq!(vfs.connect(client, &v4(1, 8080)), Err(Errno::EINPROGRESS));
    for ready in [Readiness::OUT, Readiness::ERR, Readiness::HUP] {
        assert!(has(&mut vfs, client, ready));
    }
    assert_eq!(number(&mut vfs, client, SO_ERROR), i32::from(Errno::ECONNREFUSED.raw()));
    assert_eq!(vfs.connect(client, &v4(1, 8080)), Err(Errno::EINPROGRESS));
    assert_eq!(vfs.connect(client, &v4(1, 8080)), Err(Errno::ECONNREFUSED), "the second call tells it");
    listener(&mut vfs, &v4(1, 8080), 1);
    assert_eq!(vfs.connect(client, &v4(1, 8080)), Ok(()));
    vfs.check().unwrap();
}

#[test]
fn ports_belong_to_one_socket() {
    let mut vfs = vfs();
    let server = listener(&mut vfs, &v4(1, 5000), 1);
    let other = tcp(&mut vfs);
    assert_eq!(vfs.bind(other, &v4(1, 5000)), Err(Errno::EADDRINUSE));
    assert_eq!(vfs.bind(other, &any4(5000)), Err(Errno::EADDRINUSE));
    assert_eq!(vfs.bind(other, &v4(2, 5000)), Ok(()), "another address");
    assert_eq!(vfs.bind(other, &v4(2, 5001)), Err(Errno::EINVAL), "bound once");
    let datagrams = udp(&mut vfs);
    assert_eq!(vfs.bind(datagrams, &v4(1, 5000)), Ok(()), "ports of UDP are others");
    let reusing = tcp(&mut vfs);
    vfs.set_socket_option(reusing, SOL_SOCKET, SO_REUSEADDR, &[1, 0, 0, 0]).unwrap();
    vfs.set_socket_option(server, SOL_SOCKET, SO_REUSEADDR, &[1, 0, 0, 0]).unwrap();
    assert_eq!(vfs.bind(reusing, &v4(1, 5000)), Err(Errno::EADDRINUSE), "something listens there");
    let client = tcp(&mut vfs);
    vfs.connect(client, &v4(1, 5000)).unwrap();
    let end = vfs.accept(server, NO_FLAGS).unwrap();
    vfs.close(server).unwrap();
    let plain = tcp(&mut vfs);
    assert_eq!(vfs.bind(plain, &v4(1, 5000)), Err(Errno::EADDRINUSE), "a connection has the port");
    assert_eq!(vfs.bind(reusing, &v4(1, 5000)), Ok(()));
    vfs.listen(reusing, 1).unwrap();
    vfs.close(end).unwrap();

    let (one, two) = (tcp(&mut vfs), tcp(&mut vfs));
    for fd in [one, two] {
        vfs.set_socket_option(fd, SOL_SOCKET, SO_REUSEPORT, &[1, 0, 0, 0]).unwrap();
        vfs.bind(fd, &any4(6000)).unwrap();
        vfs.listen(fd, 1).unwrap();
    }
    let ephemeral: Vec<u16> = (0..3)
        .map(|_| {
            let fd = tcp(&mut vfs);
            vfs.bind(fd, &any4(0)).unwrap();
            vfs.local_address(fd).unwrap().port()
        })
        .collect();
    assert!(ephemeral.iter().all(|port| (32768..=60999).contains(port)));
    assert!(ephemeral.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn ipv6_listens_for_both_unless_told_not_to() {
    let mut vfs = vfs();
    let bind = |vfs: &mut Vfs, only: u8, port| {
        let fd = vfs.socket(Family::Inet6, Kind::Stream, NO_FLAGS).unwrap();
        vfs.set_socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, &[only, 0, 0, 0]).unwrap();
        vfs.bind(fd, &v6(Ipv6Addr::UNSPECIFIED, port))?;
        vfs.listen(fd, 5)?;
        Ok::<_, Errno>(fd)
    };
    let both = bind(&mut vfs, 0, 7000).unwrap();
    bind(&mut vfs, 1, 7001).unwrap();
    let client = tcp(&mut vfs);
    assert_eq!(vfs.connect(client, &v4(1, 7001)), Err(Errno::ECONNREFUSED));
    vfs.connect(client, &v4(1, 7000)).unwrap();
    let client = vfs.socket(Family::Inet6, Kind::Stream, NO_FLAGS).unwrap();
    vfs.connect(client, &v6(Ipv6Addr::LOCALHOST, 7000)).unwrap();
    let mapped = vfs.socket(Family::Inet6, Kind::Stream, NO_FLAGS).unwrap();
    vfs.connect(mapped, &v6(Ipv4Addr::LOCALHOST.to_ipv6_mapped(), 7000)).unwrap();
    let ends: Vec<i32> = (0..3).map(|_| vfs.accept(both, NO_FLAGS).unwrap()).collect();
    assert_eq!(vfs.local_address(ends[0]), Ok(v4(1, 7000)));
    assert_eq!(vfs.local_address(ends[1]), Ok(v6(Ipv6Addr::LOCALHOST, 7000)));
    let other = tcp(&mut vfs);
    assert_eq!(vfs.bind(other, &any4(7000)), Err(Errno::EADDRINUSE));
    assert_eq!(vfs.bind(other, &any4(7001)), Ok(()));
    let four = tcp(&mut vfs);
    assert_eq!(vfs.bind(four, &v6(Ipv6Addr::LOCALHOST, 1)), Err(Errno::EAFNOSUPPORT));
}

#[test]
fn datagrams_keep_their_bounds_and_their_sender() {
    let mut vfs = vfs();
    let (server, client) = (udp(&mut vfs), udp(&mut vfs));
    vfs.bind(server, &any4(9000)).unwrap();
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::EDESTADDRREQ));
    assert_eq!(vfs.send(client, b"one", Some(&v4(1, 9000))), Ok(3));
    assert_eq!(vfs.send(client, b"second", Some(&v4(1, 9000))), Ok(6));
    assert_eq!(vfs.readable_bytes(server), Ok(3));
    let mut buf = [0; 4];
    let first = vfs.receive(server, &mut buf, false).unwrap();
    let port = vfs.local_address(client).unwrap().port();
    assert_eq!((first.count, first.source), (3, v4(1, port)));
    let second = vfs.receive(server, &mut buf, false).unwrap();
    assert_eq!((second.count, second.length, &buf), (4, 6, b"seco"));
    assert_eq!(vfs.receive(server, &mut buf, false), Err(Errno::EAGAIN), "the rest of a datagram is lost");
    assert_eq!(vfs.send(client, &vec![0; MAX_DATAGRAM + 1], Some(&v4(1, 9000))), Err(Errno::EMSGSIZE));
    let foreign = SocketAddress::ip(Ipv4Addr::new(192, 168, 0, 1).into(), 53);
    assert_eq!(vfs.send(client, b"x", Some(&foreign)), Err(Errno::EACCES));
    assert_eq!(vfs.connect(client, &foreign), Err(Errno::EACCES));

    assert_eq!(vfs.send(client, b"nobody", Some(&v4(1, 9001))), Ok(6));
    vfs.connect(client, &v4(1, 9001)).unwrap();
    assert_eq!(vfs.send(client, b"nobody", None), Ok(6));
    assert_eq!(read(&mut vfs, client), Err(Errno::ECONNREFUSED));
    vfs.connect(client, &v4(1, 9000)).unwrap();
    vfs.send(client, b"", None).unwrap();
    assert_eq!(vfs.receive(server, &mut buf, false).unwrap().count, 0, "an empty datagram is one");
    let stranger = udp(&mut vfs);
    vfs.send(stranger, b"from elsewhere", Some(&v4(1, port))).unwrap();
    assert_eq!(read(&mut vfs, client), Err(Errno::EAGAIN), "a connected socket hears its destination only");
    vfs.connect(client, &SocketAddress::Unnamed).unwrap();
    vfs.send(stranger, b"now", Some(&v4(1, port))).unwrap();
    assert_eq!(read(&mut vfs, client), Ok(b"now".to_vec()));
    for _ in 0..MAX_DATAGRAMS + 10 {
        assert_eq!(vfs.send(stranger, b"x", Some(&v4(1, 9000))), Ok(1));
    }
    let kept = std::iter::from_fn(|| read(&mut vfs, server).ok()).count();
    assert_eq!(kept, MAX_DATAGRAMS);
    vfs.check().unwrap();
}

#[test]
fn unix_sockets_have_files() {
    let mut vfs = vfs();
    let server = unix(&mut vfs, Kind::Stream);
    assert_eq!(vfs.listen(server, 1), Err(Errno::EINVAL), "it has no name");
    vfs.bind(server, &path("/tmp/s")).unwrap();
    assert_eq!(vfs.stat(b"/tmp/s").unwrap().mode, 0o140_755);
    let client = unix(&mut vfs, Kind::Stream);
    assert_eq!(vfs.connect(client, &path("/tmp/s")), Err(Errno::ECONNREFUSED), "it does not listen");
    vfs.listen(server, 1).unwrap();
    assert_eq!(vfs.connect(client, &path("/tmp/none")), Err(Errno::ENOENT));
    vfs.rename("/tmp/s", "/tmp/t").unwrap();
    vfs.chdir(b"/tmp").unwrap();
    vfs.connect(client, &path("t")).unwrap();
    let end = vfs.accept(server, NO_FLAGS).unwrap();
    assert_eq!(vfs.remote_address(client), Ok(path("/tmp/s")));
    assert_eq!((vfs.remote_address(end), vfs.local_address(end)), (Ok(SocketAddress::Unnamed), Ok(path("/tmp/s"))));
    vfs.send(end, b"hi", None).unwrap();
    assert_eq!(read(&mut vfs, client), Ok(b"hi".to_vec()));
    vfs.close(end).unwrap();
    assert!(has(&mut vfs, client, Readiness::IN | Readiness::HUP | RDHUP));
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::EPIPE));
    assert_eq!(vfs.open("/tmp/t", O::RDWR), Err(Errno::ENXIO));
    vfs.close(server).unwrap();
    let other = unix(&mut vfs, Kind::Stream);
    assert_eq!(vfs.bind(other, &path("/tmp/t")), Err(Errno::EADDRINUSE), "the file stays");
    assert_eq!(vfs.connect(other, &path("/tmp/t")), Err(Errno::ECONNREFUSED), "and leads nowhere");
    vfs.unlink("/tmp/t").unwrap();
    vfs.bind(other, &path("/tmp/t")).unwrap();
    vfs.check().unwrap();
    let before = vfs.usage().inodes;
    vfs.unlink("/tmp/t").unwrap();
    assert_eq!(vfs.usage().inodes, before - 1);
    let long = path(&format!("/tmp/{}", "n".repeat(MAX_SOCKET_NAME)));
    let last = unix(&mut vfs, Kind::Stream);
    assert_eq!(vfs.bind(last, &long), Err(Errno::EINVAL));
}

#[test]
fn abstract_names_are_no_files() {
    let mut vfs = vfs();
    let name = SocketAddress::Abstract(Bytes(b"name\0more".to_vec()));
    let server = unix(&mut vfs, Kind::Datagram);
    vfs.bind(server, &name).unwrap();
    let client = unix(&mut vfs, Kind::Datagram);
    assert_eq!(vfs.bind(client, &name), Err(Errno::EADDRINUSE));
    vfs.bind(client, &SocketAddress::Unnamed).unwrap();
    let SocketAddress::Abstract(own) = vfs.local_address(client).unwrap() else { panic!("no abstract name") };
    assert_eq!(own.len(), 5);
    vfs.send(client, b"hi", Some(&name)).unwrap();
    let mut buf = [0; 8];
    let received = vfs.receive(server, &mut buf, false).unwrap();
    assert_eq!(received.source, SocketAddress::Abstract(own));
    vfs.connect(client, &name).unwrap();
    for _ in 0..MAX_DATAGRAMS {
        vfs.send(client, b"x", None).unwrap();
    }
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::EAGAIN), "Unix sockets lose nothing");
    assert!(!has(&mut vfs, client, Readiness::OUT));
    let stream = unix(&mut vfs, Kind::Stream);
    assert_eq!(vfs.connect(stream, &name), Err(Errno::EPROTOTYPE));
    vfs.close(server).unwrap();
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::ECONNREFUSED));
    vfs.check().unwrap();
}

#[test]
fn pairs_are_connected() {
    let mut vfs = vfs();
    assert_eq!(vfs.socket_pair(Family::Inet, Kind::Stream, NO_FLAGS), Err(Errno::EOPNOTSUPP));
    let (one, other) = vfs.socket_pair(Family::Unix, Kind::Stream, O(O::CLOEXEC)).unwrap();
    assert!(vfs.close_on_exec(other).unwrap());
    let copy = vfs.dup(one, 0, false).unwrap();
    vfs.close(one).unwrap();
    vfs.write(copy, b"dup").unwrap();
    assert_eq!(read(&mut vfs, other), Ok(b"dup".to_vec()));
    vfs.shutdown(other, Shutdown::Read).unwrap();
    assert_eq!(vfs.write(copy, b"x"), Err(Errno::EPIPE));
    vfs.close(copy).unwrap();
    assert_eq!(read(&mut vfs, other), Ok(Vec::new()));
    let (one, other) = vfs.socket_pair(Family::Unix, Kind::Datagram, NO_FLAGS).unwrap();
    vfs.send(one, b"one", None).unwrap();
    vfs.send(one, b"two", None).unwrap();
    assert_eq!((read(&mut vfs, other), read(&mut vfs, other)), (Ok(b"one".to_vec()), Ok(b"two".to_vec())));
    vfs.check().unwrap();
}

#[test]
fn options_are_kept_and_checked() {
    let mut vfs = vfs();
    let fd = tcp(&mut vfs);
    assert_eq!(number(&mut vfs, fd, SO_TYPE), 1);
    assert_eq!(number(&mut vfs, fd, SO_DOMAIN), 2);
    assert_eq!(number(&mut vfs, fd, SO_PROTOCOL), 6);
    assert_eq!(number(&mut vfs, fd, SO_REUSEADDR), 0);
    vfs.set_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, &[7, 0, 0, 0]).unwrap();
    assert_eq!(number(&mut vfs, fd, SO_KEEPALIVE), 1);
    vfs.set_socket_option(fd, SOL_SOCKET, SO_RCVBUF, &8192i32.to_le_bytes()).unwrap();
    assert_eq!(number(&mut vfs, fd, SO_RCVBUF), 16384);
    vfs.set_socket_option(fd, SOL_SOCKET, SO_RCVBUF, &i32::MAX.to_le_bytes()).unwrap();
    assert_eq!(number(&mut vfs, fd, SO_RCVBUF), 425_984);
    vfs.set_socket_option(fd, IPPROTO_TCP, 1, &[1, 0, 0, 0]).unwrap();
    assert_eq!(vfs.socket_option(fd, IPPROTO_TCP, 1), Ok(vec![1, 0, 0, 0]));
    assert_eq!(vfs.socket_timeout(fd, false), Ok(0));
    let time = [&2i32.to_le_bytes()[..], &500_000i32.to_le_bytes()].concat();
    vfs.set_socket_option(fd, SOL_SOCKET, SO_RCVTIMEO, &time).unwrap();
    let long = [&3i64.to_le_bytes()[..], &1i64.to_le_bytes()].concat();
    vfs.set_socket_option(fd, SOL_SOCKET, 67, &long).unwrap();
    assert_eq!((vfs.socket_timeout(fd, false), vfs.socket_timeout(fd, true)), (Ok(2_500_000), Ok(3_000_001)));
    for (level, name, value, error) in [
        (SOL_SOCKET, SO_TYPE, &[0; 4][..], Errno::ENOPROTOOPT),
        (SOL_SOCKET, 9999, &[0; 4], Errno::ENOPROTOOPT),
        (SOL_SOCKET, SO_REUSEADDR, &[1], Errno::EINVAL),
        (SOL_SOCKET, SO_RCVTIMEO, &[1; 5], Errno::EINVAL),
        (IPPROTO_TCP, i32::MIN, &[0; 4], Errno::ENOPROTOOPT),
        (IPPROTO_UDP, 1, &[0; 4], Errno::ENOPROTOOPT),
        (IPPROTO_IP, IP_ADD_MEMBERSHIP, &[0; 8], Errno::ENODEV),
        (IPPROTO_TCP, 1, &[0; MAX_SOCKET_OPTION + 1], Errno::EINVAL),
        (12345, 1, &[0; 4], Errno::ENOPROTOOPT),
    ] {
        assert_eq!(vfs.set_socket_option(fd, level, name, value), Err(error), "{level} {name}");
    }
    for name in 1..=100 {
        let set = vfs.set_socket_option(fd, IPPROTO_TCP, name, &[1]);
        assert!(matches!(set, Ok(()) | Err(Errno::ENOBUFS)));
    }
    vfs.check().unwrap();
}

#[test]
fn everything_that_grows_is_bounded() {
    let mut vfs = vfs();
    let (client, server) = connection(&mut vfs);
    assert_eq!(vfs.send(client, &vec![1; 1 << 20], None), Ok(MAX_SOCKET_BUFFER));
    assert_eq!(vfs.send(client, b"x", None), Err(Errno::EAGAIN));
    assert!(!has(&mut vfs, client, Readiness::OUT));
    read(&mut vfs, server).unwrap();
    assert!(has(&mut vfs, client, Readiness::OUT));

    let mut sent = 0;
    let mut last = (0, 0);
    while let Ok((one, other)) = vfs.socket_pair(Family::Unix, Kind::Stream, NO_FLAGS) {
        last = (one, other);
        match vfs.send(one, &vec![1; MAX_SOCKET_BUFFER], None) {
            Ok(count) => sent += count,
            Err(errno) => assert_eq!(errno, Errno::EAGAIN),
        }
    }
    assert_eq!(sent, MAX_SOCKETS_BYTES, "all buffers together");
    assert_eq!(vfs.send(last.0, b"x", None), Err(Errno::EAGAIN));
    vfs.check().unwrap();
    for fd in 0..OPEN_FILES_MAX as i32 {
        let _closed = vfs.close(fd);
    }
    let (one, other) = vfs.socket_pair(Family::Unix, Kind::Stream, NO_FLAGS).unwrap();
    assert_eq!(vfs.send(one, b"again", None), Ok(5));
    assert_eq!(read(&mut vfs, other), Ok(b"again".to_vec()));

    // Connections that nobody accepts are sockets without descriptors.
    let mut listeners = Vec::new();
    let mut refused = 0;
    let ports = 1..=8;
    for port in ports.clone() {
        listeners.push(listener(&mut vfs, &v4(1, port), i32::MAX));
    }
    for port in ports {
        for _ in 0..=MAX_BACKLOG {
            let Ok(client) = vfs.socket(Family::Inet, Kind::Stream, NO_FLAGS) else {
                refused += 1;
                continue;
            };
            // Closed at once: what waits for `accept` stays.
            if let Err(errno) = vfs.connect(client, &v4(1, port)) {
                assert_eq!(errno, Errno::ENOBUFS);
                refused += 1;
            }
            vfs.close(client).unwrap();
        }
    }
    assert!(refused > 0);
    vfs.check().unwrap();
    listeners.iter().for_each(|&fd| vfs.close(fd).unwrap());
    vfs.check().unwrap();
}

#[test]
fn saved_sockets_keep_their_connections() {
    let mut vfs = vfs();
    vfs.begin_changes();
    let (client, server) = connection(&mut vfs);
    vfs.send(client, b"kept", None).unwrap();
    let listening = listener(&mut vfs, &v4(1, 80), 0);
    let (queued, waiting) = (tcp(&mut vfs), tcp(&mut vfs));
    vfs.connect(queued, &v4(1, 80)).unwrap();
    vfs.connect(waiting, &v4(1, 80)).unwrap_err();
    let named = unix(&mut vfs, Kind::Stream);
    vfs.bind(named, &path("/tmp/s")).unwrap();
    vfs.listen(named, 1).unwrap();
    vfs.check().unwrap();

    let saved = vfs.save_changes().unwrap();
    let mut base = super::support::vfs();
    base.begin_changes();
    let mut vfs = Vfs::continue_from(base, &saved).unwrap();
    vfs.set_clock(Box::new(|| 1_800_000_000_000_000_000));
    for name in vfs.unattached() {
        vfs.attach_device(name.as_bytes(), Box::new(crate::device::Null));
    }
    vfs.reopen().unwrap();
    assert_eq!(read(&mut vfs, server), Ok(b"kept".to_vec()));
    let first = vfs.accept(listening, NO_FLAGS).unwrap();
    vfs.accept(listening, NO_FLAGS).unwrap();
    vfs.send(queued, b"queued", None).unwrap();
    assert_eq!(read(&mut vfs, first), Ok(b"queued".to_vec()));
    let client = unix(&mut vfs, Kind::Stream);
    vfs.connect(client, &path("/tmp/s")).unwrap();
    vfs.accept(named, NO_FLAGS).unwrap();
    vfs.check().unwrap();
}
