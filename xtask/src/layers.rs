//! Which crate may depend on which.

use toml::Table;

use crate::{
    finding::Finding,
    tree::{File, Tree},
};

/// A crate depends only on crates that stand before it here: those of the layers above, and those
/// earlier in its own row. The last row is this program, which looks at all the others.
const LAYERS: [(&str, &[&str]); 6] = [
    ("pure", &["measure", "h1", "cache", "control"]),
    ("system", &["os"]),
    ("server", &["site", "servers", "config"]),
    ("tools", &["load", "sim", "lab"]),
    ("binary", &["weir"]),
    ("checks", &["xtask"]),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files.iter().filter(|file| is_manifest(&file.path));
    manifests.flat_map(check_manifest).collect()
}

/// Of a crate; neither that of the workspace nor that of the fuzz targets, which are no crates of
/// the product.
fn is_manifest(path: &str) -> bool {
    path == "xtask/Cargo.toml" || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
}

fn check_manifest(file: &File) -> Vec<Finding> {
    let manifest: Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Finding::new(&file.path, 1, error.to_string())],
    };
    let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
    let Some(place) = name.and_then(place) else {
        return vec![Finding::new(
            &file.path,
            1,
            "this crate stands in no layer of xtask/src/layers.rs",
        )];
    };
    let layer = LAYERS.iter().find(|(_, crates)| crates.contains(&name.unwrap_or_default()));
    let layer = layer.map_or("", |(layer, _)| layer);
    dependencies(&manifest)
        .filter(|dependency| self::place(dependency).is_some_and(|of| of >= place))
        .map(|dependency| {
            let what = format!("a crate of the {layer} layer may not depend on `{dependency}`");
            Finding::new(&file.path, line_of(&file.text, dependency), what)
        })
        .collect()
}

fn place(name: &str) -> Option<usize> {
    LAYERS.iter().flat_map(|(_, crates)| *crates).position(|&of| of == name)
}

fn dependencies(manifest: &Table) -> impl Iterator<Item = &str> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|kind| manifest.get(kind)?.as_table())
        .flat_map(|table| table.keys().map(String::as_str))
}

fn line_of(text: &str, dependency: &str) -> usize {
    text.lines().position(|line| line.starts_with(dependency)).map_or(1, |line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_go_up_only() {
        let rows = [
            ("h1", "measure.workspace = true", true),
            ("h1", "httparse = \"1\"", true),
            ("measure", "h1.workspace = true", false),
            ("h1", "os.workspace = true", false),
            ("h1", "h1.workspace = true", false),
            ("site", "servers = { path = \"../servers\" }", false),
            ("servers", "site.workspace = true", true),
            ("xtask", "weir.workspace = true", true),
            ("elsewhere", "", false),
        ];
        for (name, dependency, allowed) in rows {
            let text = format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependency}\n");
            let findings = check(&Tree::of(&format!("crates/{name}/Cargo.toml"), &text));
            assert_eq!(findings.is_empty(), allowed, "{name} on {dependency}: {findings:?}");
        }
    }
}
