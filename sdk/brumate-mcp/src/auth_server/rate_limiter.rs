//! Rate limits of addresses and of hosts.

use crate::sync::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The most addresses or hosts with a bucket. Beyond, full buckets are dropped, else all.
const MAX_ADDRESSES: usize = 10_000;

/// A token bucket for each address, or for each host.
#[derive(Debug)]
pub(super) struct RateLimiter<K> {
    burst: f64,
    /// Requests per second, on average.
    rate: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    since: Instant,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Lets `burst` requests of each key through at once, and as many again in `period`.
    pub(super) fn new(burst: u32, period: Duration) -> Self {
        let burst = f64::from(burst);
        Self { burst, rate: burst / period.as_secs_f64(), buckets: Mutex::default() }
    }

    /// Counts a request of the key `one` at `now`. Returns whether it is let through.
    pub(super) fn admits(&self, one: K, now: Instant) -> bool {
        let mut buckets = lock(&self.buckets);
        let left = |bucket: &Bucket| {
            (bucket.left + now.saturating_duration_since(bucket.since).as_secs_f64() * self.rate).min(self.burst)
        };
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&one) {
            buckets.retain(|_, bucket| left(bucket) < self.burst);
            if buckets.len() >= MAX_ADDRESSES {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(one).or_insert(Bucket { left: self.burst, since: now });
        (bucket.left, bucket.since) = (left(bucket), now);
        let admits = bucket.left >= 1.0;
        if admits {
            bucket.left -= 1.0;
        }
        admits
    }
}

/// Returns the network of one customer: an IPv4 address, or 64 bits of IPv6.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_share_that_comes_back() {
        let limiter = RateLimiter::new(3, Duration::from_secs(30));
        let start = Instant::now();
        let address = |text: &str| Some(network(text.parse().unwrap()));
        let (one, other) = (address("203.0.113.1"), address("203.0.113.2"));
        let admitted = |address, now| limiter.admits(address, now);
        assert_eq!([0; 4].map(|_| admitted(one, start)), [true, true, true, false]);
        assert!(admitted(other, start) && admitted(None, start));
        assert!(!admitted(address("::ffff:203.0.113.1"), start), "the same address");
        let later = start + Duration::from_secs(11);
        assert_eq!([0; 2].map(|_| admitted(one, later)), [true, false]);
        let much_later = start + Duration::from_secs(1000);
        assert_eq!([0; 4].map(|_| admitted(one, much_later)), [true, true, true, false]);
        // One customer has many addresses of IPv6.
        assert_eq!(
            ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"].map(|text| admitted(address(text), start)),
            [true, true, true, false]
        );
        assert!(admitted(address("2001:db8:0:1::1"), start));
    }

    #[test]
    fn addresses_are_forgotten() {
        let limiter = RateLimiter::new(1, Duration::from_secs(1));
        let start = Instant::now();
        for number in 0..=u32::try_from(MAX_ADDRESSES).unwrap() {
            assert!(limiter.admits(Some(IpAddr::V4(number.into())), start));
        }
        assert!(lock(&limiter.buckets).len() <= MAX_ADDRESSES);
    }
}
