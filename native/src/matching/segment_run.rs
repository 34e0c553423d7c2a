//! One segment's run over one document.
//!
//! Going down, each element takes one step of the automaton and marks its path as seen; the attributes of
//! the open elements decide at once which conditional matches hold at its path. Coming up, when an
//! element's content has been read, the paths seen since it began say which matches look at that content
//! ([`crate::matching::pending_matches`]); then its values go to its parent, as far as that one wants them
//! ([`crate::matching::value_propagation`]).

use hashbrown::HashSet;

use crate::events::{Context, StartElement, Stop};
use crate::matching::alphabet::NONE;
use crate::matching::attributes::{AttributesEnd, OpenAttributes};
use crate::matching::automaton::{Automaton, Path, ROOT_PATH};
use crate::matching::condition_table::Sites;
use crate::matching::first_node::Firsts;
use crate::matching::match_bitmap::Told;
use crate::matching::pending_matches::{Waiting, Work};
use crate::matching::repeated_subtrees::Repeats;
use crate::matching::string_values::Value;
use crate::matching::value_propagation::{Existing, Nodes, COMPACTED_PAST};
use crate::path_index::segment::{Segment, SlotRecord};
use crate::subscription_store::class_set::Classes;

/// How much a run may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// States and paths kept from document to document, in bytes; past it they are dropped and grow
    /// back.
    pub cache_bytes_max: usize,
    /// Matches of one document that wait for an element further up to end; past it the document is
    /// refused.
    pub undecided_max: usize,
}

/// The lists of classes of so many paths are fetched ahead.
const ACCEPTED_AHEAD: usize = 4;

/// An open element.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its path.
    pub path: u32,
    /// How many undecided matches wait for it.
    pub waiting: u32,
    /// Its number in the run's count of elements.
    pub started: u64,
    /// Where its values begin.
    pub values: usize,
    /// Where its attributes begin.
    pub attributes: AttributesEnd,
    /// Where its first nodes begin.
    pub firsts: usize,
    /// The number of the innermost element, itself included, that has attributes some match looks at.
    pub attributes_since: u64,
    /// Past this many values, its own are compacted.
    pub compacted_past: u32,
    /// Whether it has values of its content that conditions look at.
    pub has_content: bool,
    /// Whether there is something to do when it ends.
    pub busy: bool,
}

/// What a run counted in one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounters {
    /// Paths that no earlier document had.
    pub paths_made: u64,
    /// States that no earlier document had.
    pub states_made: u64,
    /// How often the cache was dropped.
    pub caches_dropped: u64,
    /// Copies of subtrees that did not have to be run.
    pub copies_known: u64,
}

/// A segment's working memory, kept from document to document.
pub struct Run {
    pub(super) automaton: Automaton,
    pub(super) sites: Sites,
    pub(super) frames: Vec<Frame>,
    pub(super) values: Vec<Value>,
    pub(super) existing: Existing,
    pub(super) attributes: OpenAttributes,
    /// Paths of this document whose classes are still to be told.
    pub(super) accepting: Vec<u32>,
    pub(super) waiting: Waiting,
    pub(super) work: Work,
    pub(super) candidates: Classes,
    // Which paths were seen before this element's number is forgotten; their conditional nodes are kept.
    pub(super) forgotten_before: u64,
    pub(super) forgotten: HashSet<u32, foldhash::fast::RandomState>,
    pub(super) limits: RunLimits,
    pub(super) string_values: Nodes,
    pub(super) texts: Nodes,
    /// Literals found in a node that is being held.
    pub(super) found: Vec<u32>,
    /// Values on their way up, each with what is asked of it.
    pub(super) passed: Vec<(Value, u32)>,
    pub(super) firsts: Firsts,
    pub(super) repeats: Repeats,
    /// Text nodes so far.
    pub(super) text_nodes: u64,
    /// Whether some condition looks at text.
    hears_text: bool,
    pub(super) elements: u64,
    pub(super) document_began: u64,
    pub(super) counters: RunCounters,
    pub(super) sizes_before: (usize, usize),
}

