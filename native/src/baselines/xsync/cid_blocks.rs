//! Client identifiers of index nodes, in chained blocks of a fixed size.

/// Number of a client.
pub type Cid = u32;

/// Client identifiers of one block, the paper's |I|.
pub const BLOCK_CIDS: usize = 20;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Block {
    cids: [Cid; BLOCK_CIDS],
    count: u32,
    /// The next pointer.
    next: u32,
}

/// The chain of one index node; without blocks, the node is a dummy (`cid = -1`).
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    /// A chain without blocks.
    pub const EMPTY: Chain = Chain {
        first: NONE,
        last: NONE,
    };

    /// Whether it holds no client.
    pub fn is_empty(self) -> bool {
        self.first == NONE
    }
}

/// All blocks of an index.
#[derive(Debug, Default)]
pub struct CidBlocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
}

impl CidBlocks {
    /// Adds a client to a chain.
    pub fn push(&mut self, chain: &mut Chain, cid: Cid) {
        let has_room =
            chain.last != NONE && (self.blocks[chain.last as usize].count as usize) < BLOCK_CIDS;
        if !has_room {
            let block = Block {
                cids: [0; BLOCK_CIDS],
                count: 0,
                next: NONE,
            };
            let number = match self.free.pop() {
                Some(number) => {
                    self.blocks[number as usize] = block;
                    number
                }
                None => {
                    self.blocks.push(block);
                    self.blocks.len() as u32 - 1
                }
            };
            match chain.last {
                NONE => chain.first = number,
                last => self.blocks[last as usize].next = number,
            }
            chain.last = number;
        }
        let block = &mut self.blocks[chain.last as usize];
        block.cids[block.count as usize] = cid;
        block.count += 1;
    }

    /// Removes a client from a chain, which has it; the last one takes its place.
    pub fn remove(&mut self, chain: &mut Chain, cid: Cid) {
        let last = &mut self.blocks[chain.last as usize];
        last.count -= 1;
        let (moved, is_last_empty) = (last.cids[last.count as usize], last.count == 0);
        let mut before_last = NONE;
        let mut at = chain.first;
        let mut is_missing = moved != cid;
        while at != NONE && (is_missing || is_last_empty) {
            let block = &mut self.blocks[at as usize];
            if is_missing {
                let cids = &mut block.cids[..block.count as usize];
                if let Some(place) = cids.iter_mut().find(|each| **each == cid) {
                    *place = moved;
                    is_missing = false;
                }
            }
            if block.next == chain.last {
                before_last = at;
            }
            at = block.next;
        }
        assert!(!is_missing, "the chain has the client");
        if is_last_empty {
            self.free.push(chain.last);
            match before_last {
                NONE => *chain = Chain::EMPTY,
                before => {
                    self.blocks[before as usize].next = NONE;
                    chain.last = before;
                }
            }
        }
    }

    /// The blocks of a chain.
    pub fn of(&self, chain: Chain) -> impl Iterator<Item = &[Cid]> {
        let mut next = chain.first;
        std::iter::from_fn(move || {
            let block = self.blocks.get(next as usize)?;
            next = block.next;
            Some(&block.cids[..block.count as usize])
        })
    }
}
