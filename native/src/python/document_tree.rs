//! The document tree for Python. Identities are texts; a refused operation raises `ValueError` with code and
//! message.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::document_tree::{
    CanonicalForm, DocumentTree as Tree, NewNode, NodeId, NodeIndex, NodeKind, Place,
    QualifiedName, Stage, StagedQuery, TagLimits, TreeError, TreeLimits, View,
};
use crate::select::Selector;
use crate::xpath::{parse, Namespaces};

use super::reader::{options, refusal_tuple, RefusalTuple};

/// Prefix, namespace URI and local name.
type NameTuple = (String, String, String);

/// Identity, depth, kind, name, value, attributes, namespace declarations.
type NewNodeTuple = (
    String,
    usize,
    String,
    NameTuple,
    String,
    Vec<(NameTuple, String)>,
    Vec<(String, String)>,
);

/// Parent, and siblings with whether the node goes after each.
type PlaceTuple = (String, Vec<(String, bool)>);

fn tree_error(error: TreeError) -> PyErr {
    let message = error.to_string();
    let code = match error {
        TreeError::NoNode(_) => "sync.node",
        TreeError::IdentityTaken(_) => "sync.identity",
        TreeError::Root => "update.root",
        TreeError::Cycle(_) => "update.cycle",
        TreeError::Content(_) => "update.content",
        TreeError::Limit(_) => "limit.tree",
        TreeError::Malformed(_) => "sync.patch",
        TreeError::Stopped(code, _) => code,
    };
    PyValueError::new_err((code, message))
}

fn node_id(text: &str) -> PyResult<NodeId> {
    let message = format!("{text:?} is not the identity of a node");
    text.parse()
        .map_err(|_| PyValueError::new_err(("sync.node", message)))
}

fn kind_of(text: &str) -> PyResult<NodeKind> {
    Ok(match text {
        "element" => NodeKind::Element,
        "text" => NodeKind::Text,
        "comment" => NodeKind::Comment,
        "instruction" => NodeKind::Instruction,
        _ => {
            return Err(PyValueError::new_err((
                "update.content",
                "unknown kind of node",
            )))
        }
    })
}

fn kind_text(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Document => "document",
        NodeKind::Element => "element",
        NodeKind::Text => "text",
        NodeKind::Comment => "comment",
        NodeKind::Instruction => "instruction",
    }
}

fn name_of((prefix, uri, local): NameTuple) -> QualifiedName {
    QualifiedName { prefix, uri, local }
}

fn name_tuple(name: QualifiedName) -> NameTuple {
    (name.prefix, name.uri, name.local)
}

fn place_of((parent, anchors): PlaceTuple) -> PyResult<Place> {
    Ok(Place {
        parent: node_id(&parent)?,
        anchors: anchors
            .into_iter()
            .map(|(anchor, is_after)| Ok((node_id(&anchor)?, is_after)))
            .collect::<PyResult<_>>()?,
    })
}

fn new_node(tuple: NewNodeTuple) -> PyResult<NewNode> {
    let (id, depth, kind, name, value, attributes, declarations) = tuple;
    Ok(NewNode {
        id: node_id(&id)?,
        depth,
        kind: kind_of(&kind)?,
        name: name_of(name),
        value,
        attributes: attributes
            .into_iter()
            .map(|(name, value)| (name_of(name), value))
            .collect(),
        declarations,
    })
}

fn texts(ids: Vec<NodeId>) -> Vec<String> {
    ids.iter().map(NodeId::to_string).collect()
}

/// A compiled query that restricts trees.
#[pyclass(module = "penstock._native", frozen)]
pub struct TreeQuery(StagedQuery);

#[pymethods]
impl TreeQuery {
    /// A union of branches. A branch has stages: a query, and the number of the node that counts.
    #[new]
    fn new(
        branches: Vec<Vec<(String, Option<i64>)>>,
        namespaces: Vec<(String, String)>,
        default_namespace: &str,
    ) -> PyResult<Self> {
        let bindings = namespaces
            .iter()
            .map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
        let namespaces =
            Namespaces::new(bindings, default_namespace).map_err(PyValueError::new_err)?;
        let stage = |(query, index): (String, Option<i64>)| {
            let query = parse(&query, &namespaces)
                .map_err(|refusal| PyValueError::new_err((refusal.code, refusal.message)))?;
            Ok(Stage {
                selector: Selector::compile(&query),
                index: index.map(NodeIndex::new),
            })
        };
        let branches = branches
            .into_iter()
            .map(|stages| stages.into_iter().map(stage).collect::<PyResult<_>>())
            .collect::<PyResult<_>>()?;
        StagedQuery::new(branches)
            .map(Self)
            .ok_or_else(|| PyValueError::new_err("a stage without an index is not the last"))
    }
}

