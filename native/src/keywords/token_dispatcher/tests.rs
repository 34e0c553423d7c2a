//! What token sinks receive from documents.

use super::*;
use crate::keywords::token_sink::WordId;
use crate::reader::{Reader, ReaderOptions};
use crate::subscription_store::flat_layout::StringArrayBuilder;
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// Records its input as text, with `+` between the words of a phrase.
struct Transcript<'a, const SPANS: bool> {
    vocabulary: &'a Vocabulary,
    text: String,
}

impl<const SPANS: bool> TokenSink for Transcript<'_, SPANS> {
    const NEEDS_SPANS: bool = SPANS;
    fn open(&mut self) -> Result<(), Stop> {
        self.text += "< ";
        Ok(())
    }
    fn start_tag(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        assert_eq!(self.text.pop(), Some(' '));
        self.text += &format!("{} ", context.names().get(element.name).1);
    }
    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        self.text += &format!("{} ", self.vocabulary.words.get(word).replace(' ', "+"));
        Ok(())
    }
    fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        self.text += "> ";
        Ok(())
    }
}

/// Transcripts of sinks that need no spans; the words of each vocabulary are ascending.
fn transcripts(vocabularies: &[&str], document: &str) -> Vec<String> {
    transcripts_by::<false>(vocabularies, document)
}

fn transcripts_by<const SPANS: bool>(vocabularies: &[&str], document: &str) -> Vec<String> {
    let vocabularies: Vec<Vocabulary> = vocabularies
        .iter()
        .map(|words| {
            let mut texts = StringArrayBuilder::default();
            for word in words.split(' ') {
                texts.push(&word.replace('+', " "));
            }
            Vocabulary::new(TokenizerOptions::default(), texts.finish())
        })
        .collect();
    let mut buffers: Vec<RouteBuffers> = vocabularies
        .iter()
        .map(|_| RouteBuffers::default())
        .collect();
    let mut routes: Vec<TokenRoute<'_, Transcript<'_, SPANS>>> = vocabularies
        .iter()
        .zip(&mut buffers)
        .map(|(vocabulary, buffers)| TokenRoute {
            vocabulary,
            buffers,
            sink: Transcript {
                vocabulary,
                text: String::new(),
            },
        })
        .collect();
    let mut pending = PendingText::default();
    let mut dispatcher = TokenDispatcher::new(&mut pending, &mut routes, 1);
    let mut reader = Reader::new(ReaderOptions::default());
    // Two passes: in the second, all names are already tokenized.
    for _ in 0..2 {
        reader
            .read_slice(document.as_bytes(), &mut dispatcher)
            .expect("well-formed");
    }
    let transcripts = dispatcher
        .routes
        .iter()
        .map(|route| route.sink.text.as_str());
    transcripts
        .map(|text| {
            let (first, second) = text.split_at(text.len() / 2);
            assert_eq!(first, second);
            first.to_owned()
        })
        .collect()
}

#[test]
fn an_element_contains_the_words_of_its_name_attributes_and_own_text() {
    let document = "<news-item xmlns:p='urn:coast' p:storm-level='High wind'>Gale\
         <b>Storm</b> warning</news-item>";
    assert_eq!(
        transcripts_by::<true>(&["coast gale high item level news storm warning"], document),
        ["<news-item news item storm level high gale <b storm > warning > "]
    );
}

#[test]
fn a_word_spans_text_cdata_and_entities_only() {
    let document = "<!DOCTYPE a [<!ENTITY or 'or'>]>\
         <a>st&or;<![CDATA[m]]> st<!-- -->orm st<?p?>orm st<b/>orm</a>";
    assert_eq!(
        transcripts(&["orm st storm"], document),
        ["< storm st orm st orm st < > orm > "]
    );
}

#[test]
fn each_route_receives_the_words_of_its_vocabulary() {
    assert_eq!(
        transcripts(&["a c", "b e"], "<a x='b'>C É e\u{301} d</a>"),
        ["< a c > ", "< b e e > "]
    );
}

/// Stops at the first token.
struct StopAtFirstToken;

