//! KALE as an engine: a stack for each AND query, OR queries on what is kept.

use super::{AllQueries, AllStacks};
use crate::baselines::kemb::disjunctions::{AnyQueries, AnyRun};
use crate::baselines::kemb::limits::Limits;
use crate::baselines::kemb::results::{Told, Want};
use crate::baselines::kemb::retained_elements::Kept;
use crate::events::{Span, Stop};
use crate::keywords::token_sink::{Mode, QuerySet, TokenSink, WordId};

/// The queries.
#[derive(Debug)]
pub struct Kale {
    all: AllQueries,
    any: AnyQueries,
    query_end: usize,
}

impl Kale {
    /// Takes these queries.
    pub fn new(queries: &dyn QuerySet) -> Self {
        let mut kale = Kale {
            all: AllQueries::default(),
            any: AnyQueries::default(),
            query_end: queries.count(),
        };
        for query in 0..queries.count() as u32 {
            let words = queries.words(query);
            match queries.mode(query) {
                Mode::All => kale.all.insert(query, words),
                Mode::Any => kale.any.insert(query, words),
            }
        }
        kale
    }
}

/// What answering takes, reused from document to document.
#[derive(Debug, Default)]
pub struct KaleRun {
    stacks: AllStacks,
    kept: Kept,
    any: AnyRun,
    told: Told,
    limits: Limits,
    /// The open elements' numbers.
    open: Vec<u32>,
    element_count: u32,
}

impl KaleRun {
    /// A run within these limits.
    pub fn new(limits: Limits) -> Self {
        KaleRun {
            limits,
            ..KaleRun::default()
        }
    }

    /// Begins a document.
    pub fn hear<'a>(&'a mut self, kale: &'a Kale, want: Want) -> KaleHearing<'a> {
        self.stacks.begin(&kale.all);
        self.kept.begin();
        self.any.begin();
        self.told.begin(want, kale.query_end);
        self.open.clear();
        self.element_count = 0;
        KaleHearing {
            keeps: want == Want::Answers && !kale.any.is_empty(),
            kale,
            run: self,
        }
    }

    /// What the last document gave.
    pub fn told(&self) -> &Told {
        &self.told
    }
}

/// Hears one document.
#[derive(Debug)]
pub struct KaleHearing<'a> {
    kale: &'a Kale,
    run: &'a mut KaleRun,
    /// Whether OR queries want elements kept.
    keeps: bool,
}

impl KaleHearing<'_> {
    /// Ends the document.
    pub fn finish(self) {
        self.run.told.finish();
    }
}

