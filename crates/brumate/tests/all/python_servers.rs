//! `brumate run`, `install` and `dev`: MCP servers that are written in Python.
//!
//! The scripts of `tests/python` compare servers with CPython, and use servers of PyPI and the SDKs' clients. Their interpreters come from
//! environment variables, which `cargo xtask test` sets. `images` and `packages` install `mcp` 2.x and `fastmcp`. The other tests speak to `server_programs/abuse.py`
//! themselves, without a network: `mcp` 1.x is in the bundle.

mod attacks;
mod crashes;
mod dev;
mod files;
mod images;
mod install;
mod isolation;
mod limits;
mod messages;
mod options;
mod own_client;
mod packages;
mod scripts;
mod server;
