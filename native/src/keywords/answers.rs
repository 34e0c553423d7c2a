//! Detailed answers and their ranking.

use std::cmp::Reverse;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::events::Span;

use crate::keywords::answer_budget::AnswerBudget;
use crate::keywords::element_metadata::ElementRecord;
use crate::keywords::token_sink::WordId;

/// An element that answers a query, with the evidence.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// The element.
    pub top: Arc<ElementRecord>,
    /// The words it contains, in query order.
    pub keywords: Vec<Keyword>,
    /// The tree from the element to the witnesses, as ranges in document order: the tags of all
    /// elements on the paths and the own text of the witnesses. Concatenated, they are well-formed.
    /// An element from an entity is represented by the outermost reference.
    pub ranges: Vec<Span>,
    /// Number of elements in that tree.
    pub size: u32,
    /// Whether the tree omits witnesses or their text because there are too many.
    pub truncated: bool,
}

/// A word of an answer.
#[derive(Debug, PartialEq)]
pub struct Keyword {
    /// The word.
    pub word: WordId,
    /// Number of the answer's elements that directly contain it.
    pub count: u64,
    /// The first of these elements.
    pub witnesses: Vec<Arc<ElementRecord>>,
}

/// Occurrences of a word that belong to an answer.
#[derive(Clone, Debug, Default)]
pub struct WordOccurrences {
    /// Number of elements that directly contain the word.
    pub count: u64,
    /// The first of them, in document order.
    pub witnesses: Vec<Arc<ElementRecord>>,
}

impl Answer {
    /// Builds the answer of an element from the query words it contains.
    pub fn new(
        top: &Arc<ElementRecord>,
        found: impl IntoIterator<Item = (WordId, WordOccurrences)>,
        budget: &mut AnswerBudget,
    ) -> Answer {
        let mut tree = PathTree {
            ranges: Vec::with_capacity(RANGES_EXPECTED),
            ..PathTree::default()
        };
        tree.add(top);
        let found = found.into_iter();
        let mut keywords = Vec::with_capacity(found.size_hint().1.unwrap_or(0));
        let mut truncated = false;
        for (word, found) in found {
            truncated |= found.count > found.witnesses.len() as u64;
            for record in &found.witnesses {
                tree.add_witness(record, top);
            }
            keywords.push(Keyword {
                word,
                count: found.count,
                witnesses: found.witnesses,
            });
        }
        let parts = tree.elements.len() + tree.witnesses.len() + tree.ranges.len();
        budget.spend(STEPS_PER_ANSWER + STEPS_PER_PART * (keywords.len() + parts));
        Answer {
            top: Arc::clone(top),
            keywords,
            size: tree.elements.len() as u32,
            truncated: truncated || tree.truncated,
            ranges: tree.finish(),
        }
    }

    /// Approximate size in memory.
    fn bytes(&self) -> usize {
        let witnesses = self.keywords.iter().map(|keyword| keyword.witnesses.len());
        size_of::<Answer>()
            + (size_of::<Keyword>() + ALLOCATION_BYTES) * self.keywords.len()
            + size_of::<Arc<ElementRecord>>() * witnesses.sum::<usize>()
            + size_of::<Span>() * self.ranges.len()
            + 2 * ALLOCATION_BYTES
    }

    /// Sort key: more words first, then deeper, smaller and earlier elements.
    fn rank(&self) -> impl Ord {
        let words = self.keywords.len();
        (
            Reverse(words),
            Reverse(self.top.depth),
            self.size,
            self.top.number,
        )
    }
}

/// Steps to create an answer, apart from its parts.
const STEPS_PER_ANSWER: usize = 300;

/// Steps to add a word, an element, a witness or a range to an answer.
const STEPS_PER_PART: usize = 15;

/// Bytes that an allocation takes beyond its content, on average.
const ALLOCATION_BYTES: usize = 16;

/// A set of element numbers. Most answers have few, which need neither memory nor hashing.
#[derive(Default)]
struct NumberSet {
    few: [u32; FEW_MAX],
    few_count: usize,
    /// All of them, once there are more than [`FEW_MAX`].
    many: HashSet<u32, RandomState>,
}

const FEW_MAX: usize = 16;

/// Most answers have fewer ranges, so that their list does not grow.
const RANGES_EXPECTED: usize = 16;

impl NumberSet {
    /// Adds a number; returns whether it is new.
    fn insert(&mut self, number: u32) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(number);
        }
        if self.few[..self.few_count].contains(&number) {
            return false;
        }
        if let Some(free) = self.few.get_mut(self.few_count) {
            *free = number;
            self.few_count += 1;
        } else {
            self.many.extend(self.few);
            self.many.insert(number);
            self.few_count = 0;
        }
        true
    }

    fn len(&self) -> usize {
        self.few_count + self.many.len()
    }
}

