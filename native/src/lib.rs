//! Penstock's native core.
//!
//! Layers, lowest first; a module depends only on modules listed above it. Public modules are those
//! that the fuzz targets use.
//!
//! * [`events`]: names, spans, and the events that the reader sends to a [`events::Handler`];
//! * [`xpath`]: the query language;
//! * `value_tests`: tests of string-values against literals;
//! * `affected`: the subscriptions that a change of a document may affect;
//! * [`relations`]: relations between queries (contains, covers, overlaps, generalise);
//! * [`reader`]: the hardened XML reader;
//! * [`records`]: splitting huge documents into records;
//! * `sample_paths`: counting the elements of sample documents by path, to infer a schema;
//! * [`label_paths`]: the distinct label paths of a document, and what is derived from them;
//! * [`select`]: the exact evaluator of single queries (fragments, explanations, verification);
//! * [`document_tree`]: a document as a tree that can be changed, for synchronisation;
//! * [`rewriting`]: rewriting documents by a mapping between schemas;
//! * [`subscription_store`]: subscriptions of any kind and their index files;
//! * [`tokenizer`]: cutting text into words;
//! * [`dispatch`]: feeding documents to matchers (event source, fan-out, worker pool, batch);
//! * [`path_index`]: the index of path subscriptions;
//! * [`matching`]: the engine for path subscriptions;
//! * [`containment_index`]: subscriptions whose queries contain, or are contained in, a query;
//! * [`keywords`]: the index of keyword subscriptions and their engine;
//! * [`routes`]: where a document goes, by its matches or by a match list;
//! * `combined`: both kinds of subscriptions matched in one reading;
//! * `baselines` (feature `baselines`): the papers' algorithms and rival engines, for measurements;
//! * [`engine_selection`]: engines selected at run time;
//! * [`index_file_exercise`]: uses everything in an index file, for tests and fuzzing;
//! * `python` (feature `python`): the Python binding, the only module that knows Python.

// Without the binding, much of the crate has no caller.
#![cfg_attr(not(feature = "python"), allow(dead_code, unused_imports))]

mod affected;
#[cfg(feature = "baselines")]
mod baselines;
mod combined;
pub mod containment_index;
pub mod dispatch;
pub mod document_tree;
pub mod engine_selection;
pub mod events;
pub mod index_file_exercise;
pub mod keywords;
pub mod label_paths;
pub mod matching;
pub mod path_index;
pub mod reader;
pub mod records;
pub mod relations;
pub mod rewriting;
pub mod routes;
mod sample_paths;
pub mod select;
pub mod subscription_store;
pub mod tokenizer;
mod value_tests;
pub mod xpath;

#[cfg(feature = "python")]
mod python;
