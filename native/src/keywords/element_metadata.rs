//! What is noted of elements where answers are told in detail: names, places, text, namespaces.

use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{Context, NameId, NamespaceScope, Span, StartElement};
use crate::select::name_test;

use crate::keywords::element_window::{Window, NONE};

/// How many ranges of its own text an element is noted with at most. Text in one piece is one range;
/// only an element with text between very many children has more, and an answer that would hold
/// them is told as truncated.
pub const TEXT_RANGES_MAX: usize = 1_000;

/// An element on the way from the root to a witness; outlives the window it was heard in.
#[derive(Debug)]
pub struct Kept {
    /// Its number in the document.
    pub number: u32,
    /// How many elements it is in.
    pub depth: u32,
    /// The element it is in.
    pub parent: Option<Arc<Kept>>,
    /// The start tag.
    pub start_tag: Span,
    /// What is in scope.
    pub namespaces: NamespaceScope,
    /// What is known once it has ended.
    pub ending: OnceLock<Ending>,
    step: Arc<str>,
    position: u32,
}

/// What is known of an element once it has ended.
#[derive(Debug, Default)]
pub struct Ending {
    /// The end tag; empty for an empty-element tag.
    pub end_tag: Span,
    /// Where its own text is.
    pub texts: Texts,
}

/// Where an element's own text is.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// In document order.
    pub ranges: Vec<Span>,
    /// Whether there were more than [`TEXT_RANGES_MAX`].
    pub truncated: bool,
}

impl Texts {
    /// Adds a piece of text, to the range before it where they lie side by side.
    pub fn push(&mut self, span: Span) {
        let count = self.ranges.len();
        match self.ranges.last_mut() {
            Some(last) if joins(*last, span) => last.end = span.end,
            _ if count < TEXT_RANGES_MAX => self.ranges.push(span),
            _ => self.truncated = true,
        }
    }
}

/// Whether two pieces of text are one range: side by side, or out of the same entity.
fn joins(before: Span, span: Span) -> bool {
    before.from_entity == span.from_entity && (before.end == span.start || before == span)
}

impl Kept {
    /// The element with its tags and all between; it has ended.
    pub fn span(&self) -> Span {
        Span {
            end: self.ended().end_tag.end,
            ..self.start_tag
        }
    }

    /// What is known since it has ended.
    pub fn ended(&self) -> &Ending {
        self.ending.get().expect("the element has ended")
    }

    /// A query that leads to it, such as `/news[1]/item[2]`.
    pub fn path(&self) -> String {
        let mut ways: Vec<&Kept> =
            std::iter::successors(Some(self), |kept| kept.parent.as_deref()).collect();
        ways.reverse();
        let steps = ways
            .iter()
            .map(|kept| format!("/{}[{}]", kept.step, kept.position));
        steps.collect()
    }
}

/// What is noted of the window's elements.
#[derive(Default)]
pub struct Notes {
    elements: Vec<Noted>,
    pieces: Vec<Piece>,
    scopes: Vec<NamespaceScope>,
    /// The last scope as it was visited.
    visited: Vec<(Box<str>, Box<str>)>,
    names: HashMap<NameId, Name, RandomState>,
    locals: HashMap<String, u32, RandomState>,
    /// For each open element, outside in, its children so far by local name.
    children: Vec<HashMap<u32, Alike, RandomState>>,
    depth: usize,
    /// Elements of the unit that is answered, as they were kept.
    kept: HashMap<u32, Arc<Kept>, RandomState>,
}

struct Noted {
    step: Arc<str>,
    position: u32,
    depth: u32,
    scope: u32,
    /// Its pieces of text, linked.
    first_piece: u32,
    last_piece: u32,
    start_tag: Span,
    end_tag: Span,
}

#[derive(Clone, Copy)]
struct Piece {
    span: Span,
    next: u32,
}

#[derive(Clone)]
struct Name {
    step: Arc<str>,
    local: u32,
    is_plain: bool,
}

/// Children of one local name.
#[derive(Clone, Copy, Default)]
struct Alike {
    /// In no namespace.
    plain: u32,
    /// In any, or none.
    all: u32,
}

impl Notes {
    /// Forgets a document.
    pub fn clear(&mut self) {
        self.clear_window();
        self.scopes.clear();
        self.names.clear();
        self.locals.clear();
        self.depth = 0;
    }

    /// Forgets the window's elements.
    pub fn clear_window(&mut self) {
        self.elements.clear();
        self.pieces.clear();
        self.kept.clear();
        // The scope that goes on is the last.
        let first = self.scopes.len().saturating_sub(1);
        self.scopes.drain(..first);
    }

    /// An element of the window begins.
    pub fn open(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        let name = self.name(context, element.name);
        let position = self.position(&name);
        let noted = Noted {
            step: name.step,
            position,
            depth: self.depth as u32,
            scope: self.scope(context),
            first_piece: NONE,
            last_piece: NONE,
            start_tag: element.span,
            end_tag: Span::default(),
        };
        self.elements.push(noted);
        self.depth += 1;
    }