impl TokenSink for StopAtFirstToken {
    fn open(&mut self) -> Result<(), Stop> {
        Ok(())
    }
    fn token(&mut self, _: WordId) -> Result<(), Stop> {
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
fn a_stopped_document_leaves_no_state_behind() {
    let mut texts = StringArrayBuilder::default();
    texts.push("b");
    let vocabulary = Vocabulary::new(TokenizerOptions::default(), texts.finish());
    let (mut buffers, mut pending) = (RouteBuffers::default(), PendingText::default());
    let mut reader = Reader::new(ReaderOptions::default());
    let mut routes = [TokenRoute {
        vocabulary: &vocabulary,
        buffers: &mut buffers,
        sink: StopAtFirstToken,
    }];
    let mut dispatcher = TokenDispatcher::new(&mut pending, &mut routes, 1);
    let stopped = reader.read_slice(b"<a>b b</a>", &mut dispatcher);
    assert_eq!(stopped.expect_err("it stops").code, "test.word");
    let sink = Transcript::<false> {
        vocabulary: &vocabulary,
        text: String::new(),
    };
    let mut routes = [TokenRoute {
        vocabulary: &vocabulary,
        buffers: &mut buffers,
        sink,
    }];
    let mut dispatcher = TokenDispatcher::new(&mut pending, &mut routes, 1);
    let read = reader.read_slice(b"<a>c</a>", &mut dispatcher);
    read.expect("well-formed");
    assert_eq!(routes[0].sink.text, "< > ");
}

#[test]
fn tokens_stay_with_their_elements_across_batches() {
    // More text and more elements than fit into one batch, and an unbounded word in between.
    let long = "日".repeat(10_000);
    let item = format!("<b a='x'>a <c>{}</c> b</b>", "x y ".repeat(40));
    let document = format!(
        "<a>{}{long} a {}</a>",
        item.repeat(300),
        "<b/>".repeat(5_000)
    );
    let plain = transcripts(&["a b"], &document);
    let item = "< b a a < > b > ".repeat(300);
    assert_eq!(plain, [format!("< a {item}a {}> ", "< b > ".repeat(5_000))]);
    let with_spans = transcripts_by::<true>(&["a b"], &document);
    for name in ["<a ", "<b ", "<c "] {
        assert!(with_spans[0].contains(name));
    }
    let nameless = with_spans[0].replace("<a ", "< ").replace("<b ", "< ");
    assert_eq!([nameless.replace("<c ", "< ")], plain[..]);
}

/// The number of times that a document contains the phrase, whether or not the sink needs spans.
fn count_phrases(document: &str) -> usize {
    let vocabulary = ["storm storm+surge surge"];
    let counts = [
        transcripts(&vocabulary, document),
        transcripts_by::<true>(&vocabulary, document),
    ]
    .map(|transcripts| transcripts[0].matches("storm+surge").count());
    assert_eq!(counts[0], counts[1], "{document}");
    counts[0]
}

#[test]
fn the_words_of_a_phrase_are_next_to_each_other_in_one_text_value_or_name() {
    let document = "<a b='storm surge'>big Storm-SURGE storm</a>";
    let expected = "< storm surge storm+surge storm surge storm+surge storm > ";
    assert_eq!(
        transcripts(&["storm storm+surge surge"], document),
        [expected]
    );
    for document in [
        "<!DOCTYPE a [<!ENTITY s 'm s'>]><a>stor&s;urge</a>",
        "<a>storm<![CDATA[ surge]]></a>",
        "<a>storm&#32;&#115;urge</a>",
        "<a>storm<!-- big -->surge</a>",
        "<a>storm <?big?> surge</a>",
        "<a><b/>storm: surge!<b/></a>",
        "<a b='x' storm-surge=''/>",
        "<storm-surge/>",
        "<a b='' c='1 storm surge'>surge</a>",
    ] {
        assert_eq!(count_phrases(document), 1, "{document}");
    }
    let long = "x".repeat(300);
    let between = |words: &str| format!("<a>storm {words} surge</a>");
    for document in [
        "<a>surge storm</a>",
        "<a>storm <b/>surge</a>",
        "<a>storm <b>surge</b></a>",
        "<a><b>storm</b> surge</a>",
        "<a>storm</a>",
        "<a b='storm' c='surge'/>",
        "<a b='storm'>surge</a>",
        "<a b='storm'><b/>surge</a>",
        "<a storm='surge'/>",
        "<storm>surge</storm>",
        "<storm surge=''/>",
        "<a b='storm' surge=''/>",
        &between("big"),
        &between(&long),
        &between(&"\u{e9}".repeat(300)),
        &between(&"\u{c9}".repeat(300)),
        &between(&"\u{1e9e}\u{430}".repeat(300)),
        &between(&"x".repeat(40_000)),
        &between("storm storm").replace(" surge", " x surge"),
    ] {
        assert_eq!(count_phrases(document), 0, "{document}");
    }
}

#[test]
fn a_phrase_continues_across_batches() {
    for filler in ["x ", "日", "<b/>", "<b x='y'>z</b> "] {
        let fillers = filler.repeat((1 << 14) / filler.len() - 20);
        for padding in 0..80 {
            let padding = "x".repeat(padding);
            let document =
                format!("<a>{fillers}{padding} storm surge {padding} storm{fillers} surge</a>");
            assert_eq!(count_phrases(&document), 1, "{filler} {padding}");
        }
    }
}
