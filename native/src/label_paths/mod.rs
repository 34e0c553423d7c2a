//! The distinct label paths of a document, and what is derived from them.
//!
//! A *label path* is a distinct sequence of element names from the root. The [`collector`] records the
//! label paths of a document while it is matched; a reader that was not asked for them does nothing.

pub mod bindings;
pub(crate) mod collector;
pub mod last_offsets;
pub mod main_paths;
pub mod skeleton;
mod varint;
pub mod vocabulary;

use std::sync::Arc;

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

/// Number of a label path, dense from 0. A path is numbered after that of its parent.
pub type PathNumber = u32;

/// The parent of the root's path.
pub const NO_PARENT: PathNumber = PathNumber::MAX;

/// The elements with one label path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelPath {
    /// The path of the parent, or [`NO_PARENT`].
    pub parent: PathNumber,
    /// Number of the last element name, in [`LabelPaths::name`].
    pub name: u32,
    /// The greatest offset at which one of the elements ends, in bytes of the original.
    pub end: u64,
}

/// The distinct label paths of a document.
#[derive(Clone, Debug, Default)]
pub struct LabelPaths {
    paths: Vec<LabelPath>,
    /// The distinct attribute names at each path, in the order in which they occurred.
    attributes: Vec<(PathNumber, u32)>,
    /// May contain names of other documents.
    names: Arc<NameList>,
}

impl LabelPaths {
    /// The paths by number.
    pub fn paths(&self) -> &[LabelPath] {
        &self.paths
    }

    /// The paths and the attribute names that occur at them, each pair once.
    pub fn attributes(&self) -> &[(PathNumber, u32)] {
        &self.attributes
    }

    /// Namespace URI (empty for none) and local name of a name.
    pub fn name(&self, number: u32) -> (&str, &str) {
        self.names.get(number)
    }

    /// Names have lower numbers than this.
    pub fn name_count(&self) -> usize {
        self.names.bounds.len()
    }
}

/// Builds label paths from paths and names in any form.
#[derive(Debug, Default)]
pub struct LabelPathsBuilder {
    built: LabelPaths,
    names: HashMap<(Box<str>, Box<str>), u32>,
}

impl LabelPathsBuilder {
    /// Adds a path below an earlier one, or the root; returns its number. `None` if there is no such
    /// parent, or the names are too long.
    pub fn add_path(
        &mut self,
        parent: Option<PathNumber>,
        name: (&str, &str),
        end: u64,
    ) -> Option<PathNumber> {
        let number = self.built.paths.len() as PathNumber;
        let is_valid = match parent {
            Some(parent) => parent < number,
            None => number == 0,
        };
        let name = self.number_of(name).filter(|_| is_valid)?;
        self.built.paths.push(LabelPath {
            parent: parent.unwrap_or(NO_PARENT),
            name,
            end,
        });
        Some(number)
    }

    /// Adds an attribute at a path; whether the names are short enough.
    pub fn add_attribute(&mut self, path: PathNumber, name: (&str, &str)) -> bool {
        let number = self.number_of(name);
        self.built
            .attributes
            .extend(number.map(|number| (path, number)));
        number.is_some()
    }

    /// The paths that were added.
    pub fn finish(self) -> LabelPaths {
        self.built
    }

    fn number_of(&mut self, (uri, local): (&str, &str)) -> Option<u32> {
        match self.names.entry((uri.into(), local.into())) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(entry) => {
                let names = Arc::make_mut(&mut self.built.names);
                Some(*entry.insert(names.push((uri, local))?))
            }
        }
    }
}

/// Expanded names in one string.
#[derive(Clone, Debug, Default)]
struct NameList {
    text: String,
    /// Start and end of the namespace URI, and end of the local name.
    bounds: Vec<(u32, u32, u32)>,
}

impl NameList {
    /// Adds a name, and returns its number. `None` if the names have 4 GB.
    fn push(&mut self, (uri, local): (&str, &str)) -> Option<u32> {
        let start = u32::try_from(self.text.len()).ok()?;
        let middle = start.checked_add(u32::try_from(uri.len()).ok()?)?;
        let end = middle.checked_add(u32::try_from(local.len()).ok()?)?;
        self.text.push_str(uri);
        self.text.push_str(local);
        self.bounds.push((start, middle, end));
        Some(self.bounds.len() as u32 - 1)
    }

    fn get(&self, number: u32) -> (&str, &str) {
        let (start, middle, end) = self.bounds[number as usize];
        (
            &self.text[start as usize..middle as usize],
            &self.text[middle as usize..end as usize],
        )
    }
}
