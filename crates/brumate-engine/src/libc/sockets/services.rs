//! Well-known ports, by name.

/// Name, port, whether it is a service of TCP and of UDP (IANA's registry of service names).
const SERVICES: [(&str, u16, bool, bool); 30] = [
    ("echo", 7, true, true),
    ("discard", 9, true, true),
    ("daytime", 13, true, false),
    ("ftp-data", 20, true, false),
    ("ftp", 21, true, false),
    ("ssh", 22, true, false),
    ("telnet", 23, true, false),
    ("smtp", 25, true, false),
    ("time", 37, true, true),
    ("domain", 53, true, true),
    ("tftp", 69, false, true),
    ("http", 80, true, false),
    ("pop3", 110, true, false),
    ("nntp", 119, true, false),
    ("ntp", 123, false, true),
    ("imap2", 143, true, false),
    ("snmp", 161, true, true),
    ("ldap", 389, true, true),
    ("https", 443, true, true),
    ("submissions", 465, true, false),
    ("submission", 587, true, false),
    ("ldaps", 636, true, true),
    ("ftps", 990, true, false),
    ("imaps", 993, true, false),
    ("pop3s", 995, true, false),
    ("mysql", 3306, true, false),
    ("postgresql", 5432, true, false),
    ("amqp", 5672, true, false),
    ("redis", 6379, true, false),
    ("http-alt", 8080, true, true),
];

/// Returns the port of a service of TCP (or, with `datagrams`, of UDP).
pub(super) fn port(name: &str, datagrams: bool) -> Option<u16> {
    // Further names that programs use.
    let name = match name {
        "imap" => "imap2",
        "www" => "http",
        "postgres" => "postgresql",
        other => other,
    };
    let has = |(_, _, tcp, udp): &(&str, u16, bool, bool)| if datagrams { *udp } else { *tcp };
    SERVICES.iter().find(|service| service.0 == name && has(service)).map(|service| service.1)
}

/// Returns the name of a service.
pub(super) fn name(port: u16, datagrams: bool) -> Option<&'static str> {
    let has = |(_, _, tcp, udp): &(&str, u16, bool, bool)| if datagrams { *udp } else { *tcp };
    SERVICES.iter().find(|service| service.1 == port && has(service)).map(|service| service.0)
}
