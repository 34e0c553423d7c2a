//! A vocabulary: the names that a set of queries mentions, and their numbers.
//!
//! Names of documents are mapped to [`NameClass`]es, which preserve every name test of the queries: a test
//! holds for a name exactly if it holds for the class of the name. Names that no query can tell apart
//! have the same class. Two routers that know the same queries have the same vocabulary.

use hashbrown::HashMap;

use super::{LabelPaths, PathNumber};
use crate::xpath::ast::NameTest;

/// The component of a class for namespaces, or for local names, that no query mentions.
const OTHER: u32 = 0;

/// A namespace URI and a local name, each by its number in a vocabulary, from 1; 0 if it is not mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameClass {
    /// Number of the namespace URI.
    pub uri: u32,
    /// Number of the local name.
    pub local: u32,
}

/// A name test on the classes of a vocabulary; `None` accepts any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassTest {
    uri: Option<u32>,
    local: Option<u32>,
}

impl ClassTest {
    #[inline]
    pub fn accepts(self, class: NameClass) -> bool {
        self.uri.is_none_or(|uri| uri == class.uri)
            && self.local.is_none_or(|local| local == class.local)
    }
}

/// The names that a set of queries mentions.
#[derive(Debug)]
pub struct Vocabulary {
    uris: HashMap<Box<str>, u32>,
    locals: HashMap<Box<str>, u32>,
    /// The number of the empty URI, or [`OTHER`].
    no_namespace: u32,
    /// The classes of the mentioned names. They have the numbers from 1 on, which are the shortest.
    mentioned: Vec<NameClass>,
    mentioned_numbers: HashMap<NameClass, u32>,
}

impl Vocabulary {
    /// A vocabulary of namespace URIs, local names, and pairs of them by position. `None` if a position
    /// is too large.
    pub fn new(uris: &[String], locals: &[String], mentioned: &[(u32, u32)]) -> Option<Vocabulary> {
        let numbered = |texts: &[String]| -> HashMap<Box<str>, u32> {
            let numbers = texts.iter().zip(1..);
            numbers
                .map(|(text, at)| (text.as_str().into(), at))
                .collect()
        };
        let class = |&(uri, local): &(u32, u32)| {
            let is_valid = (uri as usize) < uris.len() && (local as usize) < locals.len();
            is_valid.then_some(NameClass {
                uri: uri + 1,
                local: local + 1,
            })
        };
        let mentioned: Vec<NameClass> = mentioned.iter().map(class).collect::<Option<_>>()?;
        let uris = numbered(uris);
        Some(Vocabulary {
            no_namespace: uris.get("").copied().unwrap_or(OTHER),
            uris,
            locals: numbered(locals),
            mentioned_numbers: mentioned.iter().copied().zip(1..).collect(),
            mentioned,
        })
    }

    /// The class of an expanded name.
    pub fn class_of(&self, uri: &str, local: &str) -> NameClass {
        NameClass {
            uri: self.uris.get(uri).copied().unwrap_or(OTHER),
            local: self.locals.get(local).copied().unwrap_or(OTHER),
        }
    }

    /// The test on classes. It is equivalent if the vocabulary has its names, otherwise weaker.
    pub(super) fn class_test(&self, test: &NameTest) -> ClassTest {
        let number = |numbers: &HashMap<Box<str>, u32>, text: &Option<Box<str>>| {
            let text = text.as_ref()?;
            Some(numbers.get(text).copied().unwrap_or(OTHER))
        };
        ClassTest {
            uri: number(&self.uris, &test.uri),
            local: number(&self.locals, &test.local),
        }
    }

    /// Whether names of this class are in no namespace.
    pub(super) fn is_without_namespace(&self, class: NameClass) -> bool {
        class.uri == self.no_namespace && self.no_namespace != OTHER
    }

    /// The classes of the mentioned names, in order.
    pub(super) fn mentioned(&self) -> &[NameClass] {
        &self.mentioned
    }