impl Run {
    /// Working memory for `segment`.
    pub fn new(segment: &Segment, limits: RunLimits) -> Run {
        let string_values = Nodes::new(segment, SlotRecord::VALUE);
        let texts = Nodes::new(segment, SlotRecord::TEXT);
        Run {
            hears_text: !string_values.slots.is_empty() || !texts.slots.is_empty(),
            automaton: Automaton::new(segment),
            sites: Sites::default(),
            frames: Vec::new(),
            values: Vec::new(),
            existing: Existing::new(),
            attributes: OpenAttributes::default(),
            accepting: Vec::new(),
            waiting: Waiting::default(),
            work: Work::default(),
            candidates: Classes::new(segment.class_count()),
            forgotten_before: 0,
            forgotten: HashSet::default(),
            limits,
            string_values,
            texts,
            found: Vec::new(),
            passed: Vec::new(),
            firsts: Firsts::new(segment),
            repeats: Repeats::default(),
            text_nodes: 0,
            elements: 0,
            document_began: 0,
            counters: RunCounters::default(),
            sizes_before: (0, 0),
        }
    }

    /// Begins a document whose names are numbered by the table `names`.
    pub fn begin(&mut self, segment: &Segment, names: u64) {
        self.automaton.letters.use_names(names);
        self.frames.clear();
        self.values.clear();
        self.attributes.clear();
        self.firsts.clear();
        self.repeats.begin();
        self.waiting.clear();
        self.work.clear();
        self.accepting.clear();
        self.automaton.told.clear();
        self.candidates.clear();
        self.string_values.gatherer.clear();
        self.texts.gatherer.clear();
        self.counters = RunCounters::default();
        self.document_began = self.elements + 1;
        self.forgotten_before = 0;
        self.forgotten.clear();
        self.drop_cache_past_bound(segment);
        self.automaton.paths[ROOT_PATH as usize].first_child = NONE;
        self.sizes_before = (self.automaton.paths.len(), self.automaton.states.len());
    }

    /// What was counted since the document began.
    pub fn counters(&self) -> RunCounters {
        let (paths, states) = self.sizes_before;
        RunCounters {
            paths_made: self.counters.paths_made + (self.automaton.paths.len() - paths) as u64,
            states_made: self.counters.states_made + (self.automaton.states.len() - states) as u64,
            ..self.counters
        }
    }

    /// The memory that the cache takes, about.
    pub fn cache_bytes(&self) -> usize {
        self.automaton.bytes() + self.sites.bytes()
    }

    /// The classes that match, and those that must be verified.
    pub fn results(&self) -> (&Told, &Classes) {
        (&self.automaton.told, &self.candidates)
    }

    /// A start tag.
    #[inline(never)]
    pub fn start(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.end_text_node(segment);
        let letter = self.automaton.letters.of(segment, context, element.name);
        let (parent, attributes_since) = match self.frames.last() {
            Some(frame) => (frame.path, frame.attributes_since),
            None => (ROOT_PATH, 0),
        };
        let path = match self.automaton.known_child(parent, letter) {
            Some(path) => path,
            None => self.make_path(segment, parent, letter),
        };
        self.elements += 1;
        let seen = &mut self.automaton.paths[path as usize];
        let before = std::mem::replace(&mut seen.last_seen, self.elements);
        let Path {
            duties, holding, ..
        } = *seen;
        if before < self.document_began {
            self.automaton.link(path);
            if duties & Path::ACCEPTS != 0 {
                self.accepting.push(path);
            }
        }
        if duties & Path::GATHERS != 0 {
            self.begin_value(holding);
        }
        self.frames.push(Frame {
            path,
            waiting: 0,
            started: self.elements,
            values: self.values.len(),
            attributes: self.attributes.end(),
            firsts: self.firsts.len(),
            attributes_since,
            compacted_past: COMPACTED_PAST,
            has_content: false,
            busy: duties & Path::ENDS != 0 || parent == ROOT_PATH,
        });
        if duties & Path::ATTRIBUTES != 0 && !element.attributes.is_empty() {
            self.hold_attributes(segment, context, (holding, duties), element.attributes);
        }
        // What the open elements' attributes decide is decided now, once for each set of them.
        if duties & Path::DECIDES != 0 {
            let since = self.frames.last().expect("just pushed").attributes_since;
            if before < since {
                return self.decide_by_attributes(segment, path, before);
            }
        }
        Ok(())
    }

