//! Resolution against package indexes, the cache shared by processes, and wheels that people install.

mod cache_processes;
mod index;
mod real_wheels;
