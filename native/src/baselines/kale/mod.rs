//! KALE (Section 3.3 of the KEMB paper): one stack per AND query; OR queries are answered from the
//! retained elements.

use crate::baselines::disjunctions::{DisjunctionRunner, DisjunctiveQueries};
use crate::baselines::limits::BaselineLimits;
use crate::baselines::results::{BaselineResults, ResultKind};
use crate::baselines::retained_elements::RetainedElements;
use crate::events::{Span, Stop};
use crate::keywords::token_sink::{Mode, QuerySet, TokenSink, WordId};

pub(crate) mod query_stacks;

use query_stacks::{LcaRule, QueryStacks, StackQueries};

/// The queries.
#[derive(Debug)]
pub struct Kale {
    conjunctive: StackQueries,
    disjunctive: DisjunctiveQueries,
    query_count: usize,
}

impl Kale {
    /// Indexes these queries. By [`LcaRule::Slca`], which is defined for AND queries only, OR queries
    /// never match.
    pub fn new(queries: &dyn QuerySet, rule: LcaRule) -> Self {
        let mut kale = Kale {
            conjunctive: StackQueries::new(rule),
            disjunctive: DisjunctiveQueries::default(),
            query_count: queries.count(),
        };
        for query in 0..queries.count() as u32 {
            let words = queries.words(query);
            match queries.mode(query) {
                Mode::All => kale.conjunctive.insert(query, words),
                Mode::Any if rule == LcaRule::Slca => {}
                Mode::Any => kale.disjunctive.insert(query, words),
            }
        }
        kale
    }
}

/// Runs KALE on documents. Reused across documents to avoid reallocation.
#[derive(Debug, Default)]
pub struct KaleRunner {
    stacks: QueryStacks,
    retained: RetainedElements,
    disjunctions: DisjunctionRunner,
    results: BaselineResults,
    limits: BaselineLimits,
    /// Numbers of the open elements.
    open: Vec<u32>,
    element_count: u32,
}

impl KaleRunner {
    /// Creates a runner with these limits.
    pub fn new(limits: BaselineLimits) -> Self {
        KaleRunner {
            limits,
            ..KaleRunner::default()
        }
    }

    /// Starts a document.
    pub fn start_document<'a>(&'a mut self, kale: &'a Kale, kind: ResultKind) -> KaleSink<'a> {
        self.stacks.begin(&kale.conjunctive);
        self.retained.begin();
        self.disjunctions.begin();
        self.results.begin(kind, kale.query_count);
        self.open.clear();
        self.element_count = 0;
        KaleSink {
            retains_elements: kind == ResultKind::Answers && !kale.disjunctive.is_empty(),
            kale,
            runner: self,
        }
    }

    /// Results of the last document.
    pub fn results(&self) -> &BaselineResults {
        &self.results
    }
}

/// Receives one document.
#[derive(Debug)]
pub struct KaleSink<'a> {
    kale: &'a Kale,
    runner: &'a mut KaleRunner,
    /// Whether OR queries need retained elements.
    retains_elements: bool,
}

impl<'a> KaleSink<'a> {
    /// Ends the document.
    pub fn finish(self) -> &'a KaleRunner {
        self.runner.results.finish();
        self.runner
    }
}

