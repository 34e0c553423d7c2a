//! Posting lists from names to the queries of a segment that mention them.

use hashbrown::HashMap;

use crate::path_index::segment::Segment;
use crate::relations::{mentioned_names, CompiledQuery, Domain};
use crate::subscription_store::file_format::OpenError;

/// Classes by the local names that their queries mention.
pub struct NamePostings {
    /// The classes of each name, ascending.
    by_name: HashMap<String, Vec<u32>>,
    /// Queries that never match, which every query contains; ascending.
    never_matching: Vec<u32>,
    class_count: u32,
}

impl NamePostings {
    /// The posting lists of a segment.
    pub fn new(segment: &Segment) -> Result<Self, OpenError> {
        let class_count = segment.class_count() as u32;
        let mut by_name: HashMap<String, Vec<u32>> = HashMap::new();
        let mut never_matching = Vec::new();
        for class in 0..class_count {
            let query = segment.query_of(class)?;
            for name in mentioned_names(&query) {
                by_name.entry_ref(name).or_default().push(class);
            }
            if CompiledQuery::new(query, Domain::default()).never_matches() {
                never_matching.push(class);
            }
        }
        Ok(NamePostings {
            by_name,
            never_matching,
            class_count,
        })
    }

    /// The classes that mention all of some required names, and those that never match; ascending.
    pub fn candidates(&self, required: &[Vec<&str>]) -> Vec<u32> {
        let mut classes = self.never_matching.clone();
        for names in required {
            classes.extend(self.mentioning(names));
        }
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    fn mentioning(&self, names: &[&str]) -> Vec<u32> {
        let lists = names.iter().map(|name| self.by_name.get(*name));
        let Some(mut lists) = lists.collect::<Option<Vec<&Vec<u32>>>>() else {
            return Vec::new();
        };
        lists.sort_by_key(|list| list.len());
        let Some((rarest, others)) = lists.split_first() else {
            return (0..self.class_count).collect();
        };
        let mut classes = (*rarest).clone();
        for list in others {
            retain_common(&mut classes, list);
        }
        classes
    }
}

/// Removes the members that are not in a longer list; both ascend.
fn retain_common(members: &mut Vec<u32>, longer: &[u32]) {
    let mut rest = longer;
    members.retain(|member| {
        // An exponential search from where the last member was found.
        let mut bound = 1;
        while bound < rest.len() && rest[bound] < *member {
            bound *= 2;
        }
        let start = rest[..rest.len().min(bound + 1)].partition_point(|each| each < member);
        rest = &rest[start..];
        rest.first() == Some(member)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn lists_are_intersected(
            one in prop::collection::btree_set(0_u32..200, 0..60),
            two in prop::collection::btree_set(0_u32..200, 0..200),
        ) {
            let mut members: Vec<u32> = one.iter().copied().collect();
            let longer: Vec<u32> = two.iter().copied().collect();
            retain_common(&mut members, &longer);
            let expected: BTreeSet<u32> = one.intersection(&two).copied().collect();
            prop_assert_eq!(members, expected.into_iter().collect::<Vec<u32>>());
        }
    }
}
