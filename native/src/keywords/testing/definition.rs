//! Keyword queries by definition, implemented literally.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, Tree};
use crate::keywords::token_sink::{Mode, WordId};

/// An answer by definition; elements are numbered in document order from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The answering element.
    pub element: usize,
    /// For each word it contains, the elements that directly contain it.
    pub witnesses: BTreeMap<WordId, Vec<usize>>,
}

/// A tree whose elements are numbered in document order.
pub struct Document {
    own: Vec<BTreeSet<WordId>>,
    children: Vec<Vec<usize>>,
}

impl Document {
    /// Numbers the elements of a tree.
    pub fn new(tree: &Tree) -> Document {
        let mut document = Document {
            own: Vec::new(),
            children: Vec::new(),
        };
        document.add(tree);
        document
    }

    fn add(&mut self, tree: &Tree) -> usize {
        let element = self.own.len();
        self.own.push(tree.tag.iter().copied().collect());
        self.children.push(Vec::new());
        for item in &tree.items {
            match item {
                Item::Word(word) => {
                    self.own[element].insert(*word);
                }
                Item::Child(child) => {
                    let child = self.add(child);
                    self.children[element].push(child);
                }
            }
        }
        element
    }

    /// The answers by definition, in document order.
    pub fn answers(&self, mode: Mode, query: &[WordId]) -> Vec<Expected> {
        let answers = match mode {
            Mode::All => self.all(query),
            Mode::Any => self.any(query),
        };
        let expected = |(element, content): (usize, Vec<usize>)| Expected {
            element,
            witnesses: self.witnesses(query, content),
        };
        answers.into_iter().map(expected).collect()
    }

    /// Elements that contain every word while no child does (SLCA).
    pub fn smallest(&self, query: &[WordId]) -> Vec<usize> {
        let complete = |element: usize| self.contained(element, query).len() == query.len();
        let no_child = |element: usize| !self.children[element].iter().any(|&c| complete(c));
        (0..self.own.len())
            .filter(|&element| complete(element) && no_child(element))
            .collect()
    }

    /// Elements that still contain all keywords without the children that contain all of them
    /// (CLCA), with the remaining elements.
    fn all(&self, query: &[WordId]) -> BTreeMap<usize, Vec<usize>> {
        let complete = |element: usize| self.contained(element, query).len() == query.len();
        let mut answers = BTreeMap::new();
        for element in (0..self.own.len()).filter(|&element| complete(element)) {
            let mut content = vec![element];
            for &child in self.children[element].iter().filter(|&&c| !complete(c)) {
                self.subtree(child, &mut content);
            }
            if self.directly_contained(query, &content).len() == query.len() {
                answers.insert(element, content);
            }
        }
        answers
    }

    /// Examines elements from the root downwards.
    fn any(&self, query: &[WordId]) -> BTreeMap<usize, Vec<usize>> {
        let mut answers = BTreeMap::new();
        let mut pending = vec![0];
        while let Some(element) = pending.pop() {
            let contained = self.contained(element, query);
            if contained.is_empty() {
                continue;
            }
            let (set_aside, others): (Vec<usize>, Vec<usize>) = self.children[element]
                .iter()
                .partition(|&&child| self.contained(child, query) == contained);
            let mut parts = vec![vec![element]];
            for &child in &others {
                let mut part = Vec::new();
                self.subtree(child, &mut part);
                parts.push(part);
            }
            if self.directly_contained(query, &parts.concat()) != contained {
                pending.extend(&self.children[element]);
                continue;
            }
            pending.extend(set_aside);
            for (at, child) in (1..).zip(others) {
                let subtree = std::mem::replace(&mut parts[at], vec![child]);
                if self.directly_contained(query, &parts.concat()) == contained {
                    pending.extend(&self.children[child]);
                } else {
                    parts[at] = subtree;
                }
            }
            answers.insert(element, parts.concat());
        }
        answers
    }

    /// The query's words in an element's subtree.
    fn contained(&self, element: usize, query: &[WordId]) -> BTreeSet<WordId> {
        let mut subtree = Vec::new();
        self.subtree(element, &mut subtree);
        self.directly_contained(query, &subtree)
    }

    /// The query's words that these elements directly contain.
    fn directly_contained(&self, query: &[WordId], elements: &[usize]) -> BTreeSet<WordId> {
        let directly = |word: &WordId| elements.iter().any(|&e| self.own[e].contains(word));
        query.iter().copied().filter(directly).collect()
    }

    fn subtree(&self, element: usize, into: &mut Vec<usize>) {
        into.push(element);
        for &child in &self.children[element] {
            self.subtree(child, into);
        }
    }

    fn witnesses(&self, query: &[WordId], content: Vec<usize>) -> BTreeMap<WordId, Vec<usize>> {
        let mut witnesses = BTreeMap::new();
        for element in content.into_iter().collect::<BTreeSet<usize>>() {
            for &word in query.iter().filter(|word| self.own[element].contains(word)) {
                let found: &mut Vec<usize> = witnesses.entry(word).or_default();
                found.push(element);
            }
        }
        witnesses
    }
}

#[cfg(test)]
mod tests {
    use super::super::{element, figure_1, table_1};
    use super::*;
    use crate::keywords::token_sink::QuerySet;
    use Mode::{All, Any};

    fn elements(tree: &Tree, mode: Mode, query: &[WordId]) -> Vec<usize> {
        let answers = Document::new(tree).answers(mode, query);
        answers.into_iter().map(|answer| answer.element).collect()
    }

    #[test]
    fn the_definition_yields_the_answers_of_the_paper() {
        let tree = figure_1();
        let [a1, d1, b2, a2] = [0, 2, 5, 6];
        assert_eq!(elements(&tree, All, &[0, 2, 3]), [a1, a2]);
        let document = Document::new(&tree);
        assert_eq!(document.smallest(&[0, 2, 3]), [a2]);
        let table = table_1();
        let answers: Vec<Vec<usize>> = (0..4)
            .map(|query| elements(&tree, All, table.words(query)))
            .collect();
        assert_eq!(
            answers,
            [vec![a1, b2], vec![a1, b2], vec![a1, a2], vec![d1]]
        );
    }

    #[test]
    fn a_complete_element_propagates_no_words() {
        // <e><c><d>a b</d>a</c>b</e>
        let d = element(&[0, 1], Vec::new());
        let c = Tree {
            tag: Vec::new(),
            items: vec![Item::Child(d), Item::Word(0)],
        };
        let e = Tree {
            tag: Vec::new(),
            items: vec![Item::Child(c), Item::Word(1)],
        };
        assert_eq!(elements(&e, All, &[0, 1]), [2]);
    }

    #[test]
    fn an_or_answer_releases_descendants_it_does_not_need() {
        // <p>a b<c><d>a</d></c></p>: p contains both words without d, which is an answer by itself.
        let c = element(&[], vec![element(&[0], Vec::new())]);
        let p = element(&[0, 1], vec![c]);
        assert_eq!(elements(&p, Any, &[0, 1]), [0, 2]);
    }
}
