//! Counts the elements of sample documents by path, from which a schema is inferred.

use hashbrown::HashMap;

use crate::events::{Context, Handler, NameId, Names, Refusal, Span, StartElement, Stop};
use crate::reader::{Reader, ReaderOptions};

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Number of a path, dense from 0. A path is numbered after that of its parent.
pub type PathId = u32;

/// The parent of root elements.
pub const NO_PARENT: PathId = PathId::MAX;

/// The elements at one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Number of elements.
    pub elements: u64,
    /// Parents with at least one such child.
    pub parents: u64,
    /// Maximum number of such children of one parent.
    pub most: u64,
    /// Elements that directly contain text other than white space.
    pub with_text: u64,
}

/// A path in the samples.
#[derive(Clone, Debug)]
pub struct SamplePath {
    /// The path of the parent, or [`NO_PARENT`].
    pub parent: PathId,
    /// Name of the elements.
    pub name: NameId,
    /// How many there are.
    pub counts: PathCounts,
}

/// Why samples have no summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleProblem {
    /// An element is deeper than the limit.
    TooDeep,
    /// There are more paths than the limit.
    TooManyPaths,
}

/// Maximum sizes of what samples contain.
#[derive(Clone, Copy, Debug)]
pub struct SampleLimits {
    /// Levels of a document.
    pub depth_max: usize,
    /// Distinct paths of all documents.
    pub paths_max: usize,
}

/// Paths by number, and the attributes of the elements at each.
#[derive(Debug, Default)]
struct PathTable {
    paths: Vec<SamplePath>,
    /// By parent and name.
    numbers: Table<(PathId, NameId), PathId>,
    /// Number of elements with an attribute, by path and name.
    attributes: Table<(PathId, NameId), u64>,
}

impl PathTable {
    fn clear(&mut self) {
        self.paths.clear();
        self.numbers.clear();
        self.attributes.clear();
    }

    /// The number of a path, which is added if it is new.
    #[inline]
    fn number(&mut self, parent: PathId, name: NameId) -> PathId {
        let next = self.paths.len() as PathId;
        let number = *self.numbers.entry((parent, name)).or_insert(next);
        if number == next {
            self.paths.push(SamplePath {
                parent,
                name,
                counts: PathCounts::default(),
            });
        }
        number
    }
}

/// Reads sample documents and counts their elements by path.
pub struct SampleCounter {
    reader: Reader,
    limits: SampleLimits,
    /// The names of `total`.
    names: Names,
    total: PathTable,
    document: DocumentCounts,
}

impl SampleCounter {
    /// A counter of no documents.
    pub fn new(options: ReaderOptions, limits: SampleLimits) -> SampleCounter {
        SampleCounter {
            reader: Reader::new(options),
            limits,
            names: Names::default(),
            total: PathTable::default(),
            document: DocumentCounts::default(),
        }
    }

    /// Adds a document, unless it is refused. After a problem, the counts are not valid.
    pub fn add(&mut self, document: &[u8]) -> Result<Option<SampleProblem>, Refusal> {
        self.document.reset();
        let mut handler = CountingHandler {
            counts: &mut self.document,
            names: &mut self.names,
            limits: self.limits,
        };
        self.reader.read_slice(document, &mut handler)?;
        if self.document.problem.is_none() {
            self.merge_document();
        }
        Ok(self.document.problem)
    }

    fn merge_document(&mut self) {
        let DocumentCounts {
            table,
            names,
            numbers_in_total,
            ..
        } = &mut self.document;
        numbers_in_total.clear();
        for path in &table.paths {
            let parent = match path.parent {
                NO_PARENT => NO_PARENT,
                parent => numbers_in_total[parent as usize],
            };
            let number = self.total.number(parent, names[&path.name]);
            numbers_in_total.push(number);
            let (to, from) = (&mut self.total.paths[number as usize].counts, path.counts);
            to.elements += from.elements;
            to.parents += from.parents;
            to.most = to.most.max(from.most);
            to.with_text += from.with_text;
        }
        for (&(path, name), count) in &table.attributes {
            let key = (numbers_in_total[path as usize], names[&name]);
            *self.total.attributes.entry(key).or_default() += count;
        }
        if self.total.paths.len() > self.limits.paths_max {
            self.document.problem = Some(SampleProblem::TooManyPaths);
        }
    }

