//! Processing instructions: what they begin with.

use super::char_classes::is_space;
use super::error_codes;
use super::name_table::qualified;
use super::parse_error::{refuse, ParseResult};

/// Checks an instruction's target; `content` is what stands between `<?` and `?>`.
pub(super) fn check_target(content: &str, name_bytes_max: usize) -> ParseResult<()> {
    let len = content.bytes().position(is_space).unwrap_or(content.len());
    let target = &content[..len];
    if target.eq_ignore_ascii_case("xml") {
        let (code, message) = if target == "xml" {
            (
                error_codes::DECLARATION,
                "an XML declaration may only stand at the very beginning".to_owned(),
            )
        } else {
            (
                error_codes::INSTRUCTION,
                format!("the target {target} is reserved"),
            )
        };
        return refuse(code, 0, message);
    }
    match qualified(target, name_bytes_max)? {
        Some(colon) => refuse(
            error_codes::NAMESPACE_COLON,
            colon,
            "an instruction's target may not have a colon",
        ),
        None => Ok(()),
    }
}
