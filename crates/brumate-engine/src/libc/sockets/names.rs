//! Names of hosts and services. The gateway looks up names of other machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wasmtime::{Caller, Linker, StoreContextMut};

use super::calls::{IPPROTO_TCP, IPPROTO_UDP, Range, SOCK_RAW};
use super::{address, services};
use crate::host::{Host, guest, split, split_store};
use crate::threads::{Wait, Woken, on_main, wait, waiting};
use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;
use brumate_network::message::Failure;
use brumate_vfs::{Family, SocketAddress};

/// Errors of `getaddrinfo` and `getnameinfo` (`netdb.h`).
mod eai {
    pub(super) const BADFLAGS: i32 = -1;
    pub(super) const NONAME: i32 = -2;
    pub(super) const AGAIN: i32 = -3;
    pub(super) const FAIL: i32 = -4;
    pub(super) const FAMILY: i32 = -6;
    pub(super) const SOCKTYPE: i32 = -7;
    pub(super) const SERVICE: i32 = -8;
    pub(super) const MEMORY: i32 = -10;
    pub(super) const OVERFLOW: i32 = -12;
}

/// Flags of `getaddrinfo`.
mod ai {
    pub(super) const PASSIVE: i32 = 1;
    pub(super) const CANONNAME: i32 = 2;
    pub(super) const NUMERICHOST: i32 = 4;
    pub(super) const NUMERICSERV: i32 = 0x400;
    /// These, `AI_V4MAPPED`, `AI_ALL` and `AI_ADDRCONFIG`.
    pub(super) const ALL: i32 = 0x43f;
}

/// Flags of `getnameinfo`.
mod ni {
    pub(super) const NUMERICHOST: i32 = 1;
    pub(super) const NUMERICSERV: i32 = 2;
    pub(super) const NAMEREQD: i32 = 8;
    pub(super) const DGRAM: i32 = 16;
}

/// Longest name of a host or a service in bytes (`NI_MAXHOST`).
const MAX_NAME: usize = 1025;
/// The name that `gethostname` of the interpreter's C library returns.
const HOST_NAME: &str = "emscripten";
/// Size of `struct addrinfo`.
const ADDRINFO_SIZE: u32 = 32;
/// Room for one address after each other.
const ADDRESS_ROOM: u32 = 32;

const SOCK_STREAM: i32 = 1;
const SOCK_DGRAM: i32 = 2;

/// Defines the imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    waiting!(linker, threads, "env", "getaddrinfo", addresses, (node: u32, service: u32, hints: u32, out: u32));
    linker.func_wrap(
        "env",
        "getnameinfo",
        |mut caller: Caller<'_, Host>,
         ptr: u32,
         length: u32,
         host: u32,
         host_room: u32,
         service: u32,
         service_room: u32,
         flags: i32|
         -> i32 {
            let (mut mem, _) = split(&mut caller);
            name_info(&mut mem, (ptr, length), (host, host_room), (service, service_room), flags)
                .map_or_else(|error| error, |()| 0)
        },
    )?;
    // The driver answers for Python: `guest/driver/_brumate/socket_names.py`.
    linker.func_wrap("env", "getprotobyname", |_: u32| -> u32 { 0 })?;
    linker.func_wrap("env", "_emscripten_lookup_name", |mut caller: Caller<'_, Host>, name: u32| -> u32 {
        let (mem, _) = split(&mut caller);
        let found = text(&mem, name).ok().flatten().and_then(|name| resolve(&name, Family::Inet));
        match found {
            Some(IpAddr::V4(ip)) => u32::from_le_bytes(ip.octets()),
            _ => 0,
        }
    })?;
    Ok(())
}

/// Reads a string; `None` for a null pointer.
fn text(mem: &GuestMemory<'_>, ptr: u32) -> Result<Option<String>, i32> {
    if ptr == 0 {
        return Ok(None);
    }
    let bytes = mem.c_str(ptr, MAX_NAME).map_err(|_| eai::NONAME)?;
    std::str::from_utf8(bytes).map(|text| Some(text.to_owned())).map_err(|_| eai::NONAME)
}

/// Reads an address in figures, also in the forms of `inet_aton`: of fewer parts (`127.1`), hexadecimal and octal ones.
fn numeric(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    let parts: Vec<u32> = text.split('.').map(part).collect::<Option<_>>()?;
    let (&last, first) = parts.split_last()?;
    // The last part stands for all bytes that are left.
    let left = 4_usize.checked_sub(first.len()).filter(|&bytes| bytes > 0)?;
    if first.iter().any(|&byte| byte > 0xff) || u64::from(last) >= 1 << (8 * left) {
        return None;
    }
    let address = (0..).zip(first).fold(last, |address, (index, &byte)| address | (byte << (24 - 8 * index)));
    Some(Ipv4Addr::from(address).into())
}

