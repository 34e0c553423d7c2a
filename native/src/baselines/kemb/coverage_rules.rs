//! Maximal coverage rules (Section 4.3 of the KEMB paper).
//!
//! The *coverage* of a keyword is the set of all words that occur in some query together with it.
//! Keywords with the same coverage form one *rule*: coverage ⇒ keywords. An element that contains a
//! rule's coverage contains every query that includes one of its keywords.
//!
//! [`RuleSet::generate`] creates the rules of all queries at once; [`RuleSet::insert`] and
//! [`RuleSet::remove`] update them for one query. For this, the number of queries that contain both
//! words is stored for each pair of words. A coverage changes when such a number becomes positive
//! or zero; its keyword then moves to another rule, which may split or merge rules.

use hashbrown::HashMap;

use crate::baselines::kemb::word_sets::is_subset;
use crate::keywords::token_sink::WordId;

/// Rule number, dense from 0; numbers of removed rules are reused.
pub type RuleId = u32;

const NO_RULE: RuleId = RuleId::MAX;

/// A maximal coverage rule.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// The words that occur together with the keywords, the same for each keyword; ascending.
    pub coverage: Box<[WordId]>,
    /// The keywords; empty if the rule was removed.
    pub keywords: Vec<WordId>,
}

/// Effect of adding or removing a query.
#[derive(Debug, Default)]
pub struct RuleChange {
    /// Removed rules; [`RuleSet::rule`] still returns their coverage until the next change.
    pub removed: Vec<RuleId>,
    /// Rules with a new coverage.
    pub added: Vec<RuleId>,
}

/// The coverage of a word.
#[derive(Debug)]
struct WordCoverage {
    /// Each word of the coverage, with the number of queries that contain both.
    co_occurrences: HashMap<WordId, u32, foldhash::fast::RandomState>,
    /// Sum of hashes over the coverage; coverages with different sums differ.
    fingerprint: u64,
    rule: RuleId,
}

/// The rules of a set of queries.
#[derive(Debug, Default)]
pub struct RuleSet {
    words: Vec<WordCoverage>,
    rules: Vec<Rule>,
    free: Vec<RuleId>,
    /// Removed by the last change, reusable after the next.
    pending_free: Vec<RuleId>,
    by_fingerprint: HashMap<u64, Vec<RuleId>, foldhash::fast::RandomState>,
}

