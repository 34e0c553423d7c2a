//! The namespace prefixes that a part of a document uses.

use crate::reader::is_name_char;

/// Calls `visit` for each prefix that `text` may use: each name before a colon, since names in values
/// and text count too, and each prefix that it declares. A prefix may be visited several times.
pub(crate) fn visit_prefixes<'t>(text: &'t str, visit: &mut dyn FnMut(&'t str)) {
    let is_part = |c: char| c != ':' && is_name_char(c);
    let mut searched = 0;
    for colon in memchr::memchr_iter(b':', text.as_bytes()) {
        let before = &text[searched..colon];
        let name = &before[before.trim_end_matches(is_part).len()..];
        searched = colon + 1;
        if !name.is_empty() {
            visit(name);
        }
        if name == "xmlns" {
            let after = &text[searched..];
            visit(&after[..after.find(|c| !is_part(c)).unwrap_or(after.len())]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::visit_prefixes;

    #[test]
    fn prefixes_are_found_in_names_values_and_text() {
        let text = "<p:a xmlns:q='http://x' é.1:b='xs:int'>one,two:three :: //r:s</p:a>";
        let mut found = Vec::new();
        visit_prefixes(text, &mut |prefix| found.push(prefix));
        let expected = ["p", "xmlns", "q", "http", "é.1", "xs", "two", "r", "p"];
        assert_eq!(found, expected);
    }
}
