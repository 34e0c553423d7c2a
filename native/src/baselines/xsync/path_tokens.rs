//! Path expressions as path tokens.

use super::document_type::ElementNumber;

/// A path token: each operator, wildcard and literal is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathToken {
    /// `/`
    Path,
    /// `//`
    Descendant,
    /// `*`
    Wildcard,
    /// A name.
    Literal(ElementNumber),
}

/// A name or wildcard after a `/`: what an index node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepToken {
    /// `*`
    Wildcard,
    /// A name.
    Literal(ElementNumber),
}

impl StepToken {
    /// The paper's equivalence: a wildcard is equivalent to anything.
    pub fn is_equivalent(self, other: StepToken) -> bool {
        self == other || self == StepToken::Wildcard || other == StepToken::Wildcard
    }
}

/// The tokens of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathExpression {
    /// Operators alternate with names and wildcards; `/` alone is the whole document.
    tokens: Vec<PathToken>,
}

impl PathExpression {
    /// Tokenizes an expression: `/a//b/*`. `number` gives the number of a name. `None` if it is no
    /// expression, or has a name without a number.
    pub fn tokenize(
        text: &str,
        number: impl Fn(&str) -> Option<ElementNumber>,
    ) -> Option<PathExpression> {
        if text == "/" {
            return Some(PathExpression {
                tokens: vec![PathToken::Path],
            });
        }
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (operator, after) = match rest.strip_prefix("//") {
                Some(after) => (PathToken::Descendant, after),
                None => (PathToken::Path, rest.strip_prefix('/')?),
            };
            let end = after.find('/').unwrap_or(after.len());
            tokens.push(operator);
            tokens.push(match &after[..end] {
                "*" => PathToken::Wildcard,
                name => PathToken::Literal(number(name)?),
            });
            rest = &after[end..];
        }
        (!tokens.is_empty()).then_some(PathExpression { tokens })
    }

    /// The steps, with whether each is a `//` step; none for `/`.
    pub fn steps(&self) -> impl Iterator<Item = (bool, StepToken)> + '_ {
        self.tokens.chunks_exact(2).map(|pair| {
            let step = match pair[1] {
                PathToken::Literal(name) => StepToken::Literal(name),
                _ => StepToken::Wildcard,
            };
            (pair[0] == PathToken::Descendant, step)
        })
    }

    /// The paper's sort order: the number of tokens, then path operator, descendant operator, wildcard,
    /// literal.
    pub fn sort_key(&self) -> (usize, &[PathToken]) {
        (self.tokens.len(), &self.tokens)
    }
}
