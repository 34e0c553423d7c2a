//! Answers told in detail, and which of many are told.

use std::cmp::Reverse;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::events::{NamespaceScope, Span};

use crate::keywords::element_metadata::Kept;
use crate::keywords::token_sink::WordId;

/// An element that answers a query, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its number in document order; the root is 0.
    pub element: u32,
    /// A query that leads to it, such as `/news[1]/item[2]`.
    pub path: String,
    /// How many elements it is in.
    pub depth: u32,
    /// The element with its tags and all between.
    pub span: Span,
    /// What is in scope at it.
    pub namespaces: NamespaceScope,
    /// The words it holds, in the order of the query.
    pub keywords: Vec<Keyword>,
    /// The tree from the element down to the witnesses, as ranges in document order: tags of all
    /// elements on the way, own text of the witnesses. Joined they are well-formed. An element that
    /// came out of an entity is the outermost reference.
    pub ranges: Vec<Span>,
    /// How many elements that tree has.
    pub size: u32,
    /// Whether the tree leaves out witnesses, or text of theirs, because there are too many.
    pub truncated: bool,
}

/// A word of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyword {
    /// The word.
    pub word: WordId,
    /// How many elements of the answer directly contain it.
    pub count: u64,
    /// The first of them.
    pub witnesses: Vec<Witness>,
}

/// An element that directly contains a word.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// Its number in document order.
    pub element: u32,
    /// A query that leads to it.
    pub path: String,
    /// The element with its tags and all between.
    pub span: Span,
}

/// A word of an answer, as it was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// How many elements have it.
    pub count: u64,
    /// The first of them, in document order.
    pub witnesses: Vec<Arc<Kept>>,
}

impl Answer {
    /// The answer of an element, for the words of the query that it holds.
    pub fn new(top: &Arc<Kept>, found: impl IntoIterator<Item = (WordId, Found)>) -> Answer {
        let mut tree = PathTree::default();
        tree.add(top);
        let mut keywords = Vec::new();
        let mut truncated = false;
        for (word, found) in found {
            truncated |= found.count > found.witnesses.len() as u64;
            let witness = |kept: &Arc<Kept>| {
                tree.add_witness(kept, top);
                Witness {
                    element: kept.number,
                    path: kept.path(),
                    span: kept.span(),
                }
            };
            keywords.push(Keyword {
                word,
                count: found.count,
                witnesses: found.witnesses.iter().map(witness).collect(),
            });
        }
        Answer {
            element: top.number,
            path: top.path(),
            depth: top.depth,
            span: top.span(),
            namespaces: NamespaceScope::clone(&top.namespaces),
            keywords,
            size: tree.elements.len() as u32,
            truncated: truncated || tree.truncated,
            ranges: tree.finish(),
        }
    }

    /// What answers are ranked by: more words first, then deeper ones, smaller ones, and those that
    /// stand before others.
    fn rank(&self) -> impl Ord {
        let words = self.keywords.len();
        (Reverse(words), Reverse(self.depth), self.size, self.element)
    }
}

/// The tree from an answer to its witnesses, as it grows.
#[derive(Default)]
struct PathTree {
    elements: HashSet<u32, RandomState>,
    witnesses: HashSet<u32, RandomState>,
    ranges: Vec<Span>,
    truncated: bool,
}

impl PathTree {
    /// Adds an element's tags; whether they are new.
    fn add(&mut self, kept: &Kept) -> bool {
        let is_new = self.elements.insert(kept.number);
        if is_new {
            self.ranges.extend([kept.start_tag, kept.ended().end_tag]);
        }
        is_new
    }

    fn add_witness(&mut self, kept: &Arc<Kept>, top: &Kept) {
        if self.witnesses.insert(kept.number) {
            let texts = &kept.ended().texts;
            self.ranges.extend(&texts.ranges);
            self.truncated |= texts.truncated;
        }
        let mut on_the_way = kept;
        while on_the_way.number != top.number && self.add(on_the_way) {
            on_the_way = on_the_way.parent.as_ref().expect("the answer is above");
        }
    }

    /// The ranges in document order, those side by side joined.
    fn finish(mut self) -> Vec<Span> {
        self.ranges.retain(|span| span.start < span.end);
        self.ranges.sort_unstable();
        // What came out of one reference is that reference.
        self.ranges.dedup();
        let mut joined: Vec<Span> = Vec::new();
        for span in self.ranges {
            match joined.last_mut() {
                Some(last) if last.end == span.start && last.from_entity == span.from_entity => {
                    last.end = span.end;
                }
                _ => joined.push(span),
            }
        }
        joined
    }
}

/// The answers of each query, best first, at most so many.
#[derive(Default)]
pub struct Ranked {
    by_query: HashMap<u32, Vec<Answer>, RandomState>,
    held: usize,
}

impl Ranked {
    /// Adds an answer; of each query `limit` are held, and up to as many more until they are sorted.
    pub fn push(&mut self, query: u32, answer: Answer, limit: usize) {
        let answers = self.by_query.entry(query).or_default();
        answers.push(answer);
        self.held += 1;
        if answers.len() >= limit.saturating_mul(2).max(1) {
            self.held -= keep_best(answers, limit);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.by_query.clear();
        self.held = 0;
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The answers by query, ascending, each query's best first.
    pub fn take(&mut self, limit: usize) -> Vec<(u32, Vec<Answer>)> {
        self.held = 0;
        let mut by_query: Vec<(u32, Vec<Answer>)> = self.by_query.drain().collect();
        by_query.sort_unstable_by_key(|(query, _)| *query);
        for (_, answers) in &mut by_query {
            keep_best(answers, limit);
        }
        by_query
    }
}

/// Sorts answers and drops those past the limit; how many these are.
fn keep_best(answers: &mut Vec<Answer>, limit: usize) -> usize {
    answers.sort_unstable_by_key(Answer::rank);
    let dropped = answers.len().saturating_sub(limit);
    answers.truncate(limit);
    dropped
}
