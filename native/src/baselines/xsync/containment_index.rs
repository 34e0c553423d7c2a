//! The containment index: index nodes, client table, insertion, deletion and search.
//!
//! An index node stands for one step of a path: `/a/b` has the nodes `/`, `/a` and `/a/b`, the first two
//! without clients (dummies) unless some client subscribes to them. What the clients of a node see includes
//! what the clients of its children see. The wildcard node `/a/*` is the parent of the nodes `/a/b`, and a
//! path with a wildcard is also inserted below each of them, so that its client has several nodes.

use hashbrown::{HashMap, HashSet};

use super::cid_blocks::{Chain, Cid, CidBlocks};
use super::document_type::DocumentType;
use super::path_tokens::{PathExpression, StepToken};

type NodeNumber = u32;

const ROOT: NodeNumber = 0;
const NONE: NodeNumber = u32::MAX;

/// Which clients below the updating one are searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchPolicy {
    /// CLIENT-SEARCH-DOWN-ALL: all of them; the update's path is ignored. This is the broadcast to all
    /// ancestors and descendants.
    DownAll,
    /// CLIENT-SEARCH-DOWN: those that the update's path leads to.
    Down,
    /// `processLoad() > bandwidthLoad()` selects the first of these, else the second.
    ByLoad {
        /// The load of the processor.
        process: f64,
        /// The load of the network.
        bandwidth: f64,
    },
}

impl SearchPolicy {
    fn ignores_update(self) -> bool {
        match self {
            SearchPolicy::DownAll => true,
            SearchPolicy::Down => false,
            SearchPolicy::ByLoad { process, bandwidth } => process > bandwidth,
        }
    }
}

/// Which version of CLIENT-SEARCH-DOWN and CLIENT-SEARCH-DOWN-ALL is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudocode {
    /// With its errors mended.
    Mended,
    /// As printed: clients are added before the comparison, tokens are compared from the first one of
    /// both paths, the search ends with the update's path, and DOWN-ALL recurses into DOWN.
    Printed,
}

/// The operations of a search, as the paper's cost model has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCost {
    /// Index nodes visited.
    pub nodes: u64,
    /// Client identifiers read from their blocks.
    pub cids: u64,
    /// Path tokens compared.
    pub comparisons: u64,
}

#[cfg(test)]
impl SearchCost {
    /// All operations.
    pub fn operations(&self) -> u64 {
        self.nodes + self.cids + self.comparisons
    }
}

#[derive(Debug)]
struct IndexNode {
    token: StepToken,
    /// The node of the path without its last step.
    shorter: NodeNumber,
    /// The node whose clients see more: the wildcard beside it, or the shorter path.
    parent: NodeNumber,
    children: Vec<NodeNumber>,
    /// Steps of the path; its running level is the number of its tokens less one.
    step_count: u32,
    cids: Chain,
}

/// A row of the client table.
#[derive(Debug)]
struct Client {
    /// The reverse pointers: where its identifier is.
    nodes: Vec<NodeNumber>,
}

/// The containment index.
#[derive(Debug)]
pub struct ContainmentIndex {
    document_type: DocumentType,
    pseudocode: Pseudocode,
    nodes: Vec<IndexNode>,
    free_nodes: Vec<NodeNumber>,
    /// By shorter path and last step.
    by_step: HashMap<(NodeNumber, StepToken), NodeNumber>,
    blocks: CidBlocks,
    clients: HashMap<Cid, Client>,
    /// Greater than every client's number.
    cid_end: Cid,
    /// Clients with more expansions than the limit, which every search finds.
    unexpanded: Vec<Cid>,
    /// The client that is being inserted, and the nodes that hold it.
    inserted: (Cid, HashSet<NodeNumber>),
}

