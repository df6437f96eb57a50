/// Why nothing is served, or no longer.
#[derive(Debug)]
pub enum Failure {
    /// The operator asked for what cannot be: says what, and what would do.
    Operator(String),
    /// The machine refuses: says what, and what to do about it.
    Machine(String),
    /// It was served, but connections were cut off at the end; a line says how many.
    Cut,
}
