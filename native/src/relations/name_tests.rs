//! Relations between name tests.
//!
//! A name test also stands for a *fresh* name that it accepts: where a part is `None`, a name that no
//! other test mentions. A test accepts the fresh name exactly when it includes the test, so containment
//! for fresh names implies containment for all names.

use crate::xpath::ast::NameTest;

/// The test `*`.
pub const ANY: NameTest = NameTest {
    uri: None,
    local: None,
};

/// Whether `wide` accepts every name that `narrow` accepts.
pub fn includes(wide: &NameTest, narrow: &NameTest) -> bool {
    (wide.local.is_none() || wide.local == narrow.local)
        && (wide.uri.is_none() || wide.uri == narrow.uri)
}

/// Whether some name is accepted by both.
pub fn intersects(one: &NameTest, two: &NameTest) -> bool {
    let part = |one: &Option<Box<str>>, two: &Option<Box<str>>| {
        one.is_none() || two.is_none() || one == two
    };
    part(&one.local, &two.local) && part(&one.uri, &two.uri)
}

/// The intersection of two tests; `None` if it is empty.
pub fn meet(one: &NameTest, two: &NameTest) -> Option<NameTest> {
    let part = |one: &Option<Box<str>>, two: &Option<Box<str>>| match (one, two) {
        (Some(one), Some(two)) if one != two => None,
        (None, part) | (part, _) => Some(part.clone()),
    };
    Some(NameTest {
        uri: part(&one.uri, &two.uri)?,
        local: part(&one.local, &two.local)?,
    })
}

/// The most specific expressible test that includes both. No test expresses "any name in no namespace".
pub fn join(one: &NameTest, two: &NameTest) -> NameTest {
    let part = |one: &Option<Box<str>>, two: &Option<Box<str>>| {
        one.as_ref().filter(|_| one == two).cloned()
    };
    let joined = NameTest {
        uri: part(&one.uri, &two.uri),
        local: part(&one.local, &two.local),
    };
    if joined.uri.as_deref() == Some("") && joined.local.is_none() {
        return ANY;
    }
    joined
}

/// Whether the test accepts exactly one name.
pub fn is_exact(test: &NameTest) -> bool {
    test.uri.is_some() && test.local.is_some()
}
