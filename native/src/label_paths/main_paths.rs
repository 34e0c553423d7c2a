//! Main paths of queries, evaluated on the label paths of a document.
//!
//! The *main path* of a query is its path without predicates. The label paths that it binds are a superset
//! of those of the nodes that the query selects.

use super::vocabulary::{ClassTest, ClassifiedPaths, NameClass, Vocabulary};
use super::{PathNumber, NO_PARENT};
use crate::xpath::ast::{Axis, Kind, Path, Query};

/// Steps of a path that can be evaluated: one bit each, and one for none.
const STEPS_MAX: usize = 63;

/// What a path selects in the element that its last element step binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The element itself.
    Element,
    /// An attribute.
    Attribute(ClassTest),
    /// A text: whether there is one is not known.
    Text,
}

/// A main path, as a non-deterministic automaton whose states are the numbers of its element steps.
#[derive(Debug)]
struct MainPath {
    tests: Vec<ClassTest>,
    /// Bit `k`: step `k` is a child step.
    child_steps: u64,
    /// Bit `k`: step `k` is a descendant step.
    descendant_steps: u64,
    target: Target,
    /// Whether the target may also be in descendants of the last element.
    is_target_below: bool,
}

impl MainPath {
    /// `None` if there are too many steps.
    fn new(path: &Path, vocabulary: &Vocabulary) -> Option<MainPath> {
        let (last, before) = path.steps.split_last()?;
        let (elements, target) = match last.kind {
            Kind::Element => (&path.steps[..], Target::Element),
            Kind::Attribute => (before, Target::Attribute(vocabulary.class_test(&last.test))),
            Kind::Text => (before, Target::Text),
        };
        if elements.len() > STEPS_MAX {
            return None;
        }
        let with_axis = |axis: Axis| {
            let steps = elements.iter().enumerate();
            let steps = steps.filter(|(_, step)| step.axis == axis);
            steps.fold(0, |bits, (at, _)| bits | 1 << at)
        };
        Some(MainPath {
            tests: elements
                .iter()
                .map(|step| vocabulary.class_test(&step.test))
                .collect(),
            child_steps: with_axis(Axis::Child),
            descendant_steps: with_axis(Axis::Descendant),
            is_target_below: target != Target::Element && last.axis == Axis::Descendant,
            target,
        })
    }

    /// Whether an element with this label path may be, or have, a node that the path selects.
    fn binds(&self, paths: &ClassifiedPaths, path: PathNumber, chain: &mut Vec<NameClass>) -> bool {
        let own = paths.paths[path as usize].class;
        let is_last_step = self.target == Target::Element || !self.is_target_below;
        if is_last_step && self.tests.last().is_some_and(|test| !test.accepts(own)) {
            return false;
        }
        if let Target::Attribute(test) = self.target {
            let mut attributes = paths.attributes_at(path).iter();
            if !attributes.any(|&(_, class)| test.accepts(class)) {
                return false;
            }
        }
        chain.clear();
        let mut at = path;
        while at != NO_PARENT {
            let path = &paths.paths[at as usize];
            chain.push(path.class);
            at = path.parent;
        }
        // Bit `k`: the first `k` steps lead to the current element; or to it or an ancestor of it.
        let (mut here, mut above) = (1_u64, 1_u64);
        for &class in chain.iter().rev() {
            let next = (here & self.child_steps | above & self.descendant_steps) << 1;
            here = 0;
            let mut rest = next;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                if self.tests[bit as usize - 1].accepts(class) {
                    here |= 1 << bit;
                }
                rest &= rest - 1;
            }
            above |= here;
        }
        let complete = 1 << self.tests.len();
        let reached = if self.is_target_below { above } else { here };
        reached & complete != 0
    }
}

/// The main paths of a list of queries.
#[derive(Debug)]
pub struct MainPaths {
    /// By rank; none for a query that cannot be evaluated.
    queries: Vec<Option<Vec<MainPath>>>,
}

