//! The paper's examples: the queries of Table 1 on the document of Fig. 1.
//!
//! The text of Section 4.2 numbers the states 1 (initial), 3 (b), 5 (d), 6 and 7 (e and f), 8 (ab),
//! 10 (accepting, ad), 13 (accepting, ef), and 14 and 15 (accepting). It follows that 2 and 4 are a
//! and c; that sets of equal size are numbered alphabetically is inferred, as is the document of
//! `figure_1`.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::baselines::kemb::coverage_rules::RuleId;
use crate::baselines::kemb::nfa::{StateId, INITIAL};
use crate::baselines::kemb::rule_search::RuleSearch;
use crate::baselines::kemb::runner::{KembRunner, KembSink};
use crate::baselines::kemb::Kemb;
use crate::baselines::results::ResultKind;
use crate::events::{Span, Stop};
use crate::keywords::testing::{element, figure_1, table_1, QueryList};
use crate::keywords::token_sink::{Mode, TokenSink, WordId};

const WORDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const STATES: [&str; 15] = [
    "", "a", "b", "c", "d", "e", "f", "ab", "ac", "ad", "bc", "bd", "ef", "abc", "abd",
];

fn named(words: &[WordId]) -> String {
    words.iter().map(|&word| WORDS[word as usize]).collect()
}

/// The paper's number of each state.
fn numbers(kemb: &Kemb) -> HashMap<StateId, usize> {
    let state = |set: &&str| {
        let words = set.bytes().map(|letter| WordId::from(letter - b'a'));
        let next = |state, word| kemb.nfa().next(state, word).expect("a state of Fig. 4");
        words.fold(INITIAL, next)
    };
    STATES.iter().map(state).zip(1..).collect()
}

#[test]
fn figure_4_has_fifteen_states_of_which_four_accept() {
    let kemb = Kemb::new(&table_1(), true);
    assert_eq!(kemb.nfa().state_count(), STATES.len());
    let arcs: usize = STATES.iter().map(|set| set.len()).sum();
    assert_eq!(kemb.nfa().transition_count(), arcs);
    let numbers = numbers(&kemb);
    let accepting = numbers.iter().filter_map(|(&state, &number)| {
        let accept = kemb.nfa().accept_of(state)?;
        Some((number, kemb.nfa().accept(accept).queries.clone()))
    });
    let accepting: BTreeSet<(usize, Vec<u32>)> = accepting.collect();
    let expected = [(10, vec![2]), (13, vec![3]), (14, vec![0]), (15, vec![1])];
    assert_eq!(accepting, BTreeSet::from(expected));
}

#[test]
fn figure_6_rules_arcs_and_source_vertexes() {
    let kemb = Kemb::new(&table_1(), true);
    let graph = kemb.coverage.as_ref().unwrap();
    let rules: BTreeSet<(String, String)> = graph
        .rules()
        .ids()
        .map(|id| {
            let rule = graph.rules().rule(id);
            (named(&rule.coverage), named(&rule.keywords))
        })
        .collect();
    let expected = [("abcd", "ab"), ("abc", "c"), ("abd", "d"), ("ef", "ef")];
    let owned = |(one, other): (&str, &str)| (one.to_string(), other.to_string());
    assert_eq!(rules, expected.map(owned).into());
    let coverage = |id: RuleId| named(&graph.rules().rule(id).coverage);
    let below = |id| (graph.below(id).iter()).map(move |&below| (coverage(id), coverage(below)));
    let arcs: BTreeSet<(String, String)> = graph.rules().ids().flat_map(below).collect();
    assert_eq!(arcs, [("abcd", "abc"), ("abcd", "abd")].map(owned).into());
    let sources: BTreeSet<(String, String)> = kemb
        .nfa()
        .accepting()
        .flat_map(|accept| {
            let accept = kemb.nfa().accept(accept);
            let sources = accept.sources.iter();
            sources.map(|&source| (named(&accept.words), coverage(source)))
        })
        .collect();
    let expected = [("abc", "abc"), ("abd", "abd"), ("ad", "abd"), ("ef", "ef")];
    assert_eq!(sources, expected.map(owned).into());
}

