//! A document like those before it is read without an allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::events::{Context, Handler, Span, StartElement, Stop};
use crate::reader::{Limits, Reader, ReaderOptions};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts what this thread allocates: tests run in threads of their own. It serves all the crate's
/// tests, since a binary of its own for these two would compile the whole crate once more.
struct Counting;

// SAFETY: everything is left to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often something allocates.
pub(crate) fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    act();
    ALLOCATIONS.with(Cell::get) - before
}

struct Deaf;

impl Handler for Deaf {
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
        reader.read_slice(DOCUMENT.as_bytes(), &mut Deaf).unwrap();
        reader.read_stream(DOCUMENT.as_bytes(), &mut Deaf).unwrap();
    }
    let made = allocations(|| {
        reader.read_slice(DOCUMENT.as_bytes(), &mut Deaf).unwrap();
        reader.read_stream(DOCUMENT.as_bytes(), &mut Deaf).unwrap();
    });
    assert_eq!(made, 0);
}

#[test]
fn names_are_kept_until_there_are_too_many_and_then_begun_anew_between_documents() {
    let limits = Limits {
        names_bytes: 10_000,
        ..Limits::default()
    };
    let mut reader = Reader::new(ReaderOptions {
        limits,
        ..ReaderOptions::default()
    });
    let known = reader.names_mut().intern("", "known");
    reader.read_slice(b"<known/>", &mut Deaf).unwrap();
    assert_eq!(reader.names().find("", "known"), Some(known));
    let mut documents = 0;
    while reader.names_generation() == 0 {
        documents += 1;
        let document = format!("<name{documents}/>");
        reader.read_slice(document.as_bytes(), &mut Deaf).unwrap();
        assert!(documents < 1_000, "the table is bounded");
    }
    assert!(documents > 10, "and yet it keeps names");
    assert_eq!(reader.names().find("", "known"), None);
}