impl RuleSet {
    /// Creates the rules of these queries, each with ascending words (MCRGen in the paper).
    pub fn generate<'a>(queries: impl IntoIterator<Item = &'a [WordId]>) -> Self {
        let mut rules = RuleSet::default();
        for words in queries {
            rules.count_up(words);
        }
        let mut change = RuleChange::default();
        for word in 0..rules.words.len() {
            rules.join(word as WordId, &mut change);
        }
        rules
    }

    /// Adds a query with ascending words.
    pub fn insert(&mut self, words: &[WordId]) -> RuleChange {
        let changed = self.count_up(words);
        self.regroup(&changed)
    }

    /// Removes an existing query.
    pub fn remove(&mut self, words: &[WordId]) -> RuleChange {
        let changed = self.count_down(words);
        self.regroup(&changed)
    }

    /// Returns a rule.
    #[inline]
    pub fn rule(&self, rule: RuleId) -> &Rule {
        &self.rules[rule as usize]
    }

    /// The rule of which a word is a keyword.
    #[inline]
    pub fn rule_of(&self, word: WordId) -> Option<RuleId> {
        let rule = self.words.get(word as usize)?.rule;
        (rule != NO_RULE).then_some(rule)
    }

    /// All rules.
    pub fn ids(&self) -> impl Iterator<Item = RuleId> + '_ {
        (0..self.rules.len() as RuleId).filter(|&id| !self.rule(id).keywords.is_empty())
    }

    /// Exclusive upper bound of the rule numbers.
    pub fn id_end(&self) -> usize {
        self.rules.len()
    }

    /// The rules whose coverage includes all of these words; there must be at least one word.
    ///
    /// A word is in a keyword's coverage if and only if the keyword is in the word's. So these are
    /// the rules of the keywords that are in the coverage of each word.
    pub fn covering(&self, words: &[WordId]) -> Vec<RuleId> {
        let entries: Option<Vec<&WordCoverage>> = words
            .iter()
            .map(|&word| self.words.get(word as usize))
            .collect();
        let Some(mut entries) = entries else {
            return Vec::new();
        };
        entries.sort_by_key(|entry| entry.co_occurrences.len());
        let Some((smallest, others)) = entries.split_first() else {
            return Vec::new();
        };
        let in_each = |keyword: &&WordId| {
            others
                .iter()
                .all(|entry| entry.co_occurrences.contains_key(*keyword))
        };
        self.rules_of(smallest.co_occurrences.keys().filter(in_each))
    }

    /// The rules whose coverage is a subset of `words`, which are ascending. A rule's keywords are
    /// in its own coverage.
    pub fn within(&self, words: &[WordId]) -> Vec<RuleId> {
        let mut found = self.rules_of(words.iter());
        found.retain(|&rule| is_subset(&self.rule(rule).coverage, words));
        found
    }

    /// The rules of these keywords, distinct.
    fn rules_of<'a>(&self, words: impl Iterator<Item = &'a WordId>) -> Vec<RuleId> {
        let mut found: Vec<RuleId> = words.filter_map(|&word| self.rule_of(word)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Counts a query's pairs of words; returns the words whose coverage grew.
    fn count_up(&mut self, words: &[WordId]) -> Vec<WordId> {
        let end = words.last().map_or(0, |&word| word as usize + 1);
        while self.words.len() < end {
            self.words.push(WordCoverage {
                co_occurrences: HashMap::default(),
                fingerprint: 0,
                rule: NO_RULE,
            });
        }
        let grown = |&&word: &&WordId| {
            let entry = &mut self.words[word as usize];
            let size = entry.co_occurrences.len();
            for &other in words {
                let count = entry.co_occurrences.entry(other).or_insert(0);
                if *count == 0 {
                    entry.fingerprint = entry.fingerprint.wrapping_add(word_fingerprint(other));
                }
                *count += 1;
            }
            entry.co_occurrences.len() != size
        };
        words.iter().filter(grown).copied().collect()
    }

    /// Uncounts a query's pairs of words; returns the words whose coverage shrank.
    fn count_down(&mut self, words: &[WordId]) -> Vec<WordId> {
        let shrunk = |&&word: &&WordId| {
            let entry = &mut self.words[word as usize];
            let size = entry.co_occurrences.len();
            for &other in words {
                let count = entry
                    .co_occurrences
                    .get_mut(&other)
                    .expect("the query is there");
                *count -= 1;
                if *count == 0 {
                    entry.co_occurrences.remove(&other);
                    entry.fingerprint = entry.fingerprint.wrapping_sub(word_fingerprint(other));
                }
            }
            entry.co_occurrences.len() != size
        };
        words.iter().filter(shrunk).copied().collect()
    }

    /// Moves words whose coverage changed to the rules of their coverages.
    fn regroup(&mut self, changed: &[WordId]) -> RuleChange {
        self.free.append(&mut self.pending_free);
        let mut change = RuleChange::default();
        for &word in changed {
            self.leave(word, &mut change);
        }
        for &word in changed {
            self.join(word, &mut change);
        }
        self.pending_free.clone_from(&change.removed);
        change
    }

    fn leave(&mut self, word: WordId, change: &mut RuleChange) {
        let id = std::mem::replace(&mut self.words[word as usize].rule, NO_RULE);
        if id == NO_RULE {
            return;
        }
        let rule = &mut self.rules[id as usize];
        rule.keywords.retain(|&other| other != word);
        if rule.keywords.is_empty() {
            let fingerprint = coverage_fingerprint(&rule.coverage);
            if let Some(same_fingerprint) = self.by_fingerprint.get_mut(&fingerprint) {
                same_fingerprint.retain(|&other| other != id);
                if same_fingerprint.is_empty() {
                    self.by_fingerprint.remove(&fingerprint);
                }
            }
            change.removed.push(id);
        }
    }

    fn join(&mut self, word: WordId, change: &mut RuleChange) {
        let entry = &self.words[word as usize];
        if entry.co_occurrences.is_empty() {
            return;
        }
        let same_fingerprint = self.by_fingerprint.entry(entry.fingerprint).or_default();
        let same = same_fingerprint.iter().copied().find(|&id| {
            let coverage = &self.rules[id as usize].coverage;
            coverage.len() == entry.co_occurrences.len()
                && coverage
                    .iter()
                    .all(|word| entry.co_occurrences.contains_key(word))
        });
        let id = same.unwrap_or_else(|| {
            let mut coverage: Box<[WordId]> = entry.co_occurrences.keys().copied().collect();
            coverage.sort_unstable();
            let rule = Rule {
                coverage,
                keywords: Vec::new(),
            };
            let id = if let Some(id) = self.free.pop() {
                self.rules[id as usize] = rule;
                id
            } else {
                self.rules.push(rule);
                (self.rules.len() - 1) as RuleId
            };
            same_fingerprint.push(id);
            change.added.push(id);
            id
        });
        self.rules[id as usize].keywords.push(word);
        self.words[word as usize].rule = id;
    }
}

fn coverage_fingerprint(coverage: &[WordId]) -> u64 {
    coverage
        .iter()
        .fold(0, |sum, &word| sum.wrapping_add(word_fingerprint(word)))
}

/// Hash of a word for fingerprints (the finalizer of splitmix64).
fn word_fingerprint(word: WordId) -> u64 {
    let mut bits = u64::from(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    type Words = Vec<WordId>;

    /// Keywords by coverage.
    fn rules_by_coverage(rules: &RuleSet) -> BTreeMap<Words, BTreeSet<WordId>> {
        let rules_by_coverage: BTreeMap<Words, BTreeSet<WordId>> = rules
            .ids()
            .map(|id| {
                let Rule { coverage, keywords } = rules.rule(id);
                (coverage.to_vec(), keywords.iter().copied().collect())
            })
            .collect();
        assert_eq!(
            rules_by_coverage.len(),
            rules.ids().count(),
            "two rules of one coverage"
        );
        rules_by_coverage
    }

    /// Definition 4, word by word.
    fn definition(queries: &BTreeSet<Words>) -> BTreeMap<Words, BTreeSet<WordId>> {
        let mut rules: BTreeMap<Words, BTreeSet<WordId>> = BTreeMap::new();
        for &keyword in queries.iter().flatten() {
            let with = queries.iter().filter(|query| query.contains(&keyword));
            let coverage: BTreeSet<WordId> = with.flatten().copied().collect();
            let coverage = coverage.into_iter().collect();
            rules.entry(coverage).or_default().insert(keyword);
        }
        rules
    }

    /// Queries to add, or to remove if already present.
    pub fn steps() -> impl Strategy<Value = Vec<Words>> {
        let words = prop::collection::btree_set(0_u32..9, 1..5);
        let words = words.prop_map(|words| words.into_iter().collect());
        prop::collection::vec(words, 1..40)
    }

    proptest! {
        #[test]
        fn updated_rules_equal_those_built_from_scratch(steps in steps()) {
            let mut rules = RuleSet::default();
            let mut present: BTreeSet<Words> = BTreeSet::new();
            for words in steps {
                let before = rules_by_coverage(&rules);
                let change = if present.remove(&words) {
                    rules.remove(&words)
                } else {
                    present.insert(words.clone());
                    rules.insert(&words)
                };
                let scratch = RuleSet::generate(present.iter().map(Vec::as_slice));
                prop_assert_eq!(rules_by_coverage(&rules), rules_by_coverage(&scratch));
                prop_assert_eq!(rules_by_coverage(&rules), definition(&present));
                // A rule may be reported as both removed and added if its coverage reappeared.
                let mut changed = before;
                for id in change.removed {
                    prop_assert!(changed.remove(&*rules.rule(id).coverage).is_some());
                }
                for id in change.added {
                    let coverage = rules.rule(id).coverage.to_vec();
                    prop_assert!(changed.insert(coverage, BTreeSet::new()).is_none());
                }
                prop_assert!(changed.keys().eq(rules_by_coverage(&rules).keys()));
            }
        }

        #[test]
        fn rules_are_found_by_what_they_cover(
            steps in steps(), words in prop::collection::btree_set(0_u32..10, 1..5)
        ) {
            let rules = RuleSet::generate(steps.iter().map(Vec::as_slice));
            let words: Words = words.into_iter().collect();
            let covers = |&id: &RuleId| is_subset(&words, &rules.rule(id).coverage);
            prop_assert_eq!(rules.covering(&words), rules.ids().filter(covers).collect::<Vec<_>>());
            let within = |&id: &RuleId| is_subset(&rules.rule(id).coverage, &words);
            prop_assert_eq!(rules.within(&words), rules.ids().filter(within).collect::<Vec<_>>());
        }
    }
}
