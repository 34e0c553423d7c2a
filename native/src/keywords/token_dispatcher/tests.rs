//! What listeners hear of documents.

use super::*;
use crate::reader::{Reader, ReaderOptions};
use crate::subscription_store::flat_layout::TextsBuilder;

/// Tells what it hears as text.
struct Told<'a, const DETAILS: bool> {
    vocabulary: &'a Vocabulary,
    text: String,
}

impl<const DETAILS: bool> Listener for Told<'_, DETAILS> {
    const DETAILS: bool = DETAILS;
    fn open(&mut self) -> Result<(), Stop> {
        self.text += "< ";
        Ok(())
    }
    fn tag(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        assert_eq!(self.text.pop(), Some(' '));
        self.text += &format!("{} ", context.names().get(element.name).1);
    }
    fn word(&mut self, word: WordId) -> Result<(), Stop> {
        self.text += &format!("{} ", self.vocabulary.words.get(word));
        Ok(())
    }
    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        self.text += "> ";
        Ok(())
    }
}

/// What listeners hear that want no details.
fn heard(vocabularies: &[&str], document: &str) -> Vec<String> {
    heard_by::<false>(vocabularies, document)
}

fn heard_by<const DETAILS: bool>(vocabularies: &[&str], document: &str) -> Vec<String> {
    let vocabularies: Vec<Vocabulary> = vocabularies
        .iter()
        .map(|words| {
            let mut texts = TextsBuilder::default();
            for word in words.split(' ') {
                texts.push(word);
            }
            Vocabulary::new(texts.finish())
        })
        .collect();
    let mut memories: Vec<SeatMemory> =
        vocabularies.iter().map(|_| SeatMemory::default()).collect();
    let mut seats: Vec<Seat<'_, Told<'_, DETAILS>>> = vocabularies
        .iter()
        .zip(&mut memories)
        .map(|(vocabulary, memory)| Seat {
            vocabulary,
            memory,
            listener: Told {
                vocabulary,
                text: String::new(),
            },
        })
        .collect();
    let mut kept = Heard::default();
    let mut ear = Ear::new(&mut kept, &mut seats, 1);
    let mut reader = Reader::new(ReaderOptions::default());
    // Twice: the second time names are known.
    for _ in 0..2 {
        reader
            .read_slice(document.as_bytes(), &mut ear)
            .expect("well-formed");
    }
    let told = ear.seats.iter().map(|seat| seat.listener.text.as_str());
    told.map(|text| {
        let (first, second) = text.split_at(text.len() / 2);
        assert_eq!(first, second);
        first.to_owned()
    })
    .collect()
}

#[test]
fn an_element_has_the_words_of_its_name_its_attributes_and_its_own_text() {
    let document = "<news-item xmlns:p='urn:coast' p:storm-level='High wind'>Gale\
         <b>Storm</b> warning</news-item>";
    assert_eq!(
        heard_by::<true>(&["coast gale high item level news storm warning"], document),
        ["<news-item news item storm level high gale <b storm > warning > "]
    );
}

#[test]
fn a_word_joins_text_cdata_and_entities_and_no_more() {
    let document = "<!DOCTYPE a [<!ENTITY or 'or'>]>\
         <a>st&or;<![CDATA[m]]> st<!-- -->orm st<?p?>orm st<b/>orm</a>";
    assert_eq!(
        heard(&["orm st storm"], document),
        ["< storm st orm st orm st < > orm > "]
    );
}

#[test]
fn each_seat_hears_its_own_words() {
    assert_eq!(
        heard(&["a c", "é b"], "<a x='b'>C É e\u{301} d</a>"),
        ["< a c > ", "< b é é > "]
    );
}

/// Stops at the first word.
struct Deaf;

impl Listener for Deaf {
    fn open(&mut self) -> Result<(), Stop> {
        Ok(())
    }
    fn word(&mut self, _: WordId) -> Result<(), Stop> {
        Err(Stop {
            code: "test.word",
            message: String::new(),
        })
    }
    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        Ok(())
    }
}

#[test]
fn nothing_of_a_document_that_was_stopped_is_heard_in_the_next() {
    let mut texts = TextsBuilder::default();
    texts.push("b");
    let vocabulary = Vocabulary::new(texts.finish());
    let (mut memory, mut kept) = (SeatMemory::default(), Heard::default());
    let mut reader = Reader::new(ReaderOptions::default());
    let mut seats = [Seat {
        vocabulary: &vocabulary,
        memory: &mut memory,
        listener: Deaf,
    }];
    let mut ear = Ear::new(&mut kept, &mut seats, 1);
    let stopped = reader.read_slice(b"<a>b b</a>", &mut ear);
    assert_eq!(stopped.expect_err("it stops").code, "test.word");
    let listener = Told::<false> {
        vocabulary: &vocabulary,
        text: String::new(),
    };
    let mut seats = [Seat {
        vocabulary: &vocabulary,
        memory: &mut memory,
        listener,
    }];
    let mut ear = Ear::new(&mut kept, &mut seats, 1);
    let read = reader.read_slice(b"<a>c</a>", &mut ear);
    read.expect("well-formed");
    assert_eq!(seats[0].listener.text, "< > ");
}

#[test]
fn however_much_there_is_words_stay_with_their_elements() {
    // More text and more elements than are told at once; in between a word that never ends.
    let long = "日".repeat(10_000);
    let item = format!("<b a='x'>a <c>{}</c> b</b>", "x y ".repeat(40));
    let document = format!(
        "<a>{}{long} a {}</a>",
        item.repeat(300),
        "<b/>".repeat(5_000)
    );
    let quiet = heard(&["a b"], &document);
    let item = "< b a a < > b > ".repeat(300);
    assert_eq!(quiet, [format!("< a {item}a {}> ", "< b > ".repeat(5_000))]);
    let in_detail = heard_by::<true>(&["a b"], &document);
    for name in ["<a ", "<b ", "<c "] {
        assert!(in_detail[0].contains(name));
    }
    let nameless = in_detail[0].replace("<a ", "< ").replace("<b ", "< ");
    assert_eq!([nameless.replace("<c ", "< ")], quiet[..]);
}