    /// Tells the classes that match at the paths of this document without conditions: all together, so that
    /// no path waits for the list of another.
    pub(super) fn accept_all(&mut self) {
        for at in 0..self.accepting.len() {
            if let Some(&next) = self.accepting.get(at + ACCEPTED_AHEAD) {
                self.automaton.fetch_accepts(next);
            }
            let path = self.accepting[at];
            self.automaton.tell_accepts(path);
            let Path { duties, state, .. } = self.automaton.paths[path as usize];
            if duties & Path::SUSPECTS != 0 {
                let candidates = self.automaton.states[state as usize].candidates;
                for &class in self.automaton.list(candidates) {
                    self.candidates.insert(class);
                }
            }
        }
        self.accepting.clear();
    }

    #[inline(never)]
    fn begin_value(&mut self, holding: u32) {
        let asked = self.automaton.holdings.get(holding).value_asked;
        self.string_values
            .gatherer
            .begin(asked[SlotRecord::PARTS] != 0);
    }

    /// A piece of text.
    #[inline(always)]
    pub fn text(&mut self, segment: &Segment, piece: &str) {
        if self.hears_text {
            self.take_text(segment, piece);
        }
    }

    fn take_text(&mut self, segment: &Segment, piece: &str) {
        if self.repeats.is_around(self.frames.len()) {
            self.repeats.give_up(); // it may become one text with what follows
        }
        if self.string_values.gatherer.count() > 0 {
            self.repeats.note_text(piece);
            self.string_values.gatherer.feed(segment, piece);
        }
        if !self.texts.slots.is_empty() {
            self.feed_text_node(segment, piece);
        }
    }

    /// A comment or processing instruction: the text node before it is whole.
    #[inline]
    pub fn text_break(&mut self, segment: &Segment) {
        if self.repeats.is_around(self.frames.len()) {
            self.repeats.give_up();
        }
        self.end_text_node(segment);
    }

    /// An end tag.
    #[inline(always)]
    pub fn end(&mut self, segment: &Segment) -> Result<(), Stop> {
        self.end_text_node(segment);
        let frame = self.frames.last().expect("the reader balances tags");
        if frame.busy {
            return self.end_busy(segment);
        }
        self.attributes.truncate(frame.attributes);
        self.frames.pop();
        Ok(())
    }

    /// The end of an element that holds something, or that some match waits for.
    #[inline(never)]
    fn end_busy(&mut self, segment: &Segment) -> Result<(), Stop> {
        let frame = *self.frames.last().expect("an element is open");
        let Path {
            holding, duties, ..
        } = self.automaton.paths[frame.path as usize];
        let gathers = duties & Path::GATHERS != 0;
        if gathers {
            self.string_values.gatherer.end();
        }
        if duties & Path::VALUES != 0 {
            self.hold_value(segment, holding, gathers);
        }
        if self.firsts.len() > frame.firsts {
            self.settle_firsts(segment, holding, frame.firsts);
        }
        if duties & Path::JOINS != 0 {
            self.settle_joints(segment, holding, frame.values);
        }
        if self.frames.last().expect("still open").has_content {
            self.decide_by_content(segment)?;
        }
        if self.frames.last().expect("still open").waiting > 0 {
            self.decide_waiting(segment)?;
        }
        self.attributes.truncate(frame.attributes);
        self.frames.pop();
        if self.values.len() > frame.values {
            if duties & Path::PASSES != 0 {
                self.pass_on(segment, holding, frame.values);
            } else {
                self.values.truncate(frame.values);
            }
        }
        if self.firsts.len() > frame.firsts {
            self.pass_firsts_on(segment, holding, frame.firsts);
        }
        if self.frames.is_empty() {
            self.accept_all();
        }
        Ok(())
    }

    /// How many elements there were, in this document and those before it.
    pub(super) fn elements_so_far(&self) -> u64 {
        self.elements
    }

    /// Another element is at a path that this document has; which was there before.
    pub(super) fn see_again(&mut self, path: u32) -> u64 {
        self.elements += 1;
        self.automaton.see(path, self.elements, self.document_began)
    }

    /// A copy did not have to be run.
    pub(super) fn count_known_copy(&mut self) {
        self.counters.copies_known += 1;
    }
}
