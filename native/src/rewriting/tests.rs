//! Each operator on small documents. Property tests in Python compare all of them together with the
//! reference.

use super::mapping::Limits;
use super::*;
use crate::events::{Context, Handler, Refusal, Span, StartElement, Stop};
use crate::reader::{Reader, ReaderOptions};

const HIGH_LIMITS: Limits = Limits {
    copies_max: 1_000,
    held_bytes_max: 1 << 20,
};

/// Records the events as text, with the spans of elements.
#[derive(Default)]
struct Recorder {
    xml: String,
    open: Vec<String>,
    ended: Vec<(String, Span)>,
}

impl Handler for Recorder {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        let name = context.names().get(element.name).1;
        self.xml += &format!("<{name}");
        for attribute in element.attributes {
            let own = context.names().get(attribute.name).1;
            self.xml += &format!(" {own}={}", attribute.value);
        }
        self.xml += ">";
        self.open.push(name.to_owned());
        Ok(())
    }

    fn end_element(&mut self, span: Span, _end_tag: Span) -> Result<(), Stop> {
        let name = self.open.pop().expect("balanced");
        self.xml += &format!("</{name}>");
        self.ended.push((name, span));
        Ok(())
    }

    fn text(&mut self, text: &str, _span: Span) -> Result<(), Stop> {
        self.xml += text;
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.xml += "|";
        Ok(())
    }
}

fn name(local: &str) -> (String, String) {
    (String::new(), local.to_owned())
}

/// A mapping of a schema: for each node its parent's number, name, whether it has text, and operators.
fn mapping(nodes: &[(u32, &str, bool, Vec<Operator>)], attributes: usize) -> Mapping {
    mapping_with_limits(nodes, attributes, HIGH_LIMITS)
}

fn mapping_with_limits(
    nodes: &[(u32, &str, bool, Vec<Operator>)],
    attributes: usize,
    limits: Limits,
) -> Mapping {
    let node = |(parent, local, text, operators): &(u32, &str, bool, Vec<Operator>)| LocalNode {
        parent: *parent,
        name: name(local),
        text: *text,
        operators: operators.clone(),
    };
    let nodes: Vec<LocalNode> = nodes.iter().map(node).collect();
    Mapping::new(&nodes, attributes, limits)
}

fn rewritten_to(
    mapping: &Mapping,
    document: &str,
    depth_max: u64,
) -> Result<Rewritten<Recorder>, Refusal> {
    let mut reader = Reader::new(ReaderOptions::default());
    let mut buffers = RewriterBuffers::default();
    buffers.begin(mapping, 1, reader.names_mut());
    let mut rewriter = Rewriter::new(mapping, &mut buffers, depth_max, Recorder::default());
    reader.read_slice(document.as_bytes(), &mut rewriter)?;
    Ok(rewriter.finish())
}

fn rewritten(mapping: &Mapping, document: &str) -> Rewritten<Recorder> {
    rewritten_to(mapping, document, 100).expect("within limits")
}

fn xml(mapping: &Mapping, document: &str) -> String {
    rewritten(mapping, document).handler.xml
}

#[test]
fn nodes_are_renamed_and_the_rest_is_forwarded() {
    let mapping = mapping(
        &[
            (0, "", false, vec![]),
            (0, "a", true, vec![Operator::Rename(name("z"))]),
            (
                1,
                "b",
                true,
                vec![Operator::RenameAttribute(name("x"), name("y"))],
            ),
        ],
        0,
    );
    let document = "<a>1<b x='2' w='3'/>4<!-- -->5<c><b x='6'/></c></a>";
    let found = rewritten(&mapping, document);
    assert_eq!(
        found.handler.xml,
        "<z>1<b y=2 w=3></b>4|5<c><b x=6></b></c></z>"
    );
    assert_eq!((found.unknown_elements, found.held_bytes_peak), (2, 0));
}

#[test]
fn an_attribute_is_not_renamed_to_the_name_of_another() {
    let renames = vec![
        Operator::RenameAttribute(name("x"), name("y")),
        Operator::RenameAttribute(name("w"), name("x")),
    ];
    let mapping = mapping(&[(0, "", false, vec![]), (0, "a", false, renames)], 0);
    assert_eq!(xml(&mapping, "<a w='1' x='2'/>"), "<a x=1 y=2></a>");
    assert_eq!(
        xml(&mapping, "<a w='1' x='2' y='3'/>"),
        "<a w=1 x=2 y=3></a>"
    );
}

