//! Tests of what Python cannot reach, and of damaged patches.

use proptest::prelude::*;

use crate::reader::ReaderOptions;

use super::{
    CanonicalForm, DocumentTree, NodeId, Place, QualifiedName, TagLimits, TreeError, TreeLimits,
};

fn read(document: &str) -> DocumentTree {
    let options = ReaderOptions::default();
    DocumentTree::read(document.as_bytes(), options, TreeLimits::default()).expect("well-formed")
}

#[test]
fn identities_have_one_text() {
    for text in ["0.0", "7.18446744073709551615", "4294967295.1"] {
        let id: NodeId = text.parse().expect("valid");
        assert_eq!(id.to_string(), text);
    }
    let derived = NodeId::derived(NodeId::new(1, 2), NodeId::new(0, 3));
    assert_eq!(derived.to_string().parse(), Ok(derived));
    for text in ["", "1", "01.1", "1.+1", "-1.1", "4294967296.1", "~1", "~z"] {
        assert!(text.parse::<NodeId>().is_err(), "{text}");
    }
    let without_mark = format!("~{}", "0".repeat(32));
    assert!(without_mark.parse::<NodeId>().is_err());
}

#[test]
fn a_damaged_snapshot_is_refused_or_makes_a_tree() {
    let tree = read("<?p d?><a xmlns:p='urn:p' p:k='v'>x<b/><!--c--><p:d>y</p:d></a>");
    let snapshot = tree.snapshot();
    for at in 0..snapshot.len() {
        for value in [0, 1, 2, 3, 8, 16, 0x7f, 0x80, 0xff] {
            let mut damaged = snapshot.clone();
            damaged[at] = value;
            if let Ok(other) = DocumentTree::from_snapshot(&damaged, TreeLimits::default()) {
                other.canonical_xml(CanonicalForm::Inclusive);
            }
        }
        assert!(DocumentTree::from_snapshot(&snapshot[..at], TreeLimits::default()).is_err());
    }
}

#[test]
fn many_deleted_siblings_do_not_lengthen_places() {
    let children: String = (0..200).map(|_| "<b/>").collect();
    let mut tree = read(&format!("<a>{children}</a>"));
    for number in 3..=201 {
        tree.delete(NodeId::new(0, number)).expect("there");
    }
    let place = Place {
        parent: NodeId::new(0, 1),
        anchors: vec![(NodeId::new(0, 201), true)],
    };
    let copy = tree
        .copy(NodeId::new(0, 2), NodeId::new(1, 1), &place)
        .expect("live");
    assert_eq!(tree.recorded_place(copy).expect("there").anchors.len(), 1);
    let root = NodeId::new(0, 1);
    assert_eq!(tree.delete(root), Err(TreeError::Root));
}

#[test]
fn replaced_values_are_compacted() {
    let mut tree = read("<a>x</a>");
    let long = "y".repeat(1 << 16);
    for version in 1..10 {
        tree.set_version(version);
        tree.set_value(NodeId::new(0, 2), &long).expect("live");
    }
    let before = tree.heap.len();
    tree.forget(9);
    assert!(tree.heap.len() < before / 4);
    assert_eq!(tree.string_value(NodeId::new(0, 2)).as_deref(), Ok(&*long));
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_not_a_patch(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut patch = b"PSP1".to_vec();
        patch.extend(bytes);
        let _ = DocumentTree::from_snapshot(&patch, TreeLimits::default());
    }
}

#[test]
fn tags_that_the_reader_refuses_are_refused() {
    let limits = TreeLimits {
        tag: TagLimits {
            attributes_max: 3,
            name_bytes_max: 8,
            value_bytes_max: 100,
            tag_bytes_max: 200,
        },
        ..TreeLimits::default()
    };
    let document = br#"<a k="1"/>"#;
    let mut tree = DocumentTree::read(document, ReaderOptions::default(), limits).expect("valid");
    let root = tree.root_id().expect("a root element");
    let name = |prefix: &str, local: &str| QualifiedName {
        prefix: prefix.to_owned(),
        uri: if prefix.is_empty() { "" } else { "urn:p" }.to_owned(),
        local: local.to_owned(),
    };
    let long = TreeError::Limit("the value of an attribute is too long");
    let set = |tree: &mut DocumentTree, name: QualifiedName, value: &str| {
        tree.set_attribute(root, &name, Some(value))
    };
    assert_eq!(set(&mut tree, name("", "k"), &"v".repeat(101)), Err(long));
    assert_eq!(set(&mut tree, name("", "k"), &"v".repeat(100)), Ok(()));
    let tag = TreeError::Limit("the tag of an element is too long");
    assert_eq!(set(&mut tree, name("", "l"), &"&".repeat(20)), Err(tag));
    assert_eq!(set(&mut tree, name("", "l"), "1"), Ok(()));
    let names = TreeError::Limit("a name is too long");
    assert_eq!(
        set(&mut tree, name("", &"n".repeat(9)), "1"),
        Err(names.clone())
    );
    assert_eq!(tree.rename(root, &name("p", &"n".repeat(7))), Err(names));
    // The prefix needs a declaration.
    let many = TreeError::Limit("an element has too many attributes");
    assert_eq!(set(&mut tree, name("p", "m"), "1"), Err(many.clone()));
    assert_eq!(set(&mut tree, name("", "m"), "1"), Ok(()));
    assert_eq!(tree.rename(root, &name("p", "b")), Err(many));
    assert_eq!(tree.set_attribute(root, &name("", "m"), None), Ok(()));
    assert_eq!(tree.rename(root, &name("p", "b")), Ok(()));
}
