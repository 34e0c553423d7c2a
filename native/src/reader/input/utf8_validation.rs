//! Validates UTF-8 and the characters that XML allows.

use crate::reader::char_classes::find_forbidden;
use crate::reader::error_codes;
use crate::reader::parse_error::Fault;

/// The valid text at the start of `bytes`, and the fault after it, if there is one. Unless `last`, an
/// incomplete character at the end is not a fault.
pub(super) fn validate(bytes: &[u8], last: bool) -> (&str, Option<Box<Fault>>) {
    let (text, malformed) = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(_) => {
            let error = std::str::from_utf8(bytes).expect_err("not UTF-8, as simdutf8 found");
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()])
                .expect("valid up to this offset");
            (text, last || error.error_len().is_some())
        }
    };
    if let Some(at) = find_forbidden(text) {
        let found = text[at..].chars().next().map_or(0, u32::from);
        let message = format!("the character U+{found:04X} is not allowed in XML");
        return (
            &text[..at],
            Some(Box::new(Fault::new(error_codes::CHARACTER, 0, message))),
        );
    }
    let fault = malformed.then(|| {
        let message = "the bytes are not valid in the document's encoding";
        Box::new(Fault::new(error_codes::ENCODING_BYTES, 0, message))
    });
    (text, fault)
}
