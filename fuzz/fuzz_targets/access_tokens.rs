//! Runs [`brumate_fuzz::access_tokens`] on what libFuzzer makes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    brumate_fuzz::access_tokens::run(bytes);
});
