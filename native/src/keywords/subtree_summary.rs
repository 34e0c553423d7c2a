//! What is left of the closed children of an element that is open too long to hold them.
//!
//! AND queries need little of a closed child: for each word how many elements in it have it, and
//! which queries are complete in it. An element answers a query if, for each word, it has more of
//! them than its complete children together. That is a matter of counting; only where answers are
//! told in detail a few witnesses of each word are held too, the first in document order. A query
//! that was complete in a child needs witnesses of its own: the first that are not in such a child.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use crate::keywords::answers::Found;
use crate::keywords::element_metadata::{Kept, Texts};
use crate::keywords::token_sink::{QuerySet, WordId};

/// A closed child, to be folded into the element it is in.
pub trait Part {
    /// Calls `visit` for each word in it with the number of its elements that have it.
    fn words(&self, visit: &mut dyn FnMut(WordId, u64));
    /// How many of its elements have a word.
    fn count(&self, word: WordId) -> u64;
    /// The first `most` of them.
    fn witnesses(&mut self, word: WordId, most: usize) -> Vec<Arc<Kept>>;
}

/// An open element whose closed children are folded.
#[derive(Default)]
pub struct Frame {
    /// Its number in the document.
    pub number: u32,
    /// The element itself, where answers are told in detail.
    pub kept: Option<Arc<Kept>>,
    /// Its own text so far, likewise.
    pub texts: Texts,
    /// The words it directly contains.
    pub own: HashSet<WordId, RandomState>,
    /// The words in it, its own once it has ended.
    totals: HashMap<WordId, Found, RandomState>,
    /// The queries that are complete in a child.
    aside: HashMap<u32, Aside, RandomState>,
    /// Those of them that lack witnesses.
    hungry: Vec<u32>,
}

/// A query that is complete in some child, word by word.
struct Aside {
    /// How many elements are in such children.
    counts: Vec<u64>,
    /// The first witnesses that are in none.
    left: Vec<Vec<Arc<Kept>>>,
}

impl Aside {
    fn is_hungry(&self, most: usize) -> bool {
        self.left.iter().any(|left| left.len() < most)
    }
}

impl Frame {
    /// Folds a child in; `complete` are the queries complete in it, ascending; `most` is how many
    /// witnesses of a word are held.
    pub fn fold(
        &mut self,
        part: &mut dyn Part,
        complete: &[u32],
        queries: &dyn QuerySet,
        most: usize,
    ) {
        self.feed_hungry(part, complete, queries, most);
        for &query in complete {
            let words = queries.words(query);
            let aside = match self.aside.entry(query) {
                Entry::Occupied(aside) => aside.into_mut(),
                Entry::Vacant(vacant) => {
                    let left = |word| {
                        let found: Option<&Found> = self.totals.get(word);
                        found.map_or(Vec::new(), |found| found.witnesses.clone())
                    };
                    let aside = Aside {
                        counts: vec![0; words.len()],
                        left: if most > 0 {
                            words.iter().map(left).collect()
                        } else {
                            Vec::new()
                        },
                    };
                    if aside.is_hungry(most) {
                        self.hungry.push(query);
                    }
                    vacant.insert(aside)
                }
            };
            for (count, &word) in aside.counts.iter_mut().zip(words) {
                *count += part.count(word);
            }
        }
        let mut short = Vec::new();
        part.words(&mut |word, count| {
            let total = self.totals.entry(word).or_default();
            total.count += count;
            if total.witnesses.len() < most {
                short.push(word);
            }
        });
        for word in short {
            let total = self.totals.entry(word).or_default();
            let wanted = most - total.witnesses.len();
            total.witnesses.extend(part.witnesses(word, wanted));
        }
    }

    /// Gives a child's witnesses to the queries that lack some and are not complete in it.
    fn feed_hungry(
        &mut self,
        part: &mut dyn Part,
        complete: &[u32],
        queries: &dyn QuerySet,
        most: usize,
    ) {
        let aside = &mut self.aside;
        self.hungry.retain(|query| {
            if complete.binary_search(query).is_ok() {
                return true;
            }
            let aside = aside.get_mut(query).expect("hungry queries are set aside");
            for (left, &word) in aside.left.iter_mut().zip(queries.words(*query)) {
                if left.len() < most && part.count(word) > 0 {
                    left.extend(part.witnesses(word, most - left.len()));
                }
            }
            aside.is_hungry(most)
        });
    }

    /// The element ends: its own words join those of its children.
    pub fn end(&mut self, most: usize) {
        for &word in &self.own {
            let total = self.totals.entry(word).or_default();
            total.count += 1;
            if let Some(kept) = self.kept.as_ref().filter(|_| most > 0) {
                put_first(&mut total.witnesses, kept, most);
            }
        }
    }

    /// Whether a word is in it; it has ended.
    pub fn contains(&self, word: WordId) -> bool {
        self.totals.contains_key(&word)
    }

    /// Whether a query that is complete in it is complete in no child.
    pub fn is_smallest(&self, query: u32) -> bool {
        !self.aside.contains_key(&query)
    }

    /// How many elements have a word that are in no child in which the query is complete. The word
    /// is the query's word of that place.
    pub fn left(&self, query: u32, place: usize, word: WordId) -> u64 {
        let aside = self.aside.get(&query);
        self.totals[&word].count - aside.map_or(0, |aside| aside.counts[place])
    }

    /// The same with the first of them.
    pub fn found(&self, query: u32, place: usize, word: WordId, most: usize) -> Found {
        let count = self.left(query, place, word);
        let Some(aside) = self.aside.get(&query) else {
            return self.totals[&word].clone();
        };
        let mut witnesses = aside.left[place].clone();
        if let Some(kept) = self.kept.as_ref().filter(|_| self.own.contains(&word)) {
            put_first(&mut witnesses, kept, most);
        }
        Found { count, witnesses }
    }
}

/// Puts an element in front of those inside it.
fn put_first(witnesses: &mut Vec<Arc<Kept>>, kept: &Arc<Kept>, most: usize) {
    witnesses.insert(0, Arc::clone(kept));
    witnesses.truncate(most);
}

impl Part for Frame {
    fn words(&self, visit: &mut dyn FnMut(WordId, u64)) {
        for (&word, total) in &self.totals {
            visit(word, total.count);
        }
    }

    fn count(&self, word: WordId) -> u64 {
        self.totals.get(&word).map_or(0, |total| total.count)
    }

    fn witnesses(&mut self, word: WordId, most: usize) -> Vec<Arc<Kept>> {
        let witnesses = self.totals.get(&word).map(|total| &total.witnesses);
        let first = witnesses.map(|all| &all[..all.len().min(most)]);
        first.map_or(Vec::new(), <[_]>::to_vec)
    }
}
