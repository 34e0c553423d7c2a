//! The part of the parser that reads paths and their steps.

use super::ast::{Axis, Expr, Kind, NameTest, Path, Step};
use super::parser::Parser;
use super::query_refusal::{refuse, Parsed};

/// Names that are node tests, not functions, before a parenthesis.
pub(super) const NODE_TYPES: [&str; 4] = ["text", "node", "comment", "processing-instruction"];

/// An axis that a query may name.
#[derive(Clone, Copy, PartialEq)]
enum NamedAxis {
    Child,
    Attribute,
    Descendant,
    DescendantOrSelf,
    SelfAxis,
}

impl Parser<'_> {
    /// Reads a location path.
    pub(super) fn path(&mut self) -> Parsed<Path> {
        let start = self.scanner.at;
        // Where the `//` before the next step stands.
        let mut descending = None;
        if self.scanner.peek() == b'/' {
            if self.scanner.predicates_open > 0 {
                let message = "a path in a predicate starts at its node";
                return refuse("query.absolute", message, start);
            }
            if self.scanner.take("//") {
                descending = Some(start);
            } else {
                self.scanner.at += 1;
                self.scanner.skip();
                if !matches!(self.scanner.peek(), b'.' | b'@' | b'*') && !self.scanner.name_ahead()
                {
                    return refuse("query.document-node", "this is the document itself", start);
                }
            }
        }
        let mut steps = Vec::new();
        loop {
            self.scanner.skip();
            descending = self.step(&mut steps, descending)?;
            self.scanner.skip();
            let at = self.scanner.at;
            if !self.scanner.take("/") {
                break;
            }
            if self.scanner.take("/") {
                descending = descending.or(Some(at));
            }
        }
        if let Some(at) = descending {
            return refuse("query.node-test", "this selects nodes of every kind", at);
        }
        if steps.is_empty() && self.scanner.predicates_open == 0 {
            return refuse("query.document-node", "this is the document itself", start);
        }
        Ok(Path { steps })
    }

    /// Reads one step, appends it if it leads anywhere, and says whether `//` is still open.
    fn step(&mut self, steps: &mut Vec<Step>, descending: Option<usize>) -> Parsed<Option<usize>> {
        let start = self.scanner.at;
        if self.scanner.peek() == b'.' {
            if self.scanner.take("..") {
                return refuse("query.axis", "there is no way up in queries", start);
            }
            if !self.scanner.number_ahead() {
                self.scanner.at += 1;
                self.refuse_predicate()?;
                return Ok(descending);
            }
        }
        let axis = if self.scanner.take("@") {
            NamedAxis::Attribute
        } else {
            self.axis()?
        };
        match axis {
            NamedAxis::SelfAxis => {
                self.every_node("self", start)?;
                return Ok(descending);
            }
            NamedAxis::DescendantOrSelf => {
                self.every_node("descendant-or-self", start)?;
                return Ok(descending.or(Some(start)));
            }
            NamedAxis::Child | NamedAxis::Attribute | NamedAxis::Descendant => {}
        }
        let (kind, test) = self.node_test(axis == NamedAxis::Attribute)?;
        if steps
            .last()
            .is_some_and(|above| above.kind != Kind::Element)
        {
            return refuse(
                "query.leaf",
                "attributes and text have no nodes below them",
                start,
            );
        }
        self.scanner.count_step(start)?;
        let predicates = self.predicates()?;
        if axis == NamedAxis::Descendant && predicates.iter().any(Expr::is_positional) {
            let message = "`descendant::` counts all descendants together";
            return refuse("query.positional-descendant", message, start);
        }
        let far = descending.is_some() || axis == NamedAxis::Descendant;
        let axis = if far { Axis::Descendant } else { Axis::Child };
        steps.push(Step {
            axis,
            kind,
            test,
            predicates,
        });
        Ok(None)
    }

    fn predicates(&mut self) -> Parsed<Vec<Expr>> {
        let mut predicates = Vec::new();
        self.scanner.skip();
        while self.scanner.peek() == b'[' {
            predicates.push(self.predicate()?);
            self.scanner.skip();
        }
        Ok(predicates)
    }

    fn refuse_predicate(&mut self) -> Parsed<()> {
        self.scanner.skip();
        if self.scanner.peek() == b'[' {
            return refuse(
                "query.filter",
                "`.` can have no predicates",
                self.scanner.at,
            );
        }
        Ok(())
    }

    fn axis(&mut self) -> Parsed<NamedAxis> {
        let Some(name) = self.scanner.name_before("::") else {
            return Ok(NamedAxis::Child);
        };
        let axis = match name {
            "child" => NamedAxis::Child,
            "attribute" => NamedAxis::Attribute,
            "descendant" => NamedAxis::Descendant,
            "descendant-or-self" => NamedAxis::DescendantOrSelf,
            "self" => NamedAxis::SelfAxis,
            _ => {
                let message = format!("there is no axis `{name}::` in queries");
                return refuse("query.axis", message, self.scanner.at);
            }
        };
        self.scanner.at += name.len();
        self.scanner.expect("::")?;
        self.scanner.skip();
        Ok(axis)
    }

    fn every_node(&mut self, axis: &str, start: usize) -> Parsed<()> {
        if self.scanner.name_before("(") != Some("node") {
            let message = format!("`{axis}::` is only understood before `node()`");
            return refuse("query.axis", message, start);
        }
        self.scanner.at += "node".len();
        self.scanner.expect("(")?;
        self.scanner.expect(")")?;
        self.refuse_predicate()
    }

    fn node_test(&mut self, attribute: bool) -> Parsed<(Kind, NameTest)> {
        self.scanner.skip();
        let start = self.scanner.at;
        let named = if attribute {
            Kind::Attribute
        } else {
            Kind::Element
        };
        if self.scanner.take("*") {
            let local = if self.scanner.take(":") {
                Some(self.scanner.ncname()?.into())
            } else {
                None
            };
            return Ok((named, NameTest { uri: None, local }));
        }
        match self.scanner.name_before("(") {
            None => Ok((named, self.name_test(start, attribute)?)),
            Some("text") if !attribute => {
                self.scanner.at += "text".len();
                self.scanner.expect("(")?;
                self.scanner.expect(")")?;
                Ok((Kind::Text, NameTest::default()))
            }
            Some(called) if NODE_TYPES.contains(&called) => refuse(
                "query.node-test",
                format!("`{called}()` cannot be selected here"),
                start,
            ),
            Some(called) => {
                let message = format!("there is no function `{called}()` in queries");
                refuse("query.function", message, start)
            }
        }
    }

    fn name_test(&mut self, start: usize, attribute: bool) -> Parsed<NameTest> {
        if self.canonical && self.scanner.take("Q{") {
            return self.expanded_name_test();
        }
        let name = self.scanner.ncname()?;
        if self.scanner.peek() != b':' || self.scanner.next_is("::") {
            let uri = if attribute {
                ""
            } else {
                self.namespaces.default_namespace()
            };
            return Ok(NameTest {
                uri: Some(uri.into()),
                local: Some(name.into()),
            });
        }
        self.scanner.at += 1;
        let local = self.local_or_any()?;
        match self.namespaces.resolve(name) {
            Some(uri) => Ok(NameTest {
                uri: Some(uri.into()),
                local,
            }),
            None => refuse(
                "query.prefix",
                format!("the prefix `{name}` is not bound"),
                start,
            ),
        }
    }

    /// The rest of `Q{uri}n` or `Q{uri}*`, which only canonical text has.
    fn expanded_name_test(&mut self) -> Parsed<NameTest> {
        let uri = self.scanner.until_single('}')?;
        Ok(NameTest {
            uri: Some(uri),
            local: self.local_or_any()?,
        })
    }

    fn local_or_any(&mut self) -> Parsed<Option<Box<str>>> {
        if self.scanner.take("*") {
            return Ok(None);
        }
        Ok(Some(self.scanner.ncname()?.into()))
    }
}
