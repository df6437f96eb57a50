use crate::{
    documents, finding::Finding, layers, lengths, manual, references, rooms, tree::Tree, words,
};

/// Everything in `tree` that breaks a rule, by place.
pub(crate) fn findings(tree: &Tree) -> Vec<Finding> {
    let checks = [
        layers::check,
        rooms::check,
        words::check,
        lengths::check,
        documents::check,
        manual::check,
        references::check,
    ];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

#[test]
fn the_tree_is_tidy() {
    let tree = Tree::read(&crate::root()).expect("the tree can be read");
    let findings: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
