//! Servers of an app, each at its path or host.

use super::clients::Clients;
use super::guard::Guard;
use super::options::HttpOptions;
use super::running_requests::ShutdownPolicy;
use super::server_card::{self, ServerCard};
use super::service::HttpService;
use super::sse::SseEndpoint;
use crate::auth::Protection;
use crate::principal::Principal;
use crate::server::Server;
use axum::Router;
use rmcp::ServerHandler;
use std::sync::Arc;

/// A server or handlers at a path, or for a host.
#[derive(Clone)]
pub(crate) struct Mount {
    pub(crate) host: Option<String>,
    pub(crate) prefix: String,
    /// The server whose lifespans are started and stopped. Handlers of rmcp have none.
    pub(crate) server: Option<Server>,
    pub(crate) service: HttpService,
    pub(crate) sse: Option<(String, Arc<SseEndpoint>)>,
    pub(crate) path: String,
    pub(crate) shutdown: ShutdownPolicy,
    /// The metadata of the protected resource, and the guard of its requests.
    pub(crate) protection: Option<(Arc<Protection>, Guard)>,
    /// The server's card, and the guard of its requests.
    pub(crate) card: Option<(ServerCard, Guard)>,
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount").field("prefix", &self.prefix).field("server", &self.server).finish_non_exhaustive()
    }
}

impl Mount {
    pub(crate) fn new<H: ServerHandler>(
        prefix: String,
        make: impl Fn(Option<&Principal>) -> H + Clone + Send + Sync + 'static,
        options: HttpOptions,
    ) -> Self {
        let clients = Clients::new(&options);
        let sse = options.sse_path.clone();
        let sse = sse.map(|path| (path, SseEndpoint::new(make.clone(), &options, clients.clone())));
        let service = HttpService::new(make, &options, clients);
        let protection = options.verifier.protection.clone().map(|protection| (protection, Guard::new(&options)));
        let card = options.card.clone().map(|card| (card, Guard::new(&options)));
        let HttpOptions { path, shutdown, .. } = options;
        Self { host: None, prefix, server: None, service, sse, path, shutdown, protection, card }
    }

    /// Refuses new requests, waits for running ones, and ends all sessions.
    pub(crate) async fn drain(&self) {
        self.service.begin_drain();
        let sse = self.sse.as_ref().map(|(_, sse)| sse);
        if let Some(sse) = sse {
            sse.begin_drain();
        }
        let finished = async {
            self.service.finished().await;
            if let Some(sse) = sse {
                sse.finished().await;
            }
        };
        self.shutdown.wait(finished).await;
        self.service.end_all();
        if let Some(sse) = sse {
            sse.end_all();
        }
    }

    pub(crate) fn router(&self) -> Router {
        let mut router = Router::new().route_service(&self.path, self.service.clone());
        if let Some((path, sse)) = &self.sse {
            router = router.merge(sse.router(path));
        }
        if let Some((card, guard)) = &self.card
            // `App::start` reports an error.
            && let Ok(json) = card.to_json(self.server.as_ref())
        {
            router = router.merge(server_card::card_router(&json, &self.path, guard.clone()));
        }
        match self.prefix.trim_end_matches('/') {
            "" => router,
            prefix => Router::new().nest(prefix, router),
        }
    }
}
