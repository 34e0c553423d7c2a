//! Targets of processing instructions.

use super::char_classes::is_space;
use super::error_codes;
use super::name_table::check_qname;
use super::parse_error::{refuse, ParseResult};

/// Checks the target of a processing instruction; `content` is the text between `<?` and `?>`.
pub(super) fn check_target(content: &str, name_bytes_max: usize) -> ParseResult<()> {
    let len = content.bytes().position(is_space).unwrap_or(content.len());
    let target = &content[..len];
    if target.eq_ignore_ascii_case("xml") {
        let (code, message) = if target == "xml" {
            (
                error_codes::DECLARATION,
                "an XML declaration is only allowed at the start of the document".to_owned(),
            )
        } else {
            (
                error_codes::INSTRUCTION,
                format!("the target {target} is reserved"),
            )
        };
        return refuse(code, 0, message);
    }
    match check_qname(target, name_bytes_max)? {
        Some(colon) => refuse(
            error_codes::NAMESPACE_COLON,
            colon,
            "the target of a processing instruction must not contain a colon",
        ),
        None => Ok(()),
    }
}
