//! Reading a document similar to earlier ones allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::reader::{Limits, Reader, ReaderOptions};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts allocations by thread; each test runs in its own thread. It is the allocator of all unit
/// tests, because a separate test binary would compile the crate again.
struct CountingAllocator;

// SAFETY: all requests are forwarded to the system allocator, and counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The number of allocations that `act` makes.
pub(crate) fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    act();
    ALLOCATIONS.with(Cell::get) - before
}

/// Ignores all events.
struct NullHandler;

impl Handler for NullHandler {
    const SPANS: bool = true;

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

const DOCUMENT: &str = "<?xml version='1.0'?>\r\n<news xmlns='urn:n' xmlns:p='urn:p'>\
    <item p:lang='en' n='1&amp;2\n'>Rain &lt; wind<!-- c --><![CDATA[\r\n]]></item><item/></news>";

#[test]
fn a_warm_reader_allocates_nothing() {
    let mut reader = Reader::new(ReaderOptions::default());
    for _ in 0..2 {
        reader
            .read_slice(DOCUMENT.as_bytes(), &mut NullHandler)
            .unwrap();
        reader
            .read_stream(DOCUMENT.as_bytes(), &mut NullHandler)
            .unwrap();
    }
    let count = allocations(|| {
        reader
            .read_slice(DOCUMENT.as_bytes(), &mut NullHandler)
            .unwrap();
        reader
            .read_stream(DOCUMENT.as_bytes(), &mut NullHandler)
            .unwrap();
    });
    assert_eq!(count, 0);
}

#[test]
fn the_table_of_names_is_reset_between_documents_once_it_is_too_large() {
    let limits = Limits {
        names_bytes: 10_000,
        ..Limits::default()
    };
    let mut reader = Reader::new(ReaderOptions {
        limits,
        ..ReaderOptions::default()
    });
    let known = reader.names_mut().intern("", "known");
    reader.read_slice(b"<known/>", &mut NullHandler).unwrap();
    assert_eq!(reader.names_mut().find("", "known"), Some(known));
    let mut documents = 0;
    while reader.names_generation() == 0 {
        documents += 1;
        let document = format!("<name{documents}/>");
        reader
            .read_slice(document.as_bytes(), &mut NullHandler)
            .unwrap();
        assert!(documents < 1_000, "the table is bounded");
    }
    assert!(documents > 10, "names are reused across documents");
    assert_eq!(reader.names_mut().find("", "known"), None);
}