impl ContainmentIndex {
    /// An empty index for documents of a type.
    pub fn new(document_type: DocumentType, pseudocode: Pseudocode) -> ContainmentIndex {
        ContainmentIndex {
            document_type,
            pseudocode,
            nodes: vec![IndexNode {
                token: StepToken::Wildcard,
                shorter: NONE,
                parent: NONE,
                children: Vec::new(),
                step_count: 0,
                cids: Chain::EMPTY,
            }],
            free_nodes: Vec::new(),
            by_step: HashMap::new(),
            blocks: CidBlocks::default(),
            clients: HashMap::new(),
            cid_end: 0,
            unexpanded: Vec::new(),
            inserted: (Cid::MAX, HashSet::new()),
        }
    }

    /// Inserts clients in the paper's order.
    pub fn insert_all(&mut self, mut clients: Vec<(Cid, PathExpression)>) {
        clients.sort_by(|(_, one), (_, two)| one.sort_key().cmp(&two.sort_key()));
        for (cid, expression) in clients {
            self.insert(cid, &expression);
        }
    }

    /// CLIENT-INSERT: inserts a client with its subscription. The client is not there yet.
    pub fn insert(&mut self, cid: Cid, expression: &PathExpression) {
        let steps: Vec<(bool, StepToken)> = expression.steps().collect();
        let client = Client { nodes: Vec::new() };
        self.cid_end = self.cid_end.max(cid + 1);
        let known = self.clients.insert(cid, client);
        assert!(known.is_none(), "a client has one subscription");
        match self.document_type.expand(&[], &steps) {
            None => self.unexpanded.push(cid),
            Some(paths) => {
                self.inserted = (cid, HashSet::new());
                for path in paths {
                    self.insert_path(ROOT, &path, cid);
                }
            }
        }
    }

    /// Removes a client; returns whether it was there. Nodes that hold others below them become dummies.
    pub fn remove(&mut self, cid: Cid) -> bool {
        let Some(client) = self.clients.remove(&cid) else {
            return false;
        };
        if client.nodes.is_empty() {
            self.unexpanded.retain(|&each| each != cid);
        }
        for node in client.nodes {
            self.blocks.remove(&mut self.nodes[node as usize].cids, cid);
            self.remove_unused(node);
        }
        true
    }

