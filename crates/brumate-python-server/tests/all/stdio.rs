//! A client over lines, and servers that behave well or badly.

mod client;
mod ends;
mod requests;