#[test]
fn attributes_become_elements_before_all_other_children() {
    let operators = vec![
        Operator::ToElement(name("x"), name("made"), 3),
        Operator::Insert(vec![name("s")], 0, Some(vec![2, 3])),
    ];
    let nodes = [
        (0, "", false, vec![]),
        (0, "a", true, operators),
        (1, "b", false, vec![]),
    ];
    let mapping = mapping(&nodes, 1);
    assert_eq!(
        xml(&mapping, "<a x='v' y='w'>t<b/>u</a>"),
        "<a y=w>tu<s><made>v</made><b></b></s></a>"
    );
    assert_eq!(xml(&mapping, "<a>t</a>"), "<a>t</a>");
}

#[test]
fn an_upgrade_of_all_children_without_text_is_streamed() {
    let nodes = [
        (0, "", false, vec![]),
        (0, "r", false, vec![]),
        (1, "a", false, vec![Operator::Upgrade(None)]),
        (2, "b", false, vec![]),
    ];
    let mapping = mapping(&nodes, 0);
    let found = rewritten(&mapping, "<r><a> <b/> <b/></a></r>");
    assert_eq!(found.handler.xml, "<r><a> </a><b></b> <b></b></r>");
    assert_eq!(found.held_bytes_peak, 0);
    let (_, early) = found.handler.ended[0];
    let spans = found.provenance.resolve(&[early]);
    assert_eq!((spans[0].start, spans[0].end), (3, 20));
}

#[test]
fn a_downgrade_without_a_target_moves_nothing() {
    let nodes = [
        (0, "", false, vec![]),
        (0, "a", true, vec![Operator::Downgrade(vec![2], 3)]),
        (1, "b", false, vec![]),
        (1, "c", false, vec![]),
    ];
    let mapping = mapping(&nodes, 0);
    assert_eq!(xml(&mapping, "<a>1<b/>2</a>"), "<a>1<b></b>2</a>");
    assert_eq!(
        xml(&mapping, "<a>1<b/>2<c>3</c>4<c/></a>"),
        "<a>12<c>3<b></b></c>4<c><b></b></c></a>"
    );
}

#[test]
fn an_exchange_at_the_root_gives_a_forest_that_an_insert_can_wrap() {
    let nodes = |above: Vec<Operator>| {
        [
            (0, "", false, above),
            (0, "a", false, vec![Operator::Exchange(2)]),
            (1, "b", false, vec![]),
            (1, "c", false, vec![]),
        ]
    };
    let document = "<a><b>1</b><c/><b>2</b></a>";
    assert_eq!(
        xml(&mapping(&nodes(vec![]), 0), document),
        "<b>1<a><c></c></a></b><b>2<a><c></c></a></b>"
    );
    let wrap = vec![Operator::Insert(vec![name("w")], 0, Some(vec![2]))];
    let wrapped = mapping(&nodes(wrap), 0);
    assert_eq!(
        xml(&wrapped, document),
        "<w><b>1<a><c></c></a></b><b>2<a><c></c></a></b></w>"
    );
    assert_eq!(xml(&wrapped, "<a><c/></a>"), "<a><c></c></a>");
}

#[test]
fn inserts_share_elements_and_their_provenance() {
    let path = |names: &str| names.split('/').map(name).collect::<Vec<_>>();
    let inserts = vec![
        Operator::Insert(path("s/x"), 1, Some(vec![2])),
        Operator::Insert(path("s/y"), 1, Some(vec![3])),
        Operator::Insert(path("s/z"), 0, Some(vec![4])),
    ];
    let nodes = [
        (0, "", false, vec![]),
        (0, "c", false, inserts),
        (1, "a", false, vec![]),
        (1, "b", false, vec![]),
        (1, "d", false, vec![]),
    ];
    let mapping = mapping(&nodes, 0);
    let found = rewritten(&mapping, "<c><d/><b/><a/></c>");
    assert_eq!(
        found.handler.xml,
        "<c><s><x><a></a></x><y><b></b></y></s><s><z><d></d></z></s></c>"
    );
    let shared = found.handler.ended.iter().filter(|(local, _)| local == "s");
    let spans = shared.map(|(_, span)| found.provenance.resolve(&[*span]));
    let ranges = spans.map(|spans| (spans[0].start, spans[0].end));
    assert_eq!(ranges.collect::<Vec<_>>(), [(7, 15), (3, 7)]);
    assert_eq!(xml(&mapping, "<c><b/></c>"), "<c><s><y><b></b></y></s></c>");
}

#[test]
fn the_provenance_of_an_inserted_element_is_its_content() {
    let insert = Operator::Insert(vec![name("s"), name("t")], 0, Some(vec![2]));
    let nodes = [
        (0, "", false, vec![]),
        (0, "a", false, vec![insert]),
        (1, "b", false, vec![]),
        (1, "c", false, vec![]),
    ];
    let mapping = mapping(&nodes, 0);
    let found = rewritten(&mapping, "<a><b/><b/><c/><b/></a>");
    assert_eq!(
        found.handler.xml,
        "<a><c></c><s><t><b></b><b></b><b></b></t></s></a>"
    );
    for (local, span) in &found.handler.ended {
        let spans = found.provenance.resolve(&[*span]);
        let ranges: Vec<(u64, u64)> = spans.iter().map(|each| (each.start, each.end)).collect();
        if local == "s" || local == "t" {
            assert_eq!(ranges, [(3, 11), (15, 19)]);
        }
    }
}

