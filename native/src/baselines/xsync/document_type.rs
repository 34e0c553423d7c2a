//! Document types, and the expansion of descendant operators by their paths.

use std::collections::BTreeSet;

use super::path_tokens::StepToken;

/// Number of an element of the document type.
pub type ElementNumber = u32;

/// What an expansion does with cycles of the document type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// They are unrolled up to the greatest depth of a document.
    Unrolled,
    /// As in the paper: only paths without a repeated element.
    FirstOccurrence,
}

/// A document type: the possible children of each element.
#[derive(Clone, Debug)]
pub struct DocumentType {
    roots: Vec<ElementNumber>,
    children: Vec<Vec<ElementNumber>>,
    depth_max: usize,
    cycles: Cycles,
    expansions_max: usize,
}

/// A path without descendant operators.
pub type ExpandedPath = Vec<StepToken>;

impl DocumentType {
    /// Makes a document type; `None` if there is no such child or root.
    pub fn new(
        roots: Vec<ElementNumber>,
        children: Vec<Vec<ElementNumber>>,
        (depth_max, expansions_max): (usize, usize),
        cycles: Cycles,
    ) -> Option<DocumentType> {
        let mut all = children.iter().flatten().chain(&roots);
        all.all(|&element| (element as usize) < children.len())
            .then_some(DocumentType {
                roots,
                children,
                depth_max,
                cycles,
                expansions_max,
            })
    }

    /// Replaces each descendant operator by the paths of the document type. `prefix` is where the steps
    /// begin. `None` if there are more expansions than the limit.
    pub fn expand(
        &self,
        prefix: &[StepToken],
        steps: &[(bool, StepToken)],
    ) -> Option<BTreeSet<ExpandedPath>> {
        let mut found = BTreeSet::new();
        if steps.iter().all(|(is_descendant, _)| !is_descendant) {
            found.insert(steps.iter().map(|&(_, step)| step).collect());
            return Some(found);
        }
        let mut context = None;
        for &step in prefix {
            context = Some(self.matching(context.as_ref(), step));
        }
        let mut path = prefix.to_vec();
        let is_complete = self.extend(&mut path, prefix.len(), context, steps, &mut found);
        is_complete.then_some(found)
    }

    /// The elements that a step selects below others; `None` is the document node.
    fn matching(
        &self,
        context: Option<&BTreeSet<ElementNumber>>,
        step: StepToken,
    ) -> BTreeSet<ElementNumber> {
        let below: BTreeSet<ElementNumber> = match context {
            None => self.roots.iter().copied().collect(),
            Some(elements) => {
                let children = elements.iter();
                children
                    .flat_map(|&element| &self.children[element as usize])
                    .copied()
                    .collect()
            }
        };
        match step {
            StepToken::Wildcard => below,
            StepToken::Literal(name) => below.into_iter().filter(|&each| each == name).collect(),
        }
    }

    /// Extends a path by the remaining steps; returns whether the limit was kept.
    fn extend(
        &self,
        path: &mut ExpandedPath,
        prefix: usize,
        context: Option<BTreeSet<ElementNumber>>,
        steps: &[(bool, StepToken)],
        found: &mut BTreeSet<ExpandedPath>,
    ) -> bool {
        let Some((&(is_descendant, step), rest)) = steps.split_first() else {
            found.insert(path[prefix..].to_vec());
            return found.len() <= self.expansions_max;
        };
        if path.len() + steps.len() > self.depth_max {
            return true;
        }
        let selected = self.matching(context.as_ref(), step);
        if !selected.is_empty() && self.allows(path, step) {
            path.push(step);
            let is_complete = self.extend(path, prefix, Some(selected), rest, found);
            path.pop();
            if !is_complete {
                return false;
            }
        }
        if is_descendant {
            for element in self.matching(context.as_ref(), StepToken::Wildcard) {
                let between = StepToken::Literal(element);
                if !self.allows(path, between) {
                    continue;
                }
                path.push(between);
                let below = Some(BTreeSet::from([element]));
                let is_complete = self.extend(path, prefix, below, steps, found);
                path.pop();
                if !is_complete {
                    return false;
                }
            }
        }
        true
    }

    fn allows(&self, path: &[StepToken], next: StepToken) -> bool {
        self.cycles == Cycles::Unrolled || next == StepToken::Wildcard || !path.contains(&next)
    }
}