    /// The number of a class: 0 for names of which nothing is mentioned, then mentioned names, then the
    /// others, those with an unmentioned local name first.
    pub(super) fn number_of(&self, class: NameClass) -> u64 {
        if class.uri == OTHER && class.local == OTHER {
            return 0;
        }
        match self.mentioned_numbers.get(&class) {
            Some(&number) => u64::from(number),
            None => {
                let row = u64::from(class.local) * (self.uris.len() as u64 + 1);
                self.mentioned.len() as u64 + row + u64::from(class.uri)
            }
        }
    }

    /// The class with a number; `None` if there is none, or the number is not the one of the class.
    pub(super) fn class_with(&self, number: u64) -> Option<NameClass> {
        if number == 0 {
            return Some(NameClass {
                uri: OTHER,
                local: OTHER,
            });
        }
        let mentioned = self.mentioned.len() as u64;
        if number <= mentioned {
            return Some(self.mentioned[number as usize - 1]);
        }
        let width = self.uris.len() as u64 + 1;
        let (local, uri) = ((number - mentioned) / width, (number - mentioned) % width);
        let class = NameClass {
            uri: uri as u32,
            local: u32::try_from(local).ok()?,
        };
        let exists = local <= self.locals.len() as u64 && self.number_of(class) == number;
        exists.then_some(class)
    }

    /// The label paths of a document with the classes of their names.
    pub fn classify(&self, paths: &LabelPaths) -> ClassifiedPaths {
        let classes: Vec<std::cell::OnceCell<NameClass>> =
            vec![std::cell::OnceCell::new(); paths.name_count()];
        let class_of = |name: u32| {
            *classes[name as usize].get_or_init(|| {
                let (uri, local) = paths.name(name);
                self.class_of(uri, local)
            })
        };
        let path = |path: &super::LabelPath| ClassifiedPath {
            parent: path.parent,
            class: class_of(path.name),
            end: path.end,
        };
        let mut attributes: Vec<(PathNumber, NameClass)> = paths
            .attributes()
            .iter()
            .map(|&(path, name)| (path, class_of(name)))
            .collect();
        attributes.sort_unstable();
        ClassifiedPaths {
            paths: paths.paths().iter().map(path).collect(),
            attributes,
        }
    }
}

/// A label path by the class of its last name.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassifiedPath {
    /// The path of the parent, or [`super::NO_PARENT`].
    pub parent: PathNumber,
    pub class: NameClass,
    /// The greatest offset at which one of the elements ends.
    pub end: u64,
}

/// The label paths of a document, with the classes of names in a vocabulary.
#[derive(Debug)]
pub struct ClassifiedPaths {
    pub(super) paths: Vec<ClassifiedPath>,
    /// The attributes at each path, sorted; some may be equal.
    pub(super) attributes: Vec<(PathNumber, NameClass)>,
}

impl ClassifiedPaths {
    /// The classes of the attributes at a path.
    pub(super) fn attributes_at(&self, path: PathNumber) -> &[(PathNumber, NameClass)] {
        let start = self.attributes.partition_point(|&(own, _)| own < path);
        let count = self.attributes[start..].partition_point(|&(own, _)| own == path);
        &self.attributes[start..start + count]
    }

    /// A bitmap over the mentioned names of the vocabulary, least significant bit first: those that no
    /// element has.
    pub fn absent_elements(&self, vocabulary: &Vocabulary) -> Vec<u8> {
        let count = vocabulary.mentioned().len();
        let mut bitmap = vec![0xff; count.div_ceil(8)];
        if let (Some(last), rest @ 1..) = (bitmap.last_mut(), count % 8) {
            *last = (1 << rest) - 1;
        }
        for path in &self.paths {
            if let Some(number) = vocabulary.mentioned_numbers.get(&path.class) {
                let at = *number as usize - 1;
                bitmap[at / 8] &= !(1 << (at % 8));
            }
        }
        bitmap
    }
}
