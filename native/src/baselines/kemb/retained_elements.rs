//! The elements that are kept while a document is read: the subtrees in the paper's stack.
//!
//! An element is kept when it ends, if it directly contains a word or something below it is kept.
//! They lie in the order in which they ended, so what is kept below an element that just ended is
//! the tail of the list, and discarding is a pass over that tail.

use crate::keywords::token_sink::WordId;

/// An open element's words are made distinct whenever they are this many, and twice as many as
/// they last were.
const TIDY_MIN: usize = 64;

/// A kept element.
#[derive(Clone, Copy, Debug)]
struct Node {
    element: u32,
    /// How many of the elements before it in the list are below it.
    below: u32,
    /// How many words it directly contains.
    word_count: u32,
}

/// An element that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    element: u32,
    nodes_before: usize,
    words_before: usize,
    pending_before: usize,
    tidy_at: usize,
}

/// An element that just ended: where what is kept of it begins.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    nodes_before: usize,
    words_before: usize,
}

/// The kept elements of one document.
#[derive(Debug, Default)]
pub struct Kept {
    nodes: Vec<Node>,
    /// The words that the kept elements directly contain, in their order.
    words: Vec<WordId>,
    open: Vec<Open>,
    /// The words that the open elements directly contain, outermost first.
    pending: Vec<WordId>,
    /// For [`Kept::discard`]: how many were retained before each element of the tail.
    retained: Vec<u32>,
}

impl Kept {
    /// Begins a document.
    pub fn begin(&mut self) {
        self.nodes.clear();
        self.words.clear();
        self.open.clear();
        self.pending.clear();
    }

    /// How much is held: elements, and words that they directly contain.
    pub fn size(&self) -> usize {
        self.nodes.len() + self.words.len()
    }

    /// An element begins.
    pub fn open(&mut self, element: u32) {
        self.open.push(Open {
            element,
            nodes_before: self.nodes.len(),
            words_before: self.words.len(),
            pending_before: self.pending.len(),
            tidy_at: TIDY_MIN,
        });
    }

    /// The open element directly contains a word; it may be told again.
    pub fn token(&mut self, word: WordId) {
        self.pending.push(word);
        let open = self.open.last().expect("an element is open");
        if self.pending.len() - open.pending_before >= open.tidy_at {
            let count = self.tidy();
            let open = self.open.last_mut().expect("an element is open");
            open.tidy_at = TIDY_MIN.max(2 * count);
        }
    }

    /// The open element ends, and is kept if there is anything in it.
    pub fn close(&mut self) -> Ended {
        let word_count = self.tidy();
        let open = self.open.pop().expect("an element is open");
        self.words.extend(self.pending.drain(open.pending_before..));
        let below = self.nodes.len() - open.nodes_before;
        if word_count + below > 0 {
            self.nodes.push(Node {
                element: open.element,
                below: below as u32,
                word_count: word_count as u32,
            });
        }
        Ended {
            nodes_before: open.nodes_before,
            words_before: open.words_before,
        }
    }

    /// Of the element that just ended, and of what is kept below it, discards what directly
    /// contains outdated words only and has nothing left below it. Returns how many went.
    pub fn discard(&mut self, ended: Ended, outdated: impl Fn(WordId) -> bool) -> usize {
        let Ended {
            nodes_before,
            words_before,
        } = ended;
        self.retained.clear();
        let (mut nodes_end, mut words_end) = (nodes_before, words_before);
        let mut words_at = words_before;
        for at in nodes_before..self.nodes.len() {
            let node = self.nodes[at];
            self.retained.push((nodes_end - nodes_before) as u32);
            let first_below = at - node.below as usize - nodes_before;
            let below = (nodes_end - nodes_before) as u32 - self.retained[first_below];
            let words = words_at..words_at + node.word_count as usize;
            words_at = words.end;
            if below == 0 && self.words[words.clone()].iter().all(|&word| outdated(word)) {
                continue;
            }
            self.words.copy_within(words, words_end);
            words_end += node.word_count as usize;
            self.nodes[nodes_end] = Node { below, ..node };
            nodes_end += 1;
        }
        let discarded = self.nodes.len() - nodes_end;
        self.nodes.truncate(nodes_end);
        self.words.truncate(words_end);
        discarded
    }

    /// Forgets all that is kept so far. Returns how many elements.
    pub fn forget(&mut self) -> usize {
        for open in &mut self.open {
            (open.nodes_before, open.words_before) = (0, 0);
        }
        self.words.clear();
        let forgotten = self.nodes.len();
        self.nodes.clear();
        forgotten
    }