    /// Clients.
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// Index nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len() - self.free_nodes.len()
    }

    /// Index nodes without clients.
    pub fn dummy_count(&self) -> usize {
        let empty = self
            .nodes
            .iter()
            .filter(|node| node.cids.is_empty())
            .count();
        empty - self.free_nodes.len()
    }

    /// Clients that every search finds, because their expressions have too many expansions.
    pub fn unexpanded_count(&self) -> usize {
        self.unexpanded.len()
    }

    /// CLIENT-SEARCH: the clients that overlap with an update of a client, whose path begins at what the
    /// client subscribed to. Each client is found once, the updating one included; `None` if it is unknown.
    pub fn search(
        &self,
        cid: Cid,
        update: &PathExpression,
        policy: SearchPolicy,
    ) -> Option<(Vec<Cid>, SearchCost)> {
        let client = self.clients.get(&cid)?;
        let mut search = Search::new(self);
        if client.nodes.is_empty() {
            // Where its subscription leads is not known: the update may concern anybody.
            search.down_all(ROOT);
        }
        let steps: Vec<(bool, StepToken)> = update.steps().collect();
        for &node in &client.nodes {
            search.add(node);
            search.up(self.nodes[node as usize].parent);
            if policy.ignores_update() {
                search.broadcast_down(node);
            } else {
                search.down_from(node, &steps);
            }
        }
        Some(search.finish())
    }

    /// The clients that overlap with a path from the root: the sub path of a move or copy.
    pub fn search_path(&self, path: &PathExpression) -> (Vec<Cid>, SearchCost) {
        let mut search = Search::new(self);
        search.add(ROOT);
        let steps: Vec<(bool, StepToken)> = path.steps().collect();
        search.down_from(ROOT, &steps);
        search.finish()
    }

    fn insert_path(&mut self, node: NodeNumber, path: &[StepToken], cid: Cid) {
        let Some((&step, rest)) = path.split_first() else {
            self.insert_cid(node, cid);
            return;
        };
        let next = self.node_of(node, step);
        self.insert_path(next, rest, cid);
        if step == StepToken::Wildcard && !rest.is_empty() {
            // Below the wildcard node are the literals of the same step, and longer paths.
            let level = self.nodes[next as usize].step_count;
            let beside: Vec<NodeNumber> = self.nodes[next as usize]
                .children
                .iter()
                .copied()
                .filter(|&child| self.nodes[child as usize].step_count == level)
                .collect();
            for literal in beside {
                self.insert_path(literal, rest, cid);
            }
        }
    }

    fn insert_cid(&mut self, node: NodeNumber, cid: Cid) {
        let client = self.clients.get_mut(&cid).expect("the client is known");
        // Several expansions may lead to one node, and so may copies below a new literal.
        let is_known = match &mut self.inserted {
            (current, nodes) if *current == cid => !nodes.insert(node),
            _ => client.nodes.contains(&node),
        };
        if !is_known {
            client.nodes.push(node);
            self.blocks.push(&mut self.nodes[node as usize].cids, cid);
        }
    }

    fn node_of(&mut self, shorter: NodeNumber, token: StepToken) -> NodeNumber {
        if let Some(&node) = self.by_step.get(&(shorter, token)) {
            return node;
        }
        let wildcard = self.by_step.get(&(shorter, StepToken::Wildcard)).copied();
        let parent = wildcard.unwrap_or(shorter);
        let made = IndexNode {
            token,
            shorter,
            parent,
            children: Vec::new(),
            step_count: self.nodes[shorter as usize].step_count + 1,
            cids: Chain::EMPTY,
        };
        let number = match self.free_nodes.pop() {
            Some(number) => {
                self.nodes[number as usize] = made;
                number
            }
            None => {
                self.nodes.push(made);
                self.nodes.len() as u32 - 1
            }
        };
        self.by_step.insert((shorter, token), number);
        if token == StepToken::Wildcard {
            // It takes the literals of the same step as its children.
            let level = self.nodes[number as usize].step_count;
            let children = std::mem::take(&mut self.nodes[shorter as usize].children);
            let is_beside = |&child: &NodeNumber| self.nodes[child as usize].step_count == level;
            let (literals, others): (Vec<_>, Vec<_>) = children.into_iter().partition(is_beside);
            self.nodes[shorter as usize].children = others;
            for &literal in &literals {
                self.nodes[literal as usize].parent = number;
            }
            self.nodes[number as usize].children = literals;
            self.nodes[shorter as usize].children.push(number);
        } else {
            self.nodes[parent as usize].children.push(number);
            if let Some(wildcard) = wildcard {
                self.copy_below(wildcard, number);
            }
        }
        number
    }

    /// Inserts the paths through a wildcard below a new literal of the same step.
    fn copy_below(&mut self, wildcard: NodeNumber, literal: NodeNumber) {
        let level = self.nodes[wildcard as usize].step_count;
        let mut waiting: Vec<(NodeNumber, Vec<StepToken>)> = vec![(wildcard, Vec::new())];
        let mut paths = Vec::new();
        while let Some((node, path)) = waiting.pop() {
            for &child in &self.nodes[node as usize].children {
                let below = &self.nodes[child as usize];
                if below.step_count == level {
                    continue;
                }
                // A literal beside a wildcard is its child, and has a path as long.
                let mut path = path[..(below.step_count - level - 1) as usize].to_vec();
                path.push(below.token);
                for cids in self.blocks.of(below.cids) {
                    paths.extend(cids.iter().map(|&cid| (path.clone(), cid)));
                }
                waiting.push((child, path));
            }
        }
        for (path, cid) in paths {
            self.insert_path(literal, &path, cid);
        }
    }

    fn remove_unused(&mut self, node: NodeNumber) {
        let mut at = node;
        while at != ROOT {
            let IndexNode {
                ref children,
                parent,
                shorter,
                token,
                cids,
                ..
            } = self.nodes[at as usize];
            if !children.is_empty() || !cids.is_empty() {
                return;
            }
            self.nodes[parent as usize]
                .children
                .retain(|&each| each != at);
            self.by_step.remove(&(shorter, token));
            self.free_nodes.push(at);
            at = parent;
        }
    }

    /// The steps of a node's path.
    fn path_of(&self, mut node: NodeNumber) -> Vec<StepToken> {
        let mut path = Vec::new();
        while node != ROOT {
            path.push(self.nodes[node as usize].token);
            node = self.nodes[node as usize].shorter;
        }
        path.reverse();
        path
    }
}

