//! Splits text into words (UAX #29), case-folded.

pub mod byte_classes;
pub mod case_folding;
#[cfg(target_arch = "x86_64")]
pub mod cpu_features;
pub mod latin_scanner;
pub mod text_buffer;
pub mod word_tokenizer;
