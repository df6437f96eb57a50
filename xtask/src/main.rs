//! The project's own checks and generators.
//!
//! `cargo xtask tidy` says where the tree breaks a rule of CONTRIBUTING.md that a program can see;
//! the same runs as a test. `cargo xtask generate` rewrites what is made from the code: the blocks
//! in the documents, the manual page and the ratchet of lengths.
#![forbid(unsafe_code)]

mod blocks;
mod documents;
mod finding;
mod imports;
mod laboratory;
mod layers;
mod lengths;
mod manual;
mod papers;
mod references;
mod rooms;
mod source;
mod tidy;
mod tree;
mod words;

use std::{path::Path, process::ExitCode};

use tree::Tree;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["tidy"] => report(&root()),
        ["generate"] => generate(&root()),
        _ => {
            eprintln!("usage: cargo xtask tidy | generate");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("xtask: {error}");
        ExitCode::from(3)
    })
}

fn report(root: &Path) -> std::io::Result<ExitCode> {
    let tree = Tree::read(root)?;
    let findings = tidy::findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files.len(), findings.len());
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn generate(root: &Path) -> std::io::Result<ExitCode> {
    let tree = Tree::read(root)?;
    for file in tree.documents() {
        let text = blocks::rewritten(&file.text, &tree);
        if text != file.text {
            println!("generate: {}", file.path);
            std::fs::write(root.join(&file.path), text)?;
        }
    }
    let manual = manual::manual();
    if manual != tree.manual {
        println!("generate: {}", tree::MANUAL);
        std::fs::write(root.join(tree::MANUAL), manual)?;
    }
    let ratchet = lengths::lowered(&tree);
    if ratchet != tree.ratchet {
        println!("generate: {}", tree::RATCHET);
        std::fs::write(root.join(tree::RATCHET), ratchet)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