#[test]
fn example_4_finds_the_relevant_rules() {
    let kemb = Kemb::new(&table_1(), true);
    let graph = kemb.coverage.as_ref().unwrap();
    let mut rule_search = RuleSearch::default();
    let mut found = |accepting: &[&str], contained: &str| {
        rule_search.start_element(graph);
        for accept in kemb.nfa().accepting() {
            let accept = kemb.nfa().accept(accept);
            if accepting.contains(&&*named(&accept.words)) {
                let contains = |coverage: &[WordId]| {
                    let mut words = coverage.iter().map(|&word| WORDS[word as usize]);
                    words.all(|word| contained.contains(word))
                };
                rule_search.find(graph, &accept.sources, contains);
            }
        }
        let coverages = rule_search.rules().iter();
        let coverages = coverages.map(|&id| named(&graph.rules().rule(id).coverage));
        coverages.collect::<BTreeSet<String>>()
    };
    let set = |coverages: &[&str]| coverages.iter().map(|one| one.to_string()).collect();
    // At the end of d1 and of b2. A single accepting state finds only the rules it can reach.
    assert_eq!(found(&["ef"], "def"), set(&["ef"]));
    assert_eq!(
        found(&["ad", "abc", "abd"], "abcd"),
        set(&["abc", "abd", "abcd"])
    );
    assert_eq!(found(&["ad"], "abcd"), set(&["abd", "abcd"]));
    // At the end of a2, none.
    assert_eq!(found(&["ad"], "acd"), set(&[]));
}

/// Records the active states of the open elements, outermost first, and the number of discarded
/// elements, after each start tag's word and each end tag.
struct RecordingSink<'a> {
    sink: KembSink<'a>,
    numbers: HashMap<StateId, usize>,
    steps: Vec<(String, u64)>,
}

impl RecordingSink<'_> {
    fn record(&mut self) {
        let runner = &self.sink.runner;
        let frames = runner.frames[..runner.depth].iter().map(|frame| {
            let mut numbers: Vec<usize> = frame
                .active
                .iter()
                .map(|active| self.numbers[&active.state])
                .collect();
            numbers.sort_unstable();
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            numbers.join(",")
        });
        let stack: Vec<String> = frames.collect();
        self.steps
            .push((stack.join(" | "), runner.counters.discarded));
    }
}

impl TokenSink for RecordingSink<'_> {
    fn open(&mut self) -> Result<(), Stop> {
        self.sink.open()
    }

    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        self.sink.token(word)?;
        self.record();
        Ok(())
    }

    fn close(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.sink.close(span, end_tag)?;
        self.record();
        Ok(())
    }
}

fn steps(discard: bool) -> Vec<(String, u64)> {
    let kemb = Kemb::new(&table_1(), discard);
    let mut runner = KembRunner::default();
    let mut recorder = RecordingSink {
        sink: runner.start_document(&kemb, ResultKind::Answers),
        numbers: numbers(&kemb),
        steps: Vec::new(),
    };
    figure_1().feed(&mut recorder).unwrap();
    let RecordingSink { sink, steps, .. } = recorder;
    sink.finish();
    let answers = runner.results().answers().iter();
    let answers: Vec<(u32, u32)> = answers.map(|one| (one.query, one.element)).collect();
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
    assert_eq!(answers, expected);
    steps
}

#[test]
fn figure_5_step_by_step() {
    let after_d1 = "1,2,3,5,6,7,8,10,12,13,15";
    let all = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
    let expected = [
        "1,2".to_string(),
        "1,2 | 1,3".to_string(),
        "1,2,3,8".to_string(),
        "1,2,3,8 | 1,5".to_string(),
        "1,2,3,8 | 1,5 | 1,6".to_string(),
        "1,2,3,8 | 1,5,6".to_string(),
        "1,2,3,8 | 1,5,6 | 1,7".to_string(),
        "1,2,3,8 | 1,5,6,7,13".to_string(),
        after_d1.to_string(),
        format!("{after_d1} | 1,3"),
        format!("{after_d1} | 1,3 | 1,2"),
        format!("{after_d1} | 1,3 | 1,2 | 1,4"),
        format!("{after_d1} | 1,3 | 1,2,4,9"),
        format!("{after_d1} | 1,3 | 1,2,4,9 | 1,5"),
        format!("{after_d1} | 1,3 | 1,2,4,5,9,10"),
        format!("{after_d1} | 1,2,3,4,5,8,9,10,11,12,14,15"),
        all.to_string(),
        format!("{all} | 1,4"),
        all.to_string(),
        String::new(),
    ];
    let expected: Vec<(String, u64)> = expected.map(|stack| (stack, 0)).into();
    assert_eq!(steps(false), expected);
}

