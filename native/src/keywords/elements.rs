//! What is recorded of a document while it is heard: elements and the words in them.

use super::filing::Places;
use super::listen::WordId;

/// No element.
pub const NONE: u32 = u32::MAX;

/// In the places of a word: it is there. Words that have nothing else in common, but for [`MANY`], are
/// together in the window's first element and in nothing inside of it.
pub const HERE: Places = 1;

/// In the places of a word: more than one element directly contains it.
pub const MANY: Places = 1 << (Places::BITS - 1);

/// So many children of the first element have a place of their own, the others share.
const SECTIONS: u32 = Places::BITS - 2;

/// That an element directly contains a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The word.
    pub word: WordId,
    /// The element, by its number in the window.
    pub element: u32,
}

/// The elements heard since the window was last cleared, numbered from 0 in document order, and
/// their words.
///
/// The numbers of a subtree are consecutive, so that "inside" is a comparison with the number of
/// its last element.
#[derive(Debug, Default)]
pub struct Window {
    parents: Vec<u32>,
    /// [`NONE`] until an element closes.
    lasts: Vec<u32>,
    occurrences: Vec<Occurrence>,
    /// The innermost open element.
    current: u32,
    /// For each word of the vocabulary.
    heard: Vec<Heard>,
    /// The words that were heard, each once; so many of these.
    words: Vec<WordId>,
    word_count: usize,
    /// The places of a word that is heard now.
    places: Places,
    /// How many children the first element has so far.
    sections: u32,
}

/// What is known of a word.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// The element it was heard in last.
    latest: u32,
    /// [`HERE`], a bit for each child of the first element that it is in, and maybe [`MANY`].
    places: Places,
}

const UNHEARD: Heard = Heard {
    latest: NONE,
    places: 0,
};

impl Window {
    /// Empties the window, for a vocabulary of so many words.
    pub fn clear(&mut self, word_count: usize) {
        for &word in &self.words[..self.word_count] {
            self.heard[word as usize] = UNHEARD;
        }
        self.heard.resize(word_count, UNHEARD);
        self.words.resize(word_count + 1, 0);
        self.word_count = 0;
        self.parents.clear();
        self.lasts.clear();
        self.occurrences.clear();
        self.current = NONE;
        self.places = HERE;
        self.sections = 0;
    }

    /// An element begins.
    #[inline]
    pub fn open(&mut self) {
        let element = self.parents.len() as u32;
        if self.current == 0 {
            self.places = HERE | 2 << (self.sections % SECTIONS);
            self.sections += 1;
        }
        self.parents.push(self.current);
        self.lasts.push(NONE);
        self.current = element;
    }

    /// The open element, of which there must be one in the window, contains these words.
    #[inline]
    pub fn words_heard(&mut self, heard: &[WordId]) {
        let (element, places) = (self.current, self.places);
        let (known, list) = (&mut self.heard[..], &mut self.words[..]);
        let mut count = self.word_count;
        for &word in heard {
            let known = &mut known[word as usize];
            if known.latest == element {
                continue;
            }
            // Without a branch: whether it is the first time cannot be foretold.
            let is_new = known.places == 0;
            list[count] = word;
            count += usize::from(is_new);
            known.latest = element;
            known.places |= places | (Places::from(!is_new) * MANY);
            self.occurrences.push(Occurrence { word, element });
        }
        self.word_count = count;
    }

    /// The open element, of which there must be one in the window, ends.
    #[inline]
    pub fn close(&mut self) {
        let element = self.current as usize;
        self.lasts[element] = self.parents.len() as u32 - 1;
        self.current = self.parents[element];
        if self.current == 0 {
            self.places = HERE;
        }
    }

    /// The words that were heard, each once.
    #[inline]
    pub fn words(&self) -> &[WordId] {
        &self.words[..self.word_count]
    }

    /// In which children of the first element a word is, and in how many elements.
    #[inline]
    pub fn places(&self, word: WordId) -> Places {
        self.heard[word as usize].places
    }

    /// The innermost open element, or [`NONE`] where all of the window's are closed.
    #[inline]
    pub fn current(&self) -> u32 {
        self.current
    }

    /// The open elements, outside in.
    pub fn open_elements(&self, into: &mut Vec<u32>) {
        into.clear();
        let mut element = self.current;
        while element != NONE {
            into.push(element);
            element = self.parent(element);
        }
        into.reverse();
    }

    /// How many elements there are.
    #[inline]
    pub fn elements(&self) -> u32 {
        self.parents.len() as u32
    }

    /// How much is recorded, elements and words.
    #[inline]
    pub fn held(&self) -> usize {
        self.parents.len() + self.occurrences.len()
    }

    /// The words in elements as they were heard: those of a subtree stand together. One that is
    /// heard in an element again after a child had it too stands there again.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// The element that an element is in, or [`NONE`].
    #[inline]
    pub fn parent(&self, element: u32) -> u32 {
        self.parents[element as usize]
    }

    /// Whether an element has not ended.
    #[inline]
    pub fn is_open(&self, element: u32) -> bool {
        self.lasts[element as usize] == NONE
    }

    /// The last element inside a closed element, or itself.
    #[inline]
    pub fn last(&self, element: u32) -> u32 {
        self.lasts[element as usize]
    }
}
