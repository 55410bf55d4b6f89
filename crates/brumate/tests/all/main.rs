//! Integration tests: through the binary, through the engine's interface, and with real clients. One program, because each would
//! contain the whole bundle.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod agent_scripts;
mod bundles;
mod cache_tampering;
mod checkpoints;
mod cli;
mod cli_texts;
mod client_secrets;
mod compat;
mod compiler_bombs;
mod crash_recovery;
mod disk_full;
mod ending;
mod files;
mod hostile_wire;
mod images;
mod inspector;
mod interrupts;
mod jail;
mod jupyter;
mod jupyter_http;
mod kill9;
mod layers;
mod learned;
mod libraries;
mod library;
mod machines;
mod mcp_clients;
mod mcp_http;
mod mcp_sessions;
mod mounts;
mod native_kernels;
mod notebook;
mod notebook_files;
mod on_demand;
mod planted_images;
mod project_tests;
mod python_package;
mod python_servers;
mod random_stops;
mod rust_wheels;
mod same_numbers;
mod science;
mod security;
mod soak;
mod source_builds;
mod support;
mod tenants;
mod tiers;
mod torture;
mod transactions;
mod upgrading;
mod wheel_layers;
mod zygotes;
