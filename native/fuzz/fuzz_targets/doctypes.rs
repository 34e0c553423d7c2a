//! Reads documents whose internal DTD subset is arbitrary, with the checks of the target `documents`.
//!
//! The first two bytes choose chunk and window size. The rest up to the first NUL is the internal subset;
//! what follows is the content of the root element.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::reading_checks::check_reading;

fuzz_target!(|input: &[u8]| {
    let [chunk, window, rest @ ..] = input else {
        return;
    };
    let mut parts = rest.splitn(2, |&byte| byte == 0);
    let subset = parts.next().unwrap_or_default();
    let content = parts.next().unwrap_or(b"&a;<e/>&b;");
    let document = [b"<!DOCTYPE r [", subset, b"]><r>", content, b"</r>"].concat();
    check_reading(&document, usize::from(*chunk) + 1, usize::from(*window) + 1);
});
