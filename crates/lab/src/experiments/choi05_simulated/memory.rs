//! What is left of memory for contents, by the formulas of table 1: figures 2 and 3. Nothing is
//! simulated for that.

use sim::footprint::Footprint;
use sim::models::Model;
use sim::parameters::Parameters;

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
            let dots = CORES
                .iter()
                .map(|cores| dot(f64::from(*cores), data_cache(name, *cores, gib * GIB) / MIB));
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
        let dots = servers
            .clone()
            .map(|servers| dot(f64::from(servers), amped_overhead(servers, cache_mb * MIB) / MIB));
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

/// What the paper says of both.
pub(super) fn comparisons() -> Vec<Comparison> {
    let [amped, pipelined] =
        ["amped", "pipelined"].map(|name| 4.0 * GIB as f64 - data_cache(name, 16, 4 * GIB));
    let [few, many] = [1, 8].map(|servers| amped_overhead(servers, 100.0 * MIB) / MIB);
    let with_200 = amped_overhead(8, 200.0 * MIB) / MIB;
    let times = amped / pipelined;
    let [mp, mt] =
        ["mp", "mt"].map(|name| [1, 16].map(|cores| data_cache(name, cores, 4 * GIB) / MIB));
    let row = |of: &str, paper: &str, here: String, agrees| Comparison {
        of: format!("Choi05 {of}"),
        paper: paper.into(),
        here,
        agrees,
    };
    let is_8 = Says::About(800).of(&Ratio::exact(times));
    let agrees = |is_so: bool| if is_so { Agreement::Yes } else { Agreement::No };
    vec![
        row(
            "figure 2",
            "eight servers of AMPED with 100 MB of cache take 120 MB beside it, one takes 5; with \
             200 MB almost 200",
            format!(
                "by table 1: {}, {} and {} MB: the paper's own measurement is {} times its formula",
                number(many),
                number(few),
                number(with_200),
                number(120.0 / many)
            ),
            agrees((many / 120.0 - 1.0).abs() < 0.1),
        ),
        row(
            "figure 3",
            "MP's memory for contents falls drastically with processors, MT's is almost constant",
            format!(
                "of 4 GB, with 1 and with 16: MP {} and {} MB, MT {} and {} MB",
                number(mp[0]),
                number(mp[1]),
                number(mt[0]),
                number(mt[1])
            ),
            agrees(mp[1] < mp[0] / 2.0 && mt[1] > 0.9 * mt[0]),
        ),
        row(
            "6.1",
            "with 16 processors AMPED's overhead is 8 times PIPELINED's",
            format!("by table 1, of 4 GB: {} times", number(times)),
            is_8.unwrap_or(Agreement::Open),
        ),
    ]
}

fn data_cache(model: &str, cores: u32, memory_bytes: u64) -> f64 {
    footprint(model, cores, memory_bytes).data_cache_bytes() as f64
}

/// Of entries, and of helpers.
fn amped_overhead(servers: u32, cache_bytes: f64) -> f64 {
    let of = footprint("amped", servers, GIB);
    let entries_bytes = of.weight(cache_bytes as u64) as f64 - cache_bytes;
    entries_bytes + of.helpers_bytes as f64
}

fn footprint(model: &str, cores: u32, memory_bytes: u64) -> Footprint {
    let parameters = Parameters::shipped("choi05").expect("a set");
    let model = Model::named(model).expect("one of the five");
    let crew = model.crew(cores, CLIENTS * cores, &[]).expect("knobs as they are");
    Footprint::new(&parameters, &crew, memory_bytes, CLIENTS).expect("it fits")
}

fn axis(label: &str) -> Axis {
    Axis { label: label.into(), unit: String::from("MB"), ..Axis::default() }
}

const fn dot(x: f64, y: f64) -> Dot {
    Dot { x, y, spread: (y, y), mark: Mark::Plain }
}
