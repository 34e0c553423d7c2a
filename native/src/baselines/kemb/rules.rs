//! Maximal coverage rules (Section 4.3 of the KEMB paper).
//!
//! A keyword's *coverage* is every word that stands in one query with it. Keywords with the same
//! coverage make one *rule*: coverage ⇒ keywords. An element that contains a rule's coverage
//! contains whole every query that any of its keywords is in.
//!
//! [`Rules::generate`] makes the rules of all queries at once, [`Rules::insert`] and
//! [`Rules::remove`] change them by one query: for each pair of words, the number of queries that
//! have both is kept; a coverage changes where such a number rises from zero or falls to it, and
//! its keyword then leaves its rule for another (which splits and merges rules).

use hashbrown::HashMap;

use crate::baselines::kemb::word_sets::is_subset;
use crate::keywords::token_sink::WordId;

/// A rule, dense from 0; numbers of rules that are gone are given again.
pub type RuleId = u32;

const NO_RULE: RuleId = RuleId::MAX;

/// A maximal coverage rule.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// The words that stand in a query with one of the keywords: the same for each. Ascending.
    pub coverage: Box<[WordId]>,
    /// The keywords. None: the rule is gone.
    pub keywords: Vec<WordId>,
}

/// What a query's coming or going did to the rules.
#[derive(Debug, Default)]
pub struct Change {
    /// Rules that are gone; until the next change, [`Rules::rule`] still tells their coverages.
    pub gone: Vec<RuleId>,
    /// Rules with a coverage that none had.
    pub new: Vec<RuleId>,
}

/// One word's coverage.
#[derive(Debug)]
struct Word {
    /// Each word of the coverage, and how many queries have both.
    together: HashMap<WordId, u32, foldhash::fast::RandomState>,
    /// A sum over the coverage: coverages with other sums are different.
    print: u64,
    rule: RuleId,
}

/// The rules of some queries.
#[derive(Debug, Default)]
pub struct Rules {
    words: Vec<Word>,
    rules: Vec<Rule>,
    free: Vec<RuleId>,
    /// Gone with the last change: free with the next.
    leaving: Vec<RuleId>,
    by_print: HashMap<u64, Vec<RuleId>, foldhash::fast::RandomState>,
}

impl Rules {
    /// The rules of these queries, each of ascending words (the paper's MCRGen).
    pub fn generate<'a>(queries: impl IntoIterator<Item = &'a [WordId]>) -> Self {
        let mut rules = Rules::default();
        for words in queries {
            rules.count_up(words);
        }
        let mut change = Change::default();
        for word in 0..rules.words.len() {
            rules.join(word as WordId, &mut change);
        }
        rules
    }

    /// Adds a query, of ascending words.
    pub fn insert(&mut self, words: &[WordId]) -> Change {
        let changed = self.count_up(words);
        self.regroup(&changed)
    }

    /// Takes a query out that is there.
    pub fn remove(&mut self, words: &[WordId]) -> Change {
        let changed = self.count_down(words);
        self.regroup(&changed)
    }

    /// A rule.
    #[inline]
    pub fn rule(&self, rule: RuleId) -> &Rule {
        &self.rules[rule as usize]
    }

    /// The rule that a word is a keyword of.
    #[inline]
    pub fn rule_of(&self, word: WordId) -> Option<RuleId> {
        let rule = self.words.get(word as usize)?.rule;
        (rule != NO_RULE).then_some(rule)
    }

    /// All rules.
    pub fn ids(&self) -> impl Iterator<Item = RuleId> + '_ {
        (0..self.rules.len() as RuleId).filter(|&id| !self.rule(id).keywords.is_empty())
    }

    /// One more than the greatest number a rule has had.
    pub fn id_end(&self) -> usize {
        self.rules.len()
    }

    /// The rules whose coverage has all these words, which are not none.
    ///
    /// A word is in a keyword's coverage exactly if the keyword is in the word's: the rules are
    /// those of the keywords that are in the coverage of each of the words.
    pub fn covering(&self, words: &[WordId]) -> Vec<RuleId> {
        let entries: Option<Vec<&Word>> = words
            .iter()
            .map(|&word| self.words.get(word as usize))
            .collect();
        let Some(mut entries) = entries else {
            return Vec::new();
        };
        entries.sort_by_key(|entry| entry.together.len());
        let Some((smallest, others)) = entries.split_first() else {
            return Vec::new();
        };
        let in_each = |keyword: &&WordId| {
            others
                .iter()
                .all(|entry| entry.together.contains_key(*keyword))
        };
        self.rules_of(smallest.together.keys().filter(in_each))
    }

    /// The rules whose coverage lies within `words`, which ascend: a rule's keywords are in its
    /// own coverage.
    pub fn within(&self, words: &[WordId]) -> Vec<RuleId> {
        let mut found = self.rules_of(words.iter());
        found.retain(|&rule| is_subset(&self.rule(rule).coverage, words));
        found
    }

    /// The rules of these keywords, each once.
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
            self.words.push(Word {
                together: HashMap::default(),
                print: 0,
                rule: NO_RULE,
            });
        }
        let grown = |&&word: &&WordId| {
            let entry = &mut self.words[word as usize];
            let size = entry.together.len();
            for &other in words {
                let count = entry.together.entry(other).or_insert(0);
                if *count == 0 {
                    entry.print = entry.print.wrapping_add(print_of(other));
                }
                *count += 1;
            }
            entry.together.len() != size
        };
        words.iter().filter(grown).copied().collect()
    }

    /// Takes a query's pairs of words off the counts; returns the words whose coverage shrank.
    fn count_down(&mut self, words: &[WordId]) -> Vec<WordId> {
        let shrunk = |&&word: &&WordId| {
            let entry = &mut self.words[word as usize];
            let size = entry.together.len();
            for &other in words {
                let count = entry.together.get_mut(&other).expect("the query is there");
                *count -= 1;
                if *count == 0 {
                    entry.together.remove(&other);
                    entry.print = entry.print.wrapping_sub(print_of(other));
                }
            }
            entry.together.len() != size
        };
        words.iter().filter(shrunk).copied().collect()
    }

    /// Puts words whose coverages changed under the rules of their coverages.
    fn regroup(&mut self, changed: &[WordId]) -> Change {
        self.free.append(&mut self.leaving);
        let mut change = Change::default();
        for &word in changed {
            self.leave(word, &mut change);
        }
        for &word in changed {
            self.join(word, &mut change);
        }
        self.leaving.clone_from(&change.gone);
        change
    }

    fn leave(&mut self, word: WordId, change: &mut Change) {
        let id = std::mem::replace(&mut self.words[word as usize].rule, NO_RULE);
        if id == NO_RULE {
            return;
        }
        let rule = &mut self.rules[id as usize];
        rule.keywords.retain(|&other| other != word);
        if rule.keywords.is_empty() {
            let print = coverage_print(&rule.coverage);
            if let Some(alike) = self.by_print.get_mut(&print) {
                alike.retain(|&other| other != id);
                if alike.is_empty() {
                    self.by_print.remove(&print);
                }
            }
            change.gone.push(id);
        }
    }

    fn join(&mut self, word: WordId, change: &mut Change) {
        let entry = &self.words[word as usize];
        if entry.together.is_empty() {
            return;
        }
        let alike = self.by_print.entry(entry.print).or_default();
        let same = alike.iter().copied().find(|&id| {
            let coverage = &self.rules[id as usize].coverage;
            coverage.len() == entry.together.len()
                && coverage
                    .iter()
                    .all(|word| entry.together.contains_key(word))
        });
        let id = same.unwrap_or_else(|| {
            let mut coverage: Box<[WordId]> = entry.together.keys().copied().collect();
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
            alike.push(id);
            change.new.push(id);
            id
        });
        self.rules[id as usize].keywords.push(word);
        self.words[word as usize].rule = id;
    }
}