impl TokenSink for KaleSink<'_> {
    fn open(&mut self) -> Result<(), Stop> {
        self.runner
            .limits
            .check_element(self.runner.element_count)?;
        if self.retains_elements {
            self.runner.retained.open(self.runner.element_count);
        }
        self.runner.open.push(self.runner.element_count);
        self.runner.element_count += 1;
        Ok(())
    }

    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        let runner = &mut *self.runner;
        let depth = (runner.open.len() - 1) as u32;
        runner.stacks.add_word(&self.kale.conjunctive, depth, word);
        if self.kale.disjunctive.uses(word) {
            runner
                .disjunctions
                .add_word(&self.kale.disjunctive, word, &mut runner.results);
            if self.retains_elements {
                runner.retained.token(word);
            }
        }
        Ok(())
    }

    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let runner = &mut *self.runner;
        let element = runner.open.pop().expect("an element is open");
        let depth = runner.open.len() as u32;
        runner
            .stacks
            .close(&self.kale.conjunctive, depth, element, &mut runner.results);
        if self.retains_elements {
            runner.retained.close();
            if !runner.limits.allows_retained(runner.retained.size()) {
                return Err(runner.limits.too_large_for_or());
            }
        }
        if self.retains_elements && runner.open.is_empty() {
            runner.disjunctions.answer_queries(
                &self.kale.disjunctive,
                &runner.retained,
                &runner.limits,
                &mut runner.results,
            )?;
        }
        runner.limits.check_answers(runner.results.answers().len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::baselines::results::BaselineAnswer;
    use crate::keywords::testing::{
        element, figure_1, queries, table_1, trees, Document, Item, QueryList, Tree,
    };

    fn answers(queries: &QueryList, tree: &Tree) -> Vec<(u32, u32)> {
        let kale = Kale::new(queries, LcaRule::Clca);
        let mut runner = KaleRunner::default();
        let mut sink = runner.start_document(&kale, ResultKind::Answers);
        tree.feed(&mut sink).unwrap();
        sink.finish();
        let results = runner.results().answers().iter();
        results
            .map(|answer| (answer.query, answer.element))
            .collect()
    }

    #[test]
    fn example_1_gives_the_two_answers_of_figure_3() {
        let [a1, a2] = [0, 6];
        let query = QueryList::new([(Mode::All, vec![0, 2, 3])]);
        assert_eq!(answers(&query, &figure_1()), [(0, a1), (0, a2)]);
    }

    #[test]
    fn slca_misses_the_outer_answer_of_example_1() {
        let query = QueryList::new([(Mode::All, vec![0, 2, 3]), (Mode::Any, vec![0, 1])]);
        let kale = Kale::new(&query, LcaRule::Slca);
        let mut runner = KaleRunner::default();
        let mut sink = runner.start_document(&kale, ResultKind::Answers);
        figure_1().feed(&mut sink).unwrap();
        let (a2, answers) = (6, sink.finish().results().answers());
        assert_eq!(
            answers,
            [BaselineAnswer {
                query: 0,
                element: a2
            }]
        );
    }

    #[test]
    fn table_1_is_answered_on_figure_1() {
        let [a1, d1, b2, a2] = [0, 2, 5, 6];
        let expected = [
            (0, a1),
            (0, b2),
            (1, a1),
            (1, b2),
            (2, a1),
            (2, a2),
            (3, d1),
        ];
        assert_eq!(answers(&table_1(), &figure_1()), expected);
    }

    #[test]
    fn an_element_complete_only_through_an_answer_below_propagates_nothing() {
        // <e><c><d>a b</d>a</c>b</e>: only d is an answer, although the paper's procedure also
        // yields e.
        let d = Item::Child(element(&[0, 1], Vec::new()));
        let c = Tree {
            tag: Vec::new(),
            items: vec![d, Item::Word(0)],
        };
        let e = Tree {
            tag: Vec::new(),
            items: vec![Item::Child(c), Item::Word(1)],
        };
        let query = QueryList::new([(Mode::All, vec![0, 1])]);
        assert_eq!(answers(&query, &e), [(0, 2)]);
    }

    #[test]
    fn a_query_of_hundreds_of_words_is_answered() {
        let words: Vec<WordId> = (0..300).collect();
        let children = words.chunks(7).map(|words| element(words, Vec::new()));
        let whole = element(&[], children.collect());
        let root = element(&[5], vec![whole.clone(), whole]);
        let query = QueryList::new([(Mode::All, words.clone()), (Mode::Any, words)]);
        let expected = answers(&query, &root);
        assert_eq!(&expected[..2], [(0, 1), (0, 45)]);
        assert!(expected.iter().any(|answer| answer.0 == 1));
    }

    #[test]
    fn or_answers_past_the_retention_limit_stop_the_document() {
        let query = QueryList::new([(Mode::Any, vec![0]), (Mode::All, vec![0, 1])]);
        let leaf = || element(&[0], Vec::new());
        let tree = element(&[1], vec![leaf(), leaf(), leaf()]);
        let kale = Kale::new(&query, LcaRule::Clca);
        let mut runner = KaleRunner::new(BaselineLimits {
            retained_max: 5,
            ..BaselineLimits::default()
        });
        let stop = tree
            .feed(&mut runner.start_document(&kale, ResultKind::Answers))
            .unwrap_err();
        assert_eq!(stop.code, "keywords.or-too-large");
        // The runner remains usable, and matching alone retains nothing.
        let mut sink = runner.start_document(&kale, ResultKind::Matches);
        tree.feed(&mut sink).unwrap();
        sink.finish();
        assert_eq!(
            (runner.results().matches(), runner.results().answers().len()),
            (&[0, 1][..], 0)
        );
    }

    #[test]
    fn a_document_of_too_many_elements_is_stopped() {
        let tree = element(&[0], vec![element(&[0], Vec::new())]);
        let kale = Kale::new(&QueryList::new([(Mode::All, vec![0])]), LcaRule::Clca);
        for (elements_max, code) in [(2, None), (1, Some("keywords.too-many-elements"))] {
            let mut runner = KaleRunner::new(BaselineLimits {
                elements_max,
                ..BaselineLimits::default()
            });
            let stop = tree
                .feed(&mut runner.start_document(&kale, ResultKind::Answers))
                .err();
            assert_eq!(stop.map(|stop| stop.code), code);
        }
    }

    #[test]
    fn a_document_with_too_many_answers_is_stopped() {
        let leaf = || element(&[0], Vec::new());
        let tree = element(&[], vec![leaf(), leaf(), leaf()]);
        for mode in [Mode::All, Mode::Any] {
            let kale = Kale::new(&QueryList::new([(mode, vec![0])]), LcaRule::Clca);
            for (answers_max, code) in [(3, None), (2, Some("keywords.too-many-answers"))] {
                let mut runner = KaleRunner::new(BaselineLimits {
                    answers_max,
                    ..BaselineLimits::default()
                });
                let mut sink = runner.start_document(&kale, ResultKind::Answers);
                let stop = tree.feed(&mut sink).err();
                assert_eq!(stop.map(|stop| stop.code), code);
            }
        }
    }

    proptest! {
        #[test]
        fn slca_answers_match_the_definition(queries in queries(4, 12), tree in trees(4, 60)) {
            let kale = Kale::new(&queries, LcaRule::Slca);
            let mut runner = KaleRunner::default();
            let mut sink = runner.start_document(&kale, ResultKind::Answers);
            tree.feed(&mut sink).unwrap();
            let document = Document::new(&tree);
            let mut expected = Vec::new();
            for query in (0..queries.count() as u32).filter(|&query| queries.mode(query) == Mode::All) {
                for element in document.smallest(queries.words(query)) {
                    expected.push(BaselineAnswer { query, element: element as u32 });
                }
            }
            prop_assert_eq!(sink.finish().results().answers(), &expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        #[test]
        fn answers_match_the_definition(
            queries in queries(6, 12), trees in prop::collection::vec(trees(6, 60), 1..3)
        ) {
            let kale = Kale::new(&queries, LcaRule::Clca);
            let mut runner = KaleRunner::default();
            for tree in trees {
                let document = Document::new(&tree);
                let mut expected = Vec::new();
                for query in 0..queries.count() as u32 {
                    for answer in document.answers(queries.mode(query), queries.words(query)) {
                        expected.push(BaselineAnswer { query, element: answer.element as u32 });
                    }
                }
                let mut matching: Vec<u32> = expected.iter().map(|answer| answer.query).collect();
                matching.dedup();
                for kind in [ResultKind::Answers, ResultKind::Matches] {
                    let mut sink = runner.start_document(&kale, kind);
                    tree.feed(&mut sink).unwrap();
                    sink.finish();
                    prop_assert_eq!(runner.results().matches(), &matching);
                    let all = if kind == ResultKind::Answers { &expected[..] } else { &[] };
                    prop_assert_eq!(runner.results().answers(), all);
                }
            }
        }
    }
}