/// Reads a number as C writes it.
fn part(text: &str) -> Option<u32> {
    let (figures, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // `from_str_radix` takes signs.
    figures.starts_with(|first: char| first.is_ascii_hexdigit()).then(|| u32::from_str_radix(figures, radix).ok())?
}

/// Returns the address of a name of the machine itself, or of an address.
fn resolve(name: &str, family: Family) -> Option<IpAddr> {
    if let Some(ip) = numeric(name) {
        return Some(ip);
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_own = name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.eq_ignore_ascii_case(HOST_NAME);
    is_own.then(|| loopback(family))
}

fn loopback(family: Family) -> IpAddr {
    if family == Family::Inet6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() }
}

/// The answer of `getaddrinfo`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    family: Family,
    addresses: Vec<SocketAddress>,
    /// Types and protocols.
    kinds: Vec<(i32, i32)>,
    canonical: Option<String>,
}

impl Found {
    /// Number of entries of the list.
    fn entries(&self) -> u32 {
        (self.kinds.len() * self.addresses.len()) as u32
    }
}

/// Tells the machine's own names, which have their answer, from names that the gateway looks up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// The answer.
    Found(Found),
    /// A name of another machine, and the answer without its addresses and the port for them.
    Outside(String, Found, u16),
}

/// `getaddrinfo`, up to the list in memory.
pub(crate) fn find(mem: &GuestMemory<'_>, node: u32, service: u32, hints: u32) -> Result<Sought, i32> {
    let hint = |index: u32| match hints {
        0 => Ok(0),
        at => mem.read_i32(at.wrapping_add(index * 4)).map_err(|_| eai::BADFLAGS),
    };
    let (flags, family, kind, protocol) = (hint(0)?, hint(1)?, hint(2)?, hint(3)?);
    let (node, service) = (text(mem, node)?, text(mem, service)?);
    if flags & !ai::ALL != 0 || (flags & ai::CANONNAME != 0 && node.is_none()) {
        return Err(eai::BADFLAGS);
    }
    if node.is_none() && service.is_none() {
        return Err(eai::NONAME);
    }
    let wanted = match family {
        0 => None,
        number => match Family::from_number(number) {
            Some(family @ (Family::Inet | Family::Inet6)) => Some(family),
            _ => return Err(eai::FAMILY),
        },
    };
    let all = [(SOCK_STREAM, IPPROTO_TCP), (SOCK_DGRAM, IPPROTO_UDP), (SOCK_RAW, 0)];
    let fits = |&(of, by): &(i32, i32)| {
        (kind == 0 || kind == of) && (protocol == 0 || protocol == by || (of == SOCK_RAW && kind == SOCK_RAW))
    };
    let mut kinds: Vec<(i32, i32)> = all.into_iter().filter(fits).collect();
    if kinds.is_empty() {
        return Err(eai::SOCKTYPE);
    }
    let port = match service.as_deref() {
        None | Some("") => 0,
        Some(service) => match service.parse::<u32>() {
            // The C library keeps the low bits of larger numbers.
            Ok(port) => port as u16,
            Err(_) if flags & ai::NUMERICSERV != 0 => return Err(eai::NONAME),
            Err(_) => {
                kinds.retain(|&(kind, _)| kind != SOCK_RAW && services::port(service, kind == SOCK_DGRAM).is_some());
                let datagrams = kinds.first().ok_or(eai::SERVICE)?.0 == SOCK_DGRAM;
                services::port(service, datagrams).ok_or(eai::SERVICE)?
            }
        },
    };
    let assumed = wanted.unwrap_or(Family::Inet);
    let ip = match node.as_deref() {
        None if flags & ai::PASSIVE == 0 => loopback(assumed),
        None if assumed == Family::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
        None => Ipv4Addr::UNSPECIFIED.into(),
        Some(name) if flags & ai::NUMERICHOST != 0 => numeric(name).ok_or(eai::NONAME)?,
        Some(name) => match resolve(name, assumed) {
            Some(ip) => ip,
            // Names of other machines have addresses of IPv4 inside.
            None if assumed == Family::Inet6 => return Err(eai::NONAME),
            None => {
                let canonical = Some(name.to_owned()).filter(|_| flags & ai::CANONNAME != 0);
                let found = Found { family: Family::Inet, addresses: Vec::new(), kinds, canonical };
                return Ok(Sought::Outside(name.to_owned(), found, port));
            }
        },
    };
    let family = if ip.is_ipv6() { Family::Inet6 } else { Family::Inet };
    if wanted.is_some_and(|wanted| wanted != family) {
        return Err(eai::NONAME);
    }
    let canonical = node.filter(|_| flags & ai::CANONNAME != 0);
    Ok(Sought::Found(Found { family, addresses: vec![SocketAddress::Ip(ip, port)], kinds, canonical }))
}

/// `getaddrinfo`, in any thread.
async fn addresses(
    store: &mut StoreContextMut<'_, Host>,
    node: u32,
    service: u32,
    hints: u32,
    out: u32,
) -> wasmtime::Result<i32> {
    let (mem, _) = split_store(store);
    let found = match find(&mem, node, service, hints) {
        Ok(Sought::Found(found)) => found,
        Ok(Sought::Outside(name, found, port)) => match look_up(store, &name).await? {
            Ok(addresses) => {
                Found { addresses: addresses.into_iter().map(|ip| SocketAddress::Ip(ip, port)).collect(), ..found }
            }
            Err(error) => return Ok(error),
        },
        Err(error) => return Ok(error),
    };
    let work = move |store: &mut StoreContextMut<'_, Host>| getaddrinfo(store, &found, out).map(i32::cast_unsigned);
    on_main(store, work).await.map(u32::cast_signed)
}

