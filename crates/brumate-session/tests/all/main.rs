//! Runs, scripts and sessions over the fake engine. One program, so that it is linked once.

mod exec;
mod runner;
mod sessions {
    mod cells;
    mod files;
    mod life;
    mod limits;
    mod support;
}