impl MainPaths {
    /// Compiles the main paths of queries; `None` stands for a query that is not a path.
    pub fn new<'q>(
        queries: impl Iterator<Item = Option<&'q Query>>,
        vocabulary: &Vocabulary,
    ) -> MainPaths {
        let compile = |query: &Query| {
            let branches = query.branches.iter();
            branches
                .map(|branch| MainPath::new(branch, vocabulary))
                .collect()
        };
        MainPaths {
            queries: queries.map(|query| query.and_then(compile)).collect(),
        }
    }

    /// Of each rank, the greatest offset at which an element ends that its main path binds; 0 if there is
    /// none. Omits ranks without a main path.
    pub fn last_ends(&self, paths: &ClassifiedPaths, ranks: &[u32]) -> Vec<(u32, u64)> {
        let chain = &mut Vec::new();
        let mut by_end: Vec<PathNumber> = (0..paths.paths.len() as PathNumber).collect();
        by_end.sort_unstable_by_key(|&path| std::cmp::Reverse(paths.paths[path as usize].end));
        let mut found = Vec::with_capacity(ranks.len());
        for &rank in ranks {
            let Some(Some(branches)) = self.queries.get(rank as usize) else {
                continue;
            };
            let last = by_end.iter().find(|&&path| {
                let mut branches = branches.iter();
                branches.any(|branch| branch.binds(paths, path, chain))
            });
            let end = last.map_or(0, |&path| paths.paths[path as usize].end);
            found.push((rank, end));
        }
        found
    }

    /// The first `paths_max` label paths that the main path of a rank binds, as classes from the root.
    /// None if the query has several branches.
    pub fn bindings(
        &self,
        paths: &ClassifiedPaths,
        rank: u32,
        paths_max: usize,
    ) -> Vec<Vec<NameClass>> {
        let branches = match self.queries.get(rank as usize) {
            Some(Some(branches)) => &branches[..],
            _ => &[],
        };
        let [branch] = branches else {
            return Vec::new();
        };
        let mut chain = Vec::new();
        let mut found: Vec<Vec<NameClass>> = Vec::new();
        for number in 0..paths.paths.len() as PathNumber {
            if found.len() == paths_max {
                break;
            }
            if branch.binds(paths, number, &mut chain) {
                let path: Vec<NameClass> = chain.iter().rev().copied().collect();
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_paths::LabelPathsBuilder;
    use crate::xpath::{parse, Namespaces};

    const PATHS: [(Option<u32>, &str, u64, &str); 6] = [
        (None, "a", 90, ""),
        (Some(0), "b", 80, "id"),
        (Some(1), "c", 30, ""),
        (Some(0), "c", 50, "id"),
        (Some(3), "b", 40, ""),
        (Some(4), "c", 35, ""),
    ];

    fn paths() -> (Vocabulary, ClassifiedPaths) {
        let names: Vec<String> = ["a", "b", "c", "id"].map(str::to_owned).into();
        let vocabulary = Vocabulary::new(&[String::new()], &names, &[]).expect("valid");
        let mut builder = LabelPathsBuilder::default();
        for (parent, name, end, attribute) in PATHS {
            let path = builder.add_path(parent, ("", name), end).expect("valid");
            if !attribute.is_empty() {
                assert!(builder.add_attribute(path, ("", attribute)));
            }
        }
        let classified = vocabulary.classify(&builder.finish());
        (vocabulary, classified)
    }

    #[test]
    fn main_paths_bind_label_paths() {
        let (vocabulary, paths) = paths();
        let namespaces = Namespaces::new([], "").expect("valid");
        for (query, end, count) in [
            ("/a", 90, 1),
            ("/b", 0, 0),
            ("//c", 50, 3),
            ("/a/b/c[. = 3]", 30, 1),
            ("//b[@x]/c", 35, 2),
            ("/a//*//c", 35, 2),
            ("/*/*", 80, 2),
            ("//@id", 80, 2),
            ("/a/c//@id", 50, 1),
            ("/a/@id", 0, 0),
            ("//c//text()", 50, 4),
            ("//c/text()", 50, 3),
            ("//z", 0, 0),
        ] {
            let query_text = query;
            let query = parse(query, &namespaces).expect("valid");
            let compiled = MainPaths::new([Some(&query)].into_iter(), &vocabulary);
            assert_eq!(
                compiled.last_ends(&paths, &[0, 7]),
                [(0, end)],
                "{query_text}"
            );
            let bound = compiled.bindings(&paths, 0, 9);
            assert_eq!(bound.len(), count, "{query_text}");
        }
    }
}
