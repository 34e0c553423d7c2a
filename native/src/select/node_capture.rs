//! Records of nodes that outlive the reader's events.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{sorted_bindings, Context, ExpandedName, NameId, Names, NamespaceScope, Span};
use crate::xpath::ast::Kind;

use super::node_path::NodePathTracker;
use super::open_nodes::OpenNodes;
use super::query_result::{ResultDetail, SelectedNode};

/// Captures names, namespaces and paths of nodes that may be selected. Equal names, and equal scopes
/// of consecutive nodes, are shared.
pub(super) struct NodeCapture {
    names: HashMap<NameId, ExpandedName, RandomState>,
    last_scope: Option<(u64, NamespaceScope)>,
    /// Set if the nodes are reported with paths.
    pub paths: Option<NodePathTracker>,
}

impl NodeCapture {
    pub fn new(detail: ResultDetail) -> Self {
        let has_paths = matches!(
            detail,
            ResultDetail::FirstNodes(_) | ResultDetail::Enclosing(_)
        );
        Self {
            names: HashMap::default(),
            last_scope: None,
            paths: has_paths.then(NodePathTracker::default),
        }
    }

    pub fn name(&mut self, names: &Names, id: NameId) -> ExpandedName {
        let name = self.names.entry(id).or_insert_with(|| {
            let (uri, local) = names.get(id);
            ExpandedName::new((uri.into(), local.into()))
        });
        ExpandedName::clone(name)
    }

    pub fn scope(&mut self, context: &dyn Context) -> NamespaceScope {
        let id = context.scope_id();
        if let Some((last_id, last)) = &self.last_scope {
            if *last_id == id {
                return NamespaceScope::clone(last);
            }
        }
        let scope: NamespaceScope = sorted_bindings(context).into();
        self.last_scope = Some((id, NamespaceScope::clone(&scope)));
        scope
    }

    /// The innermost open node; `last_order` is the number of the last node so far.
    pub fn node(
        &self,
        nodes: &OpenNodes<'_>,
        kind: Kind,
        spans: &[Span],
        last_order: u64,
    ) -> SelectedNode {
        let frame = nodes.top();
        let (element, last_inside) = match kind {
            Kind::Element => (frame, last_order),
            Kind::Attribute | Kind::Text => (nodes.parent(), frame.order),
        };
        SelectedNode {
            order: frame.order,
            last_inside,
            depth: nodes.depth() - 1,
            kind,
            name: frame.name.clone(),
            spans: spans.to_vec(),
            namespaces: element.namespaces.clone(),
            path: self
                .paths
                .as_ref()
                .map(|paths| paths.path_to(kind, frame.name.as_deref())),
        }
    }
}
