//! The part of the parser for paths and steps.

use super::ast::{Axis, Expr, Kind, NameTest, Path, Step};
use super::parser::Parser;
use super::query_refusal::{refuse, Parsed};

/// Names before a parenthesis that are node tests, not functions.
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
    /// Parses a location path.
    pub(super) fn path(&mut self) -> Parsed<Path> {
        let start = self.scanner.at;
        // Offset of the `//` before the next step.
        let mut descending = None;
        if self.scanner.peek() == b'/' {
            if self.scanner.predicates_open > 0 {
                let message = "a path in a predicate must be relative";
                return refuse("query.absolute", message, start);
            }
            if self.scanner.take("//") {
                descending = Some(start);
            } else {
                self.scanner.at += 1;
                self.scanner.skip();
                if !matches!(self.scanner.peek(), b'.' | b'@' | b'*') && !self.scanner.name_ahead()
                {
                    return refuse(
                        "query.document-node",
                        "a query cannot select the document node",
                        start,
                    );
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
            return refuse(
                "query.node-test",
                "selecting nodes of every kind is not supported",
                at,
            );
        }
        if steps.is_empty() && self.scanner.predicates_open == 0 {
            return refuse(
                "query.document-node",
                "a query cannot select the document node",
                start,
            );
        }
        Ok(Path { steps })
    }

    /// Parses one step and appends it, unless it is `.`; returns the offset of a `//` that still applies
    /// to the next step.
    fn step(&mut self, steps: &mut Vec<Step>, descending: Option<usize>) -> Parsed<Option<usize>> {
        let start = self.scanner.at;
        if self.scanner.peek() == b'.' {
            if self.scanner.take("..") {
                return refuse("query.axis", "the parent step `..` is not supported", start);
            }
            if !self.scanner.number_ahead() {
                self.scanner.at += 1;
                self.expect_no_predicate()?;
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
                self.node_type_test("self", start)?;
                return Ok(descending);
            }
            NamedAxis::DescendantOrSelf => {
                self.node_type_test("descendant-or-self", start)?;
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
                "attributes and text nodes have no children",
                start,
            );
        }
        self.scanner.count_step(start)?;
        let predicates = self.predicates()?;
        if axis == NamedAxis::Descendant && predicates.iter().any(Expr::is_positional) {
            let message = "positional predicates on `descendant::` are not supported";
            return refuse("query.positional-descendant", message, start);
        }
        let is_descendant = descending.is_some() || axis == NamedAxis::Descendant;
        let axis = if is_descendant {
            Axis::Descendant
        } else {
            Axis::Child
        };
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

    fn expect_no_predicate(&mut self) -> Parsed<()> {
        self.scanner.skip();
        if self.scanner.peek() == b'[' {
            return refuse(
                "query.filter",
                "predicates on `.` are not supported",
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
                let message = format!("the axis `{name}::` is not supported");
                return refuse("query.axis", message, self.scanner.at);
            }
        };
        self.scanner.at += name.len();
        self.scanner.expect("::")?;
        self.scanner.skip();
        Ok(axis)
    }

    fn node_type_test(&mut self, axis: &str, start: usize) -> Parsed<()> {
        if self.scanner.name_before("(") != Some("node") {
            let message = format!("`{axis}::` is only supported with `node()`");
            return refuse("query.axis", message, start);
        }
        self.scanner.at += "node".len();
        self.scanner.expect("(")?;
        self.scanner.expect(")")?;
        self.expect_no_predicate()
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
                let message = format!("the function `{called}()` is not supported");
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

    /// Parses the rest of `Q{uri}n` or `Q{uri}*` in canonical text.
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
