//! Splits text into case-folded words (UAX #29).

pub(crate) mod byte_classes;
pub(crate) mod case_folding;
#[cfg(target_arch = "x86_64")]
mod cpu_features;
mod latin_scanner;
pub mod text_buffer;
pub mod word_tokenizer;
