//! DNS lookups: one at a time for each host, shared by all requests that wait for it.
//!
//! Requests for one host that start together would each look it up. A name server that gets eight equal queries at
//! once may drop one, and the C library waits five seconds before it asks again.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Time for which a result is reused.
const MAX_RESULT_AGE: Duration = Duration::from_secs(60);
/// Most hosts whose results are kept.
const MAX_HOSTS: usize = 256;

type LookupResult = Result<Vec<SocketAddr>, Arc<io::Error>>;
type SharedLookup = Shared<BoxFuture<'static, LookupResult>>;

/// The system's resolver, with shared lookups.
#[derive(Debug, Default)]
pub(crate) struct SharedResolver {
    asked: Mutex<HashMap<String, (Instant, SharedLookup)>>,
}

impl SharedResolver {
    fn lookup_once(&self, host: &str, lookup: impl FnOnce(String) -> BoxFuture<'static, LookupResult>) -> SharedLookup {
        let mut asked = self.asked.lock();
        // A failed lookup is repeated by the next request.
        let serves = |since: &Instant, question: &SharedLookup| match question.peek() {
            Some(answer) => answer.is_ok() && since.elapsed() < MAX_RESULT_AGE,
            None => true,
        };
        if let Some((_, question)) = asked.get(host).filter(|(since, question)| serves(since, question)) {
            return question.clone();
        }
        if asked.len() >= MAX_HOSTS {
            asked.retain(|_, (_, question)| question.peek().is_none());
        }
        let question = lookup(host.to_owned()).shared();
        asked.insert(host.to_owned(), (Instant::now(), question.clone()));
        question
    }
}

impl Resolve for SharedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let question = self.lookup_once(name.as_str(), |host| {
            async move {
                let found = tokio::net::lookup_host((host, 0)).await;
                found.map(Iterator::collect).map_err(Arc::new)
            }
            .boxed()
        });
        Box::pin(async move {
            let found = question.await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn who_asks_meanwhile_gets_the_same_answer_and_failures_are_asked_again() {
        let names = SharedResolver::default();
        let asked = Arc::new(AtomicUsize::new(0));
        let address = SocketAddr::from(([192, 0, 2, 1], 0));
        let ask = |fails: bool| {
            let asked = asked.clone();
            names.lookup_once("host.example", move |_| {
                async move {
                    asked.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                    if fails { Err(Arc::new(io::ErrorKind::TimedOut.into())) } else { Ok(vec![address]) }
                }
                .boxed()
            })
        };
        assert!(futures::future::join(ask(true), ask(false)).await.1.is_err(), "one question");
        let questions = (0..8).map(|_| ask(false));
        for answer in futures::future::join_all(questions).await {
            assert_eq!(answer.expect("found"), [address]);
        }
        assert_eq!(ask(true).await.expect("kept"), [address]);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
