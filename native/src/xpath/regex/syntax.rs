//! Parses patterns by recursive descent.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use super::character_class::{
    add_case_variants, any, category, digit, name_character, name_start, negated, one_of, range,
    word, CATEGORIES,
};
use crate::xpath::limits::{MAX_NESTING, MAX_PATTERN_STATES};

/// Why a pattern is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct PatternRefusal {
    pub code: &'static str,
    pub message: String,
    /// Whether the flags are at fault, not the pattern.
    pub in_flags: bool,
    /// Offset in bytes.
    pub offset: usize,
}

type Parsed<T> = Result<T, PatternRefusal>;

/// The flags of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    /// `i`: characters also match their case variants.
    pub ignore_case: bool,
    /// `s`: `.` also matches the ends of lines.
    pub dot_all: bool,
    /// `m`: `^` and `$` match at the ends of lines.
    pub multi_line: bool,
    /// `x`: white space in the pattern is ignored.
    pub extended: bool,
}

impl Flags {
    pub fn parse(text: &str) -> Parsed<Flags> {
        let mut flags = Flags::default();
        for (offset, letter) in text.char_indices() {
            match letter {
                'i' => flags.ignore_case = true,
                's' => flags.dot_all = true,
                'm' => flags.multi_line = true,
                'x' => flags.extended = true,
                _ => {
                    return Err(PatternRefusal {
                        code: "query.pattern",
                        message: format!("the flag `{letter}` is not supported"),
                        in_flags: true,
                        offset,
                    })
                }
            }
        }
        Ok(flags)
    }
}

/// A pattern: its syntax tree, and the sets of characters in it.
#[derive(Debug)]
pub struct PatternTree {
    pub root: Node,
    pub sets: Vec<ClassUnicode>,
}

/// A node of the syntax tree of a pattern.
#[derive(Debug)]
pub enum Node {
    /// One character of the set with this number.
    Set(usize),
    /// `^`
    Start,
    /// `$`
    End,
    /// One after the other; the empty sequence matches the empty string.
    Sequence(Vec<Node>),
    /// One of several.
    Choice(Vec<Node>),
    /// A number of repetitions; without a maximum, any number.
    Repeat(Box<Node>, u32, Option<u32>),
}

