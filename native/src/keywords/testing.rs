//! Word trees for testing engines.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::events::{Context, Names, Span, StartElement, Stop};

use crate::keywords::token_sink::{Mode, QuerySet, TokenSink, WordId};

mod definition;
pub mod index_history;

pub use definition::Document;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Words of its start tag.
    pub tag: Vec<WordId>,
    /// Its content.
    pub items: Vec<Item>,
}

/// Content of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A word of its own text.
    Word(WordId),
    /// A child element.
    Child(Tree),
}

/// A list of queries.
#[derive(Clone, Debug, Default)]
pub struct QueryList {
    queries: Vec<(Mode, Vec<WordId>)>,
    word_count: usize,
}

impl QueryList {
    /// Creates queries of these words, in any order and with repetitions.
    pub fn new(queries: impl IntoIterator<Item = (Mode, Vec<WordId>)>) -> QueryList {
        let queries: Vec<(Mode, Vec<WordId>)> = queries
            .into_iter()
            .map(|(mode, words)| {
                let words: BTreeSet<WordId> = words.into_iter().collect();
                (mode, words.into_iter().collect())
            })
            .collect();
        let words = queries.iter().flat_map(|(_, words)| words);
        let word_count = words.max().map_or(0, |&word| word as usize + 1);
        QueryList {
            queries,
            word_count,
        }
    }

    /// Sets the size of the vocabulary.
    pub fn with_words(mut self, word_count: usize) -> QueryList {
        assert!(word_count >= self.word_count);
        self.word_count = word_count;
        self
    }
}

impl QuerySet for QueryList {
    fn count(&self) -> usize {
        self.queries.len()
    }

    fn words(&self, query: u32) -> &[WordId] {
        &self.queries[query as usize].1
    }

    fn mode(&self, query: u32) -> Mode {
        self.queries[query as usize].0
    }

    fn word_count(&self) -> usize {
        self.word_count
    }
}

/// A context with one name, `e`, and one namespace.
struct OneName(Names);

impl Context for OneName {
    fn names(&self) -> &Names {
        &self.0
    }

    fn namespaces_in_scope(&self, visit: &mut dyn FnMut(&str, &str)) {
        visit("p", "urn:p");
    }

    fn namespace_declarations(&self, _visit: &mut dyn FnMut(&str, &str)) {}

    fn scope_id(&self) -> u64 {
        0
    }
}

/// A context for elements with name number 0: `e`.
pub fn context() -> impl Context {
    let mut names = Names::default();
    names.intern("", "e");
    OneName(names)
}

impl Tree {
    /// Sends the tree to a sink; spans refer to the output of [`Tree::to_xml`].
    pub fn feed(&self, sink: &mut impl TokenSink) -> Result<(), Stop> {
        self.send(&context(), &mut 0, sink)
    }

    fn send<S: TokenSink>(
        &self,
        context: &dyn Context,
        offset: &mut u64,
        sink: &mut S,
    ) -> Result<(), Stop> {
        let start_tag = next(offset, &self.start_tag());
        sink.open()?;
        if S::NEEDS_SPANS {
            sink.start_tag(
                context,
                &StartElement {
                    name: context.names().find("", "e").expect("interned"),
                    attributes: &[],
                    span: start_tag,
                },
            );
        }
        self.tag.iter().try_for_each(|&word| sink.token(word))?;
        for item in &self.items {
            match item {
                Item::Word(word) => {
                    let span = next(offset, &text(*word));
                    if S::NEEDS_SPANS {
                        sink.text_span(span)?;
                    }
                    sink.token(*word)?;
                }
                Item::Child(child) => {
                    child.send(context, offset, sink)?;
                }
            }
        }
        let end_tag = next(offset, self.end_tag());
        let span = Span {
            end: end_tag.end,
            ..start_tag
        };
        sink.close(span, end_tag)
    }

    /// The tree as a document: words of tags are attributes; each word of text is preceded by a
    /// space.
    pub fn to_xml(&self) -> String {
        let mut xml = self.start_tag();
        for item in &self.items {
            xml += &match item {
                Item::Word(word) => text(*word),
                Item::Child(child) => child.to_xml(),
            };
        }
        xml + self.end_tag()
    }

    /// `<e w1="" w2="">`, or an empty-element tag if there is no content.
    pub fn start_tag(&self) -> String {
        let attributes: String = (self.tag.iter())
            .map(|word| format!(" w{word}=\"\""))
            .collect();
        let close = if self.items.is_empty() { "/" } else { "" };
        format!("<e{attributes}{close}>")
    }

