//! Skeletons: the tree of a document's label paths, by the name classes of a vocabulary.
//!
//! Encoding: the number of elements; three bits for each element in preorder (it has children, it is the
//! last child, it has attributes), packed into bytes; then, for each element, the number of its class and
//! those of its attributes, each times two plus one if another attribute follows.

use std::fmt::Write;

use hashbrown::HashMap;

use super::varint;
use super::vocabulary::{ClassifiedPaths, NameClass, Vocabulary};
use super::NO_PARENT;

/// Maximum number of elements and attributes of a skeleton.
pub(crate) const NODES_MAX: usize = 1 << 12;

/// Maximum depth of a skeleton.
pub(crate) const DEPTH_MAX: usize = 256;

const HAS_CHILDREN: u8 = 1;
const IS_LAST: u8 = 2;
const HAS_ATTRIBUTES: u8 = 4;
const FLAG_BITS: usize = 3;

/// An element of a skeleton.
#[derive(Debug)]
struct Element {
    class: NameClass,
    depth: usize,
    /// Sorted, each once.
    attributes: Vec<NameClass>,
    /// Numbers of the children, sorted by class.
    children: Vec<u32>,
}

/// Encodes the skeleton of a document: paths with the same name classes are one element. `None` if it
/// exceeds a limit.
pub fn encode(paths: &ClassifiedPaths, vocabulary: &Vocabulary) -> Option<Vec<u8>> {
    let elements = merge(paths)?;
    let mut order = Vec::with_capacity(elements.len());
    let mut flags = vec![0_u8; (elements.len() * FLAG_BITS).div_ceil(8)];
    let mut stack = vec![(0_u32, true)];
    while let Some((number, is_last)) = stack.pop() {
        let element = &elements[number as usize];
        let mut own = 0;
        if !element.children.is_empty() {
            own |= HAS_CHILDREN;
        }
        if is_last {
            own |= IS_LAST;
        }
        if !element.attributes.is_empty() {
            own |= HAS_ATTRIBUTES;
        }
        set_flags(&mut flags, order.len(), own);
        order.push(number);
        let children = element.children.iter().rev().enumerate();
        stack.extend(children.map(|(at, &child)| (child, at == 0)));
    }
    let mut encoded = Vec::with_capacity(elements.len() * 3);
    varint::write(elements.len() as u64, &mut encoded);
    encoded.extend_from_slice(&flags);
    for number in order {
        let element = &elements[number as usize];
        varint::write(vocabulary.number_of(element.class), &mut encoded);
        if let Some((last, others)) = element.attributes.split_last() {
            for &attribute in others {
                varint::write(vocabulary.number_of(attribute) << 1 | 1, &mut encoded);
            }
            varint::write(vocabulary.number_of(*last) << 1, &mut encoded);
        }
    }
    Some(encoded)
}

/// Merges the paths whose names have the same classes. The first element is the root.
fn merge(paths: &ClassifiedPaths) -> Option<Vec<Element>> {
    let mut elements: Vec<Element> = Vec::with_capacity(paths.paths.len());
    let mut merged: Vec<u32> = Vec::with_capacity(paths.paths.len());
    let mut known: HashMap<(u32, NameClass), u32, foldhash::fast::RandomState> =
        HashMap::with_capacity_and_hasher(paths.paths.len(), Default::default());
    for path in &paths.paths {
        let parent = match path.parent {
            NO_PARENT => NO_PARENT,
            parent => merged[parent as usize],
        };
        let next = elements.len() as u32;
        let number = *known.entry((parent, path.class)).or_insert(next);
        if number == next {
            let mut depth = 1;
            if let Some(parent) = elements.get_mut(parent as usize) {
                parent.children.push(number);
                depth = parent.depth + 1;
            }
            if depth > DEPTH_MAX {
                return None;
            }
            elements.push(Element {
                class: path.class,
                depth,
                attributes: Vec::new(),
                children: Vec::new(),
            });
        }
        merged.push(number);
    }
    for &(path, class) in &paths.attributes {
        elements[merged[path as usize] as usize]
            .attributes
            .push(class);
    }
    let classes: Vec<NameClass> = elements.iter().map(|element| element.class).collect();
    let mut attribute_count = 0;
    for element in &mut elements {
        element.attributes.sort_unstable();
        element.attributes.dedup();
        attribute_count += element.attributes.len();
        element
            .children
            .sort_unstable_by_key(|&child| classes[child as usize]);
    }
    let is_valid = !elements.is_empty() && elements.len() + attribute_count <= NODES_MAX;
    is_valid.then_some(elements)
}

fn set_flags(flags: &mut [u8], at: usize, own: u8) {
    for bit in 0..FLAG_BITS {
        let position = at * FLAG_BITS + bit;
        flags[position / 8] |= (own >> bit & 1) << (position % 8);
    }
}

fn get_flags(flags: &[u8], at: usize) -> u8 {
    let bit = |bit: usize| {
        let position = at * FLAG_BITS + bit;
        (flags[position / 8] >> (position % 8) & 1) << bit
    };
    (0..FLAG_BITS).map(bit).fold(0, |own, bit| own | bit)
}

/// The prefix of local names in the XML form, before their number.
const LOCAL_PREFIX: char = 'n';

/// The prefix of namespaces in the XML form, likewise.
const URI_PREFIX: char = 'u';