impl TokenSink for KaleHearing<'_> {
    fn open(&mut self) -> Result<(), Stop> {
        self.run.limits.check_element(self.run.element_count)?;
        if self.keeps {
            self.run.kept.open(self.run.element_count);
        }
        self.run.open.push(self.run.element_count);
        self.run.element_count += 1;
        Ok(())
    }

    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        let run = &mut *self.run;
        let depth = (run.open.len() - 1) as u32;
        run.stacks.word(&self.kale.all, depth, word);
        if self.kale.any.uses(word) {
            run.any.hear(&self.kale.any, word, &mut run.told);
            if self.keeps {
                run.kept.token(word);
            }
        }
        Ok(())
    }

    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let run = &mut *self.run;
        let element = run.open.pop().expect("an element is open");
        let depth = run.open.len() as u32;
        run.stacks
            .close(&self.kale.all, depth, element, &mut run.told);
        if self.keeps {
            run.kept.close();
            if !run.limits.allow_kept(run.kept.size()) {
                return Err(run.limits.too_large_for_or());
            }
        }
        if self.keeps && run.open.is_empty() {
            run.any
                .answer(&self.kale.any, &run.kept, &run.limits, &mut run.told)?;
        }
        run.limits.check_answers(run.told.answers().len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::baselines::kemb::results::Answer;
    use crate::keywords::testing::{
        element, figure_1, queries, table_1, trees, Document, Item, QueryList, Tree,
    };

    fn answers(queries: &QueryList, tree: &Tree) -> Vec<(u32, u32)> {
        let kale = Kale::new(queries);
        let mut run = KaleRun::default();
        let mut hearing = run.hear(&kale, Want::Answers);
        tree.feed(&mut hearing).unwrap();
        hearing.finish();
        let told = run.told().answers().iter();
        told.map(|answer| (answer.query, answer.element)).collect()
    }

    #[test]
    fn example_1_gives_the_two_answers_of_figure_3() {
        let [a1, a2] = [0, 6];
        let query = QueryList::new([(Mode::All, vec![0, 2, 3])]);
        assert_eq!(answers(&query, &figure_1()), [(0, a1), (0, a2)]);
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
    fn what_contains_all_keywords_thanks_to_an_answer_below_hands_nothing_upwards() {
        // <e><c><d>a b</d>a</c>b</e>: only d answers, whatever the paper's procedure says of e.
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
    fn a_document_past_the_limit_is_refused_where_or_queries_want_answers() {
        let query = QueryList::new([(Mode::Any, vec![0]), (Mode::All, vec![0, 1])]);
        let leaf = || element(&[0], Vec::new());
        let tree = element(&[1], vec![leaf(), leaf(), leaf()]);
        let kale = Kale::new(&query);
        let mut run = KaleRun::new(Limits {
            kept_max: 5,
            ..Limits::default()
        });
        let stop = tree.feed(&mut run.hear(&kale, Want::Answers)).unwrap_err();
        assert_eq!(stop.code, "keywords.or-too-large");
        // The run serves again, and matching alone keeps nothing.
        let mut hearing = run.hear(&kale, Want::Matches);
        tree.feed(&mut hearing).unwrap();
        hearing.finish();
        assert_eq!(
            (run.told().matches(), run.told().answers().len()),
            (&[0, 1][..], 0)
        );
    }

    #[test]
    fn a_document_of_too_many_elements_is_stopped() {
        let tree = element(&[0], vec![element(&[0], Vec::new())]);
        let kale = Kale::new(&QueryList::new([(Mode::All, vec![0])]));
        for (elements_max, code) in [(2, None), (1, Some("keywords.too-many-elements"))] {
            let mut run = KaleRun::new(Limits {
                elements_max,
                ..Limits::default()
            });
            let stop = tree.feed(&mut run.hear(&kale, Want::Answers)).err();
            assert_eq!(stop.map(|stop| stop.code), code);
        }
    }

    #[test]
    fn a_document_with_too_many_answers_is_stopped() {
        let leaf = || element(&[0], Vec::new());
        let tree = element(&[], vec![leaf(), leaf(), leaf()]);
        for mode in [Mode::All, Mode::Any] {
            let kale = Kale::new(&QueryList::new([(mode, vec![0])]));
            for (answers_max, code) in [(3, None), (2, Some("keywords.too-many-answers"))] {
                let mut run = KaleRun::new(Limits {
                    answers_max,
                    ..Limits::default()
                });
                let mut hearing = run.hear(&kale, Want::Answers);
                let stop = tree.feed(&mut hearing).err();
                assert_eq!(stop.map(|stop| stop.code), code);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        #[test]
        fn answers_are_those_of_the_definition(
            queries in queries(6, 12), trees in prop::collection::vec(trees(6, 60), 1..3)
        ) {
            let kale = Kale::new(&queries);
            let mut run = KaleRun::default();
            for tree in trees {
                let document = Document::new(&tree);
                let mut expected = Vec::new();
                for query in 0..queries.count() as u32 {
                    for answer in document.answers(queries.mode(query), queries.words(query)) {
                        expected.push(Answer { query, element: answer.element as u32 });
                    }
                }
                let mut matching: Vec<u32> = expected.iter().map(|answer| answer.query).collect();
                matching.dedup();
                for want in [Want::Answers, Want::Matches] {
                    let mut hearing = run.hear(&kale, want);
                    tree.feed(&mut hearing).unwrap();
                    hearing.finish();
                    prop_assert_eq!(run.told().matches(), &matching);
                    let all = if want == Want::Answers { &expected[..] } else { &[] };
                    prop_assert_eq!(run.told().answers(), all);
                }
            }
        }
    }
}