/// A search, and what it has found.
struct Search<'i> {
    index: &'i ContainmentIndex,
    found: Vec<Cid>,
    /// One bit for each client found.
    marks: Vec<u64>,
    cost: SearchCost,
}

impl Search<'_> {
    fn new(index: &ContainmentIndex) -> Search<'_> {
        let mut search = Search {
            index,
            found: Vec::new(),
            marks: vec![0; index.cid_end as usize / 64 + 1],
            cost: SearchCost::default(),
        };
        search.add_cids(&index.unexpanded);
        search
    }

    fn finish(self) -> (Vec<Cid>, SearchCost) {
        (self.found, self.cost)
    }

    fn add_cids(&mut self, cids: &[Cid]) {
        self.cost.cids += cids.len() as u64;
        for &cid in cids {
            let (word, bit) = (&mut self.marks[cid as usize / 64], 1 << (cid % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.found.push(cid);
            }
        }
    }

    /// Adds the clients of a node.
    fn add(&mut self, node: NodeNumber) {
        self.cost.nodes += 1;
        for cids in self.index.blocks.of(self.index.nodes[node as usize].cids) {
            self.add_cids(cids);
        }
    }

    /// CLIENT-SEARCH-UP.
    fn up(&mut self, mut node: NodeNumber) {
        while node != NONE {
            self.add(node);
            node = self.index.nodes[node as usize].parent;
        }
    }

    /// CLIENT-SEARCH-DOWN-ALL of each child.
    fn broadcast_down(&mut self, node: NodeNumber) {
        for &child in &self.index.nodes[node as usize].children {
            match self.index.pseudocode {
                Pseudocode::Mended => self.down_all(child),
                Pseudocode::Printed => {
                    self.add(child);
                    for &below in &self.index.nodes[child as usize].children {
                        self.down_as_printed(below, &[], 0);
                    }
                }
            }
        }
    }

    fn down_all(&mut self, node: NodeNumber) {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            self.add(node);
            waiting.extend(&self.index.nodes[node as usize].children);
        }
    }

    /// CLIENT-SEARCH-DOWN of each child, for each expansion of the update's path.
    fn down_from(&mut self, node: NodeNumber, steps: &[(bool, StepToken)]) {
        let prefix = self.index.path_of(node);
        let Some(paths) = self.index.document_type.expand(&prefix, steps) else {
            self.broadcast_down(node);
            return;
        };
        for path in paths {
            for &child in &self.index.nodes[node as usize].children {
                match self.index.pseudocode {
                    Pseudocode::Mended => self.down(child, &path, prefix.len()),
                    Pseudocode::Printed => self.down_as_printed(child, &path, 0),
                }
            }
        }
    }

    /// `base` is the number of steps before the update's path.
    fn down(&mut self, node: NodeNumber, update: &[StepToken], base: usize) {
        let entry = &self.index.nodes[node as usize];
        // Below a wildcard, the literals of the same step come before the update's path.
        let is_equivalent = match (entry.step_count as usize - 1).checked_sub(base) {
            None => true,
            Some(level) => {
                let Some(&token) = update.get(level) else {
                    self.down_all(node);
                    return;
                };
                self.cost.comparisons += 1;
                entry.token.is_equivalent(token)
            }
        };
        if is_equivalent {
            self.add(node);
            for &child in &entry.children {
                self.down(child, update, base);
            }
        }
    }

    fn down_as_printed(&mut self, node: NodeNumber, update: &[StepToken], level: usize) {
        self.add(node);
        self.cost.comparisons += 1;
        let path = self.index.path_of(node);
        let pair = path.get(level).zip(update.get(level));
        if pair.is_some_and(|(&one, &two)| one.is_equivalent(two)) {
            for &child in &self.index.nodes[node as usize].children {
                self.down_as_printed(child, update, level + 1);
            }
        }
    }
}
