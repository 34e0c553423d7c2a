//! Finds in the original the fragments that nodes of a rewritten document stand for.
//!
//! A fragment needs the namespaces in scope at its position in the original. Therefore the original is
//! read once more, and each requested span takes the scope at its start.

use std::cmp::Reverse;

use crate::events::{
    sorted_bindings, Context, ExpandedName, Handler, NamespaceScope, Span, StartElement, Stop,
};
use crate::xpath::ast::Kind;

/// A requested part of the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentRequest {
    /// Its byte span.
    pub span: Span,
    /// The kind of the node in the rewritten document.
    pub kind: Kind,
    /// The name of an attribute in the original.
    pub name: Option<ExpandedName>,
}

impl FragmentRequest {
    /// A sort key: document order, enclosing spans before the ones inside.
    fn sort_key(&self) -> (u64, Reverse<u64>, u8, Option<&ExpandedName>, bool) {
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

fn sort_and_deduplicate(requests: &mut Vec<FragmentRequest>) {
    requests.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    requests.dedup();
}

/// The fragments among `fragments`, which contain them, that answer `requests`; each once, in document
/// order.
pub fn fragments_for(fragments: &[Fragment], mut requests: Vec<FragmentRequest>) -> Vec<&Fragment> {
    sort_and_deduplicate(&mut requests);
    let found = requests.iter().map(|request| {
        let key = request.sort_key();
        let at = fragments.binary_search_by(|own| own.request.sort_key().cmp(&key));
        &fragments[at.expect("the fragment was extracted")]
    });
    found.collect()
}

/// A part of the original.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// The request that it answers.
    pub request: FragmentRequest,
    /// Whether an element was requested, but the span is not exactly one element.
    pub is_content: bool,
    /// The namespaces in scope.
    pub scope: NamespaceScope,
}

/// Extracts fragments. Read the original with it as the handler, then call
/// [`FragmentExtractor::finish`].
pub struct FragmentExtractor {
    /// Sorted by [`FragmentRequest::sort_key`].
    fragments: Vec<Fragment>,
    /// How many fragments have got the scope at their start.
    scoped: usize,
    /// The scopes of the open elements, after the scope outside the root.
    scopes: Vec<NamespaceScope>,
}

impl FragmentExtractor {
    /// An extractor for `requests`.
    pub fn new(mut requests: Vec<FragmentRequest>) -> FragmentExtractor {
        sort_and_deduplicate(&mut requests);
        let outside: NamespaceScope = Vec::new().into();
        let fragment = |request: FragmentRequest| Fragment {
            is_content: request.kind == Kind::Element,
            request,
            scope: NamespaceScope::clone(&outside),
        };
        FragmentExtractor {
            fragments: requests.into_iter().map(fragment).collect(),
            scoped: 0,
            scopes: vec![NamespaceScope::clone(&outside)],
        }
    }

    /// The fragments, each once, in document order.
    pub fn finish(self) -> Vec<Fragment> {
        self.fragments
    }

    /// Gives the scope of the innermost open element to the fragments that start at or before this
    /// byte and have none yet.
    fn assign_scope(&mut self, start: u64) {
        let scope = self.scopes.last().expect("the outside scope stays");
        while let Some(fragment) = self.fragments.get_mut(self.scoped) {
            if fragment.request.span.start > start {
                break;
            }
            fragment.scope = NamespaceScope::clone(scope);
            self.scoped += 1;
        }
    }

    fn starting_at(&mut self, start: u64) -> impl Iterator<Item = &mut Fragment> {
        let first = self
            .fragments
            .partition_point(|each| each.request.span.start < start);
        let is_at_start = move |each: &&mut Fragment| each.request.span.start == start;
        self.fragments[first..].iter_mut().take_while(is_at_start)
    }
}

impl Handler for FragmentExtractor {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.assign_scope(element.span.start);
        let mut has_declarations = false;
        context.namespace_declarations(&mut |_, _| has_declarations = true);
        let scope: NamespaceScope = if has_declarations {
            sorted_bindings(context).into()
        } else {
            NamespaceScope::clone(self.scopes.last().expect("the outside scope stays"))
        };
        self.scopes.push(NamespaceScope::clone(&scope));
        for attribute in element.attributes {
            for fragment in self.starting_at(attribute.span.start) {
                if fragment.request.kind == Kind::Attribute {
                    fragment.scope = NamespaceScope::clone(&scope);
                }
            }
        }
        // This includes the attributes, which start inside the start tag and get the same scope.
        self.assign_scope(element.span.end.saturating_sub(1));
        Ok(())
    }

    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        let scope = self.scopes.pop().expect("the reader balances tags");
        for fragment in self.starting_at(span.start) {
            if fragment.request.kind == Kind::Element && fragment.request.span == span {
                fragment.is_content = false;
                fragment.scope = NamespaceScope::clone(&scope);
            }
        }
        Ok(())
    }

    fn text(&mut self, _text: &str, span: Span) -> Result<(), Stop> {
        self.assign_scope(span.start);
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
