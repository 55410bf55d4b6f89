//! Types of sockets, and which go together.

/// Type of a socket, as READY names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketType {
    Req,
    Rep,
    Dealer,
    Router,
    Pub,
    XPub,
    Sub,
    XSub,
}

impl SocketType {
    const ALL: [Self; 8] =
        [Self::Req, Self::Rep, Self::Dealer, Self::Router, Self::Pub, Self::XPub, Self::Sub, Self::XSub];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Req => "REQ",
            Self::Rep => "REP",
            Self::Dealer => "DEALER",
            Self::Router => "ROUTER",
            Self::Pub => "PUB",
            Self::XPub => "XPUB",
            Self::Sub => "SUB",
            Self::XSub => "XSUB",
        }
    }

    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|socket_type| socket_type.name().as_bytes() == name)
    }

    /// Returns whether a connection may have these two at its ends.
    pub(crate) fn goes_with(self, other: Self) -> bool {
        match self {
            Self::Req => matches!(other, Self::Rep | Self::Router),
            Self::Rep => matches!(other, Self::Req | Self::Dealer),
            Self::Dealer => matches!(other, Self::Rep | Self::Dealer | Self::Router),
            Self::Router => matches!(other, Self::Req | Self::Dealer | Self::Router),
            Self::Pub | Self::XPub => matches!(other, Self::Sub | Self::XSub),
            Self::Sub | Self::XSub => matches!(other, Self::Pub | Self::XPub),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_hold_both_ways() {
        for one in SocketType::ALL {
            assert_eq!(SocketType::named(one.name().as_bytes()), Some(one));
            for other in SocketType::ALL {
                assert_eq!(one.goes_with(other), other.goes_with(one), "{one:?} {other:?}");
            }
        }
        assert_eq!(SocketType::named(b"PAIR"), None);
    }
}
