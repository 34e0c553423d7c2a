//! Uses the offsets at which elements end, on behalf of a handler that needs none.

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::label_paths::collector::LabelPathCollector;

/// The code of the [`Stop`] at the requested offset. It never leaves the event reader.
pub(super) const PREFIX_READ: &str = "prefix.read";

/// Forwards events, records label paths, and stops the reader at an offset.
pub(super) struct OffsetObserver<'a, 'c, H> {
    inner: &'a mut H,
    label_paths: Option<&'c mut LabelPathCollector>,
    stop_at: u64,
    depth: usize,
    /// The end of the last element that was read, once the reader was stopped.
    stopped: Option<u64>,
}

impl<'a, 'c, H: Handler> OffsetObserver<'a, 'c, H> {
    /// Forwards events to `inner`; stops after the first end tag that ends at `stop_at` or later.
    pub fn new(
        inner: &'a mut H,
        label_paths: Option<&'c mut LabelPathCollector>,
        stop_at: Option<u64>,
    ) -> OffsetObserver<'a, 'c, H> {
        OffsetObserver {
            inner,
            label_paths,
            stop_at: stop_at.unwrap_or(u64::MAX),
            depth: 0,
            stopped: None,
        }
    }

    /// After the reader was stopped: ends all open elements, so that the handler has received a
    /// well-formed prefix, and returns the number of bytes read.
    pub fn close_prefix(mut self) -> Result<u64, Stop> {
        let end = self.stopped.expect("the reader was stopped");
        let span = Span {
            start: end,
            end,
            from_entity: false,
        };
        self.stop_at = u64::MAX;
        while self.depth > 0 {
            self.end_element(span, span)?;
        }
        Ok(end)
    }

    #[cold]
    fn stop(&mut self, end: u64) -> Result<(), Stop> {
        self.stopped = Some(end);
        Err(Stop {
            code: PREFIX_READ,
            message: String::new(),
        })
    }
}

impl<H: Handler> Handler for OffsetObserver<'_, '_, H> {
    const SPANS: bool = H::SPANS;
    const ELEMENT_ENDS: bool = true;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.depth += 1;
        if let Some(label_paths) = &mut self.label_paths {
            label_paths.start_element(context, element);
        }
        self.inner.start_element(context, element)
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.depth -= 1;
        if let Some(label_paths) = &mut self.label_paths {
            label_paths.end_element(span);
        }
        self.inner.end_element(span, end_tag)?;
        // All elements of an entity end where its reference ends: the last of them is not known.
        if span.end >= self.stop_at && !span.from_entity {
            return self.stop(span.end);
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        self.inner.text(text, span)
    }

    #[inline]
    fn text_break(&mut self) -> Result<(), Stop> {
        self.inner.text_break()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::document_source::DocumentSource;
    use crate::dispatch::event_reader::EventReader;
    use crate::dispatch::event_source::EventSource;
    use crate::dispatch::worker_pool::WorkerState;
    use crate::label_paths::collector::LabelPathRequest;
    use crate::label_paths::NO_PARENT;
    use crate::reader::ReaderOptions;

    struct Ignore;

    impl Handler for Ignore {
        const SPANS: bool = false;
        fn start_element(&mut self, _: &dyn Context, _: &StartElement<'_>) -> Result<(), Stop> {
            Ok(())
        }
        fn end_element(&mut self, _: Span, _: Span) -> Result<(), Stop> {
            Ok(())
        }
        fn text(&mut self, _: &str, _: Span) -> Result<(), Stop> {
            Ok(())
        }
        fn text_break(&mut self) -> Result<(), Stop> {
            Ok(())
        }
    }

    fn collect(document: &[u8], paths_max: usize, stop_at: Option<u64>) -> Option<Vec<String>> {
        let mut request = LabelPathRequest::new(paths_max);
        let mut reader = EventReader::new(&ReaderOptions::default());
        let document = &mut DocumentSource::Bytes(document);
        let source = &mut EventSource {
            stop_at,
            label_paths: Some(&mut request),
            ..EventSource::unmapped(document)
        };
        let read = reader.read_with_header(source, &[], Ignore, None);
        assert!(read.is_ok());
        let found = request.found?;
        let mut texts: Vec<String> = Vec::new();
        for path in found.paths() {
            let parent = match path.parent {
                NO_PARENT => "",
                parent => texts[parent as usize].split(' ').next().expect("a path"),
            };
            let (uri, local) = found.name(path.name);
            texts.push(format!("{parent}/{{{uri}}}{local} {}", path.end));
        }
        for &(path, name) in found.attributes() {
            let (uri, local) = found.name(name);
            texts[path as usize] += &format!(" @{{{uri}}}{local}");
        }
        Some(texts)
    }

    const DOCUMENT: &[u8] = b"<a><b x='1'/><c/><b y='2' x='3'><c xmlns='u'/></b></a>";

    #[test]
    fn paths_have_attributes_and_the_greatest_end() {
        let expected = [
            "/{}a 54",
            "/{}a/{}b 50 @{}x @{}y",
            "/{}a/{}c 17",
            "/{}a/{}b/{u}c 46",
        ];
        assert_eq!(collect(DOCUMENT, 10, None).expect("few paths"), expected);
    }

    #[test]
    fn paths_and_attributes_count_against_the_limit() {
        assert!(collect(DOCUMENT, 6, None).is_some());
        assert!(collect(DOCUMENT, 5, None).is_none());
    }

    #[test]
    fn a_prefix_has_the_paths_of_what_was_read() {
        let expected = ["/{}a 17", "/{}a/{}b 13 @{}x", "/{}a/{}c 17"];
        assert_eq!(
            collect(DOCUMENT, 10, Some(14)).expect("few paths"),
            expected
        );
    }
}
