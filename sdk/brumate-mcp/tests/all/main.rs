//! The crate from outside: servers under clients that are nothing but JSON.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod asking;
mod authorization;
mod authorization_interop;
mod client;
mod client_auth;
mod client_auth_interop;
mod client_auth_secrets;
mod client_examples;
mod client_group;
mod client_interop;
mod client_state;
mod clients;
mod conformance;
mod exact;
mod http;
mod interop;
mod layers;
mod limits;
mod listing;
mod log;
mod macros;
mod manual;
mod oauth_server;
mod protect;
mod request_layers;
mod reserve;
mod resource_provider;
mod restart;
mod results;
mod rmcp_server;
mod routers;
mod server_card;
mod service;
mod sessions;
mod settings;
mod skills;
mod stdio;
mod support;
mod suspension;
mod tasks;
mod traps;
mod unchecked;
