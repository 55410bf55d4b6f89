//! Walls tried one by one while the jail is being built, each before the next one hides it.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::Uid;

use super::super::namespaces::HOST_NAME;
use super::super::{ProbeResult, Report, Wall};
use super::result;

/// Checks under way.
pub(in super::super) struct Checks {
    results: Vec<ProbeResult>,
    /// Made before Landlock, so outside its domain.
    listener: Option<(OwnedFd, SocketAddrUnix)>,
}

impl Checks {
    /// Namespaces, root, identity, limits: all but Landlock and the filter.
    pub(in super::super) fn before_landlock(report: &Report) -> Self {
        let mut checks = Checks { results: Vec::new(), listener: abstract_listener() };
        checks.namespaces(report);
        checks.root(report);
        checks.rights(report);
        checks
    }

    fn add(&mut self, report: &Report, name: &str, wall: Wall, passed: bool, detail: String) {
        if report.is_active(wall) {
            self.results.push(result(name, wall, passed, detail));
        }
    }

    fn namespaces(&mut self, report: &Report) {
        let pid = rustix::process::getpid();
        let parent = rustix::process::getppid();
        self.add(
            report,
            "first process, without a parent",
            Wall::PidNamespace,
            pid.is_init() && parent.is_none(),
            format!("process {pid:?}, parent {parent:?}"),
        );
        // A datagram socket's connect only looks for a route; nothing is sent.
        for (name, address) in [
            ("no route to the Internet", Ipv4Addr::new(192, 0, 2, 1)),
            ("no route to the host itself", Ipv4Addr::LOCALHOST),
        ] {
            let answer = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
                .and_then(|socket| rustix::net::connect(socket, &SocketAddrV4::new(address, 9)));
            let passed = matches!(answer, Err(Errno::NETUNREACH | Errno::AFNOSUPPORT));
            self.add(report, name, Wall::NetNamespace, passed, format!("{answer:?}"));
        }
        let host = rustix::system::uname();
        let named = host.nodename().to_bytes() == HOST_NAME.as_bytes();
        let name = format!("{:?}", host.nodename());
        self.add(report, "the host's name is hidden", Wall::UtsNamespace, named, name);
    }

    fn root(&mut self, report: &Report) {
        let entries = fs::read_dir("/").map(Iterator::count);
        // A directory that is gone cannot be read at all.
        let empty = !matches!(&entries, Ok(count) if *count > 0);
        self.add(report, "the root is empty", Wall::EmptyRoot, empty, format!("{entries:?}"));
        let made = File::create_new("/x").map(drop);
        self.add(report, "nothing can be made in it", Wall::EmptyRoot, made.is_err(), format!("{made:?}"));
        for path in ["/proc/self/status", "/etc/passwd", "/dev/null", "../../etc/passwd"] {
            let read = fs::metadata(path).map(|_| ());
            let name = format!("{path} is not there");
            self.add(report, &name, Wall::EmptyRoot, read.is_err(), format!("{read:?}"));
        }
        let mounted = rustix::mount::mount_bind("/", "/");
        self.add(
            report,
            "nothing can be mounted",
            Wall::Capabilities,
            mounted == Err(Errno::PERM),
            format!("{mounted:?}"),
        );
    }

    fn rights(&mut self, report: &Report) {
        let other = Uid::from_raw(report.uid ^ 1);
        let changed = rustix::thread::set_thread_uid(other);
        self.add(
            report,
            "cannot become another user",
            Wall::Capabilities,
            // EINVAL: inside the user namespace there is no such user.
            matches!(changed, Err(Errno::PERM | Errno::INVAL)),
            format!("{changed:?}"),
        );
        let named = rustix::system::sethostname(b"x");
        let kept = named == Err(Errno::PERM);
        self.add(report, "cannot rename the host", Wall::Capabilities, kept, format!("{named:?}"));
        let raw = rustix::net::socket(AddressFamily::INET, SocketType::RAW, None).map(drop);
        self.add(report, "no raw sockets", Wall::Capabilities, raw.is_err(), format!("{raw:?}"));
    }

    /// Landlock by itself. The checks are complete then.
    pub(in super::super) fn after_landlock(mut self, report: &Report) -> Vec<ProbeResult> {
        let opened = File::open("/").map(drop);
        let denied = matches!(&opened, Err(error) if error.raw_os_error() == Some(libc::EACCES));
        // A directory that is gone is refused before Landlock is asked.
        let gone = matches!(&opened, Err(error)
            if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)));
        self.add(report, "not even / can be opened", Wall::LandlockFiles, denied || gone, format!("{opened:?}"));
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let bound = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)
            .and_then(|socket| rustix::net::bind(socket, &address));
        let refused = bound == Err(Errno::ACCESS);
        self.add(report, "no TCP port can be bound", Wall::LandlockTcp, refused, format!("{bound:?}"));
        if let Some((_listener, address)) = self.listener.take() {
            let answer = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)
                .and_then(|socket| rustix::net::connect(socket, &address));
            let refused = answer == Err(Errno::PERM);
            self.add(
                report,
                "no abstract socket outside can be reached",
                Wall::LandlockScopes,
                refused,
                format!("{answer:?}"),
            );
        }
        self.results
    }
}

/// An abstract unix socket that accepts connections; `None` where unix sockets are missing altogether.
fn abstract_listener() -> Option<(OwnedFd, SocketAddrUnix)> {
    let name = format!("brumate-probe-{}", rustix::process::getpid().as_raw_nonzero());
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).ok()?;
    rustix::net::bind(&socket, &address).ok()?;
    rustix::net::listen(&socket, 1).ok()?;
    Some((socket, address))
}