    /// Empty for an empty-element tag.
    pub fn end_tag(&self) -> &'static str {
        if self.items.is_empty() {
            ""
        } else {
            "</e>"
        }
    }
}

fn next(offset: &mut u64, text: &str) -> Span {
    let start = *offset;
    *offset += text.len() as u64;
    Span {
        start,
        end: *offset,
        from_entity: false,
    }
}

fn text(word: WordId) -> String {
    format!(" w{word}")
}

/// An element with these words in its tag and these children.
pub fn element(tag: &[WordId], children: Vec<Tree>) -> Tree {
    Tree {
        tag: tag.to_vec(),
        items: children.into_iter().map(Item::Child).collect(),
    }
}

/// The tree of the paper's Fig. 1 according to its examples, with words a to f as 0 to 5: a1
/// contains b1, d1 (with e1 and f1), b2 (with a2, which contains c1 and d2), and c2. That c2 comes
/// last and that no element has other words is inferred.
pub fn figure_1() -> Tree {
    let leaf = |word: WordId| element(&[word], Vec::new());
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5];
    let a2 = element(&[a], vec![leaf(c), leaf(d)]);
    let d1 = element(&[d], vec![leaf(e), leaf(f)]);
    element(&[a], vec![leaf(b), d1, element(&[b], vec![a2]), leaf(c)])
}

/// The queries of the paper's Table 1, with words as in [`figure_1`].
pub fn table_1() -> QueryList {
    QueryList::new([
        (Mode::All, vec![0, 1, 2]),
        (Mode::All, vec![0, 1, 3]),
        (Mode::All, vec![0, 3]),
        (Mode::All, vec![4, 5]),
    ])
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Open,
    Close,
    Word(WordId),
}

/// Trees of at most `steps` elements and words in total, over a vocabulary of `words`.
pub fn trees(words: WordId, steps: usize) -> impl Strategy<Value = Tree> {
    let step = prop_oneof![
        3 => Just(Step::Open),
        2 => Just(Step::Close),
        4 => (0..words).prop_map(Step::Word),
    ];
    prop::collection::vec(step, 0..steps).prop_map(grow)
}

fn grow(steps: Vec<Step>) -> Tree {
    let mut open = vec![Tree::default()];
    let close = |open: &mut Vec<Tree>| {
        let child = open.pop().expect("an open element");
        let parent = open.last_mut().expect("the root stays open");
        parent.items.push(Item::Child(child));
    };
    for step in steps {
        match step {
            Step::Open => open.push(Tree::default()),
            Step::Close if open.len() > 1 => close(&mut open),
            Step::Close => {}
            Step::Word(word) => {
                let tree = open.last_mut().expect("the root stays open");
                // The first word of an element is in its tag.
                if tree.tag.is_empty() && tree.items.is_empty() {
                    tree.tag.push(word);
                } else {
                    tree.items.push(Item::Word(word));
                }
            }
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().expect("the root")
}

/// Queries over a vocabulary of `words`.
pub fn queries(words: WordId, count: usize) -> impl Strategy<Value = QueryList> {
    let mode = prop_oneof![Just(Mode::All), Just(Mode::Any)];
    let query = (mode, prop::collection::vec(0..words, 1..6));
    prop::collection::vec(query, 0..count)
        .prop_map(move |queries| QueryList::new(queries).with_words(words as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_refer_to_the_xml() {
        struct Spans(Vec<Span>);
        impl TokenSink for Spans {
            const NEEDS_SPANS: bool = true;
            fn open(&mut self) -> Result<(), Stop> {
                Ok(())
            }
            fn start_tag(&mut self, _: &dyn Context, element: &StartElement<'_>) {
                self.0.push(element.span);
            }
            fn token(&mut self, _: WordId) -> Result<(), Stop> {
                Ok(())
            }
            fn text_span(&mut self, span: Span) -> Result<(), Stop> {
                self.0.push(span);
                Ok(())
            }
            fn close(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
                assert_eq!(span.end, end_tag.end);
                self.0.push(end_tag);
                Ok(())
            }
        }
        let tree = grow(vec![
            Step::Word(1),
            Step::Word(2),
            Step::Open,
            Step::Word(3),
        ]);
        let mut spans = Spans(Vec::new());
        tree.feed(&mut spans).unwrap();
        let xml = tree.to_xml();
        let shown = |span: &Span| &xml[span.start as usize..span.end as usize];
        let shown: Vec<&str> = spans.0.iter().map(shown).collect();
        assert_eq!(shown, ["<e w1=\"\">", " w2", "<e w3=\"\"/>", "", "</e>"]);
    }
}
