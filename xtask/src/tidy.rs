use crate::{documents, layers, lengths, tree::Tree, words};

/// A broken rule, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// From the root of the tree.
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: usize,
    /// What is wrong and, where that is not plain, how to mend it.
    pub(crate) what: String,
}

/// Everything in `tree` that breaks a rule, by place.
pub(crate) fn findings(tree: &Tree) -> Vec<Finding> {
    let checks = [layers::check, words::check, lengths::check, documents::check];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

#[test]
fn the_tree_is_tidy() {
    let tree = Tree::read(&crate::root()).expect("the tree can be read");
    let findings: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