/// Has the gateway look a name up. Returns the addresses that stand for it inside, or the error of `getaddrinfo`.
async fn look_up(store: &mut StoreContextMut<'_, Host>, name: &str) -> wasmtime::Result<Result<Vec<IpAddr>, i32>> {
    let id = match store.data_mut().network.look_up(name) {
        Ok(id) => id,
        Err(Errno::EACCES) => return Ok(Err(eai::FAIL)),
        Err(Errno::EINVAL) => return Ok(Err(eai::NONAME)),
        Err(_) => return Ok(Err(eai::AGAIN)),
    };
    let woken = wait(store, Wait::LookUp(id), None).await?;
    let answer = store.data_mut().network.finish(id, name);
    Ok(match answer {
        _ if woken == Woken::Interrupted => Err(eai::AGAIN),
        Ok(addresses) => Ok(addresses),
        Err(Failure::NoName) => Err(eai::NONAME),
        Err(Failure::Refused(_)) => Err(eai::FAIL),
        Err(_) => Err(eai::AGAIN),
    })
}

/// `getaddrinfo`: writes the address of the list at `out`. `freeaddrinfo` of the interpreter's C library frees the first
/// entry and its address, so all entries are in one piece of memory, and all addresses in another.
fn getaddrinfo(store: &mut StoreContextMut<'_, Host>, found: &Found, out: u32) -> wasmtime::Result<i32> {
    let count = found.entries();
    let name = found.canonical.as_deref().unwrap_or_default();
    let handles = guest(store)?;
    let entries = handles.malloc.call(&mut *store, count * ADDRINFO_SIZE + name.len() as u32 + 1)?;
    let addresses = handles.malloc.call(&mut *store, count * ADDRESS_ROOM)?;
    let (mut mem, _) = split_store(store);
    let written = if entries == 0 || addresses == 0 {
        Err(Errno::ENOMEM)
    } else {
        write_list(&mut mem, found, entries, addresses).and_then(|()| mem.write_u32(out, entries))
    };
    if written.is_ok() {
        return Ok(0);
    }
    for piece in [entries, addresses].into_iter().filter(|&piece| piece != 0) {
        handles.free.call(&mut *store, piece)?;
    }
    Ok(eai::MEMORY)
}

fn write_list(mem: &mut GuestMemory<'_>, found: &Found, entries: u32, addresses: u32) -> Result<(), Errno> {
    let count = found.entries();
    let name_at = match &found.canonical {
        Some(name) => {
            let at = entries + count * ADDRINFO_SIZE;
            mem.write(at, &[name.as_bytes(), &[0]].concat())?;
            at
        }
        None => 0,
    };
    let all = found.addresses.iter().flat_map(|address| found.kinds.iter().map(move |kind| (address, kind)));
    for (index, (address, &(kind, protocol))) in (0..).zip(all) {
        let bytes = address::encode(found.family, address);
        let (at, address_at) = (entries + index * ADDRINFO_SIZE, addresses + index * ADDRESS_ROOM);
        mem.write(address_at, &bytes)?;
        let next = if index + 1 < count { at + ADDRINFO_SIZE } else { 0 };
        let name = if index == 0 { name_at } else { 0 };
        let words =
            [0, found.family.number() as u32, kind as u32, protocol as u32, bytes.len() as u32, address_at, name, next];
        for (word, value) in (0..).zip(words) {
            mem.write_u32(at + word * 4, value)?;
        }
    }
    Ok(())
}

/// `getnameinfo`.
pub(crate) fn name_info(
    mem: &mut GuestMemory<'_>,
    (ptr, length): Range,
    host: Range,
    service: Range,
    flags: i32,
) -> Result<(), i32> {
    let number = mem.read_u16(ptr).map_err(|_| eai::FAMILY)?;
    let family = Family::from_number(i32::from(number)).ok_or(eai::FAMILY)?;
    let SocketAddress::Ip(ip, port) = address::read(mem, family, ptr, length).map_err(|_| eai::FAMILY)? else {
        return Err(eai::FAMILY);
    };
    let has_name = ip.is_loopback() && flags & ni::NUMERICHOST == 0;
    if !has_name && flags & ni::NAMEREQD != 0 {
        return Err(eai::NONAME);
    }
    let host_name = if has_name { "localhost".to_owned() } else { ip.to_string() };
    let known = services::name(port, flags & ni::DGRAM != 0).filter(|_| flags & ni::NUMERICSERV == 0);
    let service_name = known.map_or_else(|| port.to_string(), str::to_owned);
    for ((at, room), name) in [(host, host_name), (service, service_name)] {
        if at == 0 || room == 0 {
            continue;
        }
        if name.len() >= room as usize {
            return Err(eai::OVERFLOW);
        }
        mem.write(at, &[name.as_bytes(), &[0]].concat()).map_err(|_| eai::OVERFLOW)?;
    }
    Ok(())
}
