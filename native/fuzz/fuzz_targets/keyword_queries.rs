//! Parses arbitrary keyword queries and tokenizes arbitrary text, with options that its length selects:
//! positions of refusals are in the query, its words and phrases form a query again, and tokens do not depend
//! on how the text is split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_native::keywords::query::{parse, spelled};
use penstock_native::tokenizer::text_buffer::TextBuffer;
use penstock_native::tokenizer::tokenizer_options::TokenizerOptions;
use penstock_native::tokenizer::word_tokenizer::{tokens_of, TokenCollector};

/// Pieces end after every character whose code point is divisible by this.
const PIECES_END_AT: u32 = 5;

fuzz_target!(|text: &str| {
    let options = TokenizerOptions::combination(text.len());
    assert_eq!(tokenize_pieces(text, options), tokens_of(text, options));
    match parse(text, options) {
        Ok(query) => {
            assert!(query.keywords.is_sorted() && !query.keywords.is_empty());
            let keywords: Vec<String> = query.keywords.iter().map(|each| spelled(each)).collect();
            for separator in [" ", " OR "] {
                assert_eq!(
                    parse(&keywords.join(separator), options)
                        .map(|parsed| parsed.keywords)
                        .as_ref(),
                    Ok(&query.keywords)
                );
            }
        }
        Err(refusal) => {
            assert_eq!(
                text[..refusal.offset_bytes].chars().count(),
                refusal.offset_characters
            );
        }
    }
});

fn tokenize_pieces(text: &str, options: TokenizerOptions) -> Vec<String> {
    let (mut buffer, mut collected) = (TextBuffer::default(), TokenCollector::default());
    buffer.reset(options);
    for piece in text.split_inclusive(|character| character as u32 % PIECES_END_AT == 0) {
        let mut rest = buffer.push(piece);
        while !rest.is_empty() {
            buffer.tokenize(&mut collected);
            rest = buffer.push(rest);
        }
    }
    buffer.end_text();
    buffer.tokenize(&mut collected);
    collected.0
}
