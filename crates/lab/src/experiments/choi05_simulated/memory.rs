//! What is left of memory for contents, by the formulas of table 1: figures 2 and 3. Nothing is
//! simulated for that.

use sim::footprint::Footprint;
use sim::models::Model;
use sim::parameters::Parameters;

use super::fills::{AS_SAID, Fill};
use super::{CORES, MODELS};
use crate::claim::Says;
use crate::compare::Ratio;
use crate::curves::number;
use crate::page::{Agreement, Axis, Comparison, Dot, Figure, Mark, Series, Shape};

const MIB: f64 = 1_048_576.0;
const GIB: u64 = 1 << 30;

/// As many as the paper has clients.
const CLIENTS: u32 = 1000;

/// A panel for each model: over processors, a curve for each size of memory.
pub(super) fn figures() -> Vec<Figure> {
    let of_model = |(title, name): &(&str, &str)| {
        let curve = |gib: u64| {
            let cache = |cores| data_cache(name, cores, gib * GIB, &AS_SAID);
            let dots = CORES.iter().filter_map(|cores| dot_mb(*cores, cache(*cores)));
            Series { label: format!("{gib} GB"), points: dots.collect(), is_reference: false }
        };
        Figure {
            name: format!("3-{name}"),
            title: format!("Figure 3: memory for contents of {title} (by table 1)"),
            x: Axis { label: String::from("processors"), ..Axis::default() },
            y: axis("memory for contents"),
            series: (1..=4).map(curve).collect(),
            shape: Shape::Curves,
        }
    };
    [overhead()].into_iter().chain(MODELS.iter().map(of_model)).collect()
}

/// Figure 2: AMPED, from one server to eight, with as much cache as it has.
fn overhead() -> Figure {
    let servers = 1..=8_u32;
    let curve = |cache_mb: f64| {
        let of = |servers| amped_overhead(servers, cache_mb * MIB, &AS_SAID);
        let dots = servers.clone().filter_map(|servers| dot_mb(servers, of(servers)));
        let label = format!("{cache_mb} MB of cache, by table 1");
        Series { label, points: dots.collect(), is_reference: false }
    };
    // From the text of 3.1, which names both ends; with 200 MB of cache it names one alone.
    let paper = |label: &str, dots: &[(f64, f64)]| Series {
        label: label.into(),
        points: dots.iter().map(|(x, y)| dot(*x, *y)).collect(),
        is_reference: true,
    };
    Figure {
        name: String::from("2"),
        title: String::from("Figure 2: overhead of AMPED's servers (by table 1)"),
        x: Axis { label: String::from("servers"), ..Axis::default() },
        y: axis("overhead"),
        series: vec![
            curve(100.0),
            curve(200.0),
            paper("100 MB, measured by the paper", &[(1.0, 5.0), (8.0, 120.0)]),
        ],
        shape: Shape::Curves,
    }
}

/// What the paper says of them: where, and in its words.
pub(in crate::experiments) const SAID: [(&str, &str); 7] = [
    (
        "Choi05 figure 2",
        "eight servers of AMPED with 100 MB of cache take 120 MB beside it, one takes 5; with 200 \
         MB almost 200",
    ),
    ("Choi05 figure 3", "MP's memory for contents falls drastically with processors"),
    ("Choi05 figure 3", "SPED's falls too"),
    ("Choi05 figure 3", "AMPED's falls more than SPED's"),
    ("Choi05 figure 3", "MT's is almost constant"),
    ("Choi05 figure 3", "so is PIPELINED's"),
    ("Choi05 6.1", "with 16 processors AMPED's overhead is 8 times PIPELINED's"),
];

/// What became of that with a fill, by the formulas. Where nothing is left for files it is open.
pub(super) fn comparisons(fill: &Fill) -> Vec<Comparison> {
    let falls = |one: f64, all: f64| all < 0.9 * one;
    let told = [
        figure_2(fill),
        of_4_gb("mp", fill, |one, all| all < one / 2.0),
        of_4_gb("sped", fill, falls),
        amped_beside_sped(fill),
        of_4_gb("mt", fill, |one, all| !falls(one, all)),
        of_4_gb("pipelined", fill, |one, all| !falls(one, all)),
        overheads(fill),
    ];
    let row = |((of, paper), told): (&(&str, &str), Option<Told>)| {
        let nothing = || (String::from("nothing is left for files"), Agreement::Open);
        let (here, agrees) = told.unwrap_or_else(nothing);
        Comparison { of: (*of).into(), paper: (*paper).into(), here, agrees }
    };
    SAID.iter().zip(told).map(row).collect()
}

