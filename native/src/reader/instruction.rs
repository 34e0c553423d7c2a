//! Processing instructions: what they begin with.

use super::chars::is_space;
use super::codes;
use super::fail::{refuse, Step};
use super::lexicon::qualified;

/// Checks an instruction's target; `content` is what stands between `<?` and `?>`.
pub(super) fn check_target(content: &str, name_bytes_max: usize) -> Step<()> {
    let len = content.bytes().position(is_space).unwrap_or(content.len());
    let target = &content[..len];
    if target.eq_ignore_ascii_case("xml") {
        let (code, message) = if target == "xml" {
            (
                codes::DECLARATION,
                "an XML declaration may only stand at the very beginning".to_owned(),
            )
        } else {
            (
                codes::INSTRUCTION,
                format!("the target {target} is reserved"),
            )
        };
        return refuse(code, 0, message);
    }
    match qualified(target, name_bytes_max)? {
        Some(colon) => refuse(
            codes::NAMESPACE_COLON,
            colon,
            "an instruction's target may not have a colon",
        ),
        None => Ok(()),
    }
}
