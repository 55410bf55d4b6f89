//! The network of sandboxes: `--allow-net`.

use std::fmt;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use brumate_engine_api::NetworkAccess;
use brumate_gateway::client::{Gateway, NameSettings};
use brumate_gateway::{HOST_MACHINE, Record};
use brumate_network::message::Failure;
use brumate_network::rules::{FIX_HOST, Pattern, Rule, Rules};
use brumate_session::Network;
use brumate_setting::Setting;

/// Target of the log's records of connections.
const LOG_TARGET: &str = "brumate::network";

/// Makes the network of rules as `--allow-net` has them. `None` without any: there is no network. `program` is the one to start as
/// the gateway; default: this program.
///
/// # Errors
///
/// A text with the wrong rule, and what is possible.
pub fn of(hosts: &[String], program: Option<PathBuf>) -> Result<Option<Arc<dyn Network>>, String> {
    if hosts.is_empty() {
        return Ok(None);
    }
    let rules = hosts.iter().map(|host| host.parse().and_then(check)).collect::<Result<_, _>>()?;
    let program = program.map_or_else(std::env::current_exe, Ok);
    let program = program.map_err(|error| format!("the path of this program is unknown: {error}"))?;
    let gateway = Arc::new(Gateway::new(program, NameSettings::default(), Arc::new(log)));
    Ok(Some(Arc::new(AllowedNetwork {
        gateway,
        rules: Arc::new(Rules::new(rules, Setting::AllowNet.with(FIX_HOST))?),
    })))
}

/// Refuses rules that no sandbox can use.
fn check(rule: Rule) -> Result<Rule, String> {
    let own = match &rule.hosts {
        Pattern::Network(network) => {
            let address: IpAddr = network.addr();
            network.prefix_len() >= 8 && (address.is_loopback() || address.is_unspecified())
        }
        Pattern::Name(name) | Pattern::Below(name) => name == "localhost" || name.ends_with(".localhost"),
    };
    if own {
        let port = rule.ports.first().copied().unwrap_or_default();
        return Err(format!(
            "`{}` inside a sandbox is the sandbox itself, without a rule. The machine that Brumate runs on is `{HOST_MACHINE}:{port}`",
            rule.hosts
        ));
    }
    Ok(rule)
}

/// Rules for all runs and sessions.
#[derive(Debug)]
struct AllowedNetwork {
    gateway: Arc<Gateway>,
    rules: Arc<Rules>,
}

impl Network for AllowedNetwork {
    fn access(&self, principal: &str) -> Option<Arc<dyn NetworkAccess>> {
        let (gateway, rules) = (self.gateway.clone(), self.rules.clone());
        let session = gateway.new_session();
        Some(Arc::new(Access { gateway, rules, session, principal: principal.to_owned() }))
    }
}

/// The way of one run or session.
struct Access {
    gateway: Arc<Gateway>,
    rules: Arc<Rules>,
    session: u64,
    principal: String,
}

impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Access").field("session", &self.session).finish_non_exhaustive()
    }
}

#[async_trait]
impl NetworkAccess for Access {
    async fn open(&self) -> Result<OwnedFd, String> {
        self.gateway.serve(self.session, &self.principal, &self.rules).await
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        let (gateway, session) = (self.gateway.clone(), self.session);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { gateway.end(session).await });
        }
    }
}

/// Writes the record of a connection to the log.
fn log(record: &Record) {
    tracing::info!(
        target: LOG_TARGET,
        principal = record.principal,
        session = record.session,
        host = %record.host,
        port = record.port,
        rule = record.rule,
        address = record.address.map(tracing::field::display),
        failure = record.failure.as_ref().map(Failure::code),
        bytes_in = record.bytes_in,
        bytes_out = record.bytes_out,
        milliseconds = record.milliseconds,
        "connection"
    );
}