/// Decodes a skeleton to an XML document. A name consists of the numbers of its class: local name `n3` in
/// the namespace `u2`; what is in no namespace stays there. `None` if the encoding is malformed.
pub fn decode(encoded: &[u8], vocabulary: &Vocabulary) -> Option<String> {
    let mut rest = encoded;
    let count = usize::try_from(varint::read(&mut rest)?).ok()?;
    if count == 0 || count > NODES_MAX {
        return None;
    }
    let (flags, mut rest) = rest.split_at_checked((count * FLAG_BITS).div_ceil(8))?;
    let mut node_count = 0;
    let mut xml = String::with_capacity(count * 16);
    // The open elements, and whether each is the last child of its parent.
    let mut open: Vec<(NameClass, bool)> = Vec::new();
    for at in 0..count {
        let own = get_flags(flags, at);
        if at > 0 && open.is_empty() || open.len() == DEPTH_MAX {
            return None;
        }
        let class = vocabulary.class_with(varint::read(&mut rest)?)?;
        let scope = open.last().map(|&(class, _)| class);
        start_tag(vocabulary, scope, class, &mut xml);
        let mut more = own & HAS_ATTRIBUTES != 0;
        let mut before = None;
        while more {
            let attribute = varint::read(&mut rest)?;
            more = attribute & 1 == 1;
            let class = vocabulary.class_with(attribute >> 1)?;
            // Sorted, so that no attribute occurs twice.
            if before.is_some_and(|before| class <= before) {
                return None;
            }
            before = Some(class);
            add_attribute(vocabulary, class, &mut xml);
            node_count += 1;
        }
        node_count += 1;
        if node_count > NODES_MAX {
            return None;
        }
        let is_last = own & IS_LAST != 0;
        if own & HAS_CHILDREN != 0 {
            xml.push('>');
            open.push((class, is_last));
            continue;
        }
        xml.push_str("/>");
        let mut ended_last = is_last;
        while ended_last {
            let Some((class, is_last)) = open.pop() else {
                break;
            };
            let _ = write!(xml, "</{LOCAL_PREFIX}{}>", class.local);
            ended_last = is_last;
        }
        // Only the root has no parent, and it is a last child.
        if open.is_empty() && !ended_last {
            return None;
        }
    }
    (open.is_empty() && rest.is_empty()).then_some(xml)
}

fn start_tag(
    vocabulary: &Vocabulary,
    scope: Option<NameClass>,
    class: NameClass,
    xml: &mut String,
) {
    let _ = write!(xml, "<{LOCAL_PREFIX}{}", class.local);
    let is_without = vocabulary.is_without_namespace(class);
    match scope {
        Some(scope) if scope.uri == class.uri => {}
        None if is_without => {}
        _ if is_without => xml.push_str(" xmlns=''"),
        _ => {
            let _ = write!(xml, " xmlns='{URI_PREFIX}{}'", class.uri);
        }
    }
}

fn add_attribute(vocabulary: &Vocabulary, class: NameClass, xml: &mut String) {
    let NameClass { uri, local } = class;
    let _ = if vocabulary.is_without_namespace(class) {
        write!(xml, " {LOCAL_PREFIX}{local}=''")
    } else {
        // A prefix of its own for each attribute: the namespace may be declared already.
        write!(
            xml,
            " xmlns:p{uri}.{local}='{URI_PREFIX}{uri}' p{uri}.{local}:{LOCAL_PREFIX}{local}=''"
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_paths::LabelPathsBuilder;

    fn vocabulary() -> Vocabulary {
        let texts =
            |texts: &[&str]| -> Vec<String> { texts.iter().map(|&text| text.to_owned()).collect() };
        let mentioned = [(0, 0), (0, 1), (1, 1)];
        Vocabulary::new(&texts(&["", "urn:x"]), &texts(&["a", "b"]), &mentioned).expect("valid")
    }

    fn skeleton() -> Vec<u8> {
        let mut builder = LabelPathsBuilder::default();
        let mut add = |parent, name| builder.add_path(parent, name, 0).expect("valid");
        let root = add(None, ("", "a"));
        let child = add(Some(root), ("", "y"));
        add(Some(child), ("urn:x", "b"));
        let same = add(Some(root), ("", "z"));
        add(Some(same), ("urn:y", "b"));
        add(Some(root), ("", "b"));
        assert!(builder.add_attribute(child, ("", "b")));
        assert!(builder.add_attribute(same, ("urn:x", "id")));
        let paths = vocabulary().classify(&builder.finish());
        encode(&paths, &vocabulary()).expect("small")
    }

    #[test]
    fn paths_with_the_same_classes_are_one_element() {
        let expected =
            "<n1><n0 n2='' xmlns:p2.0='u2' p2.0:n0=''><n2 xmlns='u0'/><n2 xmlns='u2'/></n0>\
                        <n2/></n1>";
        assert_eq!(
            decode(&skeleton(), &vocabulary()).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn malformed_skeletons_are_refused() {
        let encoded = skeleton();
        for end in 0..encoded.len() {
            assert_eq!(decode(&encoded[..end], &vocabulary()), None);
        }
        let longer = [&encoded[..], &[0]].concat();
        assert_eq!(decode(&longer, &vocabulary()), None);
        // One element that has children, and one that is not the last child.
        for flags in [3, 0] {
            assert_eq!(decode(&[1, flags, 1], &vocabulary()), None);
        }
        assert_eq!(decode(&[1, 2, 1], &vocabulary()).as_deref(), Some("<n1/>"));
        assert_eq!(decode(&[1, 2, 100], &vocabulary()), None);
        assert_eq!(decode(&[1, 6, 1, 3, 2], &vocabulary()), None);
    }
}
