//! Splits text into words (UAX #29) and brings them into the common form of their spellings.

pub(crate) mod byte_classes;
pub(crate) mod case_folding;
#[cfg(target_arch = "x86_64")]
mod cpu_features;
mod latin_scanner;
mod plain_block;
mod spellings;
pub mod text_buffer;
pub mod tokenizer_options;
pub mod word_tokenizer;