/// The tree from an answer to its witnesses.
#[derive(Default)]
struct PathTree {
    elements: NumberSet,
    witnesses: NumberSet,
    ranges: Vec<Span>,
    truncated: bool,
}

impl PathTree {
    /// Adds an element's tags; returns whether they are new.
    fn add(&mut self, record: &ElementRecord) -> bool {
        let is_new = self.elements.insert(record.number);
        if is_new {
            self.ranges
                .extend([record.start_tag, record.ended().end_tag]);
        }
        is_new
    }

    fn add_witness(&mut self, record: &Arc<ElementRecord>, top: &ElementRecord) {
        if self.witnesses.insert(record.number) {
            let texts = &record.ended().texts;
            self.ranges.extend(&texts.ranges);
            self.truncated |= texts.truncated;
        }
        let mut ancestor = record;
        while ancestor.number != top.number && self.add(ancestor) {
            ancestor = ancestor.parent.as_ref().expect("the answer is above");
        }
    }

    /// The ranges in document order, adjacent ones merged.
    fn finish(mut self) -> Vec<Span> {
        self.ranges.retain(|span| span.start < span.end);
        self.ranges.sort_unstable();
        // Everything from one entity reference has the span of the reference.
        self.ranges.dedup();
        self.ranges.dedup_by(|span, last| {
            let is_adjacent = last.end == span.start && last.from_entity == span.from_entity;
            if is_adjacent {
                last.end = span.end;
            }
            is_adjacent
        });
        // Without the spare capacity: a document can have very many answers.
        self.ranges.to_vec()
    }
}

/// The answers of one query.
#[derive(Debug, Default, PartialEq)]
pub struct QueryAnswers {
    /// Number of answers in the document.
    pub count: u64,
    /// The best answers, the best first.
    pub best: Vec<Answer>,
    /// Whether they were discarded because they take too many steps or bytes.
    pub is_abandoned: bool,
    /// Approximate size of `best` in memory.
    bytes: usize,
}

/// The best answers of each query.
#[derive(Default)]
pub struct RankedAnswers {
    by_query: HashMap<u32, QueryAnswers, RandomState>,
    bytes: usize,
}

impl RankedAnswers {
    /// Adds an answer. Holds fewer than `2 * limit` answers per query, and at most `bytes_max` bytes: the
    /// query with the most is abandoned.
    pub fn push(&mut self, query: u32, answer: Answer, limit: usize, bytes_max: usize) {
        let answers = self.by_query.entry(query).or_default();
        if answers.is_abandoned {
            return;
        }
        let before = answers.bytes;
        answers.count += 1;
        answers.bytes += answer.bytes();
        answers.best.push(answer);
        if answers.best.len() >= limit.saturating_mul(2).max(1) {
            answers.keep_best(limit);
        }
        self.bytes = self.bytes - before + answers.bytes;
        if self.bytes > bytes_max {
            let sizes = self.by_query.iter();
            let largest = sizes.max_by_key(|(&query, answers)| (answers.bytes, Reverse(query)));
            let (&largest, _) = largest.expect("there are answers");
            self.abandon(largest);
        }
    }

    /// Discards the answers of a query, those to come included.
    pub fn abandon(&mut self, query: u32) {
        let abandoned = QueryAnswers {
            is_abandoned: true,
            ..QueryAnswers::default()
        };
        if let Some(answers) = self.by_query.insert(query, abandoned) {
            self.bytes -= answers.bytes;
        }
    }

    /// Whether the answers of a query were discarded.
    pub fn is_abandoned(&self, query: u32) -> bool {
        let answers = self.by_query.get(&query);
        answers.is_some_and(|answers| answers.is_abandoned)
    }

    /// Removes all answers.
    pub fn clear(&mut self) {
        self.by_query.clear();
        self.bytes = 0;
    }

    /// Removes and returns the answers by query, ascending.
    pub fn take(&mut self, limit: usize) -> Vec<(u32, QueryAnswers)> {
        self.bytes = 0;
        let mut by_query: Vec<(u32, QueryAnswers)> = self.by_query.drain().collect();
        by_query.sort_unstable_by_key(|(query, _)| *query);
        for (_, answers) in &mut by_query {
            answers.keep_best(limit);
        }
        by_query
    }
}

impl QueryAnswers {
    /// Sorts the answers and drops those beyond the limit.
    fn keep_best(&mut self, limit: usize) {
        self.best.sort_unstable_by_key(Answer::rank);
        let dropped = self.best.drain(limit.min(self.best.len())..);
        self.bytes -= dropped.map(|answer| answer.bytes()).sum::<usize>();
    }
}
