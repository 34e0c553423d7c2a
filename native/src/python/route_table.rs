//! The route table of a router.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::outcomes::Handles;
use crate::routes::annotation_header;
use crate::routes::match_list::{Malformed, MatchList};
use crate::routes::route_table::{Container, Digest, RouteTable as NativeTable, Routes};

/// `(local numbers, groups and match lists, unknown local numbers, whether something is undecided)`
type RoutesTuple<'py> = (Vec<u32>, Vec<(u32, Bound<'py, PyBytes>)>, Vec<u32>, bool);

/// `(recipients, groups and headers)` where a match list decides everything
type DecidedTuple<'py> = (Bound<'py, PyTuple>, Vec<(u32, Bound<'py, PyBytes>)>);

/// What stands for local targets.
#[derive(Default)]
struct Recipients {
    by_number: HashMap<u32, Py<PyAny>, foldhash::fast::RandomState>,
    /// Empty if it must be built.
    by_position: Vec<Option<Py<PyAny>>>,
}

impl Recipients {
    /// The recipients at some positions of local targets, which have these numbers.
    fn at<'py>(
        &mut self,
        py: Python<'py>,
        positions: &[u32],
        numbers: &[u32],
    ) -> PyResult<Bound<'py, PyTuple>> {
        if self.by_position.is_empty() {
            let found = numbers.iter().map(|number| self.by_number.get(number));
            self.by_position = found
                .map(|each| each.map(|each| each.clone_ref(py)))
                .collect();
        }
        let found: Option<Vec<_>> = positions
            .iter()
            .map(|&at| Some(self.by_position[at as usize].as_ref()?.bind(py)))
            .collect();
        let found = found.ok_or_else(|| PyKeyError::new_err("a target without a recipient"))?;
        PyTuple::new(py, found)
    }
}

/// What [`RouteTable::pass_on`] decided so far.
#[derive(Clone, Copy, Default)]
struct PassedOn {
    documents: u64,
    unmatched: u64,
    recipients: u64,
    headers: u64,
    header_bytes: u64,
}

/// Decides where documents go.
#[pyclass(frozen, module = "penstock._native")]
pub struct RouteTable {
    table: Mutex<NativeTable>,
    recipients: Mutex<Recipients>,
    passed_on: Mutex<PassedOn>,
    header_bytes_max: usize,
    list_section: u8,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RouteTable {
    fn table(&self) -> MutexGuard<'_, NativeTable> {
        locked(&self.table)
    }

    fn decide<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        header: &[u8],
        attested: &[u8],
        announced: &[u8],
    ) -> PyResult<Option<DecidedTuple<'py>>> {
        let list_section = self.list_section;
        let sections =
            annotation_header::decode(header, attested, announced, self.header_bytes_max)
                .map_err(|error| PyValueError::new_err(error.message()))?;
        let mut table = self.table();
        let list = sections.iter().find(|section| section.0 == list_section);
        let Some((_, list)) = list.filter(|_| !table.must_be_prepared(source)) else {
            return Ok(None);
        };
        let routes = table.of_match_list(source, list).map_err(malformed)?;
        if routes.is_undecided {
            return Ok(None);
        }
        let header_for = |(group, list): &(u32, MatchList)| {
            let sections = [(list_section, &*list.encode())];
            let header = annotation_header::encode(attested, &table.interest(*group), &sections);
            (*group, PyBytes::new(py, &header))
        };
        let headers = routes.forwards.iter().map(header_for).collect();
        let mut recipients = locked(&self.recipients);
        let found = recipients.at(py, &routes.local, table.local_numbers())?;
        Ok(Some((found, headers)))
    }
}

#[pymethods]
impl RouteTable {
    /// An empty table. Larger headers are refused; the match list is the section of this number.
    #[new]
    fn new(header_bytes_max: usize, list_section: u8) -> RouteTable {
        RouteTable {
            table: Mutex::default(),
            recipients: Mutex::default(),
            passed_on: Mutex::default(),
            header_bytes_max,
            list_section,
        }
    }