#[test]
fn figure_9_step_by_step() {
    // e1 and f1 are discarded at the end of d1, so a1 receives only d; at the end of b2, all of b2
    // is discarded.
    let after_d1 = "1,2,3,5,8,10,12,15";
    let after_c2 = "1,2,3,4,5,8,9,10,11,12,14,15";
    let expected = [
        ("1,2".to_string(), 0),
        ("1,2 | 1,3".to_string(), 0),
        ("1,2,3,8".to_string(), 0),
        ("1,2,3,8 | 1,5".to_string(), 0),
        ("1,2,3,8 | 1,5 | 1,6".to_string(), 0),
        ("1,2,3,8 | 1,5,6".to_string(), 0),
        ("1,2,3,8 | 1,5,6 | 1,7".to_string(), 0),
        ("1,2,3,8 | 1,5,6,7,13".to_string(), 0),
        (after_d1.to_string(), 2),
        (format!("{after_d1} | 1,3"), 2),
        (format!("{after_d1} | 1,3 | 1,2"), 2),
        (format!("{after_d1} | 1,3 | 1,2 | 1,4"), 2),
        (format!("{after_d1} | 1,3 | 1,2,4,9"), 2),
        (format!("{after_d1} | 1,3 | 1,2,4,9 | 1,5"), 2),
        (format!("{after_d1} | 1,3 | 1,2,4,5,9,10"), 2),
        (format!("{after_d1} | {after_c2}"), 2),
        (after_d1.to_string(), 6),
        (format!("{after_d1} | 1,4"), 6),
        (after_c2.to_string(), 6),
        (String::new(), 10),
    ];
    assert_eq!(steps(true), expected);
}

#[test]
fn counters_of_figure_5() {
    let mut runner = KembRunner::default();
    let kemb = Kemb::new(&table_1(), false);
    let mut sink = runner.start_document(&kemb, ResultKind::Matches);
    figure_1().feed(&mut sink).unwrap();
    sink.finish();
    let counters = runner.counters();
    assert_eq!(counters.elements, 10);
    // a1 ends with 15, b1 with 2, d1 with 5, e1, f1, c1, d2 and c2 with 2, b2 with 12, a2 with 6.
    assert_eq!(counters.active_states, 15 + 2 + 5 + 5 * 2 + 12 + 6);
    // Inside a2 there are 11 + 2 + 6; at the end of b2, 11 + 12.
    assert_eq!(counters.active_states_peak, 23);
}

#[test]
fn under_or_an_element_inside_a_released_child_answers_by_itself() {
    // Section 3.2: e1 with children b3 and c3 is an answer to {a OR b OR c OR d}.
    let leaf = |word: WordId| element(&[word], Vec::new());
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5];
    let e1 = element(&[e], vec![leaf(b), leaf(c)]);
    let a2 = element(&[a], vec![leaf(c), leaf(d)]);
    let d1 = element(&[d], vec![e1, leaf(f)]);
    let a1 = element(&[a], vec![leaf(b), d1, element(&[b], vec![a2]), leaf(c)]);
    let query = QueryList::new([(Mode::Any, vec![a, b, c, d])]);
    let mut runner = KembRunner::default();
    let kemb = Kemb::new(&query, true);
    let mut sink = runner.start_document(&kemb, ResultKind::Answers);
    a1.feed(&mut sink).unwrap();
    sink.finish();
    let elements: Vec<u32> = runner
        .results()
        .answers()
        .iter()
        .map(|answer| answer.element)
        .collect();
    let [a1, e1, b2] = [0, 3, 7];
    assert_eq!(elements, [a1, e1, b2]);
}
