//! Inputs of the targets that match: queries and a document.

use penstock_native::xpath::Namespaces;

/// The number of queries that a target uses of an input.
pub const QUERIES_MAX: usize = 20;

/// Lines up to the first empty one are queries; the rest is the document.
pub fn queries_and_document(input: &[u8]) -> Option<(impl Iterator<Item = (String, &str)>, &[u8])> {
    let end = input.windows(2).position(|two| two == b"\n\n")?;
    let queries = std::str::from_utf8(&input[..end]).ok()?;
    let numbered = queries.lines().take(QUERIES_MAX).enumerate();
    Some((
        numbered.map(|(number, query)| (number.to_string(), query)),
        &input[end + 2..],
    ))
}

/// The prefixes that queries may use.
pub fn namespaces() -> Namespaces {
    Namespaces::new([("p", "urn:p"), ("q", "urn:q")], "").expect("valid bindings")
}
