//! Whether bytes are UTF-8, and characters that XML allows.

use crate::reader::char_classes::forbidden;
use crate::reader::error_codes;
use crate::reader::parse_error::Fault;

/// The text that `bytes` begin with, and why what follows is none. Unless `last`, a character cut
/// in two at the end is no fault.
pub(super) fn check(bytes: &[u8], last: bool) -> (&str, Option<Box<Fault>>) {
    let (text, malformed) = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(_) => {
            let error = std::str::from_utf8(bytes).expect_err("not UTF-8, as just found");
            let text =
                std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("valid up to there");
            (text, last || error.error_len().is_some())
        }
    };
    if let Some(at) = forbidden(text) {
        let found = text[at..].chars().next().map_or(0, u32::from);
        let message = format!("the character U+{found:04X} is not allowed in XML");
        return (
            &text[..at],
            Some(Box::new(Fault::new(error_codes::CHARACTER, 0, message))),
        );
    }
    let fault = malformed.then(|| {
        let message = "these bytes are not text in the document's encoding";
        Box::new(Fault::new(error_codes::ENCODING_BYTES, 0, message))
    });
    (text, fault)
}