    /// Adds targets; `digests` has 16 bytes for each number.
    fn add(&self, group: u32, numbers: Vec<u32>, digests: &[u8]) -> PyResult<()> {
        let digests = parts_of(digests, numbers.len())?;
        let targets = numbers.into_iter().zip(digests.iter().copied());
        self.table().add(group, targets);
        Ok(())
    }

    /// States what stands for local targets in the result of [`RouteTable::of_header`].
    fn set_recipients(&self, numbers: Vec<u32>, recipients: Vec<Py<PyAny>>) {
        let mut all = locked(&self.recipients);
        let before = std::mem::take(&mut all.by_position);
        all.by_number.extend(numbers.into_iter().zip(recipients));
        // Their destructors may call back.
        drop(all);
        drop(before);
    }

    fn remove(&self, numbers: Vec<u32>) {
        self.table().remove(&numbers);
        let mut all = locked(&self.recipients);
        let before = std::mem::take(&mut all.by_position);
        let removed: Vec<_> = numbers
            .iter()
            .map(|number| all.by_number.remove(number))
            .collect();
        drop(all);
        drop((before, removed));
    }

    /// Changes an announced set; both arguments are digests of 16 bytes each.
    fn announce(&self, group: u32, added: &[u8], removed: &[u8]) -> PyResult<()> {
        let added = parts_of(added, added.len() / size_of::<Digest>())?;
        let removed = parts_of(removed, removed.len() / size_of::<Digest>())?;
        self.table().announce(group, added, removed);
        Ok(())
    }

    /// States the digest of a neighbour's interest, which has 16 bytes.
    fn set_interest(&self, group: u32, digest: &[u8]) -> PyResult<()> {
        self.table().set_interest(group, parts_of(digest, 1)?[0]);
        Ok(())
    }

    fn must_be_prepared(&self, group: u32) -> bool {
        self.table().must_be_prepared(group)
    }

    fn unannounced(&self, group: u32) -> Vec<u32> {
        self.table().unannounced(group)
    }

    /// States the containers of unannounced targets, each with its digest and whether it is equivalent;
    /// `digests` has 16 bytes for each number.
    fn set_containers(
        &self,
        group: u32,
        numbers: Vec<(u32, bool)>,
        digests: &[u8],
    ) -> PyResult<()> {
        let digests = parts_of(digests, numbers.len())?;
        let containers = numbers.into_iter().zip(digests.iter().copied());
        let containers = containers.map(|((number, is_equivalent), digest)| {
            let container = Container {
                digest,
                is_equivalent,
            };
            (number, container)
        });
        self.table().set_containers(group, containers);
        Ok(())
    }

