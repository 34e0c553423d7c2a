//! Reads arbitrary bytes: the reader must not panic, spans must be in range and nested, and the result
//! must not depend on chunk size, window size and encoding.
//!
//! The first two bytes choose these sizes; the rest is the document.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::reading_checks::check_reading;

fuzz_target!(|input: &[u8]| {
    let [chunk, window, document @ ..] = input else {
        return;
    };
    check_reading(document, usize::from(*chunk) + 1, usize::from(*window) + 1);
});
