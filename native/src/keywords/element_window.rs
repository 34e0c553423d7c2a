//! What is recorded of a document while it is heard: elements and the words in them.

use crate::keywords::conjunction_index::{ensure_len, PresenceMask};
use crate::keywords::element_ranks::Stretches;
use crate::keywords::token_batch::{Marker, TokenBatch};
use crate::keywords::token_sink::WordId;
#[cfg(target_arch = "x86_64")]
use crate::tokenizer::cpu_features::has_avx2_bmi2;

/// No element.
pub const NONE: u32 = u32::MAX;

/// In the places of a word: it is there. Words that have nothing else in common, but for [`MANY`], are
/// together in the window's first element and in nothing inside of it.
pub const HERE: PresenceMask = 1;

/// In the places of a word: more than one element directly contains it.
pub const MANY: PresenceMask = 1 << (PresenceMask::BITS - 1);

/// So many children of the first element have a place of their own, the others share.
const SECTIONS: u32 = PresenceMask::BITS - 2;

/// That an element directly contains a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// So many of these.
    occurrences: Vec<Occurrence>,
    occurrence_count: usize,
    /// The innermost open element, and the places of words that are heard in it.
    current: Owner,
    /// For each word of the vocabulary.
    heard: Vec<Heard>,
    /// The words that were heard, each once; so many of these.
    words: Vec<WordId>,
    word_count: usize,
    /// How many children the first element has so far.
    sections: u32,
    memory: Hearing,
}

/// An element, and the places of the words that it directly contains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// The element.
    pub element: u32,
    /// The places.
    pub places: PresenceMask,
}

/// A word, and the element that directly contains it.
#[derive(Clone, Copy, Debug)]
struct Owned {
    word: WordId,
    owner: Owner,
}

/// Memory of [`Window::hear`].
#[derive(Debug, Default)]
struct Hearing {
    named: Vec<Owned>,
    stretches: Stretches,
}

/// What is known of a word.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// The element it was heard in last.
    latest: u32,
    /// [`HERE`], a bit for each child of the first element that it is in, and maybe [`MANY`].
    places: PresenceMask,
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
        self.occurrence_count = 0;
        self.current = Owner {
            element: NONE,
            places: HERE,
        };
        self.sections = 0;
    }

    /// An element begins.
    #[inline]
    pub fn open(&mut self) {
        let element = self.parents.len() as u32;
        if self.current.element == 0 {
            self.current.places = HERE | 2 << (self.sections % SECTIONS);
            self.sections += 1;
        }
        self.parents.push(self.current.element);
        self.lasts.push(NONE);
        self.current.element = element;
    }

    /// The open element, of which there must be one in the window, contains these words.
    #[inline]
    pub fn words_heard(&mut self, heard: &[WordId]) {
        let owner = self.current;
        self.record(heard.iter().map(|&word| Owned { word, owner }));
    }

    /// Records words, each with the element that directly contains it.
    #[inline(always)]
    fn record(&mut self, heard: impl ExactSizeIterator<Item = Owned>) {
        ensure_len(&mut self.occurrences, self.occurrence_count + heard.len());
        let occurrences = &mut self.occurrences[self.occurrence_count..];
        let (all, list) = (&mut self.heard[..], &mut self.words[..]);
        let (mut recorded, mut listed) = (0, self.word_count);
        for Owned { word, owner } in heard {
            // Without a branch: whether it was heard before cannot be foretold.
            let known = &mut all[word as usize];
            let is_new = known.places == 0;
            let is_elsewhere = known.latest != owner.element;
            list[listed] = word;
            listed += usize::from(is_new);
            occurrences[recorded] = Occurrence {
                word,
                element: owner.element,
            };
            recorded += usize::from(is_elsewhere);
            known.latest = owner.element;
            known.places |= owner.places | (PresenceMask::from(is_elsewhere & !is_new) * MANY);
        }
        self.word_count = listed;
        self.occurrence_count += recorded;
    }

    /// A part of the document, all of whose open elements are in the window. The words of names are heard
    /// before those of texts: where an element has a word in both, it may be heard as in many.
    pub fn push_batch(&mut self, batch: &TokenBatch<'_>) {
        #[cfg(target_arch = "x86_64")]
        if has_avx2_bmi2() {
            // SAFETY: the processor has what it takes.
            return unsafe { self.hear_wide(batch) };
        }
        self.hear_any(batch);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn hear_wide(&mut self, batch: &TokenBatch<'_>) {
        self.hear_any(batch);
    }

    #[inline(always)]
    fn hear_any(&mut self, batch: &TokenBatch<'_>) {
        let mut memory = std::mem::take(&mut self.memory);
        let Hearing { named, stretches } = &mut memory;
        named.clear();
        stretches.clear(self.current, batch.markers.len(), batch.end());
        for &(place, mark) in batch.markers {
            let name = match mark {
                Marker::Open(name) => {
                    self.open();
                    stretches.begin(place, self.current);
                    name
                }
                Marker::Name(name) => name,
                Marker::Close => {
                    self.close();
                    stretches.begin(place, self.current);
                    continue;
                }
            };
            let owner = self.current;
            let words = batch.names.get(name).iter();
            named.extend(words.map(|&word| Owned { word, owner }));
        }
        stretches.count();
        self.record(named.iter().copied());
        let texts = batch.words.iter().zip(batch.offsets);
        self.record(texts.map(|(&word, &place)| Owned {
            word,
            owner: stretches.owner_at(place),
        }));
        self.memory = memory;
    }

    /// The open element, of which there must be one in the window, ends.
    #[inline]
    pub fn close(&mut self) {
        let element = self.current.element as usize;
        self.lasts[element] = self.parents.len() as u32 - 1;
        self.current.element = self.parents[element];
        if self.current.element == 0 {
            self.current.places = HERE;
        }
    }

    /// The words that were heard, each once.
    #[inline]
    pub fn words(&self) -> &[WordId] {
        &self.words[..self.word_count]
    }

    /// In which children of the first element a word is, and in how many elements.
    #[inline]
    pub fn places(&self, word: WordId) -> PresenceMask {
        self.heard[word as usize].places
    }

    /// The innermost open element, or [`NONE`] where all of the window's are closed.
    #[inline]
    pub fn current(&self) -> u32 {
        self.current.element
    }

    /// The open elements, outside in.
    pub fn open_elements(&self, into: &mut Vec<u32>) {
        into.clear();
        let mut element = self.current.element;
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
        self.parents.len() + self.occurrence_count
    }

    /// The words in elements, in any order. One that is heard in an element again after a child had it too
    /// stands there again.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences[..self.occurrence_count]
    }

    /// Puts the words in the order of their elements: those of a subtree stand together then.
    pub fn sort_occurrences(&mut self) {
        self.occurrences[..self.occurrence_count].sort_by_key(|occurrence| occurrence.element);
    }

    /// For each element the one that it is in, or [`NONE`].
    pub fn parents(&self) -> &[u32] {
        &self.parents
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
