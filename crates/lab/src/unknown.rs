//! Names that nobody has.

/// What to say of a name that is not known: what was probably meant, or all there are.
#[must_use]
pub fn unknown<'n>(what: &str, name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    /// Longer than any name; bounds the work.
    const MEANT_MAX: usize = 40;
    let known: Vec<&str> = known.into_iter().collect();
    let meant = name.replace('_', "-").to_lowercase();
    let distance = |known: &&&str| strsim::osa_distance(&meant, known);
    let near = known
        .iter()
        .min_by_key(distance)
        .filter(|near| meant.len() <= MEANT_MAX && distance(near) <= (near.len() / 3).max(1));
    let mend = match near {
        Some(near) => format!("did you mean {near}?"),
        None if known.is_empty() => String::from("it has none"),
        None => format!("there are {}", known.join(", ")),
    };
    format!("{name}: no such {what}; {mend}")
}
