//! Runs, scripts and sessions with the fake engine. One program, so that it is linked once.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod exec;
mod runner;
mod sessions {
    mod backups;
    mod cells;
    mod files;
    mod history;
    mod life;
    mod limits;
    mod servers;
    mod storing;
    mod support;
}
