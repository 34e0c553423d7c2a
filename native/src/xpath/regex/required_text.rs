//! A text that every match of a pattern contains.

use regex_syntax::hir::ClassUnicode;

use super::syntax::{parse, Flags, Node};
use crate::xpath::string_functions::fold_case;

/// A set with more characters is not looked into.
const CASE_VARIANTS_MAX: usize = 8;

/// The longest text found that every match contains, and whether it must be searched for in folded
/// text ([`fold_case`]). The text may be empty.
pub fn required_text(pattern: &str, flags: &str) -> (String, bool) {
    let flags = Flags::parse(flags).expect("flags of queries are valid");
    let tree = parse(pattern, flags).expect("patterns of queries are valid");
    let mut search = Search {
        sets: &tree.sets,
        is_caseless: flags.ignore_case,
        run: String::new(),
        longest: String::new(),
    };
    search.visit(&tree.root);
    search.end_run();
    (search.longest, flags.ignore_case)
}

struct Search<'a> {
    sets: &'a [ClassUnicode],
    is_caseless: bool,
    run: String,
    longest: String,
}

impl Search<'_> {
    fn visit(&mut self, node: &Node) {
        match node {
            Node::Set(number) => match self.only_text(&self.sets[*number]) {
                Some(text) => self.run.push_str(&text),
                None => self.end_run(),
            },
            Node::Start | Node::End => {}
            Node::Sequence(parts) => parts.iter().for_each(|part| self.visit(part)),
            Node::Choice(_) => self.end_run(),
            Node::Repeat(inner, least, _) => {
                self.end_run();
                if *least > 0 {
                    self.visit(inner);
                    self.end_run();
                }
            }
        }
    }

    /// The one character of a set, or what all its characters are folded to.
    fn only_text(&self, set: &ClassUnicode) -> Option<String> {
        let count: usize = set.iter().map(|range| range.len()).sum();
        if count > CASE_VARIANTS_MAX {
            return None;
        }
        let mut texts = set
            .iter()
            .flat_map(|range| range.start()..=range.end())
            .map(|character| match self.is_caseless {
                true => fold_case(character.encode_utf8(&mut [0; 4])),
                false => character.into(),
            });
        let first = texts.next()?;
        texts.all(|text| text == first).then_some(first)
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.len() > self.longest.len() {
            self.longest = run;
        }
    }
}
