//! The sets that come with the program.

/// One of them.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// What it is called.
    pub name: &'static str,
    /// As it is written.
    pub text: &'static str,
}

/// All of them.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "choi05", text: include_str!("choi05.toml") },
    Shipped { name: "weir", text: include_str!("weir.toml") },
];