    /// The paths by number.
    pub fn paths(&self) -> &[SamplePath] {
        &self.total.paths
    }

    /// The attributes of the elements at each path, and the number of elements with each, in any order.
    pub fn attributes(&self) -> impl Iterator<Item = (PathId, NameId, u64)> + '_ {
        let counts = self.total.attributes.iter();
        counts.map(|(&(path, name), &count)| (path, name, count))
    }

    /// Namespace URI and local name of a name in the results.
    pub fn name(&self, name: NameId) -> (&str, &str) {
        self.names.get(name)
    }
}

/// The counts of the document that is being read. Its names are those of the reader.
#[derive(Default)]
struct DocumentCounts {
    table: PathTable,
    /// The name in the result for each name of the reader.
    names: Table<NameId, NameId>,
    open: Vec<OpenElement>,
    /// The element in which each path occurred last, by path: its number and the children since.
    latest: Vec<(u64, u64)>,
    /// Number of elements so far.
    element_count: u64,
    /// Paths whose first element has ended.
    ended_paths: usize,
    problem: Option<SampleProblem>,
    /// Reused by [`SampleCounter::merge_document`].
    numbers_in_total: Vec<PathId>,
}

struct OpenElement {
    path: PathId,
    /// Number of the element in the document, from 1.
    number: u64,
    has_text: bool,
}

impl DocumentCounts {
    fn reset(&mut self) {
        self.table.clear();
        self.names.clear();
        self.open.clear();
        self.latest.clear();
        self.element_count = 0;
        self.ended_paths = 0;
        self.problem = None;
    }
}

/// Counts the elements of one document. What exceeds a limit ends the counting, but not the reading:
/// whether the document is well-formed comes first.
struct CountingHandler<'a> {
    counts: &'a mut DocumentCounts,
    /// The names of the result.
    names: &'a mut Names,
    limits: SampleLimits,
}

impl CountingHandler<'_> {
    /// Adds a name to those of the result.
    #[cold]
    fn keep_name(&mut self, context: &dyn Context, name: NameId) {
        let names = &mut *self.names;
        self.counts.names.entry(name).or_insert_with(|| {
            let (uri, local) = context.names().get(name);
            names.intern(uri, local)
        });
    }
}