fn coverage_print(coverage: &[WordId]) -> u64 {
    coverage
        .iter()
        .fold(0, |sum, &word| sum.wrapping_add(print_of(word)))
}

/// A word's share in the print of a coverage (the finaliser of splitmix64).
fn print_of(word: WordId) -> u64 {
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

    /// Coverage to keywords.
    fn told(rules: &Rules) -> BTreeMap<Words, BTreeSet<WordId>> {
        let told: BTreeMap<Words, BTreeSet<WordId>> = rules
            .ids()
            .map(|id| {
                let Rule { coverage, keywords } = rules.rule(id);
                (coverage.to_vec(), keywords.iter().copied().collect())
            })
            .collect();
        assert_eq!(told.len(), rules.ids().count(), "two rules of one coverage");
        told
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

    /// QuerySet that come, and go when they come again.
    pub fn steps() -> impl Strategy<Value = Vec<Words>> {
        let words = prop::collection::btree_set(0_u32..9, 1..5);
        let words = words.prop_map(|words| words.into_iter().collect());
        prop::collection::vec(words, 1..40)
    }

    proptest! {
        #[test]
        fn changed_rules_are_those_made_from_scratch(steps in steps()) {
            let mut rules = Rules::default();
            let mut present: BTreeSet<Words> = BTreeSet::new();
            for words in steps {
                let before = told(&rules);
                let change = if present.remove(&words) {
                    rules.remove(&words)
                } else {
                    present.insert(words.clone());
                    rules.insert(&words)
                };
                let scratch = Rules::generate(present.iter().map(Vec::as_slice));
                prop_assert_eq!(told(&rules), told(&scratch));
                prop_assert_eq!(told(&rules), definition(&present));
                // A rule told as gone or new may be both, when its coverage came back at once.
                let mut changed = before;
                for id in change.gone {
                    prop_assert!(changed.remove(&*rules.rule(id).coverage).is_some());
                }
                for id in change.new {
                    let coverage = rules.rule(id).coverage.to_vec();
                    prop_assert!(changed.insert(coverage, BTreeSet::new()).is_none());
                }
                prop_assert!(changed.keys().eq(told(&rules).keys()));
            }
        }

        #[test]
        fn rules_are_found_by_what_they_cover(
            steps in steps(), asked in prop::collection::btree_set(0_u32..10, 1..5)
        ) {
            let rules = Rules::generate(steps.iter().map(Vec::as_slice));
            let asked: Words = asked.into_iter().collect();
            let covers = |&id: &RuleId| is_subset(&asked, &rules.rule(id).coverage);
            prop_assert_eq!(rules.covering(&asked), rules.ids().filter(covers).collect::<Vec<_>>());
            let within = |&id: &RuleId| is_subset(&rules.rule(id).coverage, &asked);
            prop_assert_eq!(rules.within(&asked), rules.ids().filter(within).collect::<Vec<_>>());
        }
    }
}
