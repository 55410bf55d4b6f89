//! Resolution against package indexes: test servers that behave well and badly, and a comparison with uv.

mod explanations;
mod judge;
mod live;
mod manners;
mod mutations;
mod server;
mod source_distributions;
mod sources;
mod universe;
mod wheels;
