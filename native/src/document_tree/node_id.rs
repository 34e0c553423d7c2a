//! Identities of nodes.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_128;

/// The bit that marks derived identities.
const DERIVED: u128 = 1 << 127;

/// The identity of a node: who created it and a number, or, for the nodes of a copy, a digest of the operation
/// and the source. Its text is `3.17`, or `~` and 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u128);

impl NodeId {
    /// The document node of every tree.
    pub const DOCUMENT: NodeId = NodeId(0);

    /// The node with this number among those that a replica creates.
    pub fn new(replica: u32, number: u64) -> Self {
        Self(u128::from(replica) << 64 | u128::from(number))
    }

    /// The copy of `source` that the operation `operation` makes.
    pub fn derived(operation: NodeId, source: NodeId) -> Self {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&operation.to_bytes());
        bytes[16..].copy_from_slice(&source.to_bytes());
        Self(xxh3_128(&bytes) | DERIVED)
    }

    pub(super) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Whether it is a digest.
    pub(super) fn is_derived(self) -> bool {
        self.0 & DERIVED != 0
    }

    /// Replica and number; `None` if it is derived.
    pub fn parts(self) -> Option<(u32, u64)> {
        let replica = u32::try_from(self.0 >> 64).ok()?;
        Some((replica, self.0 as u64))
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let id = Self(u128::from_le_bytes(bytes));
        (id.is_derived() || id.parts().is_some()).then_some(id)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((replica, number)) => write!(f, "{replica}.{number}"),
            None => write!(f, "~{:032x}", self.0),
        }
    }
}

/// A text that is not an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidNodeId;

impl FromStr for NodeId {
    type Err = InvalidNodeId;

    fn from_str(text: &str) -> Result<Self, InvalidNodeId> {
        let id = match text.strip_prefix('~') {
            Some(digits) if digits.len() == 32 => u128::from_str_radix(digits, 16)
                .ok()
                .map(Self)
                .filter(|id| id.is_derived()),
            Some(_) => None,
            None => text.split_once('.').and_then(|(replica, number)| {
                Some(Self::new(replica.parse().ok()?, number.parse().ok()?))
            }),
        };
        // Only the text that `Display` writes is accepted, so that equal identities have equal texts.
        id.filter(|id| id.to_string() == text).ok_or(InvalidNodeId)
    }
}
