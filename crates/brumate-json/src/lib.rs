//! JSON texts that [`serde_json::Value`] cannot hold as they are, and JSON-RPC messages that cannot be parsed.
//!
//! | function or type | does |
//! |---|---|
//! | [`mend`] | makes a text that `Value` can hold, and says what that changes |
//! | [`from_str`] | reads a text as any type. An integer that the type cannot hold is an error, never a rounded number |
//! | [`replace_in_object`] | puts a text back into a larger one |
//! | [`Envelopes`] | reads ids and kinds of JSON-RPC messages from any bytes, broken ones included |

mod envelope;
mod exact;
mod mend;
mod splice;

pub use envelope::{Envelope, Envelopes};
pub use exact::from_str;
pub use mend::{Mended, mend, mend_strings};
pub use splice::{member, members, object, replace_in_object};