/// What a query keeps of a version of a tree.
#[pyclass(module = "penstock._native", frozen)]
pub struct TreeView(View);

#[pymethods]
impl TreeView {
    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// A document whose nodes have identities and can be changed.
#[pyclass(module = "penstock._native")]
pub struct DocumentTree(pub(super) Tree);

#[pymethods]
impl DocumentTree {
    /// A tree without a root element.
    #[new]
    fn new(nodes_max: usize, text_bytes_max: usize, depth_max: usize) -> Self {
        Self(Tree::new(TreeLimits {
            nodes_max,
            text_bytes_max,
            depth_max,
            tag: TagLimits::default(),
        }))
    }

    /// The tree of a document, or why it was refused.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        document: &[u8],
        limits: &Bound<'_, PyDict>,
        nodes_max: usize,
        text_bytes_max: usize,
    ) -> PyResult<(Option<Self>, Option<RefusalTuple>)> {
        let options = options(limits, Vec::new(), false)?;
        let tree_limits = TreeLimits {
            nodes_max,
            text_bytes_max,
            depth_max: options.limits.depth,
            tag: TagLimits::of_reader(&options.limits),
        };
        Ok(
            match py.detach(|| Tree::read(document, options, tree_limits)) {
                Ok(tree) => (Some(Self(tree)), None),
                Err(refusal) => (None, Some(refusal_tuple(refusal))),
            },
        )
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn insert(&mut self, nodes: Vec<NewNodeTuple>, place: PlaceTuple) -> PyResult<()> {
        let nodes = nodes
            .into_iter()
            .map(new_node)
            .collect::<PyResult<Vec<_>>>()?;
        self.0.insert(&nodes, &place_of(place)?).map_err(tree_error)
    }

    fn delete(&mut self, node: &str) -> PyResult<()> {
        self.0.delete(node_id(node)?).map_err(tree_error)
    }

    fn restore(&mut self, node: &str) -> PyResult<()> {
        self.0.restore(node_id(node)?).map_err(tree_error)
    }

    fn move_to(&mut self, node: &str, place: PlaceTuple) -> PyResult<()> {
        let place = place_of(place)?;
        self.0.move_to(node_id(node)?, &place).map_err(tree_error)
    }

    /// Returns the identity of the copy.
    fn copy(&mut self, source: &str, operation: &str, place: PlaceTuple) -> PyResult<String> {
        let (source, operation) = (node_id(source)?, node_id(operation)?);
        let copied = self.0.copy(source, operation, &place_of(place)?);
        copied.map(|id| id.to_string()).map_err(tree_error)
    }

    fn set_value(&mut self, node: &str, value: &str) -> PyResult<()> {
        self.0.set_value(node_id(node)?, value).map_err(tree_error)
    }

    fn rename(&mut self, node: &str, name: NameTuple) -> PyResult<()> {
        let name = name_of(name);
        self.0.rename(node_id(node)?, &name).map_err(tree_error)
    }

    fn set_attribute(&mut self, node: &str, name: NameTuple, value: Option<&str>) -> PyResult<()> {
        let name = name_of(name);
        let set = self.0.set_attribute(node_id(node)?, &name, value);
        set.map_err(tree_error)
    }

    fn set_version(&mut self, version: u64) {
        self.0.set_version(version);
    }

    fn version(&self) -> u64 {
        self.0.version()
    }

    fn roll_back(&mut self, version: u64) {
        self.0.roll_back(version);
    }

    fn roll_forward(&mut self) {
        self.0.roll_forward();
    }

    fn discard_undone(&mut self) {
        self.0.discard_undone();
    }

    fn forget(&mut self, version: u64) {
        self.0.forget(version);
    }

    fn root(&self) -> Option<String> {
        self.0.root_id().map(|id| id.to_string())
    }

    fn is_live(&self, node: &str) -> PyResult<bool> {
        Ok(self.0.is_live(node_id(node)?))
    }

    fn exists(&self, node: &str) -> PyResult<bool> {
        Ok(self.0.exists(node_id(node)?))
    }

    /// Kind, name, value, whether the element is bare.
    fn describe(&self, node: &str) -> PyResult<(&'static str, NameTuple, String, bool)> {
        let description = self.0.describe(node_id(node)?).map_err(tree_error)?;
        let kind = kind_text(description.kind);
        let name = name_tuple(description.name);
        Ok((kind, name, description.value, description.is_bare))
    }

    fn attributes(&self, node: &str) -> PyResult<Vec<(NameTuple, String)>> {
        let attributes = self.0.attributes_of(node_id(node)?).map_err(tree_error)?;
        Ok(attributes
            .into_iter()
            .map(|(name, value)| (name_tuple(name), value))
            .collect())
    }

    fn declarations(&self, node: &str) -> PyResult<Vec<(String, String)>> {
        self.0.declarations_of(node_id(node)?).map_err(tree_error)
    }

    fn parent(&self, node: &str) -> PyResult<Option<String>> {
        let parent = self.0.parent_of(node_id(node)?).map_err(tree_error)?;
        Ok(parent.map(|id| id.to_string()))
    }

    fn children(&self, node: &str) -> PyResult<Vec<String>> {
        self.0
            .children_of(node_id(node)?)
            .map(texts)
            .map_err(tree_error)
    }

    #[pyo3(signature = (node, count_max=None))]
    fn subtree(&self, node: &str, count_max: Option<usize>) -> PyResult<Vec<String>> {
        self.0
            .subtree_of(node_id(node)?, count_max.unwrap_or(usize::MAX))
            .map(texts)
            .map_err(tree_error)
    }

    fn present_subtree(&self, node: &str, count_max: usize) -> PyResult<Vec<String>> {
        self.0
            .present_subtree_of(node_id(node)?, count_max)
            .map(texts)
            .map_err(tree_error)
    }

    fn string_value(&self, node: &str) -> PyResult<String> {
        self.0.string_value(node_id(node)?).map_err(tree_error)
    }

    fn hidden_by(&self, node: &str) -> PyResult<Vec<String>> {
        self.0
            .hidden_by(node_id(node)?)
            .map(texts)
            .map_err(tree_error)
    }

    fn is_inside(&self, node: &str, outer: &str) -> PyResult<bool> {
        Ok(self.0.is_inside(node_id(node)?, node_id(outer)?))
    }

    fn label_path(&self, node: &str) -> PyResult<Vec<(String, String)>> {
        self.0.label_path(node_id(node)?).map_err(tree_error)
    }

    fn neighbours(&self, node: &str) -> PyResult<(Option<String>, Option<String>)> {
        let (before, after) = self.0.neighbours_of(node_id(node)?).map_err(tree_error)?;
        let text = |id: Option<NodeId>| id.map(|id| id.to_string());
        Ok((text(before), text(after)))
    }

    fn recorded_place(&self, node: &str) -> PyResult<PlaceTuple> {
        let place = self.0.recorded_place(node_id(node)?).map_err(tree_error)?;
        let anchors = place.anchors.into_iter();
        let anchors = anchors.map(|(anchor, is_after)| (anchor.to_string(), is_after));
        Ok((place.parent.to_string(), anchors.collect()))
    }

    fn view(&self, py: Python<'_>, query: &TreeQuery) -> PyResult<TreeView> {
        py.detach(|| self.0.view(&query.0))
            .map(TreeView)
            .map_err(tree_error)
    }

    fn view_of_same_selection(&self, py: Python<'_>, view: &TreeView) -> TreeView {
        py.detach(|| TreeView(self.0.view_of_same_selection(&view.0)))
    }

    /// A view with nothing in it.
    #[staticmethod]
    fn empty_view() -> TreeView {
        TreeView(View::default())
    }

    fn is_in_view(&self, node: &str, view: &TreeView) -> PyResult<bool> {
        Ok(self.0.is_in_view(node_id(node)?, &view.0))
    }

    fn patch<'py>(
        &self,
        py: Python<'py>,
        before: &TreeView,
        after: &TreeView,
        since: u64,
    ) -> Option<Bound<'py, PyBytes>> {
        let patch = py.detach(|| self.0.patch(&before.0, &after.0, since));
        patch.map(|bytes| PyBytes::new(py, &bytes))
    }

    fn apply_patch(&mut self, py: Python<'_>, patch: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.apply_patch(patch)).map_err(tree_error)
    }

    fn restricted(&self, view: &TreeView) -> PyResult<DocumentTree> {
        self.0.restricted(&view.0).map(Self).map_err(tree_error)
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let snapshot = py.detach(|| self.0.snapshot());
        PyBytes::new(py, &snapshot)
    }

    #[pyo3(signature = (exclusive=false))]
    fn canonical_xml<'py>(&self, py: Python<'py>, exclusive: bool) -> Bound<'py, PyBytes> {
        let form = if exclusive {
            CanonicalForm::Exclusive
        } else {
            CanonicalForm::Inclusive
        };
        let xml = py.detach(|| self.0.canonical_xml(form));
        PyBytes::new(py, xml.as_bytes())
    }
}

/// The identity of the copy of a node that an operation makes.
#[pyfunction]
pub fn derived_identity(operation: &str, source: &str) -> PyResult<String> {
    Ok(NodeId::derived(node_id(operation)?, node_id(source)?).to_string())
}
