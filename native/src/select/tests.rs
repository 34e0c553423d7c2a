//! The evaluator against its definition, and the cases that taught something.

mod definition;
mod document;
mod generated;

use crate::reader::{Reader, ReaderOptions};
use crate::xpath::ast::{Axis, Expr, Kind, NameTest, Path, Query, Step};

use super::{Options, Selection, Selector};

/// `/feed/item[last]/text()`
fn texts_of_items_with_a_last() -> Query {
    let element = |local: &str, predicates| Step {
        axis: Axis::Child,
        kind: Kind::Element,
        test: NameTest {
            uri: Some("".into()),
            local: Some(local.into()),
        },
        predicates,
    };
    let text = Step {
        axis: Axis::Child,
        kind: Kind::Text,
        test: NameTest::default(),
        predicates: Vec::new(),
    };
    let last = Expr::Exists(Path {
        steps: vec![element("last", Vec::new())],
    });
    Query {
        branches: vec![Path {
            steps: vec![
                element("feed", Vec::new()),
                element("item", vec![last]),
                text,
            ],
        }],
    }
}

#[test]
fn too_many_undecided_candidates_stop_the_document() {
    let selector = Selector::compile(&texts_of_items_with_a_last());
    let document = b"<feed><item>1<x/>2<x/>3<x/><last/></item></feed>";
    for (candidates_max, stopped) in [(3, false), (2, true)] {
        let mut selection = Selection::new(
            &[&selector],
            Options {
                nodes: true,
                candidates_max,
            },
        );
        let read = Reader::new(ReaderOptions::default()).read_slice(document, &mut selection);
        assert_eq!(
            read.err().map(|refusal| refusal.code),
            stopped.then_some("limit.candidates")
        );
    }
}