/// Parses a pattern.
pub fn parse(pattern: &str, flags: Flags) -> Parsed<PatternTree> {
    let mut parser = Parser {
        text: pattern,
        at: 0,
        flags,
        nesting: 0,
        atoms: 0,
        sets: Vec::new(),
        known: HashMap::new(),
    };
    let root = parser.choice()?;
    match parser.peek() {
        None => Ok(PatternTree {
            root,
            sets: parser.sets,
        }),
        Some(found) => parser.refuse(format!("unexpected `{found}` in the pattern")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    flags: Flags,
    nesting: usize,
    atoms: usize,
    sets: Vec<ClassUnicode>,
    /// The numbers of sets by how they are written: a large set takes time to create.
    known: HashMap<&'a str, usize>,
}

impl<'a> Parser<'a> {
    /// The next character; with the flag `x`, after white space.
    fn peek(&mut self) -> Option<char> {
        if self.flags.extended {
            self.at += self.text[self.at..]
                .bytes()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
                .count();
        }
        self.peek_raw()
    }

    /// The next character, in brackets, where white space counts.
    fn peek_raw(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        if is_next {
            self.at += character.len_utf8();
        }
        is_next
    }

    fn refuse<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.refuse_at(message, self.at)
    }

    fn refuse_at<T>(&self, message: impl Into<String>, offset: usize) -> Parsed<T> {
        Err(PatternRefusal {
            code: "query.pattern",
            message: message.into(),
            in_flags: false,
            offset,
        })
    }

    fn choice(&mut self) -> Parsed<Node> {
        let mut branches = vec![self.sequence()?];
        while self.take('|') {
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 {
            branches.remove(0)
        } else {
            Node::Choice(branches)
        })
    }

    fn sequence(&mut self) -> Parsed<Node> {
        let mut pieces = Vec::new();
        while let Some(next) = self.peek() {
            if matches!(next, '|' | ')') {
                break;
            }
            let atom = self.atom(next)?;
            pieces.push(self.quantified(atom)?);
        }
        Ok(Node::Sequence(pieces))
    }

    fn atom(&mut self, next: char) -> Parsed<Node> {
        let start = self.at;
        self.atoms += 1;
        if self.atoms > MAX_PATTERN_STATES {
            return Err(PatternRefusal {
                code: "query.limit",
                message: format!("a pattern of more than {MAX_PATTERN_STATES} states"),
                in_flags: false,
                offset: start,
            });
        }
        if let Some(number) = self.known_set() {
            return Ok(Node::Set(number));
        }
        self.at += next.len_utf8();
        let set = match next {
            '(' => return self.group(start),
            '^' => return Ok(Node::Start),
            '$' => return Ok(Node::End),
            '*' | '+' | '?' | '{' => {
                return self.refuse_at(format!("nothing to repeat before `{next}`"), start)
            }
            '}' | ']' => {
                return self.refuse_at(format!("unexpected `{next}` in the pattern"), start)
            }
            '[' => self.bracketed(start)?,
            '.' if self.flags.dot_all => any(),
            '.' => negated(one_of(&['\n', '\r'])),
            '\\' => {
                let escaped = self.peek();
                match self.escape(escaped, start)? {
                    Escape::Character(character) => self.literal(character),
                    Escape::Set(set) => set,
                }
            }
            _ => self.literal(next),
        };
        self.sets.push(set);
        self.known
            .insert(&self.text[start..self.at], self.sets.len() - 1);
        Ok(Node::Set(self.sets.len() - 1))
    }

    /// The number of the set that is next, if it is known; consumes it.
    fn known_set(&mut self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let length = match rest.as_bytes()[0] {
            b'[' => bracketed_length(rest)?,
            b'\\' if matches!(rest.as_bytes().get(1), Some(b'p' | b'P')) => rest.find('}')? + 1,
            b'\\' => 1 + rest[1..].chars().next()?.len_utf8(),
            _ => rest.chars().next()?.len_utf8(),
        };
        let number = *self.known.get(&rest[..length])?;
        self.at += length;
        Some(number)
    }

    /// A character, with its case variants if the flag `i` is set.
    fn literal(&self, character: char) -> ClassUnicode {
        let mut set = one_of(&[character]);
        if self.flags.ignore_case {
            add_case_variants(&mut set);
        }
        set
    }

    fn group(&mut self, start: usize) -> Parsed<Node> {
        if self.nesting == MAX_NESTING {
            return Err(PatternRefusal {
                code: "query.limit",
                message: format!("more than {MAX_NESTING} levels"),
                in_flags: false,
                offset: start,
            });
        }
        if self.take('?') && !self.take(':') {
            return self.refuse_at("only `(?:` can follow a parenthesis", start);
        }
        self.nesting += 1;
        let inner = self.choice()?;
        self.nesting -= 1;
        if !self.take(')') {
            return self.refuse_at("the parenthesis is not closed", start);
        }
        Ok(inner)
    }

    fn quantified(&mut self, atom: Node) -> Parsed<Node> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(atom),
            _ => return Ok(atom),
        };
        self.at += 1;
        Ok(self.repeat(atom, min, max))
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    fn counted(&mut self, atom: Node) -> Parsed<Node> {
        let start = self.at;
        self.at += 1;
        let Some(min) = self.count(start)? else {
            return self.refuse_at("a number must follow `{`", start);
        };
        let max = if self.take(',') {
            self.count(start)?
        } else {
            Some(min)
        };
        if !self.take('}') {
            return self.refuse_at("the brace is not closed", start);
        }
        if max.is_some_and(|max| max < min) {
            return self.refuse_at("the maximum is less than the minimum", start);
        }
        Ok(self.repeat(atom, min, max))
    }

    fn repeat(&mut self, atom: Node, min: u32, max: Option<u32>) -> Node {
        // A reluctant quantifier matches the same texts.
        self.take('?');
        Node::Repeat(Box::new(atom), min, max)
    }

    fn count(&mut self, start: usize) -> Parsed<Option<u32>> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            self.at += 1;
            let next = value.unwrap_or(0) * 10 + digit;
            if next as usize > MAX_PATTERN_STATES {
                return Err(PatternRefusal {
                    code: "query.limit",
                    message: format!("more than {MAX_PATTERN_STATES} repetitions"),
                    in_flags: false,
                    offset: start,
                });
            }
            value = Some(next);
        }
        Ok(value)
    }

    /// The rest of `[...]`.
    fn bracketed(&mut self, start: usize) -> Parsed<ClassUnicode> {
        if self.nesting == MAX_NESTING {
            return Err(PatternRefusal {
                code: "query.limit",
                message: format!("more than {MAX_NESTING} levels"),
                in_flags: false,
                offset: start,
            });
        }
        let is_negated = self.take_raw('^');
        // Ranges have case variants; the sets of escapes such as `\p{Lu}` have none.
        let mut characters = ClassUnicode::empty();
        let mut set = ClassUnicode::empty();
        let mut subtracted = None;
        let mut is_first = true;
        loop {
            let at = self.at;
            let Some(next) = self.peek_raw() else {
                return self.refuse_at("the bracket is not closed", start);
            };
            self.at += next.len_utf8();
            let first = match next {
                ']' if is_first => return self.refuse_at("the brackets are empty", start),
                ']' => break,
                '[' => return self.refuse_at("unexpected `[` in the pattern", at),
                '-' if !is_first && self.peek_raw() == Some('[') => {
                    let inner = self.at;
                    self.at += 1;
                    self.nesting += 1;
                    subtracted = Some(self.bracketed(inner)?);
                    self.nesting -= 1;
                    if !self.take_raw(']') {
                        return self.refuse_at("a subtraction must end the brackets", inner);
                    }
                    break;
                }
                '-' if is_first || self.peek_raw() == Some(']') => '-',
                '-' => return self.refuse_at("unexpected `-` in the pattern", at),
                '\\' => {
                    let escaped = self.peek_raw();
                    match self.escape(escaped, at)? {
                        Escape::Character(character) => character,
                        Escape::Set(more) => {
                            set.union(&more);
                            is_first = false;
                            continue;
                        }
                    }
                }
                character => character,
            };
            is_first = false;
            let last = self.range_end(first, at)?;
            characters.union(&range(first, last));
        }
        if self.flags.ignore_case {
            add_case_variants(&mut characters);
        }
        set.union(&characters);
        if is_negated {
            set.negate();
        }
        if let Some(subtracted) = subtracted {
            set.difference(&subtracted);
        }
        Ok(set)
    }

    fn take_raw(&mut self, character: char) -> bool {
        let is_next = self.peek_raw() == Some(character);
        if is_next {
            self.at += character.len_utf8();
        }
        is_next
    }

    /// The last character of the range that begins with `first`, which starts at `at`.
    fn range_end(&mut self, first: char, at: usize) -> Parsed<char> {
        let mut ahead = self.text[self.at..].chars();
        if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']' | '[')) {
            return Ok(first);
        }
        self.at += 1;
        let end = self.at;
        let next = self.peek_raw().expect("a character is ahead");
        self.at += next.len_utf8();
        let last = match next {
            '\\' => {
                let escaped = self.peek_raw();
                match self.escape(escaped, end)? {
                    Escape::Character(character) => character,
                    Escape::Set(_) => {
                        return self.refuse_at("a range must end with a character", end)
                    }
                }
            }
            '-' => return self.refuse_at("unexpected `-` in the pattern", end),
            character => character,
        };
        if last < first {
            return self.refuse_at("the range is out of order", at);
        }
        Ok(last)
    }

    /// The rest of an escape whose backslash is at `start`; `next` follows it.
    fn escape(&mut self, next: Option<char>, start: usize) -> Parsed<Escape> {
        let Some(letter) = next else {
            return self.refuse_at("a character must follow `\\`", start);
        };
        self.at += letter.len_utf8();
        Ok(match letter {
            'n' => Escape::Character('\n'),
            'r' => Escape::Character('\r'),
            't' => Escape::Character('\t'),
            '\\' | '|' | '.' | '-' | '^' | '?' | '*' | '+' | '{' | '}' | '(' | ')' | '[' | ']'
            | '$' => Escape::Character(letter),
            's' => Escape::Set(one_of(&[' ', '\t', '\n', '\r'])),
            'S' => Escape::Set(negated(one_of(&[' ', '\t', '\n', '\r']))),
            'i' => Escape::Set(name_start()),
            'I' => Escape::Set(negated(name_start())),
            'c' => Escape::Set(name_character()),
            'C' => Escape::Set(negated(name_character())),
            'd' => Escape::Set(digit()),
            'D' => Escape::Set(negated(digit())),
            'w' => Escape::Set(word()),
            'W' => Escape::Set(negated(word())),
            'p' => Escape::Set(self.category(start)?),
            'P' => Escape::Set(negated(self.category(start)?)),
            '0'..='9' => return self.refuse_at("back-references are not supported", start),
            _ => {
                let message = format!("the escape `\\{letter}` is not supported");
                return self.refuse_at(message, start);
            }
        })
    }

    /// The rest of `\p{...}`.
    fn category(&mut self, start: usize) -> Parsed<ClassUnicode> {
        let name = self.text[self.at..]
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .map(|(name, _)| name);
        let Some(name) = name else {
            return self.refuse_at("a category in braces must follow `\\p`", start);
        };
        let Some(number) = CATEGORIES.iter().position(|known| *known == name) else {
            let message = if name.starts_with("Is") {
                format!("the Unicode block `{name}` is not supported")
            } else {
                format!("the category `{name}` does not exist")
            };
            return self.refuse_at(message, start);
        };
        self.at += name.len() + 2;
        Ok(category(number))
    }
}

/// The length of a set in brackets, with those inside it.
fn bracketed_length(text: &str) -> Option<usize> {
    let mut open = 0;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '[' => open += 1,
            ']' if open == 1 => return Some(at + 1),
            ']' => open -= 1,
            _ => {}
        }
    }
    None
}

enum Escape {
    Character(char),
    Set(ClassUnicode),
}