    /// A piece of the own text of one of the window's elements.
    pub fn text(&mut self, element: u32, span: Span) {
        let noted = &mut self.elements[element as usize];
        let piece = self.pieces.len() as u32;
        match noted.last_piece {
            NONE => noted.first_piece = piece,
            last => {
                let last = &mut self.pieces[last as usize];
                if joins(last.span, span) {
                    last.span.end = span.end;
                    return;
                }
                last.next = piece;
            }
        }
        noted.last_piece = piece;
        self.pieces.push(Piece { span, next: NONE });
    }

    /// One of the window's elements ends.
    pub fn close(&mut self, element: u32, end_tag: Span) {
        self.elements[element as usize].end_tag = end_tag;
        self.depth -= 1;
    }

    /// An open element that is no longer in the window ends.
    pub fn close_outside(&mut self) {
        self.depth -= 1;
    }

    /// How much is noted besides the elements.
    pub fn held(&self) -> usize {
        self.pieces.len()
    }

    /// Keeps an open element of the window; those it is in must be kept before. `base` is the number
    /// of the window's first element.
    pub fn keep_open(&mut self, base: u32, parent: Option<Arc<Kept>>, element: u32) -> Arc<Kept> {
        let noted = &self.elements[element as usize];
        let kept = Arc::new(Kept {
            number: base + element,
            depth: noted.depth,
            parent,
            start_tag: noted.start_tag,
            namespaces: NamespaceScope::clone(&self.scopes[noted.scope as usize]),
            ending: OnceLock::new(),
            step: Arc::clone(&noted.step),
            position: noted.position,
        });
        self.kept.insert(element, Arc::clone(&kept));
        kept
    }

    /// Keeps a closed element of the window, and those it is in. `outside` is the innermost open
    /// element before the window.
    pub fn keep(
        &mut self,
        window: &Window,
        base: u32,
        outside: Option<&Arc<Kept>>,
        element: u32,
    ) -> Arc<Kept> {
        if let Some(kept) = self.kept.get(&element) {
            return Arc::clone(kept);
        }
        // From the element up to one that is kept, then down again.
        let mut way = vec![element];
        let mut parent = loop {
            match window.parent(way[way.len() - 1]) {
                NONE => break outside.cloned(),
                above => match self.kept.get(&above) {
                    Some(kept) => break Some(Arc::clone(kept)),
                    None => way.push(above),
                },
            }
        };
        for &element in way.iter().rev() {
            let kept = self.keep_open(base, parent, element);
            let ending = Ending {
                end_tag: self.elements[element as usize].end_tag,
                texts: self.texts(element),
            };
            kept.ending.set(ending).expect("it is new");
            parent = Some(kept);
        }
        parent.expect("at least the element")
    }

    /// The own text of an element of the window so far.
    pub fn texts(&self, element: u32) -> Texts {
        let mut texts = Texts::default();
        let mut at = self.elements[element as usize].first_piece;
        while at != NONE {
            let piece = self.pieces[at as usize];
            texts.push(piece.span);
            at = piece.next;
        }
        texts
    }

    fn name(&mut self, context: &dyn Context, id: NameId) -> Name {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let (uri, local) = context.names().get(id);
        let next = self.locals.len() as u32;
        let name = Name {
            step: name_test(uri, local).into(),
            local: *self.locals.entry_ref(local).or_insert(next),
            is_plain: uri.is_empty(),
        };
        self.names.insert(id, name.clone());
        name
    }

    /// Which of its siblings that its step accepts an element is, from 1.
    fn position(&mut self, name: &Name) -> u32 {
        if self.children.len() < self.depth + 1 {
            self.children.push(HashMap::default());
        }
        let above = self.depth.checked_sub(1);
        let position = above.map_or(1, |above| {
            let alike = self.children[above].entry(name.local).or_default();
            alike.all += 1;
            alike.plain += u32::from(name.is_plain);
            if name.is_plain {
                alike.plain
            } else {
                alike.all
            }
        });
        self.children[self.depth].clear();
        position
    }

    /// What is in scope, by its place in `scopes`.
    fn scope(&mut self, context: &dyn Context) -> u32 {
        let mut count = 0;
        let mut same = !self.scopes.is_empty();
        let visited = &self.visited;
        context.namespaces_in_scope(&mut |prefix, uri| {
            let before = visited.get(count);
            same &= before.is_some_and(|(p, u)| **p == *prefix && **u == *uri);
            count += 1;
        });
        if !same || count != self.visited.len() {
            self.visited.clear();
            context.namespaces_in_scope(&mut |prefix, uri| {
                self.visited.push((prefix.into(), uri.into()));
            });
            let mut scope = self.visited.clone();
            scope.sort_unstable();
            self.scopes.push(scope.into());
        }
        self.scopes.len() as u32 - 1
    }
}
