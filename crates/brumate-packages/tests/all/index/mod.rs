//! Resolution against package indexes: servers of our own, with good and bad manners, and uv as the judge.

mod explanations;
mod judge;
mod live;
mod manners;
mod mutations;
mod server;
mod sources;
mod universe;
mod wheels;
