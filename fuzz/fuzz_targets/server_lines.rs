//! Runs [`brumate_fuzz::server_lines`] on what libFuzzer makes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    brumate_fuzz::server_lines::run(bytes);
});
