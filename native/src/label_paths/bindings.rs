//! The encoding of bindings: label paths that main paths of matched patterns bind.
//!
//! For each binding, in the order of ranks: the difference from the rank before, the number of names, and
//! the numbers of their classes.

use super::main_paths::MainPaths;
use super::skeleton::DEPTH_MAX;
use super::varint;
use super::vocabulary::{ClassifiedPaths, NameClass, Vocabulary};

/// A pattern, by its rank in the announced set, and a label path from the root.
pub type Binding = (u32, Vec<NameClass>);

/// Which label paths of a pattern are bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingRequest {
    /// The rank of the pattern.
    pub rank: u32,
    /// Whether there is a binding only if the main path binds a single label path.
    pub is_single: bool,
}

/// The bindings of patterns in the order of their ranks: at most `paths_max` for each, and at most
/// `bindings_max` altogether.
pub fn find(
    main_paths: &MainPaths,
    paths: &ClassifiedPaths,
    requests: &[BindingRequest],
    paths_max: usize,
    bindings_max: usize,
) -> Vec<Binding> {
    let mut found = Vec::new();
    for &BindingRequest { rank, is_single } in requests {
        let bound_max = if is_single { 2 } else { paths_max };
        let bound = main_paths.bindings(paths, rank, bound_max);
        if is_single && bound.len() != 1 {
            continue;
        }
        let room = bindings_max - found.len();
        found.extend(bound.into_iter().take(room).map(|path| (rank, path)));
    }
    found
}

/// Encodes bindings in the order of ranks.
pub fn encode(bindings: &[Binding], vocabulary: &Vocabulary) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut rank_before = 0;
    varint::write(bindings.len() as u64, &mut encoded);
    for (rank, path) in bindings {
        varint::write(u64::from(rank - rank_before), &mut encoded);
        rank_before = *rank;
        varint::write(path.len() as u64, &mut encoded);
        for &class in path {
            varint::write(vocabulary.number_of(class), &mut encoded);
        }
    }
    encoded
}

/// Decodes at most `bindings_max` bindings of ranks below `ranks_max`. `None` if the encoding is malformed.
pub fn decode(
    encoded: &[u8],
    vocabulary: &Vocabulary,
    ranks_max: u32,
    bindings_max: usize,
) -> Option<Vec<Binding>> {
    let mut rest = encoded;
    let count = usize::try_from(varint::read(&mut rest)?).ok()?;
    if count > bindings_max {
        return None;
    }
    let mut rank = 0_u64;
    let mut bindings = Vec::new();
    for _ in 0..count {
        rank = rank.checked_add(varint::read(&mut rest)?)?;
        let length = usize::try_from(varint::read(&mut rest)?).ok()?;
        if rank >= u64::from(ranks_max) || length == 0 || length > DEPTH_MAX {
            return None;
        }
        let mut path = Vec::with_capacity(length);
        for _ in 0..length {
            path.push(vocabulary.class_with(varint::read(&mut rest)?)?);
        }
        bindings.push((rank as u32, path));
    }
    rest.is_empty().then_some(bindings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_survive() {
        let names = ["a".to_owned(), "b".to_owned()];
        let vocabulary = Vocabulary::new(&[String::new()], &names, &[(0, 0)]).expect("valid");
        let path: Vec<NameClass> = ["a", "z", "b"]
            .map(|name| vocabulary.class_of("", name))
            .into();
        let bindings = vec![(2, path.clone()), (2, path[..1].to_vec()), (9, path)];
        let encoded = encode(&bindings, &vocabulary);
        let decoded = |bytes, ranks, count| decode(bytes, &vocabulary, ranks, count);
        assert_eq!(decoded(&encoded, 10, 3), Some(bindings));
        assert_eq!(decoded(&encoded, 9, 3), None);
        assert_eq!(decoded(&encoded, 10, 2), None);
        for end in 0..encoded.len() {
            assert_eq!(decoded(&encoded[..end], 10, 3), None);
        }
    }
}
