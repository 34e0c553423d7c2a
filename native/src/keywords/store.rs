//! The index of keyword subscriptions.

use crate::keywords::query::parse;
use crate::keywords::segment::KeywordSegment;
use crate::keywords::segment_builder::KeywordBuilder;
use crate::subscription_store::header_tests::{word_of, HeaderTests};
use crate::subscription_store::store::{AddError, Snapshot, SubscriptionStore};
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// A mutable set of keyword subscriptions.
pub type KeywordIndex = SubscriptionStore<KeywordBuilder>;

/// An immutable view of the keyword subscriptions.
pub type KeywordSnapshot = Snapshot<KeywordSegment>;

impl KeywordIndex {
    /// An empty index whose queries and documents are tokenized with these options.
    pub fn with_options(options: TokenizerOptions) -> KeywordIndex {
        KeywordIndex::with_builder(KeywordBuilder::new(options))
    }

    /// How queries and documents are tokenized.
    pub fn options(&self) -> TokenizerOptions {
        self.builder().options()
    }

    /// Adds a subscription.
    pub fn add(&mut self, id: &str, query: &str) -> Result<(), AddError> {
        self.add_where(id, query, &HeaderTests::default())
    }

    /// Adds a subscription that also requires tests of header fields.
    pub fn add_where(
        &mut self,
        id: &str,
        query: &str,
        header: &HeaderTests,
    ) -> Result<(), AddError> {
        self.add_with(id, |builder| {
            let parsed = parse(query, builder.options())?;
            let of_header: Vec<String> = header.iter().map(|(f, v)| word_of(f, v)).collect();
            let words = of_header.iter().chain(&parsed.keywords).map(String::as_str);
            builder.add(id, query, parsed.mode, words);
            Ok(())
        })
    }
}
