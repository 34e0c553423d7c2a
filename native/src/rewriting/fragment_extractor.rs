//! Cuts what nodes of a rewritten document stand for out of the original.
//!
//! What a fragment needs to stand alone, the namespaces in scope, is what the original has there. So the
//! original is read once more, and each wanted range looks around where it begins.

use std::cmp::Reverse;

use crate::events::{
    sorted_bindings, Context, ExpandedName, Handler, NamespaceScope, Span, StartElement, Stop,
};
use crate::xpath::ast::Kind;

/// A range of the original that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentRequest {
    /// Its range.
    pub span: Span,
    /// What it is in the rewritten document.
    pub kind: Kind,
    /// What an attribute is called in the original.
    pub name: Option<ExpandedName>,
}

impl FragmentRequest {
    /// In the order of the document, what holds another before it.
    fn place(&self) -> (u64, Reverse<u64>, u8, Option<&ExpandedName>, bool) {
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
fn put_in_order(wanted: &mut Vec<FragmentRequest>) {
    wanted.sort_by(|a, b| a.place().cmp(&b.place()));
    wanted.dedup();
}

/// Those among a document's fragments that are wanted here, each once, in the order of the document.
pub fn fragments_for(fragments: &[Fragment], mut wanted: Vec<FragmentRequest>) -> Vec<&Fragment> {
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
    pub wanted: FragmentRequest,
    /// Whether an element was wanted and the range is not just one.
    pub is_content: bool,
    /// The namespaces in scope.
    pub scope: NamespaceScope,
}

/// Finds the fragments of a document: hear the document, then [`FragmentExtractor::finish`].
pub struct FragmentExtractor {
    /// In the order of the document, what holds another before it.
    fragments: Vec<Fragment>,
    /// Of how many the scope around them is known.
    passed: usize,
    /// The scopes of the open elements; first that outside the root.
    scopes: Vec<NamespaceScope>,
}

impl FragmentExtractor {
    /// For these ranges.
    pub fn new(mut wanted: Vec<FragmentRequest>) -> FragmentExtractor {
        put_in_order(&mut wanted);
        let outside: NamespaceScope = Vec::new().into();
        let fragment = |wanted: FragmentRequest| Fragment {
            is_content: wanted.kind == Kind::Element,
            wanted,
            scope: NamespaceScope::clone(&outside),
        };
        FragmentExtractor {
            fragments: wanted.into_iter().map(fragment).collect(),
            passed: 0,
            scopes: vec![NamespaceScope::clone(&outside)],
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
            fragment.scope = NamespaceScope::clone(scope);
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

impl Handler for FragmentExtractor {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.pass(element.span.start);
        let scope = sorted_bindings(context);
        let outer = self.scopes.last().expect("that outside the root stays");
        let scope: NamespaceScope = if **outer == *scope {
            NamespaceScope::clone(outer)
        } else {
            scope.into()
        };
        self.scopes.push(NamespaceScope::clone(&scope));
        for attribute in element.attributes {
            for fragment in self.beginning_at(attribute.span.start) {
                if fragment.wanted.kind == Kind::Attribute {
                    fragment.scope = NamespaceScope::clone(&scope);
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
                fragment.scope = NamespaceScope::clone(&scope);
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
