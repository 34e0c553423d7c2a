//! Part of a document, as passed from the dispatcher to a sink.

use crate::events::{NameId, Span, Stop};

use crate::keywords::name_tokens::NameTokens;
use crate::keywords::token_sink::{TokenSink, WordId};

/// Element structure between texts.
#[derive(Clone, Copy, Debug)]
pub enum Marker {
    /// An element of this name starts.
    Open(NameId),
    /// Name of the innermost open element or of one of its attributes.
    Name(NameId),
    /// The attributes of the innermost open element end; only if there are phrases, which must not
    /// continue from the last attribute into the text.
    EndOfAttributes,
    /// The innermost open element ends.
    Close,
}

/// Markers, and the vocabulary words found in the text between them.
pub struct TokenBatch<'b> {
    /// Each with its byte offset in the text, ascending.
    pub markers: &'b [(u32, Marker)],
    /// Words of the names.
    pub names: &'b NameTokens,
    /// Words of the text, in order.
    pub words: &'b [WordId],
    /// Byte offset of each word in the text, unless the sink needs no elements; then a sentinel greater
    /// than all marker offsets.
    pub offsets: &'b [u32],
}

impl TokenBatch<'_> {
    /// The words of each name in the batch.
    #[inline]
    pub fn name_tokens(&self) -> impl Iterator<Item = &[WordId]> {
        self.markers.iter().filter_map(|&(_, marker)| match marker {
            Marker::Open(name) | Marker::Name(name) => Some(self.names.get(name)),
            Marker::EndOfAttributes | Marker::Close => None,
        })
    }

    /// Forwards words to a sink one by one, in document order, and markers unless the sink needs spans and
    /// so knows the elements already.
    pub fn replay<S: TokenSink + ?Sized>(&self, sink: &mut S) -> Result<(), Stop> {
        let mut replayed = 0;
        for &(offset, marker) in self.markers {
            let mut end = replayed;
            while self.offsets[end] < offset {
                end += 1;
            }
            if end > replayed {
                sink.tokens(&self.words[replayed..end])?;
                replayed = end;
            }
            match marker {
                Marker::Open(name) => {
                    if !S::NEEDS_SPANS {
                        sink.open()?;
                    }
                    sink.tokens(self.names.get(name))?;
                }
                Marker::Name(name) => sink.tokens(self.names.get(name))?,
                Marker::EndOfAttributes => {}
                Marker::Close if S::NEEDS_SPANS => {}
                Marker::Close => sink.close(Span::default(), Span::default())?,
            }
        }
        sink.tokens(&self.words[replayed..])
    }
}
