//! The elements retained while a document is read: the subtrees on the paper's stack.
//!
//! An element is retained when it ends if it directly contains a word or a descendant is retained.
//! Elements are ordered by their ends, so the retained descendants of an element that just ended
//! are the tail of the list, and discarding is a pass over that tail.

use crate::keywords::token_sink::WordId;

/// The words of an open element are deduplicated when they reach this number, and then at twice
/// their distinct number.
const DEDUPLICATE_MIN: usize = 64;

/// A retained element.
#[derive(Clone, Copy, Debug)]
struct RetainedElement {
    element: u32,
    /// Number of its descendants, which directly precede it in the list.
    below: u32,
    /// Number of words it directly contains.
    word_count: u32,
}

/// State of the lists when an open element started.
#[derive(Clone, Copy, Debug)]
struct OpenElementMark {
    element: u32,
    nodes_before: usize,
    words_before: usize,
    pending_before: usize,
    deduplicate_at: usize,
}

/// State of the lists when the element that just ended had started.
#[derive(Clone, Copy, Debug)]
pub struct ClosedElement {
    nodes_before: usize,
    words_before: usize,
}

/// The retained elements of a document.
#[derive(Debug, Default)]
pub struct RetainedElements {
    nodes: Vec<RetainedElement>,
    /// Words directly contained in the retained elements, in their order.
    words: Vec<WordId>,
    open: Vec<OpenElementMark>,
    /// Words directly contained in the open elements, outermost element first.
    pending: Vec<WordId>,
    /// Scratch space of [`RetainedElements::discard`]: number of elements retained before each
    /// element of the tail.
    retained_before: Vec<u32>,
}

impl RetainedElements {
    /// Starts a document.
    pub fn begin(&mut self) {
        self.nodes.clear();
        self.words.clear();
        self.open.clear();
        self.pending.clear();
    }

    /// Number of retained elements and of the words they directly contain.
    pub fn size(&self) -> usize {
        self.nodes.len() + self.words.len()
    }

    /// An element starts.
    pub fn open(&mut self, element: u32) {
        self.open.push(OpenElementMark {
            element,
            nodes_before: self.nodes.len(),
            words_before: self.words.len(),
            pending_before: self.pending.len(),
            deduplicate_at: DEDUPLICATE_MIN,
        });
    }

    /// The innermost open element directly contains a word; words may repeat.
    pub fn token(&mut self, word: WordId) {
        self.pending.push(word);
        let open = self.open.last().expect("an element is open");
        if self.pending.len() - open.pending_before >= open.deduplicate_at {
            let count = self.deduplicate();
            let open = self.open.last_mut().expect("an element is open");
            open.deduplicate_at = DEDUPLICATE_MIN.max(2 * count);
        }
    }

    /// The innermost open element ends and is retained unless it is empty.
    pub fn close(&mut self) -> ClosedElement {
        let word_count = self.deduplicate();
        let open = self.open.pop().expect("an element is open");
        self.words.extend(self.pending.drain(open.pending_before..));
        let below = self.nodes.len() - open.nodes_before;
        if word_count + below > 0 {
            self.nodes.push(RetainedElement {
                element: open.element,
                below: below as u32,
                word_count: word_count as u32,
            });
        }
        ClosedElement {
            nodes_before: open.nodes_before,
            words_before: open.words_before,
        }
    }

    /// Discards the element that just ended and its retained descendants, as far as they contain
    /// only outdated words and have no remaining descendants. Returns the number of discarded
    /// elements.
    pub fn discard(&mut self, closed: ClosedElement, outdated: impl Fn(WordId) -> bool) -> usize {
        let ClosedElement {
            nodes_before,
            words_before,
        } = closed;
        self.retained_before.clear();
        let (mut nodes_end, mut words_end) = (nodes_before, words_before);
        let mut words_at = words_before;
        for at in nodes_before..self.nodes.len() {
            let node = self.nodes[at];
            self.retained_before.push((nodes_end - nodes_before) as u32);
            let first_below = at - node.below as usize - nodes_before;
            let below = (nodes_end - nodes_before) as u32 - self.retained_before[first_below];
            let words = words_at..words_at + node.word_count as usize;
            words_at = words.end;
            if below == 0 && self.words[words.clone()].iter().all(|&word| outdated(word)) {
                continue;
            }
            self.words.copy_within(words, words_end);
            words_end += node.word_count as usize;
            self.nodes[nodes_end] = RetainedElement { below, ..node };
            nodes_end += 1;
        }
        let discarded = self.nodes.len() - nodes_end;
        self.nodes.truncate(nodes_end);
        self.words.truncate(words_end);
        discarded
    }

