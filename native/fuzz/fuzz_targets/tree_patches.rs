//! Applies arbitrary patches to an empty tree and to one that they may fit: each is refused, or gives a tree whose
//! snapshot, restrictions and canonical XML are trees again.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::namespaces;
use penstock_native::document_tree::{
    CanonicalForm, DocumentTree, StagedQuery, TagLimits, TreeLimits,
};
use penstock_native::reader::ReaderOptions;
use penstock_native::select::Selector;
use penstock_native::xpath::parse;

/// Small, so that inputs reach them.
const LIMITS: TreeLimits = TreeLimits {
    nodes_max: 64,
    text_bytes_max: 1 << 12,
    depth_max: 16,
    tag: TagLimits {
        attributes_max: 16,
        name_bytes_max: 64,
        value_bytes_max: 1 << 10,
        tag_bytes_max: 1 << 11,
    },
};

/// The tree whose nodes the seeds name.
const DOCUMENT: &[u8] = b"<?p d?><a k='v'>x<b xmlns:p='urn:p'><p:c/></b><!--n--></a>";

static QUERIES: LazyLock<Vec<StagedQuery>> = LazyLock::new(|| {
    let texts = ["/*", "//b", "/a/@k", "//text()", "//*[p:c]"];
    let queries = texts.map(|text| parse(text, &namespaces()).expect("a valid query"));
    let selectors = queries.iter().map(Selector::compile);
    selectors.map(StagedQuery::from).collect()
});

fn read(document: &[u8]) -> DocumentTree {
    let read = DocumentTree::read(document, ReaderOptions::default(), LIMITS);
    read.expect("a well-formed document within the limits")
}

fn check(tree: &DocumentTree) {
    let xml = tree.canonical_xml(CanonicalForm::Inclusive);
    let snapshot = tree.snapshot();
    let again = DocumentTree::from_snapshot(&snapshot, LIMITS).expect("a valid snapshot");
    assert_eq!(again.snapshot(), snapshot);
    assert_eq!(again.canonical_xml(CanonicalForm::Inclusive), xml);
    for query in &*QUERIES {
        let view = tree.view(query).expect("within the limits");
        let restricted = tree.restricted(&view).expect("a valid patch");
        restricted.canonical_xml(CanonicalForm::Exclusive);
    }
    if tree.root_id().is_some_and(|root| tree.is_live(root)) {
        assert_eq!(
            read(xml.as_bytes()).canonical_xml(CanonicalForm::Inclusive),
            xml
        );
    }
}

fuzz_target!(|patch: &[u8]| {
    for mut tree in [DocumentTree::new(LIMITS), read(DOCUMENT)] {
        if tree.apply_patch(patch).is_ok() {
            check(&tree);
        }
    }
});