    /// The routes of a document that was read; `set_aside` are numbers.
    fn of_handles<'py>(
        &self,
        py: Python<'py>,
        matched: &Handles,
        set_aside: Vec<u32>,
        source: Option<u32>,
    ) -> RoutesTuple<'py> {
        let mut table = self.table();
        let (matcher, handles) = matched.parts();
        let routes = table.of_matched(matcher, handles, &set_aside, source);
        routes_tuple(py, &table, routes)
    }

    /// The routes of a document that was read, by numbers.
    fn of_numbers<'py>(
        &self,
        py: Python<'py>,
        matched: Vec<u32>,
        set_aside: Vec<u32>,
        source: Option<u32>,
    ) -> RoutesTuple<'py> {
        let mut table = self.table();
        let routes = table.of_numbers(&matched, &set_aside, source);
        routes_tuple(py, &table, routes)
    }

    /// Numbers of the targets that a match list proves to match, and of those that it leaves open.
    fn split_match_list(&self, source: u32, list: &[u8]) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let split = self.table().split_match_list(source, list);
        split.map_err(malformed)
    }

    /// Where a document goes if the match list of a header decides it: recipients, and the groups of
    /// neighbours with headers for them that have a match list alone. `None` if there is no list, if it
    /// leaves something to be decided, or if containers must be stated first. The header must attest
    /// these bytes and refer to this announced set.
    fn of_header<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        header: &[u8],
        attested: &[u8],
        announced: &[u8],
    ) -> PyResult<Option<DecidedTuple<'py>>> {
        self.decide(py, source, header, attested, announced)
    }

    /// The same, for a document that is passed on accordingly: it is counted.
    fn pass_on<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        header: &[u8],
        attested: &[u8],
        announced: &[u8],
    ) -> PyResult<Option<DecidedTuple<'py>>> {
        let decided = self.decide(py, source, header, attested, announced)?;
        if let Some((recipients, headers)) = &decided {
            let mut counts = locked(&self.passed_on);
            counts.documents += 1;
            counts.unmatched += u64::from(recipients.is_empty() && headers.is_empty());
            counts.recipients += recipients.len() as u64;
            counts.headers += headers.len() as u64;
            for (_, header) in headers {
                counts.header_bytes += header.as_bytes().len() as u64;
            }
        }
        Ok(decided)
    }

    /// What [`RouteTable::pass_on`] decided: documents, those without any target, recipients, headers
    /// and their bytes.
    fn passed_on(&self) -> (u64, u64, u64, u64, u64) {
        let counts = *locked(&self.passed_on);
        (
            counts.documents,
            counts.unmatched,
            counts.recipients,
            counts.headers,
            counts.header_bytes,
        )
    }

    /// The routes that a match list decides.
    fn of_match_list<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        list: &[u8],
    ) -> PyResult<RoutesTuple<'py>> {
        let mut table = self.table();
        let routes = table.of_match_list(source, list).map_err(malformed)?;
        Ok(routes_tuple(py, &table, routes))
    }
}

fn malformed(_: Malformed) -> PyErr {
    PyValueError::new_err("the match list is malformed")
}

/// What a header attests about a document; see [`annotation_header::attestation`].
#[pyfunction]
pub fn annotation_attestation<'py>(
    py: Python<'py>,
    version: u8,
    identity: &str,
    content_bytes: u64,
    limits: &[u8],
) -> Bound<'py, PyBytes> {
    let identity = identity.as_bytes();
    let attested = annotation_header::attestation(version, identity, content_bytes, limits);
    PyBytes::new(py, &attested)
}

/// A header of annotations; see [`annotation_header::encode`].
#[pyfunction]
pub fn encode_annotation_header<'py>(
    py: Python<'py>,
    attested: &[u8],
    announced: &[u8],
    sections: Vec<(u8, Bound<'py, PyBytes>)>,
) -> Bound<'py, PyBytes> {
    let sections: Vec<annotation_header::Section<'_>> = sections
        .iter()
        .map(|(number, content)| (*number, content.as_bytes()))
        .collect();
    PyBytes::new(
        py,
        &annotation_header::encode(attested, announced, &sections),
    )
}

/// Cuts `count` digests.
fn parts_of(digests: &[u8], count: usize) -> PyResult<&[Digest]> {
    match digests.as_chunks() {
        (parts, []) if parts.len() == count => Ok(parts),
        _ => Err(PyValueError::new_err("a digest has 16 bytes")),
    }
}

fn routes_tuple<'py>(py: Python<'py>, table: &NativeTable, routes: Routes) -> RoutesTuple<'py> {
    let numbers = table.local_numbers();
    let numbers_of = |positions: &[u32]| {
        let positions = positions.iter();
        positions.map(|&at| numbers[at as usize]).collect()
    };
    let forwards = routes.forwards.iter();
    let forwards = forwards
        .map(|(group, list)| (*group, PyBytes::new(py, &list.encode())))
        .collect();
    (
        numbers_of(&routes.local),
        forwards,
        numbers_of(&routes.unknown),
        routes.is_undecided,
    )
}