    /// Discards all retained elements. Returns their number.
    pub fn evict_all(&mut self) -> usize {
        for open in &mut self.open {
            (open.nodes_before, open.words_before) = (0, 0);
        }
        self.words.clear();
        let evicted = self.nodes.len();
        self.nodes.clear();
        evicted
    }

    /// Number of a retained element in the document, by its position in the list.
    pub fn element(&self, position: u32) -> u32 {
        self.nodes[position as usize].element
    }

    /// Writes the parent of each retained element, by position. The root is its own parent.
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

    /// Each word directly contained in a retained element, with the element's position.
    pub fn occurrences(&self) -> impl Iterator<Item = (WordId, u32)> + '_ {
        let positions = self.nodes.iter().zip(0_u32..);
        let positions =
            positions.flat_map(|(node, position)| (0..node.word_count).map(move |_| position));
        self.words.iter().copied().zip(positions)
    }

    /// Deduplicates the words of the innermost open element. Returns their number.
    fn deduplicate(&mut self) -> usize {
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

    /// `<r><x>1 1</x><y><z>2</z></y>3<n/></r>`, numbered 0 to 4; `r` is still open.
    fn inside_root() -> RetainedElements {
        let mut retained = RetainedElements::default();
        retained.open(0);
        retained.open(1);
        retained.token(1);
        retained.token(1);
        retained.close();
        retained.open(2);
        retained.open(3);
        retained.token(2);
        retained.close();
        retained.close();
        retained.token(3);
        retained.open(4);
        retained.close();
        retained
    }

    fn elements(retained: &RetainedElements) -> Vec<(u32, Vec<WordId>)> {
        let words = |position: u32| {
            let of_position = retained
                .occurrences()
                .filter(move |&(_, at)| at == position);
            of_position.map(|(word, _)| word).collect()
        };
        (0..retained.nodes.len() as u32)
            .map(|position| (retained.element(position), words(position)))
            .collect()
    }

    #[test]
    fn elements_are_retained_with_their_words_when_they_end() {
        let mut retained = inside_root();
        retained.close();
        assert_eq!(
            elements(&retained),
            [(1, vec![1]), (3, vec![2]), (2, vec![]), (0, vec![3])]
        );
        let mut parents = Vec::new();
        retained.parents(&mut parents);
        assert_eq!(parents, [3, 2, 3, 3]);
    }

    #[test]
    fn elements_with_only_outdated_words_and_nothing_below_are_discarded() {
        let mut retained = inside_root();
        let closed = retained.close();
        // Discards z, and y, which contained only z.
        assert_eq!(retained.discard(closed, |word| word == 2), 2);
        assert_eq!(elements(&retained), [(1, vec![1]), (0, vec![3])]);
        // r remains because x does.
        assert_eq!(retained.discard(closed, |word| word == 3), 0);
        assert_eq!(retained.discard(closed, |word| word != 0), 2);
        assert_eq!(elements(&retained), []);
    }

    #[test]
    fn elements_before_the_closed_one_are_not_discarded() {
        let mut retained = RetainedElements::default();
        retained.open(0);
        retained.open(1);
        retained.token(1);
        retained.close();
        retained.open(2);
        retained.token(1);
        let closed = retained.close();
        assert_eq!(retained.discard(closed, |_| true), 1);
        assert_eq!(elements(&retained), [(1, vec![1])]);
    }

    #[test]
    fn retention_continues_after_eviction() {
        let mut retained = inside_root();
        assert_eq!(retained.evict_all(), 3);
        retained.open(5);
        retained.token(7);
        retained.close();
        retained.close();
        assert_eq!(elements(&retained), [(5, vec![7]), (0, vec![3])]);
        let mut parents = Vec::new();
        retained.parents(&mut parents);
        assert_eq!(parents, [1, 1]);
    }

    #[test]
    fn repeated_words_take_bounded_memory() {
        let mut retained = RetainedElements::default();
        retained.open(0);
        for _ in 0..10_000 {
            retained.token(1);
            retained.token(2);
        }
        assert!(retained.pending.len() < DEDUPLICATE_MIN);
        retained.close();
        assert_eq!(elements(&retained), [(0, vec![1, 2])]);
    }
}
