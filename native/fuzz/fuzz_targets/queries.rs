//! Parses arbitrary queries: positions of refusals are in the query, printing and parsing again gives the
//! same tree, and the normal form is its own normal form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::namespaces;
use penstock_native::select::Selector;
use penstock_native::xpath::{canonical_text, normalise, parse, parse_canonical};

fuzz_target!(|text: &str| {
    // Canonical text comes from index files.
    let _ = parse_canonical(text);
    let query = match parse(text, &namespaces()) {
        Ok(query) => query,
        Err(refusal) => {
            assert_eq!(
                text[..refusal.offset_bytes].chars().count(),
                refusal.offset_characters
            );
            return;
        }
    };
    assert_eq!(
        parse_canonical(&canonical_text(&query)).as_ref(),
        Ok(&query)
    );
    let normal = normalise(query.clone());
    assert_eq!(
        parse_canonical(&canonical_text(&normal)).as_ref(),
        Ok(&normal)
    );
    assert_eq!(normalise(normal.clone()), normal);
    Selector::compile(&query);
    Selector::compile(&normal);
});