/// What it is here, and whether that is what is said.
type Told = (String, Agreement);

const fn agrees(is_so: bool) -> Agreement {
    if is_so { Agreement::Yes } else { Agreement::No }
}

fn figure_2(fill: &Fill) -> Option<Told> {
    let of = |servers, cache_mb| Some(amped_overhead(servers, cache_mb * MIB, fill)? / MIB);
    let (few, many, with_200) = (of(1, 100.0)?, of(8, 100.0)?, of(8, 200.0)?);
    let here = format!(
        "by table 1: {}, {} and {} MB: the paper's own measurement is {} times its formula",
        number(many),
        number(few),
        number(with_200),
        number(120.0 / many)
    );
    let is_near = |is: f64, said: f64| (is / said - 1.0).abs() < 0.1;
    Some((here, agrees(is_near(many, 120.0) && is_near(few, 5.0) && is_near(with_200, 200.0))))
}

/// What a model has of 4 GB, with one processor and with 16.
fn of_4_gb(model: &str, fill: &Fill, is_so: impl Fn(f64, f64) -> bool) -> Option<Told> {
    let [one, all] = with_one_and_16(model, fill)?;
    let here = format!("of 4 GB, with 1 and with 16: {} and {} MB", number(one), number(all));
    Some((here, agrees(is_so(one, all))))
}

fn amped_beside_sped(fill: &Fill) -> Option<Told> {
    let share = |model| {
        let [one, all] = with_one_and_16(model, fill)?;
        Some(all / one)
    };
    let (amped, sped) = (share("amped")?, share("sped")?);
    let percent = |share: f64| number(100.0 * share);
    let (of_amped, of_sped) = (percent(amped), percent(sped));
    let here = format!("of 4 GB, with 16 AMPED has {of_amped} % of that with 1, SPED {of_sped} %");
    Some((here, agrees(amped < sped)))
}

fn overheads(fill: &Fill) -> Option<Told> {
    let overhead = |model| Some(4096.0 - with_one_and_16(model, fill)?[1]);
    let times = overhead("amped")? / overhead("pipelined")?;
    let agrees = Says::About(800).of(&Ratio::exact(times)).unwrap_or(Agreement::Open);
    Some((format!("by table 1, of 4 GB: {} times", number(times)), agrees))
}

fn with_one_and_16(model: &str, fill: &Fill) -> Option<[f64; 2]> {
    let of = |cores| Some(data_cache(model, cores, 4 * GIB, fill)? / MIB);
    Some([of(1)?, of(16)?])
}

fn data_cache(model: &str, cores: u32, memory_bytes: u64, fill: &Fill) -> Option<f64> {
    Some(footprint(model, cores, memory_bytes, fill)?.data_cache_bytes() as f64)
}

/// All that so much cache takes beside it.
fn amped_overhead(servers: u32, cache_bytes: f64, fill: &Fill) -> Option<f64> {
    let of = footprint("amped", servers, GIB, fill)?;
    let contents = f64::from(of.contents);
    let taken_bytes = GIB as f64 - of.files_bytes() as f64 * contents;
    Some(of.weight(cache_bytes as u64) as f64 * contents - cache_bytes + taken_bytes)
}

fn footprint(model: &str, cores: u32, memory_bytes: u64, fill: &Fill) -> Option<Footprint> {
    let model = Model::named(model).expect("one of the five");
    let mut parameters = Parameters::shipped("choi05").expect("a set");
    // Table 1 is of what stands beside contents: who says that nothing does asks something else.
    let of_table_1 = |(name, _): &&(&str, &str)| fill.changes(model.name) && *name != "memory-is";
    for (name, value) in fill.parameters.iter().filter(of_table_1) {
        // Entries are counted by files then, of which those of the trace of figures 6a, 7 and 8
        // have that size.
        let value = if (*name, *value) == ("entry-file", "0") { "124.3" } else { value };
        parameters.set(name, value).expect("a parameter");
    }
    let knobs = fill.knobs_of(model.name, (cores, CLIENTS));
    let crew = model.crew(cores, CLIENTS * cores, &knobs).expect("knobs as they are");
    Footprint::new(&parameters, &crew, memory_bytes, CLIENTS).ok()
}

fn axis(label: &str) -> Axis {
    Axis { label: label.into(), unit: String::from("MB"), ..Axis::default() }
}

fn dot_mb(x: u32, bytes: Option<f64>) -> Option<Dot> {
    Some(dot(f64::from(x), bytes? / MIB))
}

const fn dot(x: f64, y: f64) -> Dot {
    Dot { x, y, spread: (y, y), mark: Mark::Plain }
}
