//! The attributes of an element under a mapping: which become elements, which get other names.

use super::mapping::Operators;
use super::provenance::Provenance;
use super::rewriter::Rewriter;
use crate::events::{Attribute, Handler, NameId, Span};

/// Attributes of most elements fit in here; more take memory of their own.
const FEW: usize = 8;

/// Attributes that are put together for one start tag.
pub(super) struct Attributes<'a> {
    few: [Attribute<'a>; FEW],
    count: usize,
    many: Vec<Attribute<'a>>,
}

impl<'a> Attributes<'a> {
    pub fn new() -> Attributes<'a> {
        let none = Attribute {
            name: NameId(0),
            value: "",
            span: Span::default(),
        };
        Attributes {
            few: [none; FEW],
            count: 0,
            many: Vec::new(),
        }
    }

    pub fn push(&mut self, attribute: Attribute<'a>) {
        if self.many.is_empty() && self.count < FEW {
            self.few[self.count] = attribute;
            self.count += 1;
            return;
        }
        if self.many.is_empty() {
            self.many.extend(self.few);
        }
        self.many.push(attribute);
    }

    pub fn as_slice(&self) -> &[Attribute<'a>] {
        if self.many.is_empty() {
            &self.few[..self.count]
        } else {
            &self.many
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Attribute<'a>] {
        if self.many.is_empty() {
            &mut self.few[..self.count]
        } else {
            &mut self.many
        }
    }
}

impl<H: Handler> Rewriter<'_, H> {
    /// Those that stay attributes, by their new names.
    pub(super) fn staying<'a>(
        &mut self,
        operators: &Operators,
        attributes: &[Attribute<'a>],
    ) -> Attributes<'a> {
        let mut staying = Attributes::new();
        for attribute in attributes {
            let symbol = self.bound.symbol(attribute.name);
            if !operators.made_of.has(symbol) {
                staying.push(*attribute);
            }
        }
        if !operators.attribute_names.is_empty() {
            self.rename_attributes(operators, staying.as_mut_slice());
        }
        staying
    }

    /// Gives attributes their new names all at once; where two would have one name, those that were
    /// renamed keep theirs.
    fn rename_attributes(&mut self, operators: &Operators, attributes: &mut [Attribute<'_>]) {
        let keeping = self.keeping_their_names(operators, attributes);
        for (at, attribute) in attributes.iter_mut().enumerate() {
            let own = self.bound.symbol(attribute.name);
            let new = operators.attribute_names.get(own);
            let Some(new) = new.filter(|_| !keeping.get(at).is_some_and(|keeps| *keeps)) else {
                continue;
            };
            attribute.name = self.bound.name(new);
            if H::SPANS {
                let sign = self.output.provenance.add(vec![attribute.span], Some(own));
                attribute.span = Provenance::sign(sign);
            }
        }
    }

    /// Which attributes keep their names though they should have others, if any does.
    fn keeping_their_names(
        &self,
        operators: &Operators,
        attributes: &[Attribute<'_>],
    ) -> Vec<bool> {
        let symbol = |at: usize| self.bound.symbol(attributes[at].name);
        let is_renamed = |at: usize| operators.attribute_names.has(symbol(at));
        let is_wanted = |at: usize| operators.renamed_from.has(symbol(at));
        if !(0..attributes.len()).any(|at| !is_renamed(at) && is_wanted(at)) {
            return Vec::new();
        }
        let mut by_name: Vec<(NameId, usize)> = (0..)
            .zip(attributes)
            .map(|(at, each)| (each.name, at))
            .collect();
        by_name.sort_unstable();
        let wanted_by = |at: usize| {
            let other = self.bound.name(operators.renamed_from.get(symbol(at))?);
            let place = by_name.binary_search_by_key(&other, |(name, _)| *name);
            place.ok().map(|place| by_name[place].1)
        };
        giving_way(attributes.len(), is_renamed, wanted_by)
    }
}

/// Which of `count` attributes keep their names though they should have others: each whose new name is
/// that of one which keeps its own, and so on. `wanted_by` tells which attribute should have the name
/// of another; it is asked once for each that keeps its name.
fn giving_way(
    count: usize,
    is_renamed: impl Fn(usize) -> bool,
    mut wanted_by: impl FnMut(usize) -> Option<usize>,
) -> Vec<bool> {
    let mut gives_way = vec![false; count];
    let mut keeping: Vec<usize> = (0..count).filter(|&at| !is_renamed(at)).collect();
    while let Some(at) = keeping.pop() {
        if let Some(other) = wanted_by(at).filter(|&other| !gives_way[other]) {
            gives_way[other] = true;
            keeping.push(other);
        }
    }
    gives_way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_names_that_give_way_is_followed_once() {
        // Each attribute should have the name of the one before it, and the first has no new name.
        let count = 1_000;
        let mut asked = 0;
        let wanted_by = |at: usize| {
            asked += 1;
            (at + 1 < count).then_some(at + 1)
        };
        let gives_way = giving_way(count, |at| at > 0, wanted_by);
        assert_eq!(gives_way.iter().filter(|each| **each).count(), count - 1);
        assert_eq!(asked, count);
    }

    #[test]
    fn a_ring_of_names_gives_way_to_nobody() {
        let gives_way = giving_way(3, |_| true, |at| Some((at + 1) % 3));
        assert_eq!(gives_way, [false; 3]);
    }
}