impl Handler for CountingHandler<'_> {
    const SPANS: bool = false;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if self.counts.problem.is_some() {
            return Ok(());
        }
        if self.counts.open.len() >= self.limits.depth_max {
            self.counts.problem = Some(SampleProblem::TooDeep);
            return Ok(());
        }
        let counts = &mut *self.counts;
        let (parent, parent_number) = match counts.open.last() {
            Some(parent) => (parent.path, parent.number),
            None => (NO_PARENT, 0),
        };
        let path = counts.table.number(parent, element.name);
        let is_new = path as usize == counts.latest.len();
        if is_new {
            counts.latest.push((u64::MAX, 0));
        }
        let own = &mut counts.table.paths[path as usize].counts;
        let latest = &mut counts.latest[path as usize];
        if latest.0 != parent_number {
            *latest = (parent_number, 0);
            own.parents += 1;
        }
        latest.1 += 1;
        own.most = own.most.max(latest.1);
        counts.element_count += 1;
        counts.open.push(OpenElement {
            path,
            number: counts.element_count,
            has_text: false,
        });
        if is_new {
            self.keep_name(context, element.name);
        }
        for attribute in element.attributes {
            let key = (path, attribute.name);
            let count = self.counts.table.attributes.entry(key).or_default();
            *count += 1;
            if *count == 1 {
                self.keep_name(context, attribute.name);
            }
        }
        Ok(())
    }

    fn end_element(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        let counts = &mut *self.counts;
        if counts.problem.is_some() {
            return Ok(());
        }
        let element = counts.open.pop().expect("the element was opened");
        let own = &mut counts.table.paths[element.path as usize].counts;
        counts.ended_paths += usize::from(own.elements == 0);
        own.elements += 1;
        own.with_text += u64::from(element.has_text);
        if counts.ended_paths > self.limits.paths_max {
            counts.problem = Some(SampleProblem::TooManyPaths);
        }
        Ok(())
    }

    fn text(&mut self, text: &str, _: Span) -> Result<(), Stop> {
        let is_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        if self.counts.problem.is_none() {
            if let Some(element) = self.counts.open.last_mut() {
                element.has_text = element.has_text || !text.bytes().all(is_space);
            }
        }
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SampleLimits = SampleLimits {
        depth_max: 3,
        paths_max: 5,
    };

    fn counter(documents: &[&str]) -> SampleCounter {
        let mut counter = SampleCounter::new(ReaderOptions::default(), LIMITS);
        for document in documents {
            let added = counter.add(document.as_bytes());
            assert_eq!(added.expect("well-formed"), None);
        }
        counter
    }

    /// Each path with its elements, parents, most, with_text and attributes.
    fn listed(counter: &SampleCounter) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (number, path) in counter.paths().iter().enumerate() {
            let above = match path.parent {
                NO_PARENT => "",
                parent => texts[parent as usize].split(' ').next().expect("a path"),
            };
            let PathCounts {
                elements,
                parents,
                most,
                with_text,
            } = path.counts;
            let mut attributes: Vec<String> = counter
                .attributes()
                .filter(|&(path, ..)| path as usize == number)
                .map(|(_, name, count)| format!(" @{}={count}", counter.name(name).1))
                .collect();
            attributes.sort();
            let own = counter.name(path.name).1;
            let attributes = attributes.concat();
            texts.push(format!(
                "{above}/{own} {elements} {parents} {most} {with_text}{attributes}"
            ));
        }
        texts
    }

    #[test]
    fn elements_are_counted_by_path() {
        let counter = counter(&[
            "<a><b x='1'/><b x='' y=''><a> t<!-- -->\n</a></b><c>\n</c></a>",
            "<a>text<b/><b/><b/></a>",
            "<c/>",
        ]);
        assert_eq!(
            listed(&counter),
            [
                "/a 2 2 1 1",
                "/a/b 5 2 3 0 @x=2 @y=1",
                "/a/b/a 1 1 1 1",
                "/a/c 1 1 1 0",
                "/c 1 1 1 0"
            ]
        );
    }

    #[test]
    fn a_refused_document_is_not_counted() {
        let mut counter = counter(&["<a/>"]);
        let refused = counter.add(b"<a><b/></c>");
        assert!(refused.is_err());
        assert_eq!(listed(&counter), ["/a 1 1 1 0"]);
    }

    #[test]
    fn limits_are_reported_after_the_document_was_read() {
        let mut counter = counter(&["<a><b/></a>"]);
        let deep = counter.add(b"<a><b><c><d/></c></b></a>");
        assert_eq!(deep.expect("well-formed"), Some(SampleProblem::TooDeep));
        assert!(counter.add(b"<a><b><c><d/></c></b>").is_err());
        let many = counter.add(b"<a><b/><c/><d/><e/><f/></a>");
        assert_eq!(
            many.expect("well-formed"),
            Some(SampleProblem::TooManyPaths)
        );
        assert_eq!(listed(&counter), ["/a 1 1 1 0", "/a/b 1 1 1 0"]);
        for document in ["<a><c/><d/></a>", "<a><e/></a>"] {
            assert_eq!(counter.add(document.as_bytes()).expect("well-formed"), None);
        }
        let more = counter.add(b"<a><f/></a>");
        assert_eq!(
            more.expect("well-formed"),
            Some(SampleProblem::TooManyPaths)
        );
    }
}