#[test]
fn a_document_that_exceeds_a_limit_is_stopped() {
    let nodes = [
        (0, "", false, vec![]),
        (0, "a", false, vec![Operator::Exchange(2)]),
        (1, "b", false, vec![]),
    ];
    let document = "<a><b/><b/><b/></a>";
    let stopped = |limits: Limits, depth_max: u64| {
        let mapping = mapping_with_limits(&nodes, 0, limits);
        let refusal = rewritten_to(&mapping, document, depth_max);
        refusal.err().map(|refusal| refusal.code)
    };
    assert_eq!(stopped(HIGH_LIMITS, 2), None);
    assert_eq!(stopped(HIGH_LIMITS, 1), Some("mapping.depth"));
    let few = Limits {
        copies_max: 1,
        ..HIGH_LIMITS
    };
    assert_eq!(stopped(few, 2), Some("mapping.copies"));
    let little = Limits {
        held_bytes_max: 100,
        ..HIGH_LIMITS
    };
    assert_eq!(stopped(little, 2), Some("mapping.held"));
}

#[test]
fn empty_elements_count_towards_the_buffer_limit() {
    let insert = Operator::Insert(vec![name("s")], 0, Some(vec![2]));
    let nodes = [
        (0, "", false, vec![]),
        (0, "a", false, vec![insert]),
        (1, "b", false, vec![]),
    ];
    let little = Limits {
        held_bytes_max: 1_000,
        ..HIGH_LIMITS
    };
    let mapping = mapping_with_limits(&nodes, 0, little);
    let stopped = |count: usize| {
        let document = format!("<a>{}</a>", "<b/>".repeat(count));
        let refusal = rewritten_to(&mapping, &document, 10);
        refusal.err().map(|refusal| refusal.code)
    };
    assert_eq!(stopped(5), None);
    assert_eq!(stopped(1_000), Some("mapping.held"));
}

#[test]
fn deep_trees_are_buffered_and_replayed_without_recursion() {
    let insert = Operator::Insert(vec![name("s")], 0, Some(vec![2]));
    let nodes = [
        (0, "", false, vec![]),
        (0, "a", false, vec![insert]),
        (1, "b", false, vec![]),
    ];
    let mapping = mapping(&nodes, 0);
    let depth = 900;
    let document = format!(
        "<a><b>{}{}</b></a>",
        "<c>".repeat(depth),
        "</c>".repeat(depth)
    );
    let found = rewritten_to(&mapping, &document, 1_000).expect("within limits");
    assert_eq!(found.unknown_elements, depth as u64);
    assert!(found.handler.xml.starts_with("<a><s><b><c>"));
}

#[test]
fn with_many_exchanges_only_those_with_matching_nodes_are_applied() {
    let mut nodes = vec![(0, "", false, vec![]), (0, "r", false, vec![])];
    let names: Vec<String> = (0..10).map(|number| format!("b{number}")).collect();
    for name in &names {
        let own = u32::try_from(nodes.len()).expect("few");
        nodes.push((1, name, false, vec![Operator::Exchange(own + 1)]));
        nodes.push((own, "c", false, vec![]));
    }
    assert_eq!(
        xml(
            &mapping(&nodes, 0),
            "<r><b7><c/>x<c/></b7><b2><y/></b2><b3><c/></b3></r>"
        ),
        "<r><c><b7>x</b7></c><c><b7>x</b7></c><b2><y></y></b2><c><b3></b3></c></r>"
    );
    // Two Exchanges of one node, below another node with an Exchange.
    let (outer, both) = (
        Operator::Exchange(2),
        vec![Operator::Exchange(3), Operator::Exchange(4)],
    );
    let mut inner = vec![
        (0, "", false, vec![]),
        (0, "r", false, vec![outer]),
        (1, "b", false, both),
        (2, "c", false, vec![]),
        (2, "d", false, vec![]),
    ];
    let few = mapping(&inner, 0);
    for name in &names {
        let own = u32::try_from(inner.len()).expect("few");
        inner.push((1, name, false, vec![Operator::Exchange(own + 1)]));
        inner.push((own, "c", false, vec![]));
    }
    let document = "<r><b><c/><d/></b><x/></r>";
    assert_eq!(xml(&mapping(&inner, 0), document), xml(&few, document));
}
