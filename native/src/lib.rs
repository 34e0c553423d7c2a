//! Penstock's native core.
//!
//! Rooms, lowest first:
//!
//! * [`events`]: what the reader says and a [`events::Handler`] hears;
//! * [`reader`]: the one hardened XML reader;
//! * [`records`]: huge documents cut into records;
//! * [`xpath`]: what a subscriber can say;
//! * [`select`]: the exact evaluator of one query (fragments, explanations, verification);
//! * `index` and `matching`: all subscriptions at once;
//! * [`rewriting`]: documents of other schemas, on their way to subscriptions;
//! * [`keywords`]: subscriptions of words.
//!
//! Only `python` (feature `python`) knows that Python exists.

pub mod baselines;
pub mod combined;
pub mod dispatch;
pub mod events;
pub mod keywords;
pub mod matching;
pub mod path_index;
pub mod reader;
pub mod records;
pub mod rewriting;
pub mod select;
pub mod subscription_store;
pub mod tokenizer;
pub mod values;
pub mod xpath;

#[cfg(feature = "python")]
mod python;