    /// A kept element's number in the document, by its place in the list.
    pub fn element(&self, place: u32) -> u32 {
        self.nodes[place as usize].element
    }

    /// Each kept element's parent, by place. The root's is itself.
    pub fn parents(&self, parents: &mut Vec<u32>) {
        parents.clear();
        parents.extend(0..self.nodes.len() as u32);
        for (at, node) in self.nodes.iter().enumerate() {
            let first_below = at - node.below as usize;
            let mut child_end = at;
            while child_end > first_below {
                let child = child_end - 1;
                parents[child] = at as u32;
                child_end = child - self.nodes[child].below as usize;
            }
        }
    }

    /// Each word that a kept element directly contains, with the element's place.
    pub fn occurrences(&self) -> impl Iterator<Item = (WordId, u32)> + '_ {
        let places = self.nodes.iter().zip(0_u32..);
        let places = places.flat_map(|(node, place)| (0..node.word_count).map(move |_| place));
        self.words.iter().copied().zip(places)
    }

    /// Makes the innermost open element's words distinct. Returns how many they are.
    fn tidy(&mut self) -> usize {
        let before = self.open.last().map_or(0, |open| open.pending_before);
        let own = &mut self.pending[before..];
        own.sort_unstable();
        let mut count = 0;
        for at in 0..own.len() {
            if at == 0 || own[at] != own[at - 1] {
                own[count] = own[at];
                count += 1;
            }
        }
        self.pending.truncate(before + count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `<r><x>1 1</x><y><z>2</z></y>3<n/></r>`, numbered 0 to 4; `r` still open.
    fn inside_root() -> Kept {
        let mut kept = Kept::default();
        kept.open(0);
        kept.open(1);
        kept.token(1);
        kept.token(1);
        kept.close();
        kept.open(2);
        kept.open(3);
        kept.token(2);
        kept.close();
        kept.close();
        kept.token(3);
        kept.open(4);
        kept.close();
        kept
    }

    fn elements(kept: &Kept) -> Vec<(u32, Vec<WordId>)> {
        let words = |place: u32| {
            let of_place = kept.occurrences().filter(move |&(_, at)| at == place);
            of_place.map(|(word, _)| word).collect()
        };
        (0..kept.nodes.len() as u32)
            .map(|place| (kept.element(place), words(place)))
            .collect()
    }

    #[test]
    fn elements_are_kept_with_their_words_as_they_end() {
        let mut kept = inside_root();
        kept.close();
        assert_eq!(
            elements(&kept),
            [(1, vec![1]), (3, vec![2]), (2, vec![]), (0, vec![3])]
        );
        let mut parents = Vec::new();
        kept.parents(&mut parents);
        assert_eq!(parents, [3, 2, 3, 3]);
    }

    #[test]
    fn what_has_outdated_words_only_and_nothing_below_goes() {
        let mut kept = inside_root();
        let ended = kept.close();
        // z goes, and y, which held only z.
        assert_eq!(kept.discard(ended, |word| word == 2), 2);
        assert_eq!(elements(&kept), [(1, vec![1]), (0, vec![3])]);
        // r stays for x's sake.
        assert_eq!(kept.discard(ended, |word| word == 3), 0);
        assert_eq!(kept.discard(ended, |word| word != 0), 2);
        assert_eq!(elements(&kept), []);
    }

    #[test]
    fn what_was_kept_before_an_element_is_not_its_to_discard() {
        let mut kept = Kept::default();
        kept.open(0);
        kept.open(1);
        kept.token(1);
        kept.close();
        kept.open(2);
        kept.token(1);
        let ended = kept.close();
        assert_eq!(kept.discard(ended, |_| true), 1);
        assert_eq!(elements(&kept), [(1, vec![1])]);
    }

    #[test]
    fn keeping_goes_on_after_all_was_forgotten() {
        let mut kept = inside_root();
        assert_eq!(kept.forget(), 3);
        kept.open(5);
        kept.token(7);
        kept.close();
        kept.close();
        assert_eq!(elements(&kept), [(5, vec![7]), (0, vec![3])]);
        let mut parents = Vec::new();
        kept.parents(&mut parents);
        assert_eq!(parents, [1, 1]);
    }

    #[test]
    fn a_word_told_again_and_again_is_held_a_few_times_only() {
        let mut kept = Kept::default();
        kept.open(0);
        for _ in 0..10_000 {
            kept.token(1);
            kept.token(2);
        }
        assert!(kept.pending.len() < TIDY_MIN);
        kept.close();
        assert_eq!(elements(&kept), [(0, vec![1, 2])]);
    }
}
