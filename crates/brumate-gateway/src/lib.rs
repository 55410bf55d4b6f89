//! The gateway: the only process that connects sandboxes to other machines, and its client in the server.
//!
//! | module | content |
//! |---|---|
//! | [`client`] | starts the gateway again when it has died, and hands machines their sockets |
//! | `process` | the gateway's `main` |
//! | `machine` | requests of one machine |
//! | `names` | addresses of names |
//! | `relay` | copies bytes |
//! | `order` | messages between server and gateway |

pub mod client;
mod machine;
mod names;
mod order;
mod process;
mod relay;
mod socket;

use std::ffi::OsString;
use std::process::ExitCode;

/// Name of the internal command.
const COMMAND: &str = "gateway";

pub use names::HOST_MACHINE;
pub use order::Record;

/// Runs the gateway if the arguments (without the program's name) are its command. Must be called at the start of `main`, before any thread exists.
pub fn internal_main(arguments: &[OsString]) -> Option<ExitCode> {
    match arguments {
        [first, second] if first == "internal" && second == COMMAND => {}
        _ => return None,
    }
    Some(brumate_jail::spawn::control_socket().map_or(ExitCode::FAILURE, process::main))
}
