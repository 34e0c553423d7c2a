//! Cuts what nodes of a rewritten document stand for out of the original.
//!
//! What a fragment needs to stand alone, the namespaces in scope, is what the original has there. So the
//! original is read once more, and each wanted range looks around where it begins.

use std::cmp::Reverse;

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::select::{Name, Scope};
use crate::xpath::ast::Kind;

/// A range of the original that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its range.
    pub span: Span,
    /// What it is in the rewritten document.
    pub kind: Kind,
    /// What an attribute is called in the original.
    pub name: Option<Name>,
}

impl Wanted {
    /// In the order of the document, what holds another before it.
    fn place(&self) -> (u64, Reverse<u64>, u8, Option<&Name>, bool) {
        let Span {
            start,
            end,
            from_entity,
        } = self.span;
        let kind = match self.kind {
            Kind::Attribute => 0,
            Kind::Element => 1,
            Kind::Text => 2,
        };
        (start, Reverse(end), kind, self.name.as_ref(), from_entity)
    }
}

/// Each once, in the order of the document.
fn put_in_order(wanted: &mut Vec<Wanted>) {
    wanted.sort_by(|a, b| a.place().cmp(&b.place()));
    wanted.dedup();
}

/// Those among a document's fragments that are wanted here, each once, in the order of the document.
pub fn chosen(fragments: &[Fragment], mut wanted: Vec<Wanted>) -> Vec<&Fragment> {
    put_in_order(&mut wanted);
    let found = wanted.iter().map(|each| {
        let at = fragments.binary_search_by(|own| own.wanted.place().cmp(&each.place()));
        &fragments[at.expect("what is wanted was cut")]
    });
    found.collect()
}

/// A part of the original.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// What was wanted.
    pub wanted: Wanted,
    /// Whether an element was wanted and the range is not just one.
    pub is_content: bool,
    /// The namespaces in scope.
    pub scope: Scope,
}

/// Finds the fragments of a document: hear the document, then [`Cutter::finish`].
pub struct Cutter {
    /// In the order of the document, what holds another before it.
    fragments: Vec<Fragment>,
    /// Of how many the scope around them is known.
    passed: usize,
    /// The scopes of the open elements; first that outside the root.
    scopes: Vec<Scope>,
}

impl Cutter {
    /// For these ranges.
    pub fn new(mut wanted: Vec<Wanted>) -> Cutter {
        put_in_order(&mut wanted);
        let outside: Scope = Vec::new().into();
        let fragment = |wanted: Wanted| Fragment {
            is_content: wanted.kind == Kind::Element,
            wanted,
            scope: Scope::clone(&outside),
        };
        Cutter {
            fragments: wanted.into_iter().map(fragment).collect(),
            passed: 0,
            scopes: vec![Scope::clone(&outside)],
        }
    }

    /// The fragments, each once, in the order of the document.
    pub fn finish(self) -> Vec<Fragment> {
        self.fragments
    }

    /// Ranges that begin at or before this byte are in the innermost open element.
    fn pass(&mut self, start: u64) {
        let scope = self.scopes.last().expect("that outside the root stays");
        while let Some(fragment) = self.fragments.get_mut(self.passed) {
            if fragment.wanted.span.start > start {
                break;
            }
            fragment.scope = Scope::clone(scope);
            self.passed += 1;
        }
    }

    /// The ranges of this beginning.
    fn beginning_at(&mut self, start: u64) -> impl Iterator<Item = &mut Fragment> {
        let first = self
            .fragments
            .partition_point(|each| each.wanted.span.start < start);
        let at = move |each: &&mut Fragment| each.wanted.span.start == start;
        self.fragments[first..].iter_mut().take_while(at)
    }
}

impl Handler for Cutter {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.pass(element.span.start);
        let mut scope: Vec<(Box<str>, Box<str>)> = Vec::new();
        context.namespaces_in_scope(&mut |prefix, uri| scope.push((prefix.into(), uri.into())));
        scope.sort_unstable();
        let outer = self.scopes.last().expect("that outside the root stays");
        let scope: Scope = if **outer == *scope {
            Scope::clone(outer)
        } else {
            scope.into()
        };
        self.scopes.push(Scope::clone(&scope));
        for attribute in element.attributes {
            for fragment in self.beginning_at(attribute.span.start) {
                if fragment.wanted.kind == Kind::Attribute {
                    fragment.scope = Scope::clone(&scope);
                }
            }
        }
        // Attributes begin inside the start tag; what they are given here is what they were given there.
        self.pass(element.span.end.saturating_sub(1));
        Ok(())
    }

    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        let scope = self.scopes.pop().expect("the reader balances tags");
        for fragment in self.beginning_at(span.start) {
            if fragment.wanted.kind == Kind::Element && fragment.wanted.span == span {
                fragment.is_content = false;
                fragment.scope = Scope::clone(&scope);
            }
        }
        Ok(())
    }

    fn text(&mut self, _text: &str, span: Span) -> Result<(), Stop> {
        self.pass(span.start);
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
